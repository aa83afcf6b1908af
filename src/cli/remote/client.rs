//! Calls of the API, and what it says when it refuses one.

use std::{
    fmt,
    ops::Deref,
    time::{Duration, Instant},
};

use anyhow::{Context, anyhow};
use payload_codec::json::portable;
use reqwest::{Method, RequestBuilder, Response, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use url::{ParseError, Url};
use uuid::Uuid;

use super::{Failure, Server};
use crate::{
    notify::client_of_any_size,
    web::{Limits, ProblemCode},
};

/// Items of one answer; more are asked for page by page.
const AT_ONCE: usize = 500;
/// For an answer to arrive, beyond the time after which the server says that it gives up.
const ON_THE_WAY: Duration = Duration::from_secs(10);
/// Between two looks whether a call that was cut off is done.
const PAUSE: Duration = Duration::from_secs(1);

pub struct Client {
    http: reqwest::Client,
    url: Url,
    token: Option<String>,
}

/// An object as the server has written it, to be printed, and as far as it can be looked into.
pub struct Answer {
    text: String,
    value: Value,
}

/// One page of a list.
#[derive(Deserialize)]
struct ItemPage {
    items: Vec<Box<RawValue>>,
    next_cursor: Option<String>,
}

/// What the server says of a call that it does not carry out.
#[derive(Debug)]
pub struct Refused {
    status: StatusCode,
    problem: Value,
}

impl Answer {
    fn read(text: &str) -> Result<Self, serde_json::Error> {
        Ok(Self { text: text.to_owned(), value: serde_json::from_str(&portable(text))? })
    }

    /// With every number and sign as the server has it.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Deref for Answer {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.value
    }
}

impl Refused {
    pub fn is_misunderstood(&self) -> bool {
        matches!(self.status, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY)
    }

    pub fn is(&self, code: ProblemCode) -> bool {
        self.problem["code"] == code.as_str()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = self.problem["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        let detail = self.problem["detail"].as_str();
        match (errors, detail) {
            // The detail is that of the one error.
            ([error], _) => f.write_str(&mistake(error))?,
            ([], Some(detail)) => f.write_str(detail)?,
            _ => write!(f, "the server answers {}", self.status)?,
        }
        for error in errors.iter().filter(|_| errors.len() > 1) {
            write!(f, "\n  {}", mistake(error))?;
        }
        match self.status {
            StatusCode::UNAUTHORIZED => f.write_str("\n  It takes a token: --token or DLO_TOKEN; see `dlo token add`"),
            _ => Ok(()),
        }
    }
}

/// Whether a call may have been made, and its answer was cut off. Where nothing came for long nothing will.
fn is_lost(error: &anyhow::Error) -> bool {
    error.downcast_ref::<reqwest::Error>().is_some_and(|error| !error.is_connect() && !error.is_timeout())
}

/// How long nothing may come before it is given up.
fn patience() -> Duration {
    Limits::default().answer + ON_THE_WAY
}

/// What is wrong, and where.
fn mistake(error: &Value) -> String {
    let detail = error["detail"].as_str().unwrap_or_default();
    let place = ["pointer", "parameter", "header"].iter().find_map(|place| error[*place].as_str());
    match place.unwrap_or_default().trim_start_matches('/') {
        "" => detail.to_owned(),
        place => format!("{place}: {detail}"),
    }
}

impl Client {
    pub fn new(server: &Server) -> Result<Self, Failure> {
        let unusable = |why: &dyn fmt::Display| Failure::Usage(format!("--url {:?} cannot be used: {why}", server.url));
        let no_scheme = || unusable(&"it takes http:// or https://");
        let mut url: Url = server.url.parse().map_err(|error| match error {
            ParseError::RelativeUrlWithoutBase => no_scheme(),
            error => unusable(&error),
        })?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(no_scheme());
        }
        if !url.path().ends_with('/') {
            url.set_path(&format!("{}/", url.path()));
        }
        // A file that it comes from ends with a line break.
        let token = server.token.as_deref().map(str::trim).filter(|token| !token.is_empty());
        if token.is_some_and(|token| !token.chars().all(|c| c.is_ascii_graphic())) {
            return Err(Failure::Usage("--token or DLO_TOKEN has signs in it that no token has".to_owned()));
        }
        let http = client_of_any_size(patience(), server.ca_file.as_deref())?;
        Ok(Self { http, url, token: token.map(str::to_owned) })
    }

