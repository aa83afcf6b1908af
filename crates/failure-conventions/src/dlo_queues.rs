//! Names of the queues that dlo declares for messages that wait in RabbitMQ.

use std::time::Duration;

/// The queue in which messages are that have waited long enough.
pub const DUE: &str = "dlo.due";

/// What the names of all delay queues begin with: `dlo.delay.<ms>.<term>.<queue>`.
pub const DELAY: &str = "dlo.delay.";

/// The queue in which a message is rejected to see that dead letters arrive.
pub const TEST: &str = "dlo.test";

/// Whether it is one of the queues that are declared as they are needed.
pub fn is_queue(name: &str) -> bool {
    name == DUE || name == TEST || is_delay_queue(name)
}

/// Whether messages wait in it for their retry.
pub fn is_delay_queue(name: &str) -> bool {
    delay_and_term(name).is_some()
}

/// How long messages wait in a delay queue, and the term in which it takes them, as a number that counts up; `None` for
/// any other queue.
pub fn delay_and_term(name: &str) -> Option<(Duration, u64)> {
    let mut parts = name.strip_prefix(DELAY)?.splitn(3, '.');
    let (delay, term, _queue) = (parts.next()?, parts.next()?, parts.next()?);
    Some((Duration::from_millis(delay.parse().ok()?), term.parse().ok()?))
}
