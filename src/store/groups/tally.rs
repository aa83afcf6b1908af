//! Keeping the counts of groups true.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use amqp_message::time::Timestamp;
use uuid::Uuid;

use super::waking::{self, Step};
use crate::{
    domain::{
        group::GroupId,
        letter::{Importance, Status},
    },
    store::{
        StoreError,
        counts::place::{Kinds, Place},
        db::{
            Either, Tx,
            columns::{self, Column},
        },
    },
};

/// Rows that are written at a time.
const CHUNK: usize = 1_000;
/// What happens in a group is counted by hours.
pub(crate) const HOUR: Duration = Duration::from_secs(60 * 60);
/// Stands for all groups together.
pub(crate) const ALL_GROUPS: Uuid = Uuid::nil();

/// Changes to the counts of groups, which [`Tally`](super::tally::Tally) collects and applies with its own.
#[derive(Default)]
pub(crate) struct GroupTally {
    places: BTreeMap<GroupId, Vec<Came>>,
    hours: BTreeMap<(Uuid, Timestamp), HourChange>,
    sent: BTreeMap<GroupId, Sent>,
}

/// A letter that came into a group, or left it.
struct Came {
    place: Place,
    by: i64,
    /// Whether that may open the group again.
    is_news: bool,
    unsent_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Default)]
struct HourChange {
    received: i64,
    sent: i64,
    failed_again: i64,
}

#[derive(Clone, Copy, Default)]
struct Sent {
    sent: i64,
    failed_again: i64,
    last_at: Option<Timestamp>,
}

impl GroupTally {
    pub(crate) fn add(&mut self, place: Place) {
        self.place(place, 1, (true, None));
    }

    /// The same, of a letter that was there all along, whose retry turned out at that moment not to be possible.
    pub(crate) fn add_unsent(&mut self, place: Place, at: Timestamp) {
        self.place(place, 1, (true, Some(at)));
    }

    /// The same, of a letter that was there all along, in the group that this one goes on for.
    pub(crate) fn moved(&mut self, place: Place) {
        self.place(place, 1, (false, None));
    }

    pub(crate) fn remove(&mut self, place: Place) {
        self.place(place, -1, (true, None));
    }

    pub(crate) fn sent(&mut self, group: Option<GroupId>, at: Timestamp) {
        let Some(group) = group else { return };
        let sent = self.sent.entry(group).or_default();
        sent.sent += 1;
        sent.last_at = sent.last_at.max(Some(at));
        self.hour(group, at, |hour| hour.sent += 1);
    }

    pub(crate) fn failed_again(&mut self, group: Option<GroupId>, sent_at: Timestamp) {
        let Some(group) = group else { return };
        self.sent.entry(group).or_default().failed_again += 1;
        self.hour(group, sent_at, |hour| hour.failed_again += 1);
    }

    fn place(&mut self, place: Place, by: i64, (is_news, unsent_at): (bool, Option<Timestamp>)) {
        let Some(group) = place.group else { return };
        self.places.entry(group).or_default().push(Came { place, by, is_news, unsent_at });
        self.hour(group, place.received_at, |hour| hour.received += by);
    }

    fn hour(&mut self, group: GroupId, at: Timestamp, change: impl Fn(&mut HourChange)) {
        for group in [group.as_uuid(), ALL_GROUPS] {
            change(self.hours.entry((group, at.floor_to(HOUR))).or_default());
        }
    }

    pub(crate) async fn apply(mut self, tx: &mut Tx, kinds: &Kinds) -> Result<(), StoreError> {
        let changes = self.changes(kinds);
        for chunk in changes.chunks(CHUNK) {
            lock(tx, chunk).await?;
            change_groups(tx, chunk).await?;
            let steps = chunk.iter().filter(|change| change.steps.iter().any(|step| step.by > 0));
            let steps: HashMap<GroupId, &[Step]> = steps.map(|change| (change.group, &*change.steps)).collect();
            waking::arrived(tx, &steps).await?;
        }
        let hours: Vec<_> = self.hours.into_iter().filter(|(_, hour)| hour.is_change()).collect();
        for chunk in hours.chunks(CHUNK) {
            change_hours(tx, chunk).await?;
        }
        Ok(())
    }

    fn changes(&mut self, kinds: &Kinds) -> Vec<Change> {
        let mut changes: BTreeMap<GroupId, Change> = BTreeMap::new();
        for (group, places) in std::mem::take(&mut self.places) {
            let change = changes.entry(group).or_insert_with(|| Change::of(group));
            for Came { place, by, is_news, unsent_at } in places {
                if let Some((status, importance)) = kinds.get(&place.facet).copied() {
                    *change.count(status, importance) += by;
                    if is_news {
                        let received_at = place.received_at;
                        change.steps.push(Step { received_at, unsent_at, by, status, importance });
                    }
                }
                if by > 0 {
                    change.seen(place.received_at);
                }
            }
        }
        for (group, sent) in std::mem::take(&mut self.sent) {
            changes.entry(group).or_insert_with(|| Change::of(group)).sent = sent;
        }
        changes.into_values().collect()
    }
}

impl HourChange {
    const fn is_change(self) -> bool {
        self.received != 0 || self.sent != 0 || self.failed_again != 0
    }
}

/// What changes in one group.
struct Change {
    group: GroupId,
    open: [i64; Importance::ALL.len()],
    scheduled: i64,
    retried: i64,
    discarded: i64,
    first_seen: Option<Timestamp>,
    last_seen: Option<Timestamp>,
    sent: Sent,
    steps: Vec<Step>,
}

