//! One group of letters in a digest.

use amqp_message::{death::Reason, time::Timestamp};

use crate::domain::{group::GroupId, letter::Importance};

/// Letters with similar failures, and how many succeeded or failed again since the last digest. Its texts are whatever
/// a message brought.
#[derive(Clone, Debug, PartialEq)]
pub struct DigestGroup {
    pub id: GroupId,
    pub importance: Importance,
    pub broker: String,
    /// `None` where nothing says which.
    pub queue: Option<String>,
    pub message_type: Option<String>,
    pub reason: Reason,
    /// The error of its letters; empty where none is recorded.
    pub error: String,
    /// Letters that need attention now, of the importances that the digest is about.
    pub open: u64,
    /// Those of them that were received since the last digest, for the first time or once more, or that were in no group
    /// yet when it was made.
    pub new: u64,
    /// Whether the last digest did not know of it.
    pub is_new: bool,
    /// When the first letter of the group was received, and the last one.
    pub first_seen: Timestamp,
    pub last_seen: Timestamp,
    /// Since when the oldest of the open letters is there; `None` where none is open.
    pub oldest_open: Option<Timestamp>,
    /// So many more than at the last digest have succeeded: were sent back, and have not failed again for long enough. Of
    /// whatever importance, as is what came back.
    pub succeeded: u64,
    /// So many more than at the last digest were sent back and failed again.
    pub failed_again: u64,
    pub note: Option<String>,
}
