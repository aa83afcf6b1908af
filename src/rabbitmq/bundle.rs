//! Several messages in one, as they wait in RabbitMQ.
//!
//! A bundle says in its headers which queue its messages go to (`dlo-queue`) and how many they are (`dlo-messages`). Its
//! body has four parts for each of them, each after its length in four octets, the highest first:
//!
//! 1. JSON: why it failed, and the routing key that it keeps
//! 2. its properties and
//! 3. its headers, as [typed JSON](amqp_message::json)
//! 4. its body

use amqp_message::{json, message::Message};
use failure_conventions::dlo_headers;
use lapin::{BasicProperties, types::FieldTable};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::declarations::text;
use crate::domain::{
    letter::LetterId,
    retry::{Destination, OutgoingRetry},
};

/// Messages in one bundle at most. More gains nothing.
pub const BUNDLE: usize = 100;
/// Bytes of a bundle, unless a single message takes more: a broker may refuse large messages.
const BYTES: usize = 256 * 1024;

/// The property `type` of a bundle, which names its form.
const KIND: &str = "dlo.bundle.1";
/// How many messages are in it.
const COUNT: &str = "dlo-messages";
/// A message that is on disk before it is confirmed.
const PERSISTENT: u8 = 2;

/// What is no bundle of ours, and why, in words.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("it is no bundle: {0}")]
pub struct NoBundle(String);

/// What a message's own properties and headers do not say of it.
#[derive(Serialize, Deserialize)]
struct Terms {
    reason: String,
    routing_key: Option<String>,
}

/// Whether a bundle has room for one more message, which would make it so many `bytes`.
pub(super) const fn has_room(messages: usize, bytes: usize) -> bool {
    messages < BUNDLE && bytes <= BYTES
}

/// The properties of a bundle of so many messages for one queue. It goes by the id of its first.
pub(super) fn properties(first: &OutgoingRetry, messages: usize) -> BasicProperties {
    let mut headers = FieldTable::default();
    headers.insert(dlo_headers::ID.into(), text(&first.id.to_string()));
    of(headers, &first.destination.queue, messages)
}

/// The properties of a bundle of nothing, whose body is empty.
pub(super) fn empty(queue: &str) -> BasicProperties {
    of(FieldTable::default(), queue, 0)
}

fn of(mut headers: FieldTable, queue: &str, messages: usize) -> BasicProperties {
    headers.insert(dlo_headers::QUEUE.into(), text(queue));
    headers.insert(COUNT.into(), text(&messages.to_string()));
    BasicProperties::default().with_type(KIND.into()).with_delivery_mode(PERSISTENT).with_headers(headers)
}

/// A message as it stands in the body of a bundle.
pub(super) fn pack(retry: &OutgoingRetry) -> Vec<u8> {
    let OutgoingRetry { destination, reason, message, .. } = retry;
    let terms = Terms { reason: reason.as_str().to_owned(), routing_key: destination.routing_key.clone() };
    let mut body = Vec::with_capacity(message.body.len() + 512);
    // Cannot fail: it is written to memory.
    put(&mut body, &serde_json::to_vec(&terms).unwrap_or_default());
    put(&mut body, json::properties_to_string(&message.properties).as_bytes());
    put(&mut body, json::table_to_string(&message.headers).as_bytes());
    put(&mut body, &message.body);
    body
}

fn put(body: &mut Vec<u8>, part: &[u8]) {
    // AMQP has no message of more than 4 GiB.
    let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
    body.extend(length.to_be_bytes());
    body.extend(part);
}

/// The messages of a bundle, each on its way straight to its queue.
///
/// # Errors
/// Somebody else has published it, or a version of dlo that this one does not know.
pub fn unpack(bundle: &Message) -> Result<Vec<OutgoingRetry>, NoBundle> {
    if bundle.properties.kind.as_deref() != Some(KIND) {
        return Err(NoBundle("its type is another".to_owned()));
    }
    let queue = dlo_headers::dlo_queue(&bundle.headers).ok_or_else(|| NoBundle("it names no queue".to_owned()))?;
    let mut rest = &*bundle.body;
    let mut retries = Vec::with_capacity(BUNDLE);
    while !rest.is_empty() {
        retries.push(take_message(&mut rest, queue)?);
    }
    Ok(retries)
}

