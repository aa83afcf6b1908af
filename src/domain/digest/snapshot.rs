//! How the groups stand at one moment, and what that makes of them since an earlier one.

use std::collections::{BTreeMap, HashMap};

use amqp_message::time::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::group::DigestGroup;
use crate::domain::{
    group::{Group, GroupId},
    letter::Importance,
};

/// Characters of an error and of a note that are kept. A digest shows fewer.
const LONGEST_TEXT: usize = 500;

/// How each group stood when a digest was made, for the next one to compare with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupSnapshot {
    groups: BTreeMap<GroupId, Stood>,
    /// When the oldest letter was received that was in no group yet; `None` where there was none.
    pub ungrouped_since: Option<Timestamp>,
}

/// Letters of one group alone, without those of groups that are counted in it. So the difference of two of them is what
/// happened, whatever was merged or split between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stood {
    /// Open ones, of the importances of the digest.
    open: i64,
    succeeded: i64,
    failed_again: i64,
}

impl Stood {
    fn of(group: &Group, importances: &[Importance]) -> Self {
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        Self {
            open: number(importances.iter().map(|importance| group.open[*importance as usize]).sum()),
            succeeded: number(group.outcome.succeeded()),
            failed_again: number(group.outcome.failed_again),
        }
    }

    const fn add(&mut self, other: Self) {
        self.open += other.open;
        self.succeeded += other.succeeded;
        self.failed_again += other.failed_again;
    }
}

/// As it is kept: the numbers of [`Stood`] in their order.
#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum Kept {
    /// In microseconds.
    Ungrouped { ungrouped_since: i64, groups: BTreeMap<Uuid, [i64; 3]> },
    /// Every letter was in a group.
    Grouped(BTreeMap<Uuid, [i64; 3]>),
}

impl GroupSnapshot {
    /// # Errors
    /// Says why it cannot be read.
    pub fn read(text: &str) -> Result<Self, String> {
        let (groups, ungrouped_since) = match serde_json::from_str(text).map_err(|error| error.to_string())? {
            Kept::Ungrouped { ungrouped_since, groups } => (groups, Some(Timestamp::from_micros(ungrouped_since))),
            Kept::Grouped(groups) => (groups, None),
        };
        let stood = |[open, succeeded, failed_again]: [i64; 3]| Stood { open, succeeded, failed_again };
        let groups = groups.into_iter().map(|(id, numbers)| (GroupId::from_uuid(id), stood(numbers))).collect();
        Ok(Self { groups, ungrouped_since })
    }

    pub fn write(&self) -> String {
        let numbers = |stood: &Stood| [stood.open, stood.succeeded, stood.failed_again];
        let groups = self.groups.iter().map(|(id, stood)| (id.as_uuid(), numbers(stood))).collect();
        let kept = match self.ungrouped_since.map(Timestamp::as_micros) {
            Some(ungrouped_since) => Kept::Ungrouped { ungrouped_since, groups },
            None => Kept::Grouped(groups),
        };
        serde_json::json!(kept).to_string()
    }
}

/// The last digest that was sent, as far as the next one needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastDigest {
    pub made_at: Timestamp,
    pub snapshot: GroupSnapshot,
}

/// What a group is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartOf {
    pub group: GroupId,
    /// Whether its retries are counted in that one as well.
    pub is_counted_in: bool,
}

/// What a database says at one moment of the groups in the queues of a digest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// `None` where there was none yet.
    pub last: Option<LastDigest>,
    /// All groups, with what is unknown of them, also those that are part of another.
    pub groups: Vec<Group>,
    pub merged: HashMap<GroupId, PartOf>,
    /// When the oldest letter was received that is in no group yet; `None` where there is none.
    pub ungrouped_since: Option<Timestamp>,
    /// Open letters of the digest's importances that the last digest did not know of; empty where there was none.
    pub new: HashMap<GroupId, u64>,
    /// When the oldest open letter of the digest's importances was received.
    pub oldest_open: HashMap<GroupId, Timestamp>,
    /// Groups of which people have sent letters of the digest's importances back since the last digest, and that have not
    /// failed again, with the highest importance of these; empty where there was none.
    pub sent: HashMap<GroupId, Importance>,
}

