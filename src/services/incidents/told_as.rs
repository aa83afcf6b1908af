//! Groups that are one incident: nobody is paged because somebody sorts.

use std::collections::BTreeMap;

use super::acknowledged::acknowledged_at;
use crate::domain::group::{Group, GroupId};

/// Groups by the one as which they are told: the parts of a group that was split as that group, and one whose letters
/// became of another type as the one that they were in, while that has an incident.
pub(super) fn told_as_one(groups: Vec<Group>, has_incident: impl Fn(GroupId) -> bool) -> Vec<(GroupId, Group)> {
    let mut all: BTreeMap<GroupId, Group> = BTreeMap::new();
    for mut group in groups {
        if let Some(part) = group.key.part.take() {
            group.id = part.of;
        }
        let told_as = group.told_as.filter(|was| has_incident(*was)).unwrap_or(group.id);
        let Some(known) = all.get_mut(&told_as) else {
            all.insert(told_as, group);
            continue;
        };
        let open = std::array::from_fn(|n| known.open[n] + group.open[n]);
        let (first_seen, last_seen) = (known.first_seen.min(group.first_seen), known.last_seen.max(group.last_seen));
        // Reminders go on as long as one of them is nobody's.
        if acknowledged_at(&group).is_none() {
            *known = group;
        }
        (known.open, known.first_seen, known.last_seen) = (open, first_seen, last_seen);
    }
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use amqp_message::{death::Reason, time::Timestamp};
    use uuid::Uuid;

    use super::*;
    use crate::domain::group::{GroupKey, GroupPart, Outcome};

    fn id(n: u128) -> GroupId {
        GroupId::from_uuid(Uuid::from_u128(n))
    }

    fn group(n: u128, of: Option<u128>, critical: u64, seen: u64) -> Group {
        let key = GroupKey {
            broker: "main".to_owned(),
            queue: None,
            message_type: None,
            reason: Reason::Rejected,
            error: "no rate".to_owned(),
            part: of.map(|of| GroupPart { of: id(of), what: format!("n: {n}") }),
        };
        Group {
            id: id(n),
            key,
            open: [critical, 0, 0, 1],
            scheduled: 0,
            retried: 0,
            discarded: 0,
            first_seen: Timestamp::from_seconds(seen),
            last_seen: Timestamp::from_seconds(seen),
            outcome: Outcome::default(),
            last_sent_at: None,
            note: None,
            state: Default::default(),
            told_as: None,
        }
    }

    #[test]
    fn parts_are_one_with_the_group_that_was_split() {
        let parts =
            vec![group(3, Some(1), 2, 30), group(1, None, 1, 20), group(2, None, 1, 5), group(4, Some(1), 0, 40)];
        let all = told_as_one(parts, |_| false);
        let told: Vec<_> = all.iter().map(|(id, group)| (*id, group.id, group.open, group.key.part.clone())).collect();
        assert_eq!(told, [(id(1), id(1), [3, 0, 0, 3], None), (id(2), id(2), [1, 0, 0, 1], None)]);
        let first = &all[0].1;
        assert_eq!((first.first_seen, first.last_seen), (Timestamp::from_seconds(20), Timestamp::from_seconds(40)));
    }

    #[test]
    fn what_became_of_another_type_is_told_as_before_while_people_know_of_that() {
        let groups = || {
            let of = |n, was| Group { told_as: Some(id(was)), ..group(n, None, 1, 20) };
            vec![group(1, None, 1, 20), of(2, 1), of(3, 9)]
        };
        let told = |groups: Vec<(GroupId, Group)>| -> Vec<(GroupId, u64)> {
            groups.into_iter().map(|(id, group)| (id, group.open[0])).collect()
        };
        assert_eq!(told(told_as_one(groups(), |was| was == id(1))), [(id(1), 2), (id(3), 1)]);
        assert_eq!(told(told_as_one(groups(), |_| false)), [(id(1), 1), (id(2), 1), (id(3), 1)]);
        assert_eq!(told(told_as_one(groups(), |was| was == id(9))), [(id(1), 1), (id(2), 1), (id(9), 1)]);
    }
}
