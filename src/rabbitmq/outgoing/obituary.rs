//! The message that says of a message that its retries are used up.

use amqp_message::{
    death::Reason,
    field::{FieldTable, FieldValue},
    message::Message,
};
use failure_conventions::{Failure, FailureCount, dlo_headers};

use super::message::outgoing;
use crate::domain::letter::LetterId;

/// `message` as an obituary on its way to `target`, the obituary queue, in the form that the docs describe.
///
/// Its own deaths go along. Everywhere else `x-death` is dangerous to publish; here nobody but dlo reads it, and
/// it is the only account there is.
pub fn obituary(id: LetterId, message: &Message, failure: &Failure, target: &str) -> Message {
    let mut obituary = outgoing(id, message.clone(), None, target, FailureCount::default());
    for (name, value) in message.headers.iter().filter(|(name, _)| is_account(name)) {
        obituary.headers.set(name, value.clone());
    }
    write(&mut obituary.headers, id, failure);
    obituary
}

/// `message`, which was on its way back to `queue` and could not be brought there, as an obituary.
pub fn undeliverable(id: LetterId, message: &Message, queue: &str, reason: Reason, why: &str, target: &str) -> Message {
    let (exchange, routing_key) = dlo_headers::dlo_address(&message.headers).unwrap_or_default();
    let count = dlo_headers::dlo_count(&message.headers, queue).unwrap_or(FailureCount { attempts: 1, rounds: 1 });
    let failure = Failure {
        queue: Some(queue.to_owned()),
        reason,
        exchange: exchange.to_owned(),
        routing_key: routing_key.to_owned(),
        attempts: count.attempts,
        rounds: count.rounds,
        ..Failure::default()
    };
    let mut obituary = obituary(id, message, &failure, target);
    obituary.headers.set(dlo_headers::ERROR_MESSAGE, FieldValue::string(format!("it could not be sent back: {why}")));
    obituary.headers.set(dlo_headers::WAITED, FieldValue::string("true"));
    obituary
}

fn is_account(name: &str) -> bool {
    name == "x-death" || name.starts_with("x-first-death-") || name.starts_with("x-last-death-")
}

fn write(headers: &mut FieldTable, id: LetterId, failure: &Failure) {
    headers.remove_where(|name| name == dlo_headers::QUEUE);
    if let Some(queue) = &failure.queue {
        dlo_headers::write(headers, id, queue, failure.count());
        dlo_headers::write_address(headers, &failure.exchange, &failure.routing_key);
        headers.set(dlo_headers::REASON, FieldValue::string(failure.reason.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn it_says_what_the_dead_letter_cannot_say_any_more() {
        let failure = Failure {
            queue: Some("orders".to_owned()),
            reason: Reason::Expired,
            exchange: "events".to_owned(),
            routing_key: "order.placed".to_owned(),
            attempts: 4,
            ..Failure::default()
        };
        let mut message = Message { exchange: "dlx".to_owned(), ..Message::default() };
        message.properties.expiration = Some("1".to_owned());
        message.headers.set("CC", FieldValue::Array(vec![FieldValue::string("other")]));
        let id = "019a8b7c-0000-7000-8000-000000000001".parse().unwrap();
        let obituary = obituary(id, &message, &failure, "dlo.obituaries");
        assert_eq!((&*obituary.exchange, &*obituary.routing_key), ("", "dlo.obituaries"));
        let told = |name| obituary.headers.get_str(name);
        assert_eq!((told(dlo_headers::REASON), told(dlo_headers::EXCHANGE)), (Some("expired"), Some("events")));
        assert_eq!(told(dlo_headers::ROUTING_KEY), Some("order.placed"));
        assert_eq!(dlo_headers::dlo_attempts(&obituary.headers, "orders"), Some(4));
        assert_eq!(LetterId::from_headers(&obituary.headers), Some(id));
        assert_eq!((obituary.headers.get("CC"), obituary.properties.expiration), (None, None));
        assert!(!dlo_headers::has_waited(&obituary.headers));
    }

    #[test]
    fn what_cannot_be_brought_back_says_where_it_was_going_and_why_not() {
        let id = "019a8b7c-0000-7000-8000-000000000001".parse().unwrap();
        let mut message = Message::default();
        dlo_headers::write(&mut message.headers, id, "orders", FailureCount { attempts: 3, rounds: 1 });
        dlo_headers::write_address(&mut message.headers, "events", "order.placed");
        let obituary = undeliverable(id, &message, "orders", Reason::Expired, "no queue", "dlo.obituaries");
        let told = |name| obituary.headers.get_str(name);
        assert_eq!((told(dlo_headers::QUEUE), told(dlo_headers::REASON)), (Some("orders"), Some("expired")));
        assert_eq!((told(dlo_headers::EXCHANGE), told(dlo_headers::ATTEMPTS)), (Some("events"), Some("3")));
        assert_eq!(told(dlo_headers::ERROR_MESSAGE), Some("it could not be sent back: no queue"));
        assert!(dlo_headers::has_waited(&obituary.headers));
    }
}