impl Figures {
    /// The groups that a digest of letters of these importances is about, and how all groups stand.
    ///
    /// That is every group with open letters of these importances, and those without any open letter that had some at
    /// the last digest or that people have sent back and that succeeded since.
    pub fn settle(self, importances: &[Importance]) -> (Vec<DigestGroup>, GroupSnapshot) {
        let groups = self.alone(importances);
        let changes = self.changes(&groups);
        let mut told = Vec::new();
        for group in &self.groups {
            // One that is part of another is told as that one.
            let Some(change) = changes.get(&group.id) else { continue };
            let is_over = group.n_open() == 0
                && (change.last.open > 0 || (change.succeeded() > 0 && self.sent.contains_key(&group.id)));
            if change.open() > 0 || is_over {
                told.push(self.digest_group(group, change, importances));
            }
        }
        (told, GroupSnapshot { groups, ungrouped_since: self.ungrouped_since })
    }

    /// How each group stands without those that are counted in it.
    fn alone(&self, importances: &[Importance]) -> BTreeMap<GroupId, Stood> {
        let whole: BTreeMap<GroupId, Stood> =
            self.groups.iter().map(|group| (group.id, Stood::of(group, importances))).collect();
        let mut alone = whole.clone();
        for (part, of) in self.merged.iter().filter(|(_, of)| of.is_counted_in) {
            if let (Some(part), Some(of)) = (whole.get(part), alone.get_mut(&of.group)) {
                // An open letter is counted in one group only.
                of.succeeded -= part.succeeded;
                of.failed_again -= part.failed_again;
            }
        }
        alone
    }

    /// By groups that are part of no other, each with all that are part of it.
    fn changes(&self, groups: &BTreeMap<GroupId, Stood>) -> HashMap<GroupId, Change> {
        let last = self.last.as_ref().map(|last| &last.snapshot.groups);
        let mut changes: HashMap<GroupId, Change> = HashMap::new();
        for (id, now) in groups {
            let mut whole = *id;
            while let Some(of) = self.merged.get(&whole) {
                whole = of.group;
            }
            let change = changes.entry(whole).or_default();
            change.now.add(*now);
            if let Some(stood) = last.and_then(|last| last.get(id)) {
                change.last.add(*stood);
                change.is_known = true;
            }
        }
        changes
    }

    fn digest_group(&self, group: &Group, change: &Change, importances: &[Importance]) -> DigestGroup {
        let open = Importance::ALL.iter().filter(|importance| importances.contains(importance));
        let mut open = open.filter(|importance| group.open[**importance as usize] > 0);
        let most_important = open.next().or_else(|| self.sent.get(&group.id)).or_else(|| importances.iter().max());
        DigestGroup {
            id: group.id,
            importance: most_important.copied().unwrap_or(Importance::Low),
            broker: group.key.broker.clone(),
            queue: group.key.queue.clone(),
            message_type: group.key.message_type.clone(),
            reason: group.key.reason,
            error: shortened(&group.key.error),
            open: change.open(),
            // The first digest is about all there is.
            new: if self.last.is_none() { change.open() } else { self.new.get(&group.id).copied().unwrap_or(0) },
            is_new: !change.is_known,
            first_seen: group.first_seen,
            last_seen: group.last_seen,
            oldest_open: self.oldest_open.get(&group.id).copied().filter(|_| change.open() > 0),
            succeeded: change.succeeded(),
            failed_again: change.failed_again(),
            note: group.note.as_ref().map(|note| shortened(&note.text)),
        }
    }
}

/// What has become of a group, and of those that are part of it, since the last digest.
#[derive(Default)]
struct Change {
    last: Stood,
    now: Stood,
    /// Whether the last digest knew of any of them.
    is_known: bool,
}

