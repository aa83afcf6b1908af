//! What grouping rules make of groups that are there: those whose errors they make alike are merged, and those that they
//! had merged and do not make alike any more are split again.

use std::collections::BTreeMap;

use super::{Rewriter, key};
use crate::domain::{
    group::{GroupId, GroupKey},
    merge::KnownGroup,
};

/// Groups that are alike by the rules.
#[derive(Debug, PartialEq, Eq)]
pub struct Alike<'g> {
    /// What their letters, and those that come, have in common.
    pub key: GroupKey,
    /// The group of that key.
    pub id: GroupId,
    /// Whether there is none of that key yet.
    pub is_new: bool,
    /// Those that are part of no other, the one with the most letters first.
    pub groups: Vec<&'g KnownGroup>,
}

fn rewritten(key: &GroupKey, rewriter: &Rewriter) -> GroupKey {
    GroupKey { error: rewriter.rewrite(&key.error), ..key.clone() }
}

/// Groups that rules have merged, and that these rules do not make alike.
pub fn to_split(known: &[KnownGroup], rewriter: &Rewriter) -> Vec<GroupId> {
    let keys: BTreeMap<GroupId, &GroupKey> = known.iter().map(|group| (group.id, &group.key)).collect();
    let is_apart = |group: &&KnownGroup| match group.into {
        Some((into, true)) => {
            keys.get(&into).is_some_and(|into| rewritten(into, rewriter) != rewritten(&group.key, rewriter))
        }
        _ => false,
    };
    known.iter().filter(is_apart).map(|group| group.id).collect()
}

/// Groups that are to be merged. Where the rules give a single group another text, the group of that text becomes one with
/// it, too: what comes in from now on would make it.
pub fn to_merge<'g>(known: &'g [KnownGroup], rewriter: &Rewriter) -> Vec<Alike<'g>> {
    let mut classes: BTreeMap<GroupKey, Vec<&KnownGroup>> = BTreeMap::new();
    for group in known.iter().filter(|group| group.into.is_none()) {
        classes.entry(rewritten(&group.key, rewriter)).or_default().push(group);
    }
    let is_known: BTreeMap<GroupId, bool> = known.iter().map(|group| (group.id, true)).collect();
    let alike = |(key, mut groups): (GroupKey, Vec<&'g KnownGroup>)| {
        groups.sort_by_key(|group| (std::cmp::Reverse(group.letters), group.first_seen, group.id));
        let id = key::id(&key);
        Alike { is_new: !is_known.contains_key(&id), key, id, groups }
    };
    let all = classes.into_iter().map(alike);
    all.filter(|alike| alike.groups.len() + usize::from(alike.is_new) > 1).collect()
}

#[cfg(test)]
mod tests {
    use amqp_message::{death::Reason, time::Timestamp};

    use super::*;

    fn group(error: &str, letters: u64) -> KnownGroup {
        let key = GroupKey {
            broker: "main".to_owned(),
            queue: Some("billing".to_owned()),
            message_type: None,
            reason: Reason::Rejected,
            error: error.to_owned(),
            part: None,
        };
        KnownGroup { id: key::id(&key), key, into: None, letters, first_seen: Timestamp::default() }
    }

    fn rules() -> Rewriter {
        Rewriter::new([(r"no customer (\w+)", "…")])
    }

    #[test]
    fn what_is_alike_is_merged_with_what_will_come() {
        let known = [group("no customer acme", 1), group("no customer b", 2), group("no rate", 9)];
        let merged = to_merge(&known, &rules());
        assert_eq!(merged.len(), 1);
        assert_eq!((&*merged[0].key.error, merged[0].is_new), ("no customer …", true));
        assert_eq!(merged[0].groups, [&known[1], &known[0]]);
        assert_eq!(merged[0].id, group("no customer …", 0).id);
        assert_eq!(to_merge(&known, &Rewriter::default()), []);
    }

    #[test]
    fn what_is_merged_stays_so_as_long_as_it_is_alike() {
        let root = group("no customer b", 2);
        let part = |error, by_rules| KnownGroup { into: Some((root.id, by_rules)), ..group(error, 0) };
        let known = [root.clone(), part("no customer …", true), part("no customer acme", true), part("no rate", false)];
        assert_eq!(to_merge(&known, &rules()), []);
        assert_eq!(to_split(&known, &rules()), []);
        assert_eq!(to_split(&known, &Rewriter::default()), [known[1].id, known[2].id]);
    }

    #[test]
    fn other_queues_are_others() {
        let other = group("no customer b", 1);
        let other = KnownGroup { key: GroupKey { queue: None, ..other.key.clone() }, ..other };
        let known = [group("no customer …", 1), other];
        let merged = to_merge(&known, &rules());
        assert_eq!(merged.iter().map(|alike| alike.groups.len()).collect::<Vec<_>>(), [1]);
        assert!(merged[0].is_new);
    }
}
