//! A command of somebody.

use std::time::Duration;

use amqp_message::{message::Message, time::Timestamp};
use failure_conventions::{FailureCount, danger::Danger};

use crate::domain::{
    actor::Actor,
    command::{Command, Refusal},
    content_key::ContentKey,
    letter::LetterId,
    retry_limits::RetryLimits,
};

/// A command with who gave it and when.
pub struct Order<'a> {
    pub ids: &'a [LetterId],
    pub command: &'a Command,
    pub by: &'a Actor,
    pub at: Timestamp,
    pub limits: &'a RetryLimits,
    /// Of a retry: copies that are to be sent in the place of some of them.
    pub edits: Option<&'a dyn LetterEdits>,
}

/// An order to send an edited copy of a letter in its place.
pub struct EditOrder<'a> {
    pub letter: LetterId,
    /// The id that the copy gets.
    pub copy: LetterId,
    pub delay: Duration,
    /// Where to; if it is not named, where a retry would go.
    pub queue: Option<&'a str>,
    /// Makes the message of the copy, or says why there can be none. It is asked under the lock of the letter.
    pub edit: MakeMessage<'a>,
    /// What it changes, for the history.
    pub summary: &'a str,
    pub by: &'a Actor,
    pub at: Timestamp,
}

pub type MakeMessage<'a> = &'a (dyn Fn(&Original<'_>) -> Result<EditedMessage, Refusal> + Send + Sync);

/// Copies that are to be sent in the place of some letters of an order.
pub trait LetterEdits: Send + Sync {
    /// The id of the copy that is to be made of a letter.
    fn copy_of(&self, letter: LetterId) -> Option<LetterId>;

    /// The message of that copy, or why there can be none. It is asked under the lock of the letter.
    fn edited(&self, letter: LetterId, original: &Original<'_>) -> Result<EditedMessage, Refusal>;

    /// What the edit changes, for the history.
    fn summary(&self) -> &str;
}

/// What is to be edited.
pub struct Original<'a> {
    pub message: &'a Message,
    /// The queue it failed in, and how often.
    pub failed_queue: Option<&'a str>,
    pub count: FailureCount,
    /// Where the copy is to go.
    pub target: &'a str,
}

/// The message of a copy, with what is reported of it in lists.
pub struct EditedMessage {
    pub message: Message,
    /// What its headers say.
    pub message_type: Option<String>,
    pub content: ContentKey,
    pub id_key: Option<ContentKey>,
    /// A danger of it, which the configuration has settled.
    pub danger: Option<Danger>,
}

impl Order<'_> {
    /// The id of the copy that is to be made of a letter.
    pub(crate) fn copy_of(&self, letter: LetterId) -> Option<LetterId> {
        self.edits.and_then(|edits| edits.copy_of(letter))
    }
}
