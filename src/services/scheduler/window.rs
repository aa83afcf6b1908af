//! Cutting what is due into windows that are published and confirmed together.

use crate::domain::retry::ClaimedRetry;

/// Messages in one window. Awaiting confirms one by one is ten times slower; more than this gains nothing.
const MESSAGES: usize = 2_500;
/// Bytes of bodies in one window.
const BYTES: u64 = 8 * 1024 * 1024;
/// A body as large as this goes alone: a broker that refuses it for its size closes the channel, and then nobody knows
/// the outcome of the others in its window.
const ALONE: u64 = 1024 * 1024;

/// Splits `retries` into windows, keeping their order.
pub(crate) fn windows(retries: Vec<ClaimedRetry>) -> Vec<Vec<ClaimedRetry>> {
    let mut windows: Vec<Vec<ClaimedRetry>> = Vec::new();
    let mut bytes = 0;
    for retry in retries {
        let fits = |window: &&mut Vec<ClaimedRetry>| {
            !goes_alone(&retry)
                && window.len() < MESSAGES
                && bytes + retry.size <= BYTES
                && !window.last().is_some_and(goes_alone)
        };
        match windows.last_mut().filter(fits) {
            Some(window) => {
                bytes += retry.size;
                window.push(retry);
            }
            None => {
                bytes = retry.size;
                windows.push(vec![retry]);
            }
        }
    }
    windows
}

/// Whether it could take others down with it: by its size, or because what it went out with before was cut short, and
/// nobody knows by which message.
const fn goes_alone(retry: &ClaimedRetry) -> bool {
    retry.size >= ALONE || retry.claimed_before()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{actor::Actor, letter::LetterId};
    use amqp_message::{death::Reason, time::Timestamp};
    use failure_conventions::FailureCount;

    fn check(sizes: &[u64], claims: u64, expected: &[usize]) {
        let retries = sizes.iter().map(|size| ClaimedRetry {
            id: LetterId::from_uuid(uuid::Uuid::nil()),
            queue: "q".to_owned(),
            failed_queue: None,
            reason: Reason::Rejected,
            routing_key: String::new(),
            by: Actor::local(),
            count: FailureCount { attempts: 1, rounds: 1 },
            due_at: Timestamp::default(),
            size: *size,
            claims,
            without_expiry: false,
            is_edited: false,
        });
        let lengths: Vec<usize> = windows(retries.collect()).iter().map(Vec::len).collect();
        assert_eq!(lengths, expected, "{sizes:?}");
    }

    #[test]
    fn by_count_by_bytes_and_large_ones_alone() {
        check(&[], 1, &[]);
        check(&[1; 4_500], 1, &[2_500, 2_000]);
        check(&[900_000; 10], 1, &[9, 1]);
        check(&[1, 1, ALONE, 1, 1], 1, &[2, 1, 2]);
        check(&[1, 1, 1], 2, &[1, 1, 1]);
    }
}
