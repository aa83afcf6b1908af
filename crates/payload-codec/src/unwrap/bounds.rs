//! How far unwrapping goes, whatever a body claims.

/// Encodings undone within each other.
pub(super) const MAX_STEPS: usize = 6;

/// Partly unwrapped bodies looked at. Real bodies need fewer than ten; text crafted to be ambiguous at each step could
/// ask for any number.
pub(super) const MAX_NODES: usize = 40;

/// Bytes that may come out of one step.
pub(super) const MAX_STEP_BYTES: usize = 16 << 20;

/// Bytes that may come out of all steps together, tried ones included.
const MAX_TOTAL_BYTES: usize = 48 << 20;

/// Messages in a row within one framing.
pub(super) const MAX_PAYLOADS: usize = 10_000;

/// The bytes that may still come out of steps.
pub(super) struct Allowance {
    left: usize,
}

impl Allowance {
    pub fn new() -> Self {
        Self { left: MAX_TOTAL_BYTES }
    }

    /// The bytes that may come out of the next step.
    pub fn next(&self) -> usize {
        self.left.min(MAX_STEP_BYTES)
    }

    pub fn spend(&mut self, n_bytes: usize) {
        self.left = self.left.saturating_sub(n_bytes);
    }
}
