//! Names of the queues that dlo declares for messages that wait in RabbitMQ.

/// The queue in which messages are that have waited long enough.
pub const DUE: &str = "dlo.due";

/// What the names of all delay queues begin with: `dlo.delay.<ms>.<term>.<queue>`.
pub const DELAY: &str = "dlo.delay.";

/// Whether it is one of the queues that are declared as they are needed.
pub fn is_queue(name: &str) -> bool {
    name == DUE || is_delay_queue(name)
}

/// Whether messages wait in it for their retry.
pub fn is_delay_queue(name: &str) -> bool {
    term_of(name).is_some()
}

/// The term in which a delay queue takes messages, as a number that counts up; `None` for any other queue.
pub fn term_of(name: &str) -> Option<u64> {
    let mut parts = name.strip_prefix(DELAY)?.splitn(3, '.');
    let (delay, term, _queue) = (parts.next()?, parts.next()?, parts.next()?);
    delay.parse::<u64>().ok()?;
    term.parse().ok()
}
