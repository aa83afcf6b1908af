//! What went wrong or is doubtful about unwrapping a body. None of it loses the body.

use std::fmt;

use super::kind::Kind;

/// A reason to look twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It looks wrapped like this, but is damaged: cut off, or its checksum does not fit.
    Damaged(Kind),
    /// To undo this would take more than the bytes allowed.
    TooLarge {
        /// What it is wrapped in.
        kind: Kind,
        /// The bytes allowed.
        max_bytes: usize,
    },
    /// It is larger than the bytes allowed, so that only compressions were looked for.
    BodyTooLarge {
        /// The bytes allowed.
        max_bytes: usize,
    },
    /// There are more encodings within each other, or more ways to see them, than are undone.
    TooDeep,
    /// Properties or headers declare this encoding, but the body is not encoded so.
    NotAsDeclared(String),
    /// Properties or headers declare this encoding, which is not supported.
    Unsupported(String),
    /// It was to be unwrapped from this ([`UnwrapMode::Exactly`](super::UnwrapMode::Exactly)), but is not wrapped so.
    NotWrappedSo(Kind),
    /// It is written in a manner that cannot be repeated exactly: white space at odd places, mixed escapes.
    Irregular(Kind),
}

impl Problem {
    /// The encoding that it has nevertheless, though it could not be undone.
    pub(super) fn not_undone(&self) -> Option<Kind> {
        match self {
            Self::Damaged(kind) | Self::TooLarge { kind, .. } => Some(*kind),
            _ => None,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(kind) => write!(f, "it looks like {kind}, but is damaged"),
            Self::TooLarge { kind, max_bytes } => {
                write!(f, "as {kind} it unpacks to more than {max_bytes} bytes, so it is left as it is")
            }
            Self::BodyTooLarge { max_bytes } => {
                write!(f, "more than {max_bytes} bytes are not searched for encodings other than compressions")
            }
            Self::TooDeep => f.write_str("it is wrapped more often than is undone"),
            Self::NotAsDeclared(encoding) => write!(f, "it is said to be encoded as {encoding:?}, but is not"),
            Self::Unsupported(encoding) => write!(f, "it is encoded as {encoding:?}, which cannot be undone here"),
            Self::NotWrappedSo(kind) => write!(f, "it is not encoded as {kind}"),
            Self::Irregular(kind) => {
                write!(f, "its {kind} is written irregularly: wrapped again it may look different")
            }
        }
    }
}
