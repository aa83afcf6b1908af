//! From a delivery to what the database is told.

use std::{hash::Hash, time::Duration};

use amqp_message::{error_report::ErrorReport, message::Message, time::Timestamp};
use failure_conventions::{Failure, dlo_headers, inner_body::InnerBodies};
use xxhash_rust::xxh3::Xxh3;

use super::source::IntakeSource;
use crate::{
    domain::letter::{Importance, LetterId},
    rabbitmq::Delivery,
    services::ids,
    store::{Arrival, Fingerprint},
};

/// Headers that the queue writes anew at each delivery.
const CHANGE_ON_REDELIVERY: [&str; 2] = ["x-delivery-count", "x-acquired-count"];

/// Reads a delivery that came in at `now` as the `n`th of its batch; each gets a time of its own, so that letters of
/// one batch keep their order.
pub(crate) fn arrival(
    delivery: Delivery,
    source: &IntakeSource,
    bodies: &InnerBodies,
    now: Timestamp,
    n: u64,
) -> Arrival {
    let Delivery { message, redelivered, mut remarks, .. } = delivery;
    let received_at = now.plus(Duration::from_micros(n));
    let account = failure_conventions::read(&message);
    let headers = account.headers(&message);
    // The attempts belong to one queue: what fails in another is another matter.
    let returning =
        LetterId::from_headers(headers).filter(|_| account.failure.queue.as_deref() == dlo_headers::dlo_queue(headers));
    let failure = storable(account.failure, &mut remarks);
    Arrival {
        id: ids::letter(received_at),
        returning,
        fingerprint: fingerprint(&message),
        redelivered,
        received_at,
        decision: source.decision(&failure, bodies),
        failure,
        importance: Importance::Normal,
        importance_by: "default",
        message: storable_address(message),
        remarks,
    }
}

fn fingerprint(message: &Message) -> Fingerprint {
    let mut hash = Xxh3::new();
    for text in [&message.exchange, &message.routing_key] {
        text.hash(&mut hash);
    }
    message.properties.hash(&mut hash);
    for header in message.headers.iter().filter(|(name, _)| !CHANGE_ON_REDELIVERY.contains(name)) {
        header.hash(&mut hash);
    }
    message.body.hash(&mut hash);
    Fingerprint(hash.digest128())
}

/// Postgres keeps no NUL in text (<https://www.postgresql.org/docs/current/datatype-character.html>). The headers
/// keep theirs: they are stored as JSON, which escapes it.
fn storable(mut failure: Failure, remarks: &mut Vec<String>) -> Failure {
    if failure.queue.as_deref().is_some_and(has_nul) {
        remarks.push("the queue it names holds a NUL character, so it is taken for unknown".to_owned());
        failure.queue = None;
    }
    failure.exchange = without_nul(failure.exchange);
    failure.routing_key = without_nul(failure.routing_key);
    failure.message_type = failure.message_type.map(without_nul);
    failure.error = failure.error.map(|error| ErrorReport {
        kind: error.kind.map(without_nul),
        message: error.message.map(without_nul),
        // It is read from the message again where it is shown. Here, only its first line may stand for a message.
        stacktrace: error.stacktrace.and_then(|trace| trace.lines().next().map(|line| without_nul(line.to_owned()))),
    });
    failure
}

fn storable_address(message: Message) -> Message {
    Message { exchange: without_nul(message.exchange), routing_key: without_nul(message.routing_key), ..message }
}

fn without_nul(text: String) -> String {
    if has_nul(&text) { text.replace('\0', "\u{fffd}") } else { text }
}

fn has_nul(text: &str) -> bool {
    text.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use amqp_message::field::FieldValue;

    fn delivery(message: Message) -> Delivery {
        Delivery { tag: 1, message, redelivered: false, remarks: Vec::new() }
    }

    fn with_header(name: &str, value: FieldValue) -> Message {
        let mut message = Message { body: b"body".to_vec(), ..Message::default() };
        message.headers.set(name, value);
        message
    }

    #[test]
    fn a_redelivery_has_the_same_fingerprint() {
        let first = with_header("x-delivery-count", FieldValue::LongLongInt(0));
        let again = with_header("x-delivery-count", FieldValue::LongLongInt(1));
        assert_eq!(fingerprint(&first), fingerprint(&again));
        assert_ne!(fingerprint(&first), fingerprint(&with_header("other", FieldValue::Void)));
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let one = Message { exchange: "ab".into(), ..Message::default() };
        let other = Message { exchange: "a".into(), routing_key: "b".into(), ..Message::default() };
        assert_ne!(fingerprint(&one), fingerprint(&other));
    }

    #[test]
    fn letters_of_a_batch_keep_their_order() {
        let now = Timestamp::from_micros(1);
        let letters: Vec<Arrival> = (0..3)
            .map(|n| arrival(delivery(Message::default()), &IntakeSource::Obituaries, &InnerBodies::default(), now, n))
            .collect();
        assert!(letters.is_sorted_by_key(|letter| letter.received_at));
    }

    #[test]
    fn a_nul_stands_in_no_column_of_text() {
        let mut message = Message { routing_key: "a\0b".into(), ..Message::default() };
        let death =
            [("queue".to_owned(), FieldValue::string("q\0")), ("reason".to_owned(), FieldValue::string("rejected"))];
        let deaths = vec![FieldValue::Table(death.into_iter().collect())];
        message.headers.set("x-death", FieldValue::Array(deaths));
        let letter =
            arrival(delivery(message), &IntakeSource::Obituaries, &InnerBodies::default(), Timestamp::default(), 0);
        assert_eq!(letter.failure.queue, None);
        assert_eq!(letter.remarks.len(), 1);
        assert_eq!(letter.message.routing_key, "a\u{fffd}b");
    }
}
