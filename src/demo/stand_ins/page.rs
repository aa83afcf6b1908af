//! What a user sees who opens a stand-in in a browser.

use std::fmt::Write;

use serde_json::Value;

use super::answered::Answered;

/// The requests, the latest first.
pub(super) fn page(title: &str, requests: &[Answered]) -> String {
    let title = escaped(title);
    let mut page = format!("<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><h1>{title}</h1>");
    if requests.is_empty() {
        page.push_str("<p>Nothing has arrived yet.</p>");
    }
    for request in requests.iter().rev() {
        let status = request.status.map_or_else(|| "no answer".to_owned(), |status| status.as_u16().to_string());
        let head = escaped(&format!("{} {}: {status}", request.method, request.path));
        // Nothing can go wrong when writing to a text.
        let _ = write!(page, "<h2>{head}</h2><pre>{}</pre>", escaped(&readable(&request.body)));
    }
    page
}

/// JSON with line breaks; anything else as it is.
fn readable(body: &[u8]) -> String {
    let pretty = serde_json::from_slice::<Value>(body).ok().and_then(|json| serde_json::to_string_pretty(&json).ok());
    pretty.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
