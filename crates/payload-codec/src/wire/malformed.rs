//! Where and why a span stopped reading as fields.

/// The first place at which bytes are no protobuf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{why} at byte {at}")]
pub struct Malformed {
    /// Offset from the start of the span that was read.
    pub at: usize,
    /// What is wrong there.
    pub why: Why,
}

/// What can be wrong with bytes that should be fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// The bytes end within a field.
    #[error("the message ends within a field")]
    Truncated,
    /// A varint goes on beyond 64 bits.
    #[error("a varint has more than 64 bits")]
    VarintTooLong,
    /// It is 0, or larger than [`MAX_NUMBER`](super::MAX_NUMBER).
    #[error("a field number is not within 1 to 536,870,911")]
    FieldNumber,
    /// It is none of the six.
    #[error("a wire type is 6 or 7")]
    WireType,
    /// A closing tag that closes nothing, or another group.
    #[error("a group ends that did not begin, or ends as another")]
    GroupEnd,
    /// Deeper than [`MAX_GROUP_DEPTH`](super::MAX_GROUP_DEPTH).
    #[error("groups nest too deep")]
    GroupDepth,
}

impl Why {
    pub(super) fn at(self, at: usize) -> Malformed {
        Malformed { at, why: self }
    }
}
