//! Letters that wait for their retry, in the order in which they go back.

use amqp_message::time::Timestamp;

use super::{
    actor::Actor,
    letter::{LetterId, LetterSummary},
};

/// A letter that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    pub letter: LetterSummary,
    pub retry: WaitingRetry,
}

/// The retry it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingRetry {
    pub due_at: Timestamp,
    /// The queue it goes to.
    pub queue: String,
    /// Who asked for it; dlo, where a policy does.
    pub by: Actor,
}

impl WaitingRetry {
    pub fn is_by_policy(&self) -> bool {
        self.by.as_str() == Actor::SYSTEM
    }
}

/// The place after which a page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingCursor {
    pub due_at: Timestamp,
    pub id: LetterId,
}

/// One page, and where the next begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaitingPage {
    pub items: Vec<Waiting>,
    pub next: Option<WaitingCursor>,
}
