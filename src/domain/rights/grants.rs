//! What somebody may do, and with which queues.

use super::{QueueScope, Right};

/// For each right the queues that it holds for. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Grants([QueueScope; Right::ALL.len()]);

impl Grants {
    /// Everything, everywhere.
    pub fn everything() -> Self {
        Self::new(|_| QueueScope::everything())
    }

    pub fn nothing() -> Self {
        Self::new(|_| QueueScope::nothing())
    }

    /// Whatever is asked for those queues only.
    pub fn within(scope: &QueueScope) -> Self {
        Self::new(|_| scope.clone())
    }

    pub fn new(scope: impl Fn(Right) -> QueueScope) -> Self {
        Self([Right::Read, Right::Payload, Right::Reveal, Right::Act, Right::Mark, Right::Admin].map(scope))
    }

    /// Which queues a right holds for.
    pub const fn scope(&self, right: Right) -> &QueueScope {
        &self.0[right as usize]
    }

    /// The queues that what they do concerns: those that they see or, where they see none, those that they act on.
    pub fn concerned(&self) -> &QueueScope {
        self.scope(if self.may(Right::Read) { Right::Read } else { Right::Act })
    }

    /// Whether it holds for any queue.
    pub fn may(&self, right: Right) -> bool {
        !self.scope(right).is_nothing()
    }

    /// Whether it holds for that queue; the empty name is that of a queue that is unknown.
    pub fn may_at(&self, right: Right, broker: &str, queue: &str) -> bool {
        self.scope(right).includes(broker, queue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_right_has_its_own_place() {
        for only in Right::ALL {
            let scope = |right| if right == *only { QueueScope::everything() } else { QueueScope::nothing() };
            let grants = Grants::new(scope);
            assert!(Right::ALL.iter().all(|right| grants.may(*right) == (right == only)));
        }
    }
}
