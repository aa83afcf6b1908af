//! Slack: an incoming webhook, and as much of the Web API as it takes to post.

use std::{
    io,
    ops::Deref,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use axum::{
    body::Body,
    http::{Response, StatusCode},
};
use serde_json::{Value, json};

use super::{
    answered::Answered,
    server::{Manners, StandIn, answer, json as in_json, keep, lock},
};

/// Says what is wrong with a message.
pub type SlackSchema = fn(&Value) -> Result<(), String>;

const HOOK: &str = "/services/T000/B000/s3cr3tOfTheHook";
const TOKEN: &str = "xoxb-s3cr3t-of-the-bot";
const CHANNEL: &str = "C0DEADLETTERS";

/// Posts with the token to any channel but this one, and everything to its webhook.
pub struct SlackStandIn {
    stand_in: StandIn,
    slack: Arc<Slack>,
}

struct Slack {
    schema: SlackSchema,
    messages: Mutex<Vec<Value>>,
    complaints: Mutex<Vec<String>>,
    /// Messages the bot has posted.
    posted: AtomicU32,
}

impl SlackStandIn {
    /// # Errors
    /// When it cannot listen.
    pub async fn open(schema: SlackSchema) -> io::Result<Self> {
        let slack = Arc::new(Slack {
            schema,
            messages: Mutex::default(),
            complaints: Mutex::default(),
            posted: AtomicU32::new(0),
        });
        Ok(Self { stand_in: StandIn::open(slack.clone()).await?, slack })
    }

    pub fn webhook_url(&self) -> String {
        format!("{}{HOOK}", self.url())
    }

    /// What stands before the names of methods.
    pub fn api_url(&self) -> String {
        format!("{}/api", self.url())
    }

    pub const fn token(&self) -> &'static str {
        TOKEN
    }

    /// The one channel the bot is in.
    pub const fn channel(&self) -> &'static str {
        CHANNEL
    }

    /// The messages people see, whichever way they came.
    pub fn messages(&self) -> Vec<Value> {
        lock(&self.slack.messages).clone()
    }

    /// What was wrong with those it refused.
    pub fn complaints(&self) -> Vec<String> {
        lock(&self.slack.complaints).clone()
    }
}

impl Deref for SlackStandIn {
    type Target = StandIn;

    fn deref(&self) -> &StandIn {
        &self.stand_in
    }
}

impl Manners for Slack {
    const NAME: &'static str = "Slack";

    fn answer(&self, request: &Answered) -> Response<Body> {
        if request.is_post("/api/auth.test") {
            return api(&self.login(request).map(|()| json!({ "ok": true, "team": "Acme" })));
        }
        if request.is_post("/api/chat.postMessage") {
            return api(&self.post(request));
        }
        if !request.is_post(HOOK) {
            return answer(StatusCode::NOT_FOUND, "text/html", "no_service");
        }
        // That of the real one is said to be HTML as well.
        match self.message(request) {
            Ok(message) => {
                keep(&mut lock(&self.messages), message);
                answer(StatusCode::OK, "text/html", "ok")
            }
            Err(error) => answer(StatusCode::BAD_REQUEST, "text/html", error),
        }
    }
}

impl Slack {
    fn login(&self, request: &Answered) -> Result<(), &'static str> {
        match request.header("authorization") {
            None => Err("not_authed"),
            Some(value) if value.strip_prefix("Bearer ") == Some(TOKEN) => Ok(()),
            Some(_) => Err("invalid_auth"),
        }
    }

    fn post(&self, request: &Answered) -> Result<Value, &'static str> {
        self.login(request)?;
        let message = self.message(request)?;
        if message["channel"] != CHANNEL {
            return Err("channel_not_found");
        }
        keep(&mut lock(&self.messages), message.clone());
        let ts = format!("1795255440.{:06}", self.posted.fetch_add(1, Ordering::SeqCst) + 1);
        Ok(json!({ "ok": true, "channel": CHANNEL, "ts": ts, "message": message }))
    }

    /// The message of a request, or the name of an error.
    fn message(&self, request: &Answered) -> Result<Value, &'static str> {
        let object = || serde_json::from_slice::<Value>(&request.body).ok().filter(Value::is_object);
        let message = object().filter(|_| request.is_json()).ok_or("invalid_payload")?;
        let says_something = ["text", "blocks", "attachments"].iter().any(|name| message.get(name).is_some());
        if !says_something {
            return Err("no_text");
        }
        (self.schema)(&message).map_err(|complaint| {
            keep(&mut lock(&self.complaints), complaint);
            "invalid_blocks"
        })?;
        Ok(message)
    }
}

/// The Web API answers errors with 200.
fn api(result: &Result<Value, &'static str>) -> Response<Body> {
    match result {
        Ok(answer) => in_json(StatusCode::OK, answer),
        Err(error) => in_json(StatusCode::OK, &json!({ "ok": false, "error": error })),
    }
}
