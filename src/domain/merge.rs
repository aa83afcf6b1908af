//! Groups that are part of another.

use std::fmt;

use amqp_message::time::Timestamp;

use super::{
    actor::Actor,
    group::{Group, GroupId, GroupKey},
};

/// A group that is part of another.
#[derive(Clone, Debug, PartialEq)]
pub struct MergedGroup {
    /// As it was when it was merged.
    pub group: Group,
    pub into: GroupId,
    pub by: Actor,
    pub at: Timestamp,
}

/// A group as far as it matters for what it is merged with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownGroup {
    pub id: GroupId,
    pub key: GroupKey,
    /// What it is part of, and whether grouping rules have made it so.
    pub into: Option<(GroupId, bool)>,
    /// Those that are in it; none where it is part of another.
    pub letters: u64,
    pub first_seen: Timestamp,
}

/// Which groups have become part of which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    pub into: GroupId,
    pub from: Vec<GroupId>,
}

/// Why groups are not merged, or not split again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeRefusal {
    NotFound,
    /// They may be seen, but not acted on.
    NotAllowed,
    /// One is not several.
    TooFew,
    /// They are of different brokers, queues or reasons.
    Apart,
    /// It is not part of another, or not since then.
    NotMerged,
    /// It is part of a group that is itself part of another.
    InAnother,
}

impl fmt::Display for MergeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("there is no such group, or it is part of another already"),
            Self::NotAllowed => f.write_str("your teams do not let you act on these groups"),
            Self::TooFew => f.write_str("it takes at least two groups"),
            Self::Apart => f.write_str("only groups of one queue with the same reason can be merged"),
            Self::NotMerged => f.write_str("it is not part of another group, or was changed since"),
            Self::InAnother => f.write_str("the group it is part of is part of another; split that one first"),
        }
    }
}

/// The group that others become part of: that with the most letters, of these the oldest.
pub fn into<'g>(groups: impl Iterator<Item = &'g Group>) -> Option<&'g Group> {
    groups.max_by_key(|group| (group.n_letters(), std::cmp::Reverse((group.first_seen, group.id))))
}

/// Whether their letters can be in one group: all that is kept of a group is of one queue and reason.
pub fn are_together<'g>(mut groups: impl Iterator<Item = &'g Group>) -> bool {
    let place = |group: &'g Group| (&group.key.broker, &group.key.queue, group.key.reason);
    let first = groups.next().map(place);
    groups.all(|group| Some(place(group)) == first)
}
