//! Calls of the API, and what it says when it refuses one.

use std::fmt;

use anyhow::{Context, anyhow};
use payload_codec::json::portable;
use reqwest::{Method, RequestBuilder, Response, StatusCode, header};
use serde_json::Value;
use url::Url;

use super::{Failure, Server};
use crate::notify::{Patience, client};

/// Items of one answer; more are asked for page by page.
const AT_ONCE: usize = 500;

pub struct Client {
    http: reqwest::Client,
    url: Url,
    token: Option<String>,
}

/// What the server says of a call that it does not carry out.
#[derive(Debug)]
pub struct Refused {
    status: StatusCode,
    problem: Value,
}

impl Refused {
    pub fn is_misunderstood(&self) -> bool {
        matches!(self.status, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY)
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

/// What is wrong, and where.
fn mistake(error: &Value) -> String {
    let detail = error["detail"].as_str().unwrap_or_default();
    match ["pointer", "parameter", "header"].iter().find_map(|place| error[*place].as_str()) {
        Some(place) => format!("{}: {detail}", place.trim_start_matches('/')),
        None => detail.to_owned(),
    }
}

impl Client {
    pub fn new(server: &Server) -> Result<Self, Failure> {
        let unusable = |why: &dyn fmt::Display| Failure::Usage(format!("--url {:?} cannot be used: {why}", server.url));
        let mut url: Url = server.url.parse().map_err(|error: url::ParseError| unusable(&error))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unusable(&"it takes http:// or https://"));
        }
        if !url.path().ends_with('/') {
            url.set_path(&format!("{}/", url.path()));
        }
        Ok(Self { http: client(Patience::default(), server.ca_file.as_deref())?, url, token: server.token.clone() })
    }

    pub async fn get(&self, path: &str, query: &[(&str, String)]) -> Result<Value, Failure> {
        self.json(self.request(Method::GET, path, query)?).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        let request = self.request(Method::POST, path, &[])?.header(header::CONTENT_TYPE, "application/json");
        self.json(request.body(body.to_string())).await
    }

    pub async fn bytes(&self, path: &str) -> Result<Vec<u8>, Failure> {
        Ok(self.send(self.request(Method::GET, path, &[])?).await?.bytes().await?.to_vec())
    }

    /// The first `limit` items of a list.
    pub async fn items(&self, path: &str, query: &[(&str, String)], limit: usize) -> Result<Vec<Value>, Failure> {
        let (mut items, mut cursor) = (Vec::new(), None);
        while items.len() < limit {
            let asked = ("limit", AT_ONCE.min(limit - items.len()).to_string());
            let query: Vec<(&str, String)> = query.iter().cloned().chain([asked]).chain(cursor).collect();
            let mut page = self.get(path, &query).await?;
            if let Some(Value::Array(found)) = page.get_mut("items").map(Value::take) {
                items.extend(found);
            }
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = Some(("cursor", next.to_owned()));
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

    async fn json(&self, request: RequestBuilder) -> Result<Value, Failure> {
        let answer = self.send(request).await?.bytes().await?;
        let what = || format!("{} answers something else than dlo does", self.url);
        Ok(serde_json::from_str(&portable(&String::from_utf8_lossy(&answer))).with_context(what)?)
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
