//! Groups that are part of another, in words.

use amqp_message::time::Timestamp;

use super::{
    group::{Title, why},
    text,
    time::Moment,
};
use crate::domain::merge::MergedGroup;

/// Characters of an error.
const ERROR: usize = 160;

pub struct MergedView {
    pub id: String,
    pub why: String,
    pub title: String,
    /// Who has merged it.
    pub by: String,
    pub at: Moment,
}

impl MergedView {
    pub fn new(merged: &MergedGroup, now: Timestamp) -> Self {
        let MergedGroup { group, by, at, .. } = merged;
        Self {
            id: group.id.to_string(),
            why: text::shortened(&why(&group.key), ERROR),
            title: Title::new(&group.key).beside_error(),
            by: text::one_line(by.as_str()),
            at: Moment::new(*at, now),
        }
    }
}
