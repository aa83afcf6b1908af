//! Names of what dlo declares in a broker as it needs it, beside the queues and the exchange of the
//! configuration.
//!
//! They are the same in every process and after every restart, and all begin with `dlo.`.

use std::{fmt::Write, time::Duration};

use amqp_message::time::Timestamp;
use failure_conventions::dlo_queues::{DELAY, delay_and_term};
use xxhash_rust::xxh3::xxh3_128;

use crate::domain::retry::{Destination, Wait};

/// The longest name in AMQP, in bytes.
const LONGEST: usize = 255;
/// Of the hash that a shortened name ends in, after a `~`.
const HASH_DIGITS: usize = 32;

/// A delay queue takes messages for so long; then a new one follows it.
///
/// One that takes messages must not be deleted, not even while it is empty: what RabbitMQ ways to a queue while it
/// deletes it is confirmed and lost. The time in its name says to every process when nobody will publish to it again.
const TERM: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The exchange that brings a message to `queue` at once, whatever its routing key.
pub fn relay(queue: &str) -> String {
    fitting("dlo.to.".to_owned(), queue)
}

/// The queue that a message waits in on its way: `dlo.delay.<ms>.<term>.<queue>`. `None` where it does not wait.
pub fn delay_queue(destination: &Destination) -> Option<String> {
    let Wait { from, length } = destination.wait?;
    let start = format!("{DELAY}{}.{}.", length.as_millis(), term(from));
    Some(fitting(start, &destination.queue))
}

/// Whether it is a delay queue to which nobody publishes any more, and from which all is due that ever waited there. A
/// whole term is left for clocks that differ and for messages that a broker in alarm keeps waiting.
pub fn is_out_of_use(name: &str, now: Timestamp) -> bool {
    delay_and_term(name).is_some_and(|(delay, its)| its.saturating_add(1) < term(now.minus(delay)))
}

/// Counted from the Unix epoch.
fn term(at: Timestamp) -> u64 {
    at.since(Timestamp::default()).as_secs() / TERM.as_secs()
}

/// A name too long for AMQP ends in a hash instead, and so does one that is not ASCII: RabbitMQ 4.3 closes the connection
/// of whoever asks for a queue of such a name that is not there.
fn fitting(start: String, queue: &str) -> String {
    let mut name = start;
    if name.len() + queue.len() <= LONGEST && queue.is_ascii() {
        name.push_str(queue);
        return name;
    }
    let room = LONGEST.saturating_sub(name.len() + 1 + HASH_DIGITS);
    name.extend(queue.chars().filter(char::is_ascii).take(room));
    // Writing to a string never fails.
    _ = write!(name, "~{:032x}", xxh3_128(queue.as_bytes()));
    name
}

#[cfg(test)]
mod tests {
    use failure_conventions::dlo_queues::is_delay_queue;

    use super::*;

    const WAIT: Duration = Duration::from_secs(5);

    fn at(week: u64) -> Timestamp {
        Timestamp::from_seconds(week * TERM.as_secs())
    }

    fn waiting(queue: &str) -> Destination {
        Destination::straight_to(queue).after(WAIT, at(2_968))
    }

    #[test]
    fn each_delay_and_target_has_a_queue_of_its_own() {
        fn check(destination: &Destination, expected: &str) {
            assert_eq!(delay_queue(destination).as_deref(), Some(expected));
            assert!(is_delay_queue(expected));
        }
        check(&waiting("orders"), "dlo.delay.5000.2968.orders");
        check(&waiting("1.2.orders"), "dlo.delay.5000.2968.1.2.orders");
        check(&waiting("orders").with_key("order.placed"), "dlo.delay.5000.2968.orders");
        check(&waiting("orders").after(Duration::from_micros(1_999), at(0)), "dlo.delay.1.0.orders");
        assert_eq!(delay_queue(&Destination::straight_to("orders").with_key("k")), None);
    }

    #[test]
    fn other_queues_are_no_delay_queues() {
        for name in ["", "dlo.delay.", "dlo.delay.x.1.q", "dlo.delay.1.x.q", "dlo.delay.1.1", "dlo.to.1.1.q", "orders"]
        {
            assert!(!is_delay_queue(name), "{name}");
            assert!(!is_out_of_use(name, Timestamp::MAX), "{name}");
        }
    }

    #[test]
    fn a_delay_queue_is_out_of_use_a_term_after_the_last_message_is_due() {
        let month = Duration::from_secs(30 * 24 * 60 * 60);
        for delay in [WAIT, month] {
            let name = delay_queue(&waiting("orders").after(delay, at(2_968))).unwrap();
            let all_due = at(2_970).plus(delay);
            let times = [at(2_968), at(2_969), all_due.minus(Duration::from_secs(1)), all_due];
            assert_eq!(times.map(|now| is_out_of_use(&name, now)), [false, false, false, true], "{delay:?}");
        }
    }

    #[test]
    fn long_names_are_shortened_and_still_differ() {
        fn check(one: &str, other: &str) {
            for name in [relay, |queue: &str| delay_queue(&waiting(queue)).unwrap_or_default()] {
                let names = [name(one), name(other)];
                assert!(names.iter().all(|name| name.len() <= LONGEST && name.is_ascii()), "{names:?}");
                assert_ne!(names[0], names[1]);
                assert!(is_delay_queue(&names[0]) || !names[0].starts_with(DELAY));
            }
        }
        let long = "q".repeat(254);
        check(&format!("{long}1"), &format!("{long}2"));
        check("ä", "ö");
        assert!(relay("käse.orders").starts_with("dlo.to.kse.orders~"));
        assert_eq!(relay(&"q".repeat(248)), format!("dlo.to.{}", "q".repeat(248)));
    }
}
