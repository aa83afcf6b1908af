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
pub struct GroupSnapshot(BTreeMap<GroupId, Stood>);

/// Letters of one group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stood {
    /// Open ones, of the importances of the digest.
    open: u64,
    succeeded: u64,
    failed_again: u64,
}

/// As it is kept: the numbers of [`Stood`] in their order.
#[derive(Deserialize, Serialize)]
#[serde(transparent)]
struct Kept(BTreeMap<Uuid, [u64; 3]>);

impl GroupSnapshot {
    /// # Errors
    /// Says why it cannot be read.
    pub fn read(text: &str) -> Result<Self, String> {
        let Kept(groups) = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let stood = |[open, succeeded, failed_again]: [u64; 3]| Stood { open, succeeded, failed_again };
        Ok(Self(groups.into_iter().map(|(id, numbers)| (GroupId::from_uuid(id), stood(numbers))).collect()))
    }

    pub fn write(&self) -> String {
        let numbers = |stood: &Stood| [stood.open, stood.succeeded, stood.failed_again];
        let kept = Kept(self.0.iter().map(|(id, stood)| (id.as_uuid(), numbers(stood))).collect());
        serde_json::json!(kept).to_string()
    }
}

/// The last digest that was sent, as far as the next one needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastDigest {
    pub made_at: Timestamp,
    pub snapshot: GroupSnapshot,
}

/// What a database says at one moment of the groups in the queues of a digest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// `None` where there was none yet.
    pub last: Option<LastDigest>,
    /// All groups, with what is unknown of them.
    pub groups: Vec<Group>,
    /// Open letters of the digest's importances that were received since the last digest; empty where there was none.
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
        let mut snapshot = GroupSnapshot::default();
        let mut told = Vec::new();
        for group in &self.groups {
            let stood = self.stood_at_last(group.id);
            let now = Stood {
                open: importances.iter().map(|importance| group.open[*importance as usize]).sum(),
                succeeded: group.outcome.succeeded(),
                failed_again: group.outcome.failed_again,
            };
            let succeeded = now.succeeded.saturating_sub(stood.succeeded);
            let is_over =
                group.n_open() == 0 && (stood.open > 0 || (succeeded > 0 && self.sent.contains_key(&group.id)));
            if now.open > 0 || is_over {
                let failed_again = now.failed_again.saturating_sub(stood.failed_again);
                told.push(self.digest_group(group, Stood { succeeded, failed_again, ..now }, importances));
            }
            snapshot.0.insert(group.id, now);
        }
        (told, snapshot)
    }

    fn stood_at_last(&self, group: GroupId) -> Stood {
        let last = self.last.as_ref().and_then(|last| last.snapshot.0.get(&group));
        last.copied().unwrap_or_default()
    }

    fn digest_group(&self, group: &Group, since: Stood, importances: &[Importance]) -> DigestGroup {
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
            open: since.open,
            // The first digest is about all there is.
            new: if self.last.is_none() { since.open } else { self.new.get(&group.id).copied().unwrap_or(0) },
            is_new: !self.last.as_ref().is_some_and(|last| last.snapshot.0.contains_key(&group.id)),
            first_seen: group.first_seen,
            last_seen: group.last_seen,
            oldest_open: self.oldest_open.get(&group.id).copied().filter(|_| since.open > 0),
            succeeded: since.succeeded,
            failed_again: since.failed_again,
            note: group.note.as_ref().map(|note| shortened(&note.text)),
        }
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
        assert_eq!(GroupSnapshot::read(&snapshot.write()), Ok(snapshot));
        assert_eq!(told[0].error.chars().count(), 500);
        assert!(GroupSnapshot::read("{\"x\": 1}").is_err());
    }
}
