//! The headers that Dead Letter Office itself writes on what it sends back.
//!
//! All are strings, since some clients refuse any other type, and none begins with `x-`, which RabbitMQ 4 keeps to
//! itself. They survive a reject and the copies most frameworks make.

use std::fmt::Display;

use amqp_message::field::{FieldTable, FieldValue};
use uuid::Uuid;

/// What all of their names begin with.
pub const PREFIX: &str = "dlo-";

/// Names the letter, for its whole life.
pub const ID: &str = "dlo-id";
/// How often it has failed so far in the queue that [`QUEUE`] names.
pub const ATTEMPTS: &str = "dlo-attempts";
/// The queue those attempts belong to.
pub const QUEUE: &str = "dlo-queue";

/// Where it was first published. RabbitMQ forgets that with the first retry; only what waits in RabbitMQ needs these two,
/// for the database remembers the others.
pub const EXCHANGE: &str = "dlo-exchange";
pub const ROUTING_KEY: &str = "dlo-routing-key";
/// Why it failed; it makes a message an obituary.
pub const REASON: &str = "dlo-reason";
/// What went wrong, in an obituary.
pub const ERROR_TYPE: &str = "dlo-error-type";
pub const ERROR_MESSAGE: &str = "dlo-error-message";
pub const ERROR_STACKTRACE: &str = "dlo-error-stacktrace";
/// When, in RFC 3339.
pub const FAILED_AT: &str = "dlo-failed-at";

/// The letter this message has been before.
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

/// The exchange and routing key it was first published with.
pub fn dlo_address(headers: &FieldTable) -> Option<(&str, &str)> {
    Some((headers.get_str(EXCHANGE)?, headers.get_str(ROUTING_KEY)?))
}

pub fn write_address(headers: &mut FieldTable, exchange: &str, routing_key: &str) {
    headers.set(EXCHANGE, FieldValue::string(exchange));
    headers.set(ROUTING_KEY, FieldValue::string(routing_key));
}

/// Marks a message as `id` on its way to `queue`, where it has failed `attempts` times.
pub fn write(headers: &mut FieldTable, id: impl Display, queue: &str, attempts: u64) {
    headers.set(ID, FieldValue::string(id.to_string()));
    headers.set(ATTEMPTS, FieldValue::string(attempts.to_string()));
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
        write(&mut headers, id, "orders", 3);
        write(&mut headers, id, "orders", 4);
        assert_eq!(headers.len(), 3);
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
