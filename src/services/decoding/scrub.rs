//! Texts beside a payload that quote what is hidden in it.
//!
//! Best effort: a consumer may write a value down in words of its own. Exact copies are found.

use std::borrow::Cow;

use amqp_message::{
    error_report::ErrorReport,
    field::{FieldTable, FieldValue},
};
use payload_codec::message::MASK;

use super::reading::Reading;
use crate::domain::{disclosure::HiddenValues, letter::Letter};

/// The letter as it is shown beside that reading: its headers, ids and error say nothing that is hidden there.
pub fn scrub(letter: &mut Letter, reading: &Reading) {
    for name in &reading.hidden_headers {
        letter.message.headers.replace(name, FieldValue::string(MASK));
    }
    scrub_values(letter, &reading.hidden_values);
}

/// The same without headers that repeat the body.
pub(crate) fn scrub_values(letter: &mut Letter, hidden: &HiddenValues) {
    if hidden.is_empty() {
        return;
    }
    letter.message.headers = table(&letter.message.headers, hidden);
    let properties = &mut letter.message.properties;
    let ids = [&mut properties.message_id, &mut properties.correlation_id, &mut properties.app_id];
    let summary = &mut letter.summary;
    let texts = [&mut summary.error_type, &mut summary.error_message, &mut summary.title, &mut summary.problem];
    for text in texts.into_iter().chain(ids).flatten().chain(&mut letter.remarks) {
        if let Cow::Owned(scrubbed) = hidden.scrub(text) {
            *text = scrubbed;
        }
    }
}

/// The headers that say something that is hidden in the payload.
pub fn telling_headers(headers: &FieldTable, reading: &Reading) -> Vec<String> {
    let is_telling = |name: &str, field: &FieldValue| {
        reading.hidden_headers.contains(&name) || value(field, &reading.hidden_values) != *field
    };
    headers.iter().filter(|(name, field)| is_telling(name, field)).map(|(name, _)| name.to_owned()).collect()
}

/// An error that the body itself tells.
pub fn scrub_error(error: ErrorReport, hidden: &HiddenValues) -> ErrorReport {
    let scrubbed = |text: Option<String>| text.map(|text| hidden.scrub(&text).into_owned());
    ErrorReport { kind: scrubbed(error.kind), message: scrubbed(error.message), stacktrace: scrubbed(error.stacktrace) }
}

fn table(fields: &FieldTable, hidden: &HiddenValues) -> FieldTable {
    fields.iter().map(|(name, field)| (name.to_owned(), value(field, hidden))).collect()
}

fn value(field: &FieldValue, hidden: &HiddenValues) -> FieldValue {
    match field {
        FieldValue::LongString(bytes) => match hidden.scrub(&String::from_utf8_lossy(bytes)) {
            Cow::Owned(scrubbed) if scrubbed.contains(MASK) => FieldValue::LongString(scrubbed.into_bytes()),
            _ => field.clone(),
        },
        FieldValue::ByteArray(bytes) if hidden.scrub(&String::from_utf8_lossy(bytes)).contains(MASK) => {
            FieldValue::string(MASK)
        }
        FieldValue::Array(fields) => FieldValue::Array(fields.iter().map(|field| value(field, hidden)).collect()),
        FieldValue::Table(fields) => FieldValue::Table(table(fields, hidden)),
        _ if digits(field).is_some_and(|digits| is_one(&digits, hidden)) => FieldValue::string(MASK),
        _ => field.clone(),
    }
}

/// Whether a number is hidden: as a whole, as within another it is another.
fn is_one(digits: &str, hidden: &HiddenValues) -> bool {
    // In brackets: at the end of a text a value may be cut.
    hidden.scrub(&format!("({digits})")) == format!("({MASK})")
}

/// A number as it is written in a payload.
fn digits(field: &FieldValue) -> Option<String> {
    Some(match *field {
        FieldValue::Float(bits) => f32::from_bits(bits).to_string(),
        FieldValue::Double(bits) => f64::from_bits(bits).to_string(),
        FieldValue::Decimal { scale, value } => (f64::from(value) / 10_f64.powi(scale.into())).to_string(),
        FieldValue::Timestamp(seconds) => seconds.to_string(),
        _ => field.as_i64()?.to_string(),
    })
}
