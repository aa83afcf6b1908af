//! Stylesheet, scripts and icon, carried inside the program.

use std::fmt::Write;

use axum::{
    body::Body,
    extract::Path,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use rust_embed::{EmbeddedFile, RustEmbed};

use super::error::WebError;

/// Read from disk in a debug build, so that a change shows at the next request.
#[derive(RustEmbed)]
#[folder = "static/"]
struct Files;

/// Where `name` is found. The address changes with the contents, so it may be cached for good.
pub fn url(name: &str) -> String {
    let hash = Files::get(name).map_or_else(String::new, |file| short_hash(&file));
    format!("/assets/{hash}/{name}")
}

pub async fn serve(Path((hash, name)): Path<(String, String)>, headers: HeaderMap) -> Result<Response, WebError> {
    let file = Files::get(&name).ok_or_else(|| WebError::not_found("There is no such file."))?;
    let etag = format!("\"{}\"", short_hash(&file));
    // A page of an earlier version may ask for contents that are gone: it gets the new ones, but must not keep them.
    let caching =
        if etag.contains(&hash) && !hash.is_empty() { "public, max-age=31536000, immutable" } else { "no-cache" };
    let fresh = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == etag.as_bytes());
    let mut response = if fresh { StatusCode::NOT_MODIFIED.into_response() } else { contents(file) };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert(header::ETAG, HeaderValue::from_str(&etag).unwrap_or(HeaderValue::from_static("\"\"")));
    Ok(response)
}

fn contents(file: EmbeddedFile) -> Response {
    let media_type = file.metadata.mimetype().to_owned();
    let charset = if media_type.starts_with("text/") { "; charset=utf-8" } else { "" };
    ([(header::CONTENT_TYPE, media_type + charset)], Body::from(file.data)).into_response()
}

/// Enough of the hash to tell the versions of a file apart.
fn short_hash(file: &EmbeddedFile) -> String {
    file.metadata.sha256_hash()[..6].iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
