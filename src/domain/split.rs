//! Groups that are split by a field: letters that say one of some values in it are in a group of their own, a part of the
//! other.

use std::{collections::BTreeSet, fmt};

use amqp_message::time::Timestamp;

use super::{
    actor::Actor,
    column::Column,
    group::{GroupId, GroupPart},
    names,
};

/// Parts of one group; of more nobody keeps an overview.
pub const MOST_PARTS: usize = 20;
/// Characters of a value.
pub const LONGEST_VALUE: usize = 80;

/// What letters say in a field; `None`: they do not have it.
pub type Said = Option<String>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSplit {
    pub group: GroupId,
    pub field: Column,
    /// Each makes a part. Letters that say something else stay in the group.
    pub values: BTreeSet<Said>,
    pub by: Actor,
    pub at: Timestamp,
}

impl GroupSplit {
    /// The part that letters are in which say that; `None`: none.
    pub fn part(&self, said: &Said) -> Option<GroupPart> {
        self.values.contains(said).then(|| GroupPart { of: self.group, what: what(&self.field, said) })
    }

    pub fn parts(&self) -> impl Iterator<Item = GroupPart> {
        self.values.iter().filter_map(|said| self.part(said))
    }
}

/// `currency: EUR`, `header.x-tenant is missing`
fn what(field: &Column, said: &Said) -> String {
    let what = match said {
        Some(value) => format!("{}: {value}", field.name()),
        None => format!("{} is missing", field.name()),
    };
    names::without_nul(&what)
}

/// Why a group is not split, or its parts are not made one again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SplitRefusal {
    NotFound,
    /// It may be seen, but not acted on.
    NotAllowed,
    /// It is a part itself.
    IsPart,
    /// Other groups were merged into it.
    HasMerged,
    /// It has parts already.
    IsSplit,
    /// It has none.
    NotSplit,
}

impl fmt::Display for SplitRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotFound => "there is no such group, or it is part of another",
            Self::NotAllowed => "your teams do not let you act on this group",
            Self::IsPart => "it is a part of a group that was split; merge that one again first",
            Self::HasMerged => "other groups were merged into it; split these again first",
            Self::IsSplit => "it is split already; merge its parts first",
            Self::NotSplit => "it has no parts",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::group_id::GroupId;

    #[test]
    fn a_part_says_what_its_letters_say() {
        let split = GroupSplit {
            group: GroupId::from_uuid(uuid::Uuid::from_u128(7)),
            field: "payload.order.currency".parse().unwrap(),
            values: BTreeSet::from([None, Some("EUR".to_owned())]),
            by: Actor::local(),
            at: Timestamp::default(),
        };
        let check = |said: Option<&str>, expected: Option<&str>| {
            let part = split.part(&said.map(str::to_owned));
            assert_eq!(part.as_ref().map(|part| &*part.what), expected, "{said:?}");
        };
        check(Some("EUR"), Some("order.currency: EUR"));
        check(None, Some("order.currency is missing"));
        check(Some("eur"), None);
        check(Some(""), None);
        assert_eq!(split.parts().count(), 2);
    }
}
