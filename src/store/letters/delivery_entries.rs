//! What a row of `pending_acks` says of its deliveries.

use uuid::Uuid;

use super::intake::Fingerprint;
use crate::domain::letter::LetterId;

/// A delivery, and the letter that it is.
pub(super) type Entry = (Fingerprint, LetterId);

/// Bytes of one.
const SIZE: usize = 32;

pub(crate) fn entries(bytes: &[u8]) -> impl Iterator<Item = Entry> {
    bytes.as_chunks::<SIZE>().0.iter().map(|entry| {
        let (fingerprint, id) = (u128_at(entry, 0), u128_at(entry, SIZE / 2));
        (Fingerprint(fingerprint), LetterId::from_uuid(Uuid::from_u128(id)))
    })
}

/// With each whether RabbitMQ had delivered it before, as it had the first so many.
pub(super) fn marked_entries(bytes: &[u8], redelivered: i64) -> impl Iterator<Item = (Entry, bool)> {
    entries(bytes).zip((0..).map(move |n| n < redelivered))
}

fn u128_at(entry: &[u8; SIZE], at: usize) -> u128 {
    entry[at..at + SIZE / 2].iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

pub(super) fn encode((fingerprint, letter): Entry) -> impl Iterator<Item = u8> {
    fingerprint.0.to_be_bytes().into_iter().chain(letter.as_uuid().into_bytes())
}