    pub async fn get(&self, path: &str, query: &[(&str, String)]) -> Result<Answer, Failure> {
        let answer = self.text(self.request(Method::GET, path, query)?).await?;
        Ok(Answer::read(&answer.unwrap_or_default()).with_context(|| self.is_another())?)
    }

    /// Where the answer is lost the call is made once more, with the same key, so that it is done once. Nothing is answered
    /// where it is done and the token may not read what has become of it.
    pub async fn change(&self, path: &str, body: &Value) -> Result<Option<Answer>, Failure> {
        let (key, body) = (Uuid::now_v7().to_string(), body.to_string());
        let call = || -> Result<RequestBuilder, Failure> {
            let request = self.request(Method::POST, path, &[])?.header(header::CONTENT_TYPE, "application/json");
            Ok(request.header("idempotency-key", &key).body(body.clone()))
        };
        let answer = match self.text(call()?).await {
            Err(Failure::Other(error)) if is_lost(&error) => self.once_more(call).await?,
            answer => answer?,
        };
        let answer = answer.map(|answer| Answer::read(&answer)).transpose();
        Ok(answer.with_context(|| self.is_another())?)
    }

    /// As [`change`](Self::change), of a call that answers whoever may make it.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Answer, Failure> {
        Ok(self.change(path, body).await?.with_context(|| self.is_another())?)
    }

    /// The answer to a call that was cut off. While the server is still at it, it is asked again.
    async fn once_more(&self, call: impl Fn() -> Result<RequestBuilder, Failure>) -> Result<Option<String>, Failure> {
        let begun = Instant::now();
        loop {
            let refused = match self.text(call()?).await {
                Err(Failure::Refused(refused)) => refused,
                answer => return answer,
            };
            let is_under_way = refused.is(ProblemCode::KeyInUse);
            if is_under_way && begun.elapsed() < patience() {
                tokio::time::sleep(PAUSE).await;
            } else if is_under_way || refused.is(ProblemCode::KeyCutOff) {
                // It may be done, and so it is no refusal.
                return Err(anyhow!("no answer from {}: {refused}", self.url).into());
            } else {
                return Err(Failure::Refused(refused));
            }
        }
    }

    pub async fn bytes(&self, path: &str) -> Result<Vec<u8>, Failure> {
        Ok(self.send(self.request(Method::GET, path, &[])?).await?.bytes().await?.to_vec())
    }

    /// The first `limit` items of a list.
    pub async fn items(&self, path: &str, query: &[(&str, String)], limit: usize) -> Result<Vec<Answer>, Failure> {
        let (mut items, mut cursor) = (Vec::new(), None);
        while items.len() < limit {
            let asked = ("limit", AT_ONCE.min(limit - items.len()).to_string());
            let query: Vec<(&str, String)> = query.iter().cloned().chain([asked]).chain(cursor).collect();
            let page = self.text(self.request(Method::GET, path, &query)?).await?;
            let page: ItemPage = serde_json::from_str(&page.unwrap_or_default()).with_context(|| self.is_another())?;
            for item in page.items {
                items.push(Answer::read(item.get()).with_context(|| self.is_another())?);
            }
            let Some(next) = page.next_cursor else { break };
            cursor = Some(("cursor", next));
        }
        Ok(items)
    }

    fn request(&self, method: Method, path: &str, query: &[(&str, String)]) -> Result<RequestBuilder, Failure> {
        let mut url = self.url.join(&format!("api/v1/{path}"))?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = self.http.request(method, url);
        Ok(match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
    }

    fn is_another(&self) -> String {
        format!("{} answers something else than dlo does", self.url)
    }

    /// The answer, but for a 204, which is none.
    async fn text(&self, request: RequestBuilder) -> Result<Option<String>, Failure> {
        let answer = self.send(request).await?;
        if answer.status() == StatusCode::NO_CONTENT {
            return Ok(None);
        }
        Ok(Some(String::from_utf8_lossy(&answer.bytes().await?).into_owned()))
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let answer = request.send().await.with_context(|| format!("no answer from {}", self.url))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        if status.is_redirection() {
            return Err(
                anyhow!("{} leads elsewhere ({status}); it takes the address of the server itself", self.url).into()
            );
        }
        let problem = serde_json::from_slice(&answer.bytes().await?).unwrap_or_default();
        Err(Failure::Refused(Refused { status, problem }))
    }
}