impl Change {
    fn of(group: GroupId) -> Self {
        Self {
            group,
            open: [0; Importance::ALL.len()],
            scheduled: 0,
            retried: 0,
            discarded: 0,
            first_seen: None,
            last_seen: None,
            sent: Sent::default(),
            steps: Vec::new(),
        }
    }

    fn count(&mut self, status: Status, importance: Importance) -> &mut i64 {
        match status {
            Status::Open => &mut self.open[importance as usize],
            Status::Scheduled => &mut self.scheduled,
            Status::Retried => &mut self.retried,
            Status::Discarded => &mut self.discarded,
        }
    }

    fn seen(&mut self, at: Timestamp) {
        self.first_seen = Some(self.first_seen.map_or(at, |first| first.min(at)));
        self.last_seen = self.last_seen.max(Some(at));
    }
}

/// Keeps groups from being forgotten until the transaction ends; says which of them are there. Others may hold them too,
/// and count in them.
pub(crate) async fn hold(tx: &mut Tx, groups: impl Iterator<Item = &GroupId>) -> Result<Vec<GroupId>, StoreError> {
    const HOLD: &str = "SELECT id FROM groups WHERE id = ANY($1) ORDER BY id FOR KEY SHARE";
    // On SQLite there is only one writer.
    let Either::Postgres(tx) = tx else { return Ok(groups.copied().collect()) };
    let ids: Vec<Uuid> = groups.map(|group| group.as_uuid()).collect();
    let held: Vec<Uuid> = sqlx::query_scalar(HOLD).bind(ids).fetch_all(&mut **tx).await?;
    Ok(held.into_iter().map(GroupId::from_uuid).collect())
}

/// An update of many rows would take them in any order.
async fn lock(tx: &mut Tx, changes: &[Change]) -> Result<(), StoreError> {
    // Whoever only holds them does not have to be waited for.
    const IN_ORDER: &str = "SELECT id FROM groups WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE";
    let Either::Postgres(tx) = tx else { return Ok(()) };
    let ids: Vec<Uuid> = changes.iter().map(|change| change.group.as_uuid()).collect();
    sqlx::query(IN_ORDER).bind(ids).execute(&mut **tx).await?;
    Ok(())
}

async fn change_groups(tx: &mut Tx, changes: &[Change]) -> Result<(), StoreError> {
    const UPDATE: [&str; 2] = [
        "WITH c (id, critical, high, normal, low, scheduled, retried, discarded, first_seen, last_seen, sent, failed_again,
            last_sent_at) AS (",
        ") UPDATE groups SET critical = groups.critical + c.critical, high = groups.high + c.high,
            normal = groups.normal + c.normal, low = groups.low + c.low, scheduled = groups.scheduled + c.scheduled,
            retried = groups.retried + c.retried, discarded = groups.discarded + c.discarded,
            first_seen = CASE WHEN c.first_seen < groups.first_seen THEN c.first_seen ELSE groups.first_seen END,
            last_seen = CASE WHEN c.last_seen > groups.last_seen THEN c.last_seen ELSE groups.last_seen END,
            sent = groups.sent + c.sent, failed_again = groups.failed_again + c.failed_again,
            last_sent_at = CASE WHEN c.last_sent_at IS NULL OR groups.last_sent_at > c.last_sent_at
                THEN groups.last_sent_at ELSE c.last_sent_at END
        FROM c WHERE groups.id = c.id",
    ];
    let mut columns = vec![Column::ids(changes, |change| change.group.as_uuid())];
    for importance in Importance::ALL {
        columns.push(Column::numbers(changes, |change| change.open[*importance as usize]));
    }
    columns.extend([
        Column::numbers(changes, |change| change.scheduled),
        Column::numbers(changes, |change| change.retried),
        Column::numbers(changes, |change| change.discarded),
        Column::numbers(changes, |change| change.first_seen.map(Timestamp::as_micros)),
        Column::numbers(changes, |change| change.last_seen.map(Timestamp::as_micros)),
        Column::numbers(changes, |change| change.sent.sent),
        Column::numbers(changes, |change| change.sent.failed_again),
        Column::numbers(changes, |change| change.sent.last_at.map(Timestamp::as_micros)),
    ]);
    columns::execute(tx, UPDATE, columns).await
}

async fn change_hours(tx: &mut Tx, changes: &[((Uuid, Timestamp), HourChange)]) -> Result<(), StoreError> {
    // SQLite would take the ON of the last clause for a join's, were there no WHERE before it.
    const UPSERT: [&str; 2] = [
        "WITH c (group_id, start, received, sent, failed_again) AS (",
        ") INSERT INTO group_hours (group_id, start, received, sent, failed_again)
        SELECT group_id, start, received, sent, failed_again FROM c WHERE true
        ON CONFLICT (group_id, start) DO UPDATE SET received = group_hours.received + excluded.received,
            sent = group_hours.sent + excluded.sent, failed_again = group_hours.failed_again + excluded.failed_again",
    ];
    let columns = vec![
        Column::ids(changes, |((group, _), _)| *group),
        Column::numbers(changes, |((_, start), _)| start.as_micros()),
        Column::numbers(changes, |(_, hour)| hour.received),
        Column::numbers(changes, |(_, hour)| hour.sent),
        Column::numbers(changes, |(_, hour)| hour.failed_again),
    ];
    columns::execute(tx, UPSERT, columns).await
}
