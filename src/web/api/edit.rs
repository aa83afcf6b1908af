//! What a call says about an edit.

use std::{collections::BTreeMap, sync::Arc};

use amqp_message::{json::value_from_json, message::Message};
use axum::http::StatusCode;
use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    domain::{
        edit::{HeaderEdit, Property, PropertyEdit},
        letter::Letter,
    },
    services::{
        decoding::reading::{EditProblem, EditedAs},
        triage::edits::check_header,
    },
    web::{
        error::{
            Gathered, MOST_FAULTS, WebError,
            codes::FaultCode,
            fault::{Fault, Place},
        },
        state::AppState,
    },
};

/// Changes to headers. What neither names stays as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HeaderChanges {
    /// Headers that are to have this value, whether they were there or not: a string or a boolean as it is, any other type as
    /// `{"t": type, "v": value}`.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, Value>, example = json!({"tenant": "acme", "version": {"t": "long", "v": 3}}))]
    set: BTreeMap<String, Value>,
    /// Headers that are to go.
    #[serde(default)]
    remove: Vec<String>,
}

impl HeaderChanges {
    /// The changes, as far as they are possible in this message.
    pub fn read(&self, message: &Message) -> Result<Vec<HeaderEdit>, WebError> {
        let set = self.set.iter().map(|(name, value)| (vec!["set", name], set_header(name, value)));
        let places: Vec<String> = (0..self.remove.len()).map(|place| place.to_string()).collect();
        let removed = self.remove.iter().zip(&places);
        let remove =
            removed.map(|(name, place)| (vec!["remove", place], Ok(HeaderEdit::Remove { name: name.clone() })));
        let (mut faults, mut edits) = (Vec::new(), Vec::new());
        for (steps, edit) in set.chain(remove) {
            match edit.map_err(|why| (FaultCode::Type, why)).and_then(|edit| self.checked(message, edit)) {
                Ok(edit) => edits.push(edit),
                Err((code, why)) => {
                    let steps = ["headers"].into_iter().chain(steps).map(str::to_owned);
                    faults.push(Fault::new(Place::Body(steps.collect()), code, why));
                }
            }
        }
        if faults.is_empty() { Ok(edits) } else { Err(WebError::of_faults(StatusCode::UNPROCESSABLE_ENTITY, faults)) }
    }

    fn checked(&self, message: &Message, edit: HeaderEdit) -> Result<HeaderEdit, (FaultCode, String)> {
        if matches!(edit, HeaderEdit::Remove { .. }) && self.set.contains_key(edit.name()) {
            return Err((FaultCode::Excluded, format!("{:?} is both set and removed", edit.name())));
        }
        check_header(message, &edit).map_err(|why| (FaultCode::Invalid, why))?;
        Ok(edit)
    }
}

fn set_header(name: &str, value: &Value) -> Result<HeaderEdit, String> {
    if value.is_null() {
        return Err("null is no value of a header here; one that is to go is named in remove".to_owned());
    }
    value_from_json(value).map(|value| HeaderEdit::Set { name: name.to_owned(), value })
}

/// Changes to properties: `null` removes one, and what is not named stays as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PropertyChanges {
    /// The media type of the body.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, max_length = 255)]
    content_type: Option<Option<String>>,
    /// How the body is compressed; this changes what is said of it, not the body.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, max_length = 255)]
    content_encoding: Option<Option<String>>,
    /// What kind of message it is.
    #[serde(default, rename = "type", deserialize_with = "given")]
    #[schema(value_type = Option<String>, max_length = 255)]
    kind: Option<Option<String>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u8>, minimum = 0, maximum = 255)]
    priority: Option<Option<Number>>,
    /// Milliseconds, in digits, for which the retried message may wait in its queue. The one that the letter came with never
    /// goes out.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, pattern = "^[0-9]+$")]
    expiration: Option<Option<String>>,
}

/// So that one that is out of range is told what it takes.
type Number = serde_json::Number;

/// Tells `null` from nothing.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(from).map(Some)
}

impl PropertyChanges {
    pub fn read(self) -> Result<Vec<PropertyEdit>, WebError> {
        let priority = self.priority.map(|priority| priority.map(|number| number.to_string()));
        let changes = [
            (Property::ContentType, self.content_type),
            (Property::ContentEncoding, self.content_encoding),
            (Property::Type, self.kind),
            (Property::Priority, priority),
            (Property::Expiration, self.expiration),
        ];
        let (mut gathered, mut edits) = (Gathered::default(), Vec::new());
        for (property, value) in changes.into_iter().filter_map(|(property, value)| Some((property, value?))) {
            match PropertyEdit::new(property, value) {
                Ok(edit) => edits.push(edit),
                Err(why) => {
                    gathered.add(WebError::field(&format!("properties.{property}"), FaultCode::Format, why));
                }
            }
        }
        gathered.end().map(|()| edits)
    }
}

/// The body that a call asks for: all the bytes that the letter is to have, in the encoding that the database keeps it in;
/// `None` where it says nothing about the body.
pub fn edited_body(body_base64: Option<&str>) -> Result<Option<Vec<u8>>, WebError> {
    let decode = |text: &str| BASE64_STANDARD.decode(text);
    let body = body_base64.map(decode).transpose();
    body.map_err(|why| {
        WebError::field("body_base64", FaultCode::Format, format!("it is no base64 as of RFC 4648, section 4: {why}"))
    })
}

/// The body of a letter with another payload. No digit of its numbers is lost.
pub async fn edited_payload(
    app: &AppState,
    letter: Letter,
    text: String,
    edited: EditedAs,
) -> Result<Vec<u8>, WebError> {
    let written = app.reader.write(&Arc::new(letter), text.clone(), edited).await;
    written.map_err(|problems| {
        let field = if edited == EditedAs::Text { "text" } else { "json" };
        let given = serde_json::from_str(&text).unwrap_or_default();
        // Without line and column: those are of our own layout.
        let fault = |problem: &EditProblem| {
            let place = as_given(Place::within(field, &problem.path), &given);
            Fault::new(place, FaultCode::Invalid, &problem.reason)
        };
        let faults = problems.iter().take(MOST_FAULTS + 1).map(fault).collect();
        WebError::of_faults(StatusCode::UNPROCESSABLE_ENTITY, faults)
    })
}

/// Problems name fields as the schema does, and JSON may name them in its own way: `country_code`, `countryCode`.
fn as_given(place: Place, given: &Value) -> Place {
    let Place::Body(steps) = place else { return place };
    let mut at = Some(given);
    let named = steps.into_iter().enumerate().map(|(depth, step)| {
        if depth == 0 {
            return step;
        }
        let fields = at.and_then(Value::as_object);
        let is_it = |name: &&String| name.replace('_', "").eq_ignore_ascii_case(&step.replace('_', ""));
        let name = fields.and_then(|fields| fields.keys().find(is_it)).cloned().unwrap_or(step);
        at = at.and_then(|at| name.parse::<usize>().ok().and_then(|place| at.get(place)).or_else(|| at.get(&name)));
        name
    });
    Place::Body(named.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_given_in_base64() {
        let check = |text, expected: Option<&[u8]>| {
            assert_eq!(edited_body(text).unwrap().as_deref(), expected, "{text:?}");
        };
        check(None, None);
        check(Some(""), Some(b""));
        check(Some("AP+A"), Some(b"\x00\xff\x80"));
        for wrong in ["AP-A", "AP+", "{}"] {
            let detail = edited_body(Some(wrong)).unwrap_err().detail;
            assert!(detail.starts_with("body_base64: "), "{detail}");
        }
    }
}
