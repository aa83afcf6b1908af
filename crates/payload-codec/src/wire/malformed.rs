//! Where and why a span stopped reading as fields.

/// The first place at which bytes are no protobuf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{why} at byte {at}")]
pub struct Malformed {
    /// Offset from the start of the span that was read.
    pub at: usize,
    pub why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    #[error("the message ends within a field")]
    Truncated,
    #[error("a varint has more than 64 bits")]
    VarintTooLong,
    #[error("a field number is not within 1 to 536,870,911")]
    FieldNumber,
    #[error("a wire type is 6 or 7")]
    WireType,
    #[error("a group ends that did not begin, or ends as another")]
    GroupEnd,
    #[error("groups nest too deep")]
    GroupDepth,
}

impl Why {
    pub(super) fn at(self, at: usize) -> Malformed {
        Malformed { at, why: self }
    }
}
