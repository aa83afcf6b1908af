//! What comes with a request, read and checked.

use axum::{
    Extension,
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Request},
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    body_schema::BodySchema,
    codes::{FaultCode, ProblemCode},
    error::WebError,
    fault::NO_NUL,
    query::{Pairs, Parameters},
};

/// Whether htmx asks, and not the browser itself.
pub fn is_htmx(headers: &HeaderMap) -> bool {
    headers.contains_key("hx-request")
}

/// The query of a page's address.
pub struct QueryPairs(pub Pairs);

impl<S: Sync> FromRequestParts<S> for QueryPairs {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, WebError> {
        without_nul(Pairs::parse(query_of(parts))).map(Self)
    }
}

/// What the query of a call of the API says, and nothing else.
pub struct Query<T>(pub T);

impl<T: Parameters + Default, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, WebError> {
        T::read(without_nul(Pairs::parse_exact(query_of(parts)))?).map(Self)
    }
}

/// The fields of a form.
pub struct FormPairs(pub Pairs);

impl<S: Send + Sync> FromRequest<S> for FormPairs {
    type Rejection = WebError;

    async fn from_request(request: Request, state: &S) -> Result<Self, WebError> {
        require_type(request.headers(), "application/x-www-form-urlencoded")?;
        without_nul(Pairs::parse(&read_body(request, state).await?)).map(Self)
    }
}

fn query_of(parts: &Parts) -> &[u8] {
    parts.uri.query().unwrap_or_default().as_bytes()
}

fn without_nul(pairs: Pairs) -> Result<Pairs, WebError> {
    if let Some((name, _)) = pairs.iter().find(|(_, value)| value.contains('\0')) {
        return Err(WebError::parameter(name, FaultCode::Format, NO_NUL));
    }
    Ok(pairs)
}

/// A body of JSON; an empty one counts as `{}`. All that is wrong with it is told, each by its place.
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned + ToSchema + 'static, S: Send + Sync> FromRequest<S> for JsonBody<T> {
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

fn read_json<T: DeserializeOwned + ToSchema + 'static>(body: &[u8]) -> Result<T, WebError> {
    let not_json = |error: &serde_json::Error| {
        WebError::bad_request(format!("The body is not JSON: {error}.")).with_code(ProblemCode::InvalidJson)
    };
    // Numbers without bounds, which only some fields keep, have no value here; then the first mistake has to do.
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => {
            let faults = BodySchema::of::<T>().faults(&value);
            if !faults.is_empty() {
                return Err(WebError::of_faults(StatusCode::UNPROCESSABLE_ENTITY, faults));
            }
        }
        Err(error) if error.is_syntax() && error.to_string().starts_with("number out of range") => {}
        Err(error) => return Err(not_json(&error)),
    }
    let mut json = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let (field, error) = (error.path().to_string(), error.into_inner());
        match error.classify() {
            serde_json::error::Category::Data if field == "." => WebError::unprocessable(without_place(&error)),
            serde_json::error::Category::Data => WebError::field(&field, FaultCode::Invalid, without_place(&error)),
            _ => not_json(&error),
        }
    })?;
    json.end().map_err(|error| not_json(&error))?;
    Ok(value)
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

/// Bytes that a request may have, where it is not axum's default.
#[derive(Clone, Copy)]
pub struct BodyLimit(usize);

/// Takes requests of so many bytes.
pub fn body_limit(bytes: usize) -> (DefaultBodyLimit, Extension<BodyLimit>) {
    (DefaultBodyLimit::max(bytes), Extension(BodyLimit(bytes)))
}

/// Bytes of a request that brings an edited body: the largest message that RabbitMQ 4 takes by default, 16 MiB
/// (<https://www.rabbitmq.com/docs/configure#config-items>, `max_message_size`), in base64 and with room to spare.
pub const EDIT_LIMIT: usize = 32 << 20;

/// Bytes of a request that brings a body of `max` bytes to be decoded, in base64 and with room to spare.
pub const fn decode_limit(max: u64) -> usize {
    const ROOM: u64 = 2 << 20;
    max.saturating_add(max / 3).saturating_add(ROOM) as usize
}

pub async fn read_body<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, WebError> {
    /// Of axum.
    const DEFAULT: BodyLimit = BodyLimit(2 << 20);
    let BodyLimit(max) = request.extensions().get().copied().unwrap_or(DEFAULT);
    Bytes::from_request(request, state).await.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => WebError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("The request has more than the {max} bytes that are taken here."),
        ),
        _ => WebError::bad_request("The body did not arrive whole."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, Debug, ToSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code)]
    struct Body {
        #[serde(default)]
        ids: Option<Vec<u8>>,
        #[schema(value_type = Option<Value>)]
        json: Option<Box<serde_json::value::RawValue>>,
    }

    #[test]
    fn json_is_refused_by_field() {
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
        check("{\"ids\": [300]}", 422, "ids");
        check(r#"{"json": [{"text": "\u0000"}]}"#, 422, "json[0].text: it holds a NUL");
        assert!(read_json::<Body>(br#"{"json": {"n": 1e999}}"#).is_ok(), "a number is kept as it is written");
    }
}
