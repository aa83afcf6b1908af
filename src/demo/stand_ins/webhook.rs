//! The receiver of a signed webhook
//! (<https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>).

use std::{
    io,
    ops::Deref,
    sync::{Arc, Mutex},
};

use axum::{
    body::Body,
    http::{Response, StatusCode},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

use super::{
    answered::Answered,
    server::{Manners, StandIn, answer, keep, lock},
};
use crate::clock::Clock;

const PATH: &str = "/hooks/s3cr3t-of-the-path";
const KEY: &[u8] = b"s3cr3t key of the stand-in webhook";
/// Seconds that the time of an attempt may be off, both ways.
const TOLERANCE: i64 = 5 * 60;

pub struct WebhookStandIn {
    stand_in: StandIn,
    receiver: Arc<Receiver>,
}

struct Receiver {
    clock: Clock,
    /// By id, each only once.
    events: Mutex<Vec<(String, Value)>>,
}

impl WebhookStandIn {
    /// The clock says whether an attempt is too old.
    ///
    /// # Errors
    /// When it cannot listen.
    pub async fn open(clock: Clock) -> io::Result<Self> {
        let receiver = Arc::new(Receiver { clock, events: Mutex::default() });
        Ok(Self { stand_in: StandIn::open(receiver.clone()).await?, receiver })
    }

    pub fn webhook_url(&self) -> String {
        format!("{}{PATH}", self.url())
    }

    pub fn secret(&self) -> String {
        format!("whsec_{}", STANDARD.encode(KEY))
    }

    /// What it received, in order; what came twice counts once.
    pub fn events(&self) -> Vec<Value> {
        lock(&self.receiver.events).iter().map(|(_, event)| event.clone()).collect()
    }
}

impl Deref for WebhookStandIn {
    type Target = StandIn;

    fn deref(&self) -> &StandIn {
        &self.stand_in
    }
}

impl Manners for Receiver {
    const NAME: &'static str = "A webhook";

    fn answer(&self, request: &Answered) -> Response<Body> {
        let refused = |status, why: &str| answer(status, "text/plain", why);
        if !request.is_post(PATH) {
            return refused(StatusCode::NOT_FOUND, "no such hook");
        }
        let id = match self.verify(request) {
            Ok(id) => id,
            Err(why) => return refused(StatusCode::UNAUTHORIZED, why),
        };
        let Some(event) = event(request) else { return refused(StatusCode::BAD_REQUEST, "no such event") };
        let mut events = lock(&self.events);
        if !events.iter().any(|(known, _)| *known == id) {
            keep(&mut events, (id, event));
        }
        answer(StatusCode::NO_CONTENT, "text/plain", "")
    }
}

impl Receiver {
    /// The id of the message, once its signature holds.
    fn verify(&self, request: &Answered) -> Result<String, &'static str> {
        let header = |name| request.header(name).filter(|value| !value.is_empty()).ok_or("a header is missing");
        let (id, time) = (header("webhook-id")?, header("webhook-timestamp")?);
        let seconds: i64 = time.parse().map_err(|_| "the timestamp is no number")?;
        let now = self.clock.now().as_micros() / 1_000_000;
        if seconds.abs_diff(now) > TOLERANCE.unsigned_abs() {
            return Err("the timestamp is too far from now");
        }
        let signatures = header("webhook-signature")?.split(' ').filter_map(|one| one.strip_prefix("v1,"));
        let mut mac = Hmac::<Sha256>::new_from_slice(KEY).map_err(|_| "the key is of no use")?;
        [id.as_bytes(), b".", time.as_bytes(), b".", &request.body].iter().for_each(|part| mac.update(part));
        let mut decoded = signatures.filter_map(|signature| STANDARD.decode(signature).ok());
        let holds = decoded.any(|signature| mac.clone().verify_slice(&signature).is_ok());
        if holds { Ok(id.to_owned()) } else { Err("the signature does not hold") }
    }
}

/// The event, if it has the fields that are recommended.
fn event(request: &Answered) -> Option<Value> {
    let event: Value = serde_json::from_slice(&request.body).ok().filter(|_| request.is_json())?;
    let time = event["timestamp"].as_str()?.parse::<jiff::Timestamp>();
    (event["type"].as_str()?.contains('.') && time.is_ok() && event["data"].is_object()).then_some(event)
}
