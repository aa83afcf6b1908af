//! When a queue that messages waited in may be deleted.

use std::{collections::HashMap, time::Duration};

use amqp_message::time::Timestamp;

/// Looks that have to find a queue empty.
const LOOKS: u32 = 3;
/// How far apart they are at least. RabbitMQ tries every three minutes to hand over what is due.
const APART: Duration = Duration::from_secs(10 * 60);

/// Delay queues that were found empty.
///
/// What is due and has not reached its next queue is in no count: a queue may be found empty and is not. So one look
/// does not tell. After some, between which it would have been handed over several times, nothing is left.
#[derive(Debug, Default)]
pub struct EmptyQueues {
    seen: HashMap<String, Seen>,
}

#[derive(Debug)]
struct Seen {
    looks: u32,
    last: Timestamp,
}

impl EmptyQueues {
    /// It is found empty, and what was due could leave it. The answer is whether nothing can be in it any more.
    pub fn found_empty(&mut self, queue: &str, at: Timestamp) -> bool {
        let seen = self.seen.entry(queue.to_owned()).or_insert(Seen { looks: 1, last: at });
        // A clock that is put back makes no look count that came too soon.
        if at < seen.last {
            *seen = Seen { looks: 1, last: at };
        } else if at.since(seen.last) > APART {
            *seen = Seen { looks: seen.looks + 1, last: at };
        }
        seen.looks >= LOOKS
    }

    /// It is gone or in use, or nobody knows.
    pub fn forget(&mut self, queue: &str) {
        self.seen.remove(queue);
    }

    /// What is due may have been unable to leave any of them.
    pub fn forget_all(&mut self) {
        self.seen.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// What is answered to looks after so many minutes.
    fn looks<const N: usize>(queues: &mut EmptyQueues, minutes: [u32; N]) -> [bool; N] {
        minutes.map(|minutes| queues.found_empty("q", Timestamp::from_seconds(1_000).plus(MINUTE * minutes)))
    }

    #[test]
    fn it_takes_three_looks_more_than_ten_minutes_apart() {
        assert_eq!(looks(&mut EmptyQueues::default(), [0, 11, 22, 22]), [false, false, true, true]);
        assert_eq!(
            looks(&mut EmptyQueues::default(), [0, 1, 10, 11, 12, 22]),
            [false, false, false, false, false, true]
        );
    }

    #[test]
    fn what_is_seen_otherwise_begins_anew() {
        let mut queues = EmptyQueues::default();
        assert_eq!(looks(&mut queues, [0, 11]), [false, false]);
        queues.found_empty("other", Timestamp::default());
        queues.forget("other");
        assert_eq!(looks(&mut queues, [22]), [true]);
        queues.forget("q");
        assert_eq!(looks(&mut queues, [33, 44]), [false, false]);
        queues.forget_all();
        assert_eq!(looks(&mut queues, [55, 66, 77]), [false, false, true]);
    }

    #[test]
    fn a_clock_that_is_put_back_proves_nothing() {
        assert_eq!(looks(&mut EmptyQueues::default(), [60, 120, 0, 11, 22]), [false, false, false, false, true]);
    }
}
