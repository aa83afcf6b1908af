//! What comes with a request, read and checked.

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Request},
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    error::WebError,
    query::{Pairs, Parameters},
};

/// Whether htmx asks, and not the browser itself.
pub fn is_htmx(headers: &HeaderMap) -> bool {
    headers.contains_key("hx-request")
}

/// The query of the address.
pub struct QueryPairs(pub Pairs);

impl<S: Sync> FromRequestParts<S> for QueryPairs {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, WebError> {
        read_pairs(parts.uri.query().unwrap_or_default().as_bytes()).map(Self)
    }
}

/// What the query of the address says, and nothing else.
pub struct Query<T>(pub T);

impl<T: Parameters, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, WebError> {
        let QueryPairs(pairs) = QueryPairs::from_request_parts(parts, state).await?;
        T::read(pairs).map(Self)
    }
}

/// The fields of a form.
pub struct FormPairs(pub Pairs);

impl<S: Send + Sync> FromRequest<S> for FormPairs {
    type Rejection = WebError;

    async fn from_request(request: Request, state: &S) -> Result<Self, WebError> {
        require_type(request.headers(), "application/x-www-form-urlencoded")?;
        read_pairs(&read_body(request, state).await?).map(Self)
    }
}

fn read_pairs(text: &[u8]) -> Result<Pairs, WebError> {
    let pairs = Pairs::parse(text);
    if let Some((name, _)) = pairs.iter().find(|(_, value)| value.contains(NUL)) {
        return Err(WebError::bad_request(no_nul(name)));
    }
    Ok(pairs)
}

/// Postgres keeps no NUL in text (<https://www.postgresql.org/docs/current/datatype-character.html>).
const NUL: char = '\0';

fn no_nul(field: &str) -> String {
    format!("{field}: it holds a NUL character (U+0000), which no text here can have")
}

/// A body of JSON; an empty one counts as `{}`. What is wrong with it is told by the name of the field.
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = WebError;

    async fn from_request(request: Request, state: &S) -> Result<Self, WebError> {
        let media_type = require_type(request.headers(), "application/json");
        let body = read_body(request, state).await?;
        if body.is_empty() {
            return read_json(b"{}").map(Self);
        }
        media_type?;
        read_json(&body).map(Self)
    }
}

fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, WebError> {
    let mut json = serde_json::Deserializer::from_slice(body);
    // An array would be read as the fields in their order, which nobody means.
    if body.trim_ascii_start().starts_with(b"[") {
        return Err(WebError::unprocessable("The body has to be a JSON object."));
    }
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let (field, error) = (error.path().to_string(), error.into_inner());
        match error.classify() {
            serde_json::error::Category::Data if field == "." => WebError::unprocessable(without_place(&error)),
            serde_json::error::Category::Data => WebError::unprocessable(format!("{field}: {}", without_place(&error))),
            _ => WebError::bad_request(format!("The body is not JSON: {error}.")),
        }
    })?;
    json.end().map_err(|error| WebError::bad_request(format!("The body is not JSON: {error}.")))?;
    match field_with_nul(body) {
        None => Ok(value),
        Some(field) => Err(WebError::unprocessable(no_nul(&field))),
    }
}

fn field_with_nul(body: &[u8]) -> Option<String> {
    // JSON has no other way to write one.
    if !body.windows(6).any(|text| text == br"\u0000") {
        return None;
    }
    let fields: serde_json::Map<String, Value> = serde_json::from_slice(body).ok()?;
    fields.into_iter().find(|(_, value)| has_nul(value)).map(|(field, _)| field)
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(NUL),
        Value::Array(values) => values.iter().any(has_nul),
        Value::Object(fields) => fields.values().any(has_nul),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Without the line and column, which help only those who typed the JSON by hand.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(what, _)| what.to_owned())
}

fn require_type(headers: &HeaderMap, expected: &str) -> Result<(), WebError> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = given.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case(expected) {
        return Ok(());
    }
    Err(WebError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, format!("Send it with content-type {expected}.")))
}

/// Bytes of a request that brings an edited body: the largest message that RabbitMQ 4 takes by default, 16 MiB
/// (<https://www.rabbitmq.com/docs/configure#config-items>, `max_message_size`), in base64 and with room to spare.
pub const EDIT_LIMIT: usize = 32 << 20;

async fn read_body<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, WebError> {
    Bytes::from_request(request, state).await.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => WebError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "The request is too large: it takes 2 MiB, or 32 MiB with an edited body.",
        ),
        _ => WebError::bad_request("The body did not arrive whole."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_refused_by_field() {
        #[derive(serde::Deserialize, Debug)]
        #[serde(deny_unknown_fields)]
        struct Body {
            #[serde(default)]
            #[expect(dead_code)]
            ids: Vec<LetterIdText>,
        }
        #[derive(serde::Deserialize, Debug)]
        struct LetterIdText(#[expect(dead_code)] u8);
        let check = |body: &str, status, part: &str| {
            let error = read_json::<Body>(body.as_bytes()).expect_err(body);
            assert_eq!(error.status.as_u16(), status, "{body}");
            assert!(error.detail.contains(part), "{}", error.detail);
        };
        check("{", 400, "not JSON");
        check("{} x", 400, "not JSON");
        check(" []", 422, "object");
        check("{\"idz\": []}", 422, "idz");
        check("{\"ids\": [1, \"a\"]}", 422, "ids[1]");
    }

    #[test]
    fn a_nul_is_refused_wherever_it_stands() {
        let check = |body: &str, refused: bool| {
            let read = read_json::<serde_json::Map<String, Value>>(body.as_bytes());
            assert_eq!(read.is_err_and(|error| error.detail.starts_with("note: ")), refused, "{body}");
        };
        check(r#"{"note": "a\u0000b"}"#, true);
        check(r#"{"note": [{"text": "\u0000"}]}"#, true);
        check(r#"{"note": "a\\u0000b"}"#, false);
    }
}
