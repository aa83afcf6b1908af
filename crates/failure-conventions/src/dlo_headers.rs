//! The headers that dlo writes on what it sends back, and those that other services can write for it.
//!
//! All are strings, since some clients refuse any other type, and none begins with `x-`, which RabbitMQ 4 keeps to
//! itself. They survive a reject and the copies most frameworks make.

use std::fmt::Display;

use amqp_message::field::{FieldTable, FieldValue};
use uuid::Uuid;

use crate::failure::FailureCount;

/// What all of their names begin with.
pub const PREFIX: &str = "dlo-";

/// Defines the headers, and the list of them for whoever describes them.
macro_rules! headers {
    ($(#[doc = $meaning:literal] $name:ident = $text:literal;)*) => {
        $(#[doc = $meaning] pub const $name: &str = $text;)*

        /// All of them, each with what it says.
        pub const ALL: &[(&str, &str)] = &[$(($text, $meaning)),*];
    };
}

headers! {
    /// a UUID that names the letter, the same for its whole life
    ID = "dlo-id";
    /// how often it has failed so far in the queue of `dlo-queue`
    ATTEMPTS = "dlo-attempts";
    /// how often dlo has seen it fail there: the attempts without those that its framework made by itself in between
    ROUNDS = "dlo-rounds";
    /// the queue where it failed, to which attempts and rounds belong
    QUEUE = "dlo-queue";
    /// the exchange it was first published to
    EXCHANGE = "dlo-exchange";
    /// the routing key it was first published with
    ROUTING_KEY = "dlo-routing-key";
    /// why it failed: `rejected`, `expired`, `maxlen`, `delivery_limit` or `unknown`; it makes a message an obituary
    REASON = "dlo-reason";
    /// the class of the error
    ERROR_TYPE = "dlo-error-type";
    /// what the error says
    ERROR_MESSAGE = "dlo-error-message";
    /// the stack trace
    ERROR_STACKTRACE = "dlo-error-stacktrace";
    /// when it failed, in RFC 3339
    FAILED_AT = "dlo-failed-at";
    /// that it waited in RabbitMQ and could not be sent back, so that its failure is counted already; written by dlo alone
    WAITED = "dlo-waited";
}

/// Those that every retry has. RabbitMQ forgets the first address with the first retry; only what waits in RabbitMQ has
/// that in headers, too.
pub const WRITTEN: [&str; 4] = [ID, ATTEMPTS, ROUNDS, QUEUE];

/// The id of the dead letter that this message was before.
pub fn dlo_id(headers: &FieldTable) -> Option<Uuid> {
    headers.get_str(ID)?.parse().ok()
}

/// The queue it was last sent back to.
pub fn dlo_queue(headers: &FieldTable) -> Option<&str> {
    headers.get_str(QUEUE)
}

/// How often it had failed in `queue` when it was sent back there; attempts in another queue do not count.
pub fn dlo_attempts(headers: &FieldTable, queue: &str) -> Option<u64> {
    if dlo_queue(headers)? != queue {
        return None;
    }
    headers.get_str(ATTEMPTS)?.parse().ok()
}

/// How often dlo had seen it fail in `queue` when it was sent back there.
pub fn dlo_rounds(headers: &FieldTable, queue: &str) -> Option<u64> {
    if dlo_queue(headers)? != queue {
        return None;
    }
    headers.get_str(ROUNDS)?.parse().ok()
}

/// How often it had failed in `queue` when it was sent back there. Where the rounds are lost there were no more of them
/// than attempts.
pub fn dlo_count(headers: &FieldTable, queue: &str) -> Option<FailureCount> {
    let attempts = dlo_attempts(headers, queue)?;
    Some(FailureCount { attempts, rounds: dlo_rounds(headers, queue).unwrap_or(attempts) })
}

/// The exchange and routing key it was first published with.
pub fn dlo_address(headers: &FieldTable) -> Option<(&str, &str)> {
    Some((headers.get_str(EXCHANGE)?, headers.get_str(ROUTING_KEY)?))
}

/// Whether it waited in RabbitMQ when it was given up.
pub fn has_waited(headers: &FieldTable) -> bool {
    headers.get(WAITED).is_some()
}

/// Marks a message with the exchange and routing key it was first published with.
pub fn write_address(headers: &mut FieldTable, exchange: &str, routing_key: &str) {
    headers.set(EXCHANGE, FieldValue::string(exchange));
    headers.set(ROUTING_KEY, FieldValue::string(routing_key));
}

/// Marks a message as `id` on its way to `queue`, where it has failed so often.
pub fn write(headers: &mut FieldTable, id: impl Display, queue: &str, count: FailureCount) {
    headers.set(ID, FieldValue::string(id.to_string()));
    headers.set(ATTEMPTS, FieldValue::string(count.attempts.to_string()));
    headers.set(ROUNDS, FieldValue::string(count.rounds.to_string()));
    headers.set(QUEUE, FieldValue::string(queue));
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME_ID: &str = "019a8b7c-0000-7000-8000-000000000001";

    #[test]
    fn reads_what_it_wrote() {
        let mut headers = FieldTable::default();
        let id = SOME_ID.parse().unwrap();
        write(&mut headers, id, "orders", FailureCount { attempts: 3, rounds: 1 });
        let count = FailureCount { attempts: 4, rounds: 2 };
        write(&mut headers, id, "orders", count);
        assert_eq!(headers.len(), 4);
        assert_eq!((dlo_count(&headers, "orders"), dlo_count(&headers, "invoices")), (Some(count), None));
        assert_eq!(headers.get_str(ID), Some(SOME_ID));
        assert_eq!(dlo_id(&headers), Some(id));
        assert_eq!(dlo_queue(&headers), Some("orders"));
        assert_eq!(dlo_attempts(&headers, "orders"), Some(4));
        assert_eq!(dlo_attempts(&headers, "invoices"), None);
    }

    #[test]
    fn ignores_what_others_wrote_there() {
        fn check(name: &str, value: FieldValue) {
            let mut headers = FieldTable::default();
            headers.set(QUEUE, FieldValue::string("q"));
            headers.set(name, value);
            assert_eq!(dlo_id(&headers), None);
            assert_eq!(dlo_attempts(&headers, "q"), None);
        }
        check(ID, FieldValue::string("junk"));
        check(ID, FieldValue::LongInt(1));
        check(ATTEMPTS, FieldValue::string("-1"));
        check(ATTEMPTS, FieldValue::string("many"));
        check(ATTEMPTS, FieldValue::LongInt(1));
        check(QUEUE, FieldValue::Void);
    }
}
