//! Cursors in an address: opaque, so that what is in them may change.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use uuid::Uuid;

use crate::domain::{filter::Cursor, letter::LetterId, time::Timestamp};

pub fn encode_cursor(cursor: Cursor) -> String {
    let mut bytes = cursor.received_at.as_micros().to_be_bytes().to_vec();
    bytes.extend(cursor.id.as_uuid().as_bytes());
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// `None` for what is none of ours.
pub fn decode_cursor(text: &str) -> Option<Cursor> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
    let (micros, id) = bytes.split_first_chunk::<8>()?;
    let id = LetterId::from_uuid(Uuid::from_slice(id).ok()?);
    Some(Cursor { received_at: Timestamp::from_micros(i64::from_be_bytes(*micros)), id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back() {
        let cursor = Cursor { received_at: Timestamp::from_micros(-5), id: LetterId::from_uuid(Uuid::from_u128(7)) };
        assert_eq!(decode_cursor(&encode_cursor(cursor)), Some(cursor));
        assert_eq!(decode_cursor("AAAA"), None);
    }
}
