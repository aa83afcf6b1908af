//! Bodies of calls. All that is wrong with one is told at once: what its description refuses, and what its fields come to
//! together.

use std::sync::Arc;

use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    http::{StatusCode, request::Parts},
};
use payload_codec::json::portable;
use serde::de::DeserializeOwned;
use serde_json::{Value, error::Category};
use utoipa::ToSchema;

use super::{
    body_schema::BodySchema,
    path_id::{Identified, PathId},
    read_body, require_type,
};
use crate::{
    domain::actor::Actor,
    web::{
        error::{
            MOST_FAULTS, WebError,
            codes::{FaultCode, ProblemCode},
            fault::{Fault, Place},
            head_faults::HeadFaults,
        },
        state::AppState,
        visitor::CurrentUser,
    },
};

/// Values of one body: each takes some hundred bytes while it is looked at. Of a payload fewer are shown and written.
const MOST_VALUES: usize = 500_000;

/// What the body of a call may say. Its description is checked before, see [`BodySchema`].
pub trait CallBody: DeserializeOwned + ToSchema + Send + 'static {
    /// What it comes to.
    type Read: Send;

    /// Reads what its description does not say: how its fields go together, and with what there is. A field that is at
    /// fault already is blank here, and what is said of it again is left out.
    ///
    /// # Errors
    /// All that is wrong.
    fn read(self, call: &Call<'_>) -> impl Future<Output = Result<Self::Read, WebError>> + Send;
}

/// What a body comes with.
pub struct Call<'a> {
    pub app: &'a Arc<AppState>,
    parts: Parts,
}

impl Call<'_> {
    /// The id in its path.
    ///
    /// # Errors
    /// If that is none.
    pub async fn id<T: Identified>(&self) -> Result<T::Id, WebError> {
        PathId::<T>::from_request_parts(&mut self.parts.clone(), self.app).await.map(|PathId(id)| id)
    }

    /// Who calls.
    ///
    /// # Errors
    /// If nobody has signed in.
    pub async fn user(&self) -> Result<Actor, WebError> {
        CurrentUser::from_request_parts(&mut self.parts.clone(), self.app).await.map(|user| user.clone())
    }
}

/// A body of JSON, read; an empty one counts as `{}`.
pub struct JsonBody<T: CallBody>(pub T::Read);

impl<T: CallBody> FromRequest<Arc<AppState>> for JsonBody<T> {
    type Rejection = WebError;

    async fn from_request(request: Request, app: &Arc<AppState>) -> Result<Self, WebError> {
        let head = HeadFaults::of(request.extensions());
        head.with(Self::read(request, app).await)
    }
}

impl<T: CallBody> JsonBody<T> {
    async fn read(request: Request, app: &Arc<AppState>) -> Result<Self, WebError> {
        let media_type = require_type(request.headers(), "application/json");
        let (parts, body) = request.into_parts();
        let body = read_body(Request::from_parts(parts.clone(), body), app).await?;
        let (fields, faults) = if body.is_empty() {
            parse::<T>(b"{}")?
        } else {
            media_type?;
            parse::<T>(&body)?
        };
        let Some(fields) = fields else { return Err(unprocessable(faults)) };
        match fields.read(&Call { app, parts }).await {
            Ok(read) if faults.is_empty() => Ok(Self(read)),
            Ok(_) => Err(unprocessable(faults)),
            Err(error) => Err(error.after(faults)),
        }
    }
}

fn unprocessable(faults: Vec<Fault>) -> WebError {
    WebError::of_faults(StatusCode::UNPROCESSABLE_ENTITY, faults)
}

/// The fields of a body, as far as they can be read, and what its description says is wrong with them.
fn parse<T: DeserializeOwned + ToSchema + 'static>(body: &[u8]) -> Result<(Option<T>, Vec<Fault>), WebError> {
    if values_in(body) > MOST_VALUES {
        let why = format!("it has more than the {MOST_VALUES} values that are taken here");
        return Err(WebError::body(StatusCode::UNPROCESSABLE_ENTITY, FaultCode::Length, why));
    }
    let schema = BodySchema::of::<T>();
    let value = value_of(body).map_err(|error| not_json(&error))?;
    let mut faults = schema.repeated(body);
    faults.extend(schema.faults(&value));
    if faults.len() > MOST_FAULTS {
        // There may be others, which nothing that is read is to have.
        return Ok((None, faults));
    }
    if !faults.is_empty() {
        return Ok((serde_json::from_value(schema.mended(value, &faults)).ok(), faults));
    }
    drop(value);
    let mut json = serde_json::Deserializer::from_slice(body);
    let fields = match serde_path_to_error::deserialize(&mut json) {
        Ok(fields) => fields,
        Err(error) if error.inner().classify() == Category::Data => {
            let path = error.path().to_string();
            return Ok((None, vec![wrong_data(&path, error.inner())]));
        }
        Err(error) => return Err(not_json(error.inner())),
    };
    json.end().map_err(|error| not_json(&error))?;
    Ok((Some(fields), Vec::new()))
}

