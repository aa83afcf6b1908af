//! Names for new things.

use amqp_message::time::Timestamp;
use uuid::{ContextV7, Timestamp as UuidTime, Uuid};

use crate::domain::letter::LetterId;

/// A UUIDv7 of this moment (RFC 9562): ids that are made later sort later, which keeps indexes compact.
pub(crate) fn uuid(now: Timestamp) -> Uuid {
    let micros = now.as_micros().unsigned_abs();
    let nanos = u32::try_from(micros % 1_000_000 * 1_000).unwrap_or(0);
    Uuid::new_v7(UuidTime::from_unix(ContextV7::new(), micros / 1_000_000, nanos))
}

pub(crate) fn letter(now: Timestamp) -> LetterId {
    LetterId::from_uuid(uuid(now))
}
