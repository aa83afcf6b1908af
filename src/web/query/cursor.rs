//! Cursors in an address: opaque, so that what is in them may change.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use uuid::Uuid;

use crate::domain::{filter::Cursor, letter::LetterId, time::Timestamp, waiting::WaitingCursor};

/// A place in a list that is sorted by time, and by id where times are the same.
pub trait Place: Sized {
    fn parts(self) -> (Timestamp, LetterId);
    fn from_parts(at: Timestamp, id: LetterId) -> Self;
}

impl Place for Cursor {
    fn parts(self) -> (Timestamp, LetterId) {
        (self.received_at, self.id)
    }

    fn from_parts(received_at: Timestamp, id: LetterId) -> Self {
        Self { received_at, id }
    }
}

impl Place for WaitingCursor {
    fn parts(self) -> (Timestamp, LetterId) {
        (self.due_at, self.id)
    }

    fn from_parts(due_at: Timestamp, id: LetterId) -> Self {
        Self { due_at, id }
    }
}

pub fn encode_cursor(cursor: impl Place) -> String {
    let (at, id) = cursor.parts();
    let mut bytes = at.as_micros().to_be_bytes().to_vec();
    bytes.extend(id.as_uuid().as_bytes());
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// `None` for what is none of ours.
pub fn decode_cursor<P: Place>(text: &str) -> Option<P> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
    let (micros, id) = bytes.split_first_chunk::<8>()?;
    let id = LetterId::from_uuid(Uuid::from_slice(id).ok()?);
    Some(P::from_parts(Timestamp::from_micros(i64::from_be_bytes(*micros)), id))
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
    }
}
