//! Reading many letters without having all their bodies in memory at once.

use crate::domain::letter::LetterSummary;

/// Bytes of bodies in one batch, unless one letter alone has more.
const BYTES: u64 = 16 << 20;

/// Cuts letters into batches whose bodies together are no larger than what a letter may have anyway.
pub(crate) fn batches(letters: Vec<LetterSummary>) -> Vec<Vec<LetterSummary>> {
    cut(letters, |letter| letter.size)
}

/// The same of whatever stands for a letter; `size` says how large the body of it is.
pub(crate) fn cut<T>(letters: Vec<T>, size: impl Fn(&T) -> u64) -> Vec<Vec<T>> {
    let mut batches: Vec<Vec<T>> = Vec::new();
    let mut bytes = 0_u64;
    for letter in letters {
        let size = size(&letter);
        bytes = bytes.saturating_add(size);
        match batches.last_mut().filter(|_| bytes <= BYTES) {
            Some(batch) => batch.push(letter),
            None => {
                bytes = size;
                batches.push(vec![letter]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::domain::letter::{Importance, LetterId, Status};
    use amqp_message::{death::Reason, time::Timestamp};

    fn of_size(size: u64) -> LetterSummary {
        let now = Timestamp::from_micros(0);
        LetterSummary {
            id: LetterId::from_uuid(Uuid::nil()),
            broker: String::new(),
            queue: None,
            exchange: String::new(),
            routing_key: String::new(),
            reason: Reason::Unknown,
            group: None,
            error_type: None,
            error_message: None,
            message_type: None,
            type_source: None,
            type_confidence: None,
            title: None,
            telling: None,
            attempts: 1,
            rounds: 1,
            first_failed_at: None,
            last_failed_at: now,
            received_at: now,
            retry_at: None,
            status: Status::Open,
            importance: Importance::Normal,
            importance_by: String::new(),
            size,
            note: None,
            problem: None,
            danger: None,
            edited_from: None,
            replaced_by: None,
        }
    }

    #[test]
    fn a_portion_is_bounded_unless_one_letter_is_larger() {
        let check = |sizes: &[u64], expected: &[usize]| {
            let batches = batches(sizes.iter().map(|size| of_size(*size)).collect());
            assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), expected, "{sizes:?}");
        };
        check(&[], &[]);
        check(&[0, 0, BYTES], &[3]);
        check(&[1, BYTES, 0], &[1, 2]);
        check(&[BYTES + 1, 1, 1], &[1, 2]);
        check(&[1, u64::MAX, u64::MAX], &[1, 1, 1]);
    }
}
