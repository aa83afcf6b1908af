//! One group of letters in a digest.

use crate::domain::{death::Reason, group::GroupId, letter::Importance, time::Timestamp};

/// Letters that failed alike, and what became of them since the last digest. Its texts are whatever a message brought.
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
    /// Letters that await a person now.
    pub open: u64,
    /// Letters that arrived for the first time since the last digest, whatever became of them.
    pub new: u64,
    /// When the first letter of the group failed, and the last one.
    pub first_seen: Timestamp,
    pub last_seen: Timestamp,
    /// Since when the oldest of the open letters is there; `None` where none is open.
    pub oldest_open: Option<Timestamp>,
    /// Letters that were retried and did not fail again, since the last digest.
    pub healed: u64,
    /// Letters that were retried and failed again, since the last digest.
    pub came_back: u64,
    pub note: Option<String>,
}
