//! What rules see of a message.

use std::{fmt, sync::OnceLock};

use amqp_message::{death::Reason, error_report, field::FieldTable, time::Timestamp};
use serde_json::Value as Json;

use super::{
    failure::Fault,
    limits::{MAX_PAYLOAD, MAX_PAYLOAD_VALUES},
    node::LetterField,
    value::{Map, Value},
};

/// What a rule sees as `letter`: what is known of a message and its failure. What is `None` is missing, and makes a rule
/// that asks for it not match.
#[derive(Clone, Copy, Debug)]
pub struct LetterFacts<'a> {
    /// The name of the RabbitMQ broker that it came from.
    pub broker: &'a str,
    /// The queue in which it failed.
    pub queue: Option<&'a str>,
    /// The exchange to which it was published, empty for the default one.
    pub exchange: &'a str,
    /// The routing key with which it was published.
    pub routing_key: &'a str,
    /// Why RabbitMQ dead-lettered it.
    pub reason: Reason,
    /// How often it failed.
    pub attempts: u64,
    /// `letter.type`: what kind of message it is.
    pub message_type: Option<&'a str>,
    /// The message's headers, each under its name.
    pub headers: &'a FieldTable,
    /// The class or kind of the error.
    pub error_type: Option<&'a str>,
    /// What the error says. `letter.error` is its first line behind the type.
    pub error_message: Option<&'a str>,
    /// Bytes of the body.
    pub size: u64,
    /// When it failed for the first time.
    pub first_failed_at: Option<Timestamp>,
    /// When it failed for the last time.
    pub last_failed_at: Timestamp,
}

/// All that rules see of one message. Making it costs nothing; what rules ask for is read once, when the first asks.
pub struct Facts<'a> {
    letter: LetterFacts<'a>,
    payload: Payload<'a>,
    /// The payload, where it is JSON.
    read: OnceLock<Result<Option<Json>, Fault>>,
    headline: OnceLock<Option<String>>,
}

/// Decodes a body to the text of its JSON; `None` where that is not possible.
pub type Decode<'a> = dyn Fn() -> Option<String> + Sync + 'a;

enum Payload<'a> {
    Decoded(Option<&'a str>),
    Pending(&'a Decode<'a>),
}

impl<'a> Facts<'a> {
    /// `payload` is the decoded body as JSON, `None` where it was not decoded. A text that is no JSON is as good as
    /// none. Of members of the same name the last counts.
    pub const fn new(letter: LetterFacts<'a>, payload: Option<&'a str>) -> Self {
        Self { letter, payload: Payload::Decoded(payload), read: OnceLock::new(), headline: OnceLock::new() }
    }

    /// `payload` decodes the body. It is called once if a rule gets as far as to ask for the payload, else never.
    pub const fn decoding(letter: LetterFacts<'a>, payload: &'a Decode<'a>) -> Self {
        Self { letter, payload: Payload::Pending(payload), read: OnceLock::new(), headline: OnceLock::new() }
    }

    pub(super) fn payload(&self) -> Result<Option<&Json>, Fault> {
        let read = self.read.get_or_init(|| match self.payload {
            Payload::Decoded(text) => text.map_or(Ok(None), read),
            Payload::Pending(decode) => decode().map_or(Ok(None), |text| read(&text)),
        });
        read.as_ref().map(Option::as_ref).map_err(|fault| *fault)
    }

    pub(super) fn letter(&self, field: LetterField) -> Option<Value<'_>> {
        let letter = &self.letter;
        Some(match field {
            LetterField::Queue => Value::text(letter.queue?),
            LetterField::Exchange => Value::text(letter.exchange),
            LetterField::RoutingKey => Value::text(letter.routing_key),
            LetterField::Broker => Value::text(letter.broker),
            LetterField::Reason => Value::text(letter.reason.as_str()),
            LetterField::Attempts => Value::Int(letter.attempts.into()),
            LetterField::Type => Value::text(letter.message_type?),
            LetterField::Headers => Value::Map(Map::Fields(letter.headers)),
            LetterField::Error => Value::text(self.headline()?),
            LetterField::ErrorType => Value::text(letter.error_type?),
            LetterField::ErrorMessage => Value::text(letter.error_message?),
            LetterField::Size => Value::Int(letter.size.into()),
            LetterField::FirstFailedAt => Value::Timestamp(letter.first_failed_at?.as_micros()),
            LetterField::LastFailedAt => Value::Timestamp(letter.last_failed_at.as_micros()),
        })
    }

    fn headline(&self) -> Option<&str> {
        let LetterFacts { error_type, error_message, .. } = self.letter;
        self.headline.get_or_init(|| error_report::headline(error_type, error_message)).as_deref()
    }
}

/// Without the payload, which has no place in a log.
impl fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Facts").field("queue", &self.letter.queue).finish_non_exhaustive()
    }
}

fn read(text: &str) -> Result<Option<Json>, Fault> {
    // Each value but the first stands behind one of these, so that there are no more values than they and one.
    let n_values = || text.bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
    if text.len() > MAX_PAYLOAD || n_values() > MAX_PAYLOAD_VALUES {
        return Err(Fault::PayloadTooLarge);
    }
    // It bounds how deep values stand in each other, which makes what comes after it, and dropping, safe to recurse.
    Ok(serde_json::from_str(text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_read_within_bounds() {
        assert_eq!(read("{\"a\":1}").map(|json| json.is_some()), Ok(true));
        assert_eq!(read("{\"a\":").map(|json| json.is_some()), Ok(false));
        assert_eq!(read(&format!("\"{}\"", "a".repeat(MAX_PAYLOAD - 2))).map(|json| json.is_some()), Ok(true));
        assert_eq!(read(&format!("\"{}\"", "a".repeat(MAX_PAYLOAD - 1))), Err(Fault::PayloadTooLarge));
        assert_eq!(read(&format!("[{}]", ",".repeat(MAX_PAYLOAD_VALUES))), Err(Fault::PayloadTooLarge));
        assert_eq!(read(&"[".repeat(MAX_PAYLOAD_VALUES)), Ok(None));
    }
}
