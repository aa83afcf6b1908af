//! How much a search may be.

/// Bytes of its text.
pub const MAX_LENGTH: usize = 4_096;
/// Brackets and minus signs within one another.
pub const MAX_DEPTH: usize = 20;
/// Terms, each value of a list counted as one.
pub const MAX_TERMS: usize = 100;
