//! Grouping rules: what people say of errors is not about what is wrong, so that errors that differ in it are alike.

use amqp_message::time::Timestamp;
use uuid::Uuid;

use super::{
    activity::{Area, AuditEntry},
    actor::Actor,
};

/// Characters of a name.
pub const LONGEST_NAME: usize = 100;
/// Characters of a pattern.
pub const LONGEST_PATTERN: usize = 300;
/// Characters of a placeholder.
pub const LONGEST_PLACEHOLDER: usize = 40;
/// More rules than this nobody understands any more.
pub const MOST_RULES: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupingRule {
    pub id: Uuid,
    pub name: String,
    /// A regular expression over the text by which an error group is known.
    pub pattern: String,
    /// What stands in place of what its brackets match or, where it has none, of all that it matches.
    pub placeholder: String,
    pub by: Actor,
    pub set_at: Timestamp,
}

impl GroupingRule {
    /// What is written down about adding or removing it.
    pub fn entry(&self, action: &str, by: &Actor, at: Timestamp) -> AuditEntry {
        let detail = format!("{} becomes {}", self.pattern, self.placeholder);
        AuditEntry { detail, ..AuditEntry::new(at, by, Area::GroupingRules, action, &*self.name) }
    }
}
