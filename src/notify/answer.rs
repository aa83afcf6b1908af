//! What the other side answered.

use std::time::Duration;

use amqp_message::time::Timestamp;
use reqwest::{Response, StatusCode, header};

use super::{retry_after, text::one_line};

/// Bytes read of an answer; the rest is not waited for.
const MAX_BODY: usize = 8 * 1_024;
/// Characters quoted of one.
const MAX_QUOTE: usize = 200;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) retry_after: Option<Duration>,
    /// Its beginning.
    pub(super) body: Vec<u8>,
    /// `text/html`: a page for people.
    pub(super) is_page: bool,
}

impl Answer {
    /// A body that breaks off is as good as its beginning.
    pub(super) async fn read(mut response: Response, now: Timestamp) -> Self {
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let retry_after = header(header::RETRY_AFTER).and_then(|value| retry_after::parse(value, now));
        let is_page = header(header::CONTENT_TYPE).is_some_and(|kind| kind.trim_start().starts_with("text/html"));
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            let room = MAX_BODY.saturating_sub(body.len());
            body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
            if body.len() >= MAX_BODY {
                break;
            }
        }
        Self { status: response.status(), retry_after, body, is_page }
    }

    /// Its text in one line, for a sentence; `None` where there is none, or a page.
    pub(super) fn quote(&self) -> Option<String> {
        let plain = || String::from_utf8_lossy(&self.body).into_owned();
        // Alertmanager answers with a string in JSON, proxies before it with plain text.
        let text = serde_json::from_slice::<String>(&self.body).unwrap_or_else(|_| plain());
        Some(quoted(&text)).filter(|text| !text.is_empty() && !self.is_page)
    }
}

/// `text` as a clause may quote it.
pub(super) fn quoted(text: &str) -> String {
    one_line(text, MAX_QUOTE)
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use axum::{body::Bytes, http};
    use futures_util::stream;
    use http_body_util::StreamBody;
    use reqwest::Body;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(0);

    async fn read(content_type: &str, body: impl Into<String>) -> Answer {
        let response = http::Response::builder().header("content-type", content_type).header("retry-after", "7");
        Answer::read(Response::from(response.body(body.into()).unwrap()), NOW).await
    }

    #[tokio::test]
    async fn no_more_is_read_than_the_beginning() {
        assert_eq!(read("text/plain", "x".repeat(MAX_BODY + 1)).await.body.len(), MAX_BODY);
        assert_eq!(read("text/plain", "x".repeat(MAX_BODY)).await.body.len(), MAX_BODY);
        let answer = read("text/plain", "ok").await;
        assert_eq!((answer.body.as_slice(), answer.retry_after), (b"ok".as_slice(), Some(Duration::from_secs(7))));
    }

    #[tokio::test]
    async fn an_answer_without_an_end_is_left() {
        const CHUNKS: usize = 1_000;
        let taken = Arc::new(AtomicUsize::new(0));
        let counter = taken.clone();
        let frames = (0..CHUNKS).map(move |_| {
            counter.fetch_add(1, Ordering::SeqCst);
            Ok::<_, Infallible>(http_body::Frame::data(Bytes::from_static(&[b'x'; 1_024])))
        });
        let body = Body::wrap(StreamBody::new(stream::iter(frames)));
        assert_eq!(Answer::read(Response::from(http::Response::new(body)), NOW).await.body.len(), MAX_BODY);
        assert!(taken.load(Ordering::SeqCst) <= MAX_BODY / 1_024 + 1);
    }

    #[tokio::test]
    async fn texts_are_quoted_and_pages_are_not() {
        async fn check(content_type: &str, body: &str, expected: Option<&str>) {
            assert_eq!(read(content_type, body).await.quote().as_deref(), expected, "{body}");
        }
        check("text/plain", "a\nb", Some("a b")).await;
        check("application/json", r#""name \"a\"""#, Some("name \"a\"")).await;
        check("application/json", "", None).await;
        check("text/html; charset=utf-8", "<html>", None).await;
    }
}