fn take_message(rest: &mut &[u8], queue: &str) -> Result<OutgoingRetry, NoBundle> {
    let terms: Terms = serde_json::from_slice(take(rest)?).map_err(malformed)?;
    let properties = serde_json::from_slice(take(rest)?).map_err(malformed)?;
    let headers = serde_json::from_slice(take(rest)?).map_err(malformed)?;
    let message = Message {
        exchange: String::new(),
        routing_key: queue.to_owned(),
        properties: json::properties_from_json(&properties).map_err(malformed)?,
        headers: json::table_from_json(&headers).map_err(malformed)?,
        body: take(rest)?.to_vec(),
    };
    let id = LetterId::from_headers(&message.headers).ok_or_else(|| malformed("a message in it has no id"))?;
    let destination = Destination { routing_key: terms.routing_key, ..Destination::straight_to(queue) };
    Ok(OutgoingRetry { id, destination, reason: terms.reason.parse().unwrap_or_default(), message })
}

fn take<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], NoBundle> {
    let (length, after) = rest.split_first_chunk().ok_or_else(|| malformed("it is cut off"))?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(malformed)?;
    let (part, after) = after.split_at_checked(length).ok_or_else(|| malformed("it is cut off"))?;
    *rest = after;
    Ok(part)
}

fn malformed(why: impl ToString) -> NoBundle {
    NoBundle(why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::letter::LetterId, rabbitmq::convert};
    use amqp_message::{
        death::Reason,
        field::{FieldTable, FieldValue},
        message::Properties,
    };

    fn retry(n: u8, routing_key: Option<&str>, body: &[u8]) -> OutgoingRetry {
        let id = LetterId::from_uuid(uuid::Uuid::from_bytes([n; 16]));
        let mut message = Message { routing_key: "orders".to_owned(), body: body.to_vec(), ..Message::default() };
        message.properties =
            Properties { message_id: Some("m".to_owned()), priority: Some(n), ..Properties::default() };
        message.headers.set("tenant", FieldValue::LongInt(n.into()));
        dlo_headers::write(
            &mut message.headers,
            id,
            "orders",
            failure_conventions::FailureCount { attempts: 1, rounds: 1 },
        );
        let destination =
            Destination { routing_key: routing_key.map(str::to_owned), ..Destination::straight_to("orders") };
        OutgoingRetry { id, destination, reason: Reason::Expired, message }
    }

    fn packed(retries: &[OutgoingRetry]) -> Message {
        let (properties, headers) = convert::properties_from_lapin(&properties(&retries[0], retries.len()));
        let body = retries.iter().flat_map(pack).collect();
        Message { properties, headers, body, ..Message::default() }
    }

    #[test]
    fn what_is_packed_comes_out_again() {
        let retries = [retry(1, None, b"one"), retry(2, Some(""), b""), retry(3, Some("a.b"), &[0; 70_000])];
        let bundle = packed(&retries);
        assert_eq!(bundle.headers.get_str(COUNT), Some("3"));
        assert_eq!(bundle.properties.delivery_mode, Some(2));
        assert_eq!(unpack(&bundle).unwrap(), retries);
    }

    #[test]
    fn an_empty_bundle_is_one() {
        let (properties, headers) = convert::properties_from_lapin(&empty("orders"));
        assert_eq!(unpack(&Message { properties, headers, ..Message::default() }), Ok(Vec::new()));
    }

    #[test]
    fn any_change_of_a_bundle_is_read_or_reported() {
        let whole = packed(&[retry(1, Some("key"), b"body"), retry(2, None, b"")]);
        arbtest::arbtest(|u| {
            let mut body = whole.body.clone();
            for _ in 0..u.int_in_range(1..=4_u8)? {
                let at = u.int_in_range(0..=body.len())?;
                let end = at.saturating_add(u.int_in_range(0..=8)?).min(body.len());
                body.splice(at..end, u.arbitrary::<[u8; 8]>()?.into_iter().take(u.int_in_range(0..=8)?));
            }
            if let Ok(retries) = unpack(&Message { body: body.clone(), ..whole.clone() }) {
                let bodies: usize = retries.iter().map(|retry| retry.message.body.len()).sum();
                assert!(bodies <= body.len());
            }
            Ok(())
        });
    }

    #[test]
    fn what_is_cut_off_or_not_ours_is_reported() {
        let whole = packed(&[retry(1, Some("key"), b"body")]);
        for length in 1..whole.body.len() {
            let body = whole.body[..length].to_vec();
            assert!(unpack(&Message { body, ..whole.clone() }).is_err(), "{length}");
        }
        let properties = Properties { kind: Some("order.placed".to_owned()), ..Properties::default() };
        assert!(unpack(&Message { properties, ..whole.clone() }).is_err());
        assert!(unpack(&Message { headers: FieldTable::default(), ..whole }).is_err());
    }
}
