//! A command of somebody.

use amqp_message::time::Timestamp;

use super::edits::LetterEdits;
use crate::domain::{actor::Actor, command::Command, letter::LetterId, retry_limits::RetryLimits};

/// A command with who gave it and when.
pub struct Order<'a> {
    pub ids: &'a [LetterId],
    pub command: &'a Command,
    pub by: &'a Actor,
    pub at: Timestamp,
    pub limits: &'a RetryLimits,
    /// Of a retry: copies that are to be sent in the place of some of them.
    pub edits: Option<&'a LetterEdits<'a>>,
}

impl Order<'_> {
    /// The id of the copy that is to be made of a letter.
    pub(crate) fn copy_of(&self, letter: LetterId) -> Option<LetterId> {
        self.edits.and_then(|edits| edits.copies.get(&letter).copied())
    }
}