impl Change {
    fn open(&self) -> u64 {
        u64::try_from(self.now.open).unwrap_or(0)
    }

    fn succeeded(&self) -> u64 {
        u64::try_from(self.now.succeeded - self.last.succeeded).unwrap_or(0)
    }

    fn failed_again(&self) -> u64 {
        u64::try_from(self.now.failed_again - self.last.failed_again).unwrap_or(0)
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(LONGEST_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::group::{GroupKey, Outcome};
    use amqp_message::death::Reason;

    const NORMAL: &[Importance] = &[Importance::Normal, Importance::Low];

    fn id(n: u128) -> GroupId {
        GroupId::from_uuid(Uuid::from_u128(n))
    }

    /// With open letters by importance, and so many that were sent and came back.
    fn group(open: [u64; 4], [sent, failed_again]: [u64; 2]) -> Group {
        Group {
            state: Default::default(),
            told_as: None,
            id: id(1),
            key: GroupKey {
                broker: "main".to_owned(),
                queue: None,
                message_type: None,
                reason: Reason::Rejected,
                error: "é".repeat(2_000),
                part: None,
            },
            open,
            scheduled: 0,
            retried: 0,
            discarded: 0,
            first_seen: Timestamp::from_seconds(10),
            last_seen: Timestamp::from_seconds(20),
            outcome: Outcome { sent, failed_again, pending: 0 },
            last_sent_at: None,
            note: None,
        }
    }

    fn figures(group: Group, last: Option<[u64; 3]>) -> Figures {
        let snapshot =
            |numbers| GroupSnapshot::read(&serde_json::json!({ id(1).to_string(): numbers }).to_string()).unwrap();
        let last = last.map(|last| LastDigest { made_at: Timestamp::from_seconds(15), snapshot: snapshot(last) });
        Figures { last, groups: vec![group], ..Figures::default() }
    }

    /// Open, succeeded and came back, where the group is in the digest.
    fn check(figures: Figures, expected: Option<[u64; 3]>) {
        let (told, _) = figures.clone().settle(NORMAL);
        let told: Vec<[u64; 3]> = told.iter().map(|group| [group.open, group.succeeded, group.failed_again]).collect();
        assert_eq!(told, Vec::from_iter(expected), "{figures:?}");
    }

    #[test]
    fn what_is_open_of_its_importances_is_reported() {
        check(figures(group([9, 9, 2, 1], [0, 0]), None), Some([3, 0, 0]));
        check(figures(group([9, 9, 0, 0], [5, 1]), None), None);
        check(figures(group([0, 0, 0, 0], [5, 1]), None), None);
    }

    #[test]
    fn what_changed_since_the_last_digest_is_the_difference() {
        check(figures(group([0, 0, 2, 0], [10, 3]), None), Some([2, 7, 3]));
        check(figures(group([0, 0, 2, 0], [10, 3]), Some([5, 4, 1])), Some([2, 3, 2]));
        check(figures(group([0, 0, 2, 0], [10, 9]), Some([5, 4, 1])), Some([2, 0, 8]));
        check(figures(group([0, 0, 2, 0], [0, 0]), Some([5, 4, 1])), Some([2, 0, 0]));
    }

    #[test]
    fn what_the_last_digest_did_not_know_is_new() {
        let is_new = |figures: Figures| figures.settle(NORMAL).0[0].is_new;
        assert!(is_new(figures(group([0, 0, 1, 0], [0, 0]), None)));
        assert!(!is_new(figures(group([0, 0, 1, 0], [0, 0]), Some([0, 0, 0]))));
    }

    #[test]
    fn merging_and_splitting_is_no_outcome() {
        let with = |group: Group, open, [sent, failed_again]: [u64; 2]| Group {
            open: [0, 0, open, 0],
            outcome: Outcome { sent, failed_again, pending: 0 },
            ..group
        };
        let (first, second) = (group([0; 4], [0, 0]), Group { id: id(2), ..group([0; 4], [0, 0]) });
        let apart = [with(first.clone(), 2, [10, 3]), with(second.clone(), 1, [500, 300])].to_vec();
        let counted_in = [with(first.clone(), 3, [510, 303]), with(second.clone(), 0, [500, 300])].to_vec();
        // What failed again meanwhile is the first one's.
        let apart_again = [with(first, 2, [10, 4]), with(second, 1, [500, 300])].to_vec();
        let merged = |is_counted_in| HashMap::from([(id(2), PartOf { group: id(1), is_counted_in })]);
        let settled = |last: Option<&GroupSnapshot>, groups: &[Group], merged| {
            let last = last.map(|last| LastDigest { made_at: Timestamp::from_seconds(15), snapshot: last.clone() });
            let (told, snapshot) =
                Figures { last, groups: groups.to_vec(), merged, ..Figures::default() }.settle(NORMAL);
            let told: Vec<_> =
                told.iter().map(|group| (group.is_new, [group.open, group.succeeded, group.failed_again])).collect();
            (told, snapshot)
        };
        let (_, before) = settled(None, &apart, HashMap::new());
        for (groups, merged) in [(&apart, merged(false)), (&counted_in, merged(true))] {
            let (told, snapshot) = settled(Some(&before), groups, merged);
            assert_eq!(told, [(false, [3, 0, 0])]);
            let (told, _) = settled(Some(&snapshot), &apart_again, HashMap::new());
            assert_eq!(told, [(false, [2, 0, 1]), (false, [1, 0, 0])]);
        }
    }

    #[test]
    fn what_is_over_is_reported_once() {
        let over = group([0, 0, 0, 0], [3, 0]);
        check(figures(over.clone(), Some([3, 0, 0])), Some([0, 3, 0]));
        let (_, snapshot) = figures(over.clone(), Some([3, 0, 0])).settle(NORMAL);
        let last = Some(LastDigest { made_at: Timestamp::from_seconds(30), snapshot });
        check(Figures { last, ..figures(over, None) }, None);
    }

    #[test]
    fn what_only_became_weightier_is_not_over() {
        check(figures(group([3, 0, 0, 0], [0, 0]), Some([3, 0, 0])), None);
    }

    #[test]
    fn what_came_and_succeeded_between_two_digests_is_told_where_people_sent_it_back() {
        let succeeded = figures(group([0, 0, 0, 0], [3, 0]), Some([0, 0, 0]));
        check(succeeded.clone(), None);
        let sent = HashMap::from([(id(1), Importance::Low)]);
        check(Figures { sent: sent.clone(), ..succeeded }, Some([0, 3, 0]));
        check(Figures { sent, ..figures(group([0, 0, 0, 0], [3, 3]), Some([0, 0, 0])) }, None);
    }

    #[test]
    fn a_group_is_as_weighty_as_its_open_letters_that_count() {
        let importance = |figures: Figures| figures.settle(NORMAL).0[0].importance;
        assert_eq!(importance(figures(group([1, 0, 0, 1], [0, 0]), None)), Importance::Low);
        assert_eq!(importance(figures(group([1, 0, 1, 1], [0, 0]), None)), Importance::Normal);
        assert_eq!(importance(figures(group([0, 0, 0, 0], [0, 0]), Some([1, 0, 0]))), Importance::Low);
    }

    #[test]
    fn a_standing_can_be_kept_and_texts_are_bounded() {
        let (told, snapshot) = figures(group([0, 0, 2, 0], [10, 3]), None).settle(NORMAL);
        assert_eq!(GroupSnapshot::read(&snapshot.write()), Ok(snapshot.clone()));
        let ungrouped = GroupSnapshot { ungrouped_since: Some(Timestamp::from_seconds(9)), ..snapshot };
        assert_eq!(GroupSnapshot::read(&ungrouped.write()), Ok(ungrouped));
        assert_eq!(told[0].error.chars().count(), 500);
        assert!(GroupSnapshot::read("{\"x\": 1}").is_err());
    }
}
