//! Cursors in an address: opaque, so that what is in them may change.

use amqp_message::time::Timestamp;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use uuid::Uuid;

use crate::domain::{
    filter::Cursor,
    group::{GroupCursor, GroupId},
    letter::{Importance, LetterId},
    waiting::WaitingCursor,
};

/// A place in a sorted list.
pub trait Place: Sized {
    fn to_bytes(&self) -> Vec<u8>;
    /// `None` for what is none of ours.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

impl Place for Cursor {
    fn to_bytes(&self) -> Vec<u8> {
        time_and_id(self.received_at, self.id.as_uuid())
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (received_at, id) = read_time_and_id(bytes)?;
        Some(Self { received_at, id: LetterId::from_uuid(id) })
    }
}

impl Place for WaitingCursor {
    fn to_bytes(&self) -> Vec<u8> {
        time_and_id(self.due_at, self.id.as_uuid())
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (due_at, id) = read_time_and_id(bytes)?;
        Some(Self { due_at, id: LetterId::from_uuid(id) })
    }
}

impl Place for GroupCursor {
    fn to_bytes(&self) -> Vec<u8> {
        let weight = self.importance.and_then(|importance| u8::try_from(importance as usize).ok());
        let mut bytes = vec![weight.unwrap_or(u8::MAX)];
        bytes.extend(self.open.to_be_bytes());
        bytes.extend(time_and_id(self.last_seen, self.id.as_uuid()));
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let ([weight], bytes) = bytes.split_first_chunk::<1>()?;
        let (open, bytes) = bytes.split_first_chunk::<8>()?;
        let (last_seen, id) = read_time_and_id(bytes)?;
        let importance = Importance::ALL.get(usize::from(*weight)).copied();
        Some(Self { importance, open: u64::from_be_bytes(*open), last_seen, id: GroupId::from_uuid(id) })
    }
}

fn time_and_id(at: Timestamp, id: Uuid) -> Vec<u8> {
    let mut bytes = at.as_micros().to_be_bytes().to_vec();
    bytes.extend(id.as_bytes());
    bytes
}

fn read_time_and_id(bytes: &[u8]) -> Option<(Timestamp, Uuid)> {
    let (micros, id) = bytes.split_first_chunk::<8>()?;
    Some((Timestamp::from_micros(i64::from_be_bytes(*micros)), Uuid::from_slice(id).ok()?))
}

pub fn encode_cursor(cursor: impl Place) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(cursor.to_bytes())
}

/// `None` for what is none of ours.
pub fn decode_cursor<P: Place>(text: &str) -> Option<P> {
    P::from_bytes(&BASE64_URL_SAFE_NO_PAD.decode(text).ok()?)
}

/// A place in a list whose lines are numbered.
pub fn encode_number(number: i64) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(number.to_be_bytes())
}

/// `None` for what is none of ours.
pub fn decode_number(text: &str) -> Option<i64> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
    bytes.try_into().ok().map(i64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back() {
        let cursor = Cursor { received_at: Timestamp::from_micros(-5), id: LetterId::from_uuid(Uuid::from_u128(7)) };
        assert_eq!(decode_cursor(&encode_cursor(cursor)), Some(cursor));
        let cursor = WaitingCursor { due_at: Timestamp::from_micros(9), id: cursor.id };
        assert_eq!(decode_cursor(&encode_cursor(cursor)), Some(cursor));
        assert_eq!(decode_cursor::<Cursor>("AAAA"), None);
        for importance in [None, Some(Importance::Critical), Some(Importance::Low)] {
            let id = GroupId::from_uuid(Uuid::from_u128(7));
            let cursor = GroupCursor { importance, open: 71, last_seen: Timestamp::from_micros(9), id };
            assert_eq!(decode_cursor(&encode_cursor(cursor)), Some(cursor));
            assert_eq!(decode_cursor::<Cursor>(&encode_cursor(cursor)), None, "it is a place in another list");
        }
        assert_eq!(decode_number(&encode_number(-7)), Some(-7));
        assert_eq!((decode_number("AAAA"), decode_number("7")), (None, None));
    }
}
