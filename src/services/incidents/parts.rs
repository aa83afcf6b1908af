//! Groups that were split by a field, as incidents.

use std::collections::BTreeMap;

use super::acknowledged::acknowledged_at;
use crate::domain::group::{Group, GroupId};

/// The parts of a group that was split are one incident, as the group was before: nobody is paged because somebody sorts.
pub(super) fn parts_as_one(groups: Vec<Group>) -> Vec<Group> {
    let mut all: BTreeMap<GroupId, Group> = BTreeMap::new();
    for mut group in groups {
        if let Some(part) = group.key.part.take() {
            group.id = part.of;
        }
        let Some(known) = all.get_mut(&group.id) else {
            all.insert(group.id, group);
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
    all.into_values().collect()
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
        }
    }

    #[test]
    fn parts_are_one_with_the_group_that_was_split() {
        let all = parts_as_one(vec![
            group(3, Some(1), 2, 30),
            group(1, None, 1, 20),
            group(2, None, 1, 5),
            group(4, Some(1), 0, 40),
        ]);
        let told: Vec<_> = all.iter().map(|group| (group.id, group.open, group.key.part.clone())).collect();
        assert_eq!(told, [(id(1), [3, 0, 0, 3], None), (id(2), [1, 0, 0, 1], None)]);
        assert_eq!((all[0].first_seen, all[0].last_seen), (Timestamp::from_seconds(20), Timestamp::from_seconds(40)));
    }
}
