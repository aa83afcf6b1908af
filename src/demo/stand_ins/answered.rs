//! What was received, and how it was answered.

use axum::{
    body::Bytes,
    http::{HeaderMap, Method, StatusCode},
};

/// A request, and how it was answered.
#[derive(Clone, Debug)]
pub struct Answered {
    pub method: Method,
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// `None` where it was not answered.
    pub status: Option<StatusCode>,
}

impl Answered {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Whether its body is said to be JSON.
    pub(super) fn is_json(&self) -> bool {
        let kind = self.header("content-type").unwrap_or_default();
        kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
    }

    pub(super) fn is(&self, method: &Method, path: &str) -> bool {
        self.method == method && self.path == path
    }

    pub(super) fn is_post(&self, path: &str) -> bool {
        self.is(&Method::POST, path)
    }

    pub(super) fn is_get(&self, path: &str) -> bool {
        self.is(&Method::GET, path)
    }
}
