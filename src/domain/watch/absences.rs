//! Whether a queue is gone.

/// At how many looks in a row a queue has to be missing to be gone. A list that is read by pages may lack one that is
/// there.
const GONE: u8 = 2;

/// At how many looks in a row it was missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Absences(pub u8);

impl Absences {
    /// One more; the answer is whether it is gone.
    pub(super) fn one_more(&mut self) -> bool {
        self.0 = self.0.saturating_add(1);
        self.0 >= GONE
    }
}
