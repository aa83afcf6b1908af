//! Stylesheet, scripts and icon, carried inside the program.
//!
//! All of them are served under one version, a hash of everything in `static/`, so that files find each other by
//! relative paths (`import "./dom.js"`), which a hash in each file's own name would not allow.

mod compressed;

use std::{
    borrow::Cow,
    hash::{DefaultHasher, Hasher},
    sync::LazyLock,
};

use axum::{
    extract::Path,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use rust_embed::{EmbeddedFile, RustEmbed};

use super::error::WebError;

/// Read from disk in a debug build. The version is that of the start; reload without the cache to see a change.
#[derive(RustEmbed)]
#[folder = "static/"]
struct Files;

/// A file is no page: opened as one it may do nothing. It is short, since each page comes with twenty of them.
const CONTENT_SECURITY_POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");

/// The stylesheet that imports all others.
const STYLESHEET: &str = "css/app.css";
/// Where our own scripts are.
const MODULES: &str = "js/";

static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hasher = DefaultHasher::new();
    for file in Files::iter().filter_map(|name| Files::get(&name)) {
        hasher.write(&file.metadata.sha256_hash());
    }
    format!("{:016x}", hasher.finish())
});

/// Where `name` is found. The address changes with the contents, so it may be cached for good.
pub fn url(name: &str) -> String {
    format!("/assets/{}/{name}", *VERSION)
}

pub async fn serve(Path((version, name)): Path<(String, String)>, headers: HeaderMap) -> Result<Response, WebError> {
    let file = Files::get(&name).ok_or_else(|| WebError::not_found("There is no such file."))?;
    let etag = format!("\"{}\"", *VERSION);
    // A page of an earlier version may ask for contents that are gone: it gets the new ones, but must not keep them.
    let caching = if version == *VERSION { "public, max-age=31536000, immutable" } else { "no-cache" };
    let fresh = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == etag.as_bytes());
    let mut response =
        if fresh { StatusCode::NOT_MODIFIED.into_response() } else { contents(&name, file, &headers).await };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert(header::ETAG, HeaderValue::from_str(&etag).unwrap_or(HeaderValue::from_static("\"\"")));
    Ok(response)
}

async fn contents(name: &str, file: EmbeddedFile, asked: &HeaderMap) -> Response {
    let media_type = file.metadata.mimetype().to_owned();
    let is_text = media_type.starts_with("text/") || media_type.ends_with("+xml");
    let charset = if media_type.starts_with("text/") { "; charset=utf-8" } else { "" };
    let data = match name {
        STYLESHEET => Cow::Owned(with_imports(&text_of(&file)).into_bytes()),
        _ if name.starts_with(MODULES) => Cow::Owned(minifier::js::minify(&text_of(&file)).to_string().into_bytes()),
        _ => file.data,
    };
    let media_type = [(header::CONTENT_TYPE, media_type + charset)];
    if is_text && compressed::is_taken(asked) {
        let encoding = [(header::CONTENT_ENCODING, "br"), (header::VARY, "accept-encoding")];
        return (media_type, encoding, compressed::of(name, data).await).into_response();
    }
    (media_type, data).into_response()
}

/// The stylesheet with what it imports in place: one answer instead of one for each file.
fn with_imports(stylesheet: &str) -> String {
    let whole: String = stylesheet.lines().map(|line| imported(line).unwrap_or_else(|| format!("{line}\n"))).collect();
    without_comments(&whole).lines().map(str::trim).filter(|line| !line.is_empty()).map(shortened).collect()
}

/// A line of a stylesheet without the blanks that people need.
fn shortened(line: &str) -> String {
    match line.strip_suffix(" {") {
        Some(selector) => format!("{selector}{{"),
        None if line.ends_with(';') && !line.starts_with('@') => line.replacen(": ", ":", 1),
        None if line.ends_with(['}', ',']) => line.to_owned(),
        None => format!("{line}\n"),
    }
}

fn without_comments(css: &str) -> String {
    let mut parts = css.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |css, part| css + part.split_once("*/").map_or("", |(_, behind)| behind))
}

/// For `@import "parts/menu.css" layer(parts);` that file, in that layer.
fn imported(line: &str) -> Option<String> {
    let (name, layer) = line.strip_prefix("@import \"")?.strip_suffix(");")?.split_once("\" layer(")?;
    let file = Files::get(&format!("css/{name}"))?;
    Some(format!("@layer {layer} {{\n{}}}\n", text_of(&file)))
}

fn text_of(file: &EmbeddedFile) -> Cow<'_, str> {
    String::from_utf8_lossy(&file.data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_stylesheet_is_in_it() {
        let whole = with_imports(&text_of(&Files::get(STYLESHEET).expect("a stylesheet")));
        assert!(!whole.contains("@import"), "a file that is not there");
        for name in Files::iter().filter(|name| name.starts_with("css/") && name != STYLESHEET) {
            let file = Files::get(&name).expect("a file of the list");
            assert!(whole.contains(&with_imports(&text_of(&file))), "{name} is not imported");
        }
    }

    #[test]
    fn comments_and_blanks_are_left_out() {
        assert_eq!(with_imports("/* a */\np { /* b\n c */\n  color: red;\n}"), "p{color:red;}");
        assert_eq!(with_imports("a,\nb {\n  margin: 0\n    1px;\n}"), "a,b{margin: 0\n1px;}");
    }

    /// A brace too many ends the file's layer, and what comes next is dropped.
    #[test]
    fn every_brace_has_its_other() {
        for name in Files::iter().filter(|name| name.ends_with(".css")) {
            let depth =
                text_of(&Files::get(&name).expect("a file of the list")).chars().try_fold(0_u32, |depth, c| match c {
                    '{' => Some(depth + 1),
                    '}' => depth.checked_sub(1),
                    _ => Some(depth),
                });
            assert_eq!(depth, Some(0), "{name}");
        }
    }
}