/// How many values a body has at most, if it is JSON: the first of each list and object, and one behind each comma.
fn values_in(body: &[u8]) -> usize {
    let (mut n, mut is_text, mut is_escaped) = (1, false, false);
    for byte in body {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_text = !is_text,
            b',' | b'[' | b'{' if !is_text => n += 1,
            _ => {}
        }
    }
    n
}

/// What a body says. A number without bounds, which only some fields keep, stands there as text.
fn value_of(body: &[u8]) -> Result<Value, serde_json::Error> {
    match serde_json::from_slice(body) {
        Err(error) if error.is_syntax() && error.to_string().starts_with("number out of range") => {
            serde_json::from_str(&portable(&String::from_utf8_lossy(body)))
        }
        read => read,
    }
}

fn not_json(error: &serde_json::Error) -> WebError {
    let why = format!("The body is not JSON: {error}.");
    WebError::body(StatusCode::BAD_REQUEST, FaultCode::Format, why).with_code(ProblemCode::InvalidJson)
}

fn wrong_data(path: &str, error: &serde_json::Error) -> Fault {
    let place = if path == "." { Place::Body(Vec::new()) } else { Place::field(path) };
    Fault::new(place, FaultCode::Invalid, without_place(error))
}

/// Without the line and column, which help only those who typed the JSON by hand.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(what, _)| what.to_owned())
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
        let check = |body: &str, part: &str| {
            let faults = match parse::<Body>(body.as_bytes()) {
                Ok((_, faults)) => faults,
                Err(error) => error.faults,
            };
            assert!(faults.iter().any(|fault| fault.to_string().contains(part)), "{body}: {faults:?}");
        };
        check("{", "not JSON");
        check("{} x", "not JSON");
        check(" []", "object");
        check("{\"idz\": []}", "idz");
        check("{\"ids\": [1, \"a\"]}", "ids[1]");
        check("{\"ids\": [300]}", "ids");
        check("{\"ids\": [], \"ids\": []}", "ids: it is given more than once");
        check("{\"ids\": 7, \"ids\": [], \"json\": 1e999}", "ids: it is given more than once");
        check(r#"{"json": [{"text": "\u0000"}]}"#, "json[0].text: it holds a NUL");
        check(r#"{"json": [{"n": 1e999, "text": "\u0000"}]}"#, "json[0].text: it holds a NUL");
        check(r#"{"json": 1e999} x"#, "not JSON");
        let (fields, faults) = parse::<Body>(br#"{"json": {"n": 1e999}}"#).unwrap();
        assert!(fields.is_some() && faults.is_empty(), "a number is kept as it is written");
    }

    /// What is made of a small body does not fill the memory.
    #[test]
    fn a_body_has_as_many_values_and_mistakes_as_somebody_reads() {
        let faults = |body: &str| match parse::<Body>(body.as_bytes()) {
            Ok((fields, faults)) => (fields.is_some(), faults),
            Err(error) => (false, error.faults),
        };
        let values = |n: usize| format!(r#"{{"json": [1{}]}}"#, ",1".repeat(n - 3));
        assert_eq!(values_in(values(MOST_VALUES).as_bytes()), MOST_VALUES);
        assert_eq!(faults(&values(MOST_VALUES)), (true, Vec::new()));
        let (is_read, wrong) = faults(&values(MOST_VALUES + 1));
        assert!(!is_read && wrong.len() == 1 && wrong[0].code == FaultCode::Length, "{wrong:?}");
        let (is_read, wrong) = faults(&format!(r#"{{"ids": ["x"{}]}}"#, r#", "x""#.repeat(1_000)));
        assert_eq!((is_read, wrong.len()), (false, MOST_FAULTS + 1));
        let (is_read, wrong) = faults(&format!(r#"{{"ids": 7, "json": "{}"}}"#, r#"\", ["#.repeat(MOST_VALUES)));
        assert_eq!((is_read, wrong.len()), (true, 1), "a text is one value, whatever stands in it");
        let nested = format!(r#"{{"json": {{"{}": [{}]}}}}"#, "x".repeat(1_000), vec![r#""\u0000""#; 100].join(", "));
        let (_, wrong) = faults(&nested);
        assert!(wrong.len() == 100 && wrong.iter().all(|fault| fault.to_string().len() < 400), "{}", wrong[0]);
    }
}
