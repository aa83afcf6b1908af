//! How much of a payload is read.

/// Bounds of time and memory, whatever the payload holds. What goes beyond them is left out and said to be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a payload that are looked at.
    pub bytes: usize,
    /// Values of a payload that are kept: fields, elements of lists, entries of maps.
    pub elements: usize,
    /// Levels of messages within messages. The standard readers of protobuf end at 100.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 16 << 20, elements: 100_000, depth: 100 }
    }
}
