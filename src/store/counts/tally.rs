//! Keeping the counts true when letters come and move.

use std::collections::{BTreeMap, HashMap};

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;

use super::{
    facets::FacetId,
    place::{Kinds, Place},
    slices::{DAY, HOUR, HOURS, SLICE, Scope},
};
use crate::{
    domain::group::GroupId,
    store::{
        StoreError,
        db::{Sql, Tx, id_list::numbers, on},
        groups::tally::GroupTally,
        jobs::tally::JobTally,
        letters::rows::parse,
    },
};

/// Rows in one statement; 27 values each stay below SQLite's 32,766.
const CHUNK: usize = 1_000;

/// Changes to the counts, collected while a transaction works and applied just before it commits, in one order
/// everywhere, so that two writers on Postgres wait for each other briefly and never in a circle.
#[derive(Default)]
pub(crate) struct Tally {
    changes: BTreeMap<(FacetId, Timestamp), i64>,
    groups: GroupTally,
    /// The outcomes of the letters of jobs.
    pub(crate) jobs: JobTally,
}

/// The changes of what was received in each slice of time.
type Slices = BTreeMap<(Scope, Timestamp), i64>;

impl Tally {
    pub(crate) fn add(&mut self, place: Place) {
        self.change(place, 1);
        self.groups.add(place);
    }

    /// The same, of a letter whose retry turned out at that moment not to be possible.
    pub(crate) fn add_unsent(&mut self, place: Place, at: Timestamp) {
        self.change(place, 1);
        self.groups.add_unsent(place, at);
    }

    /// The same, of a letter whose group goes on as this one, or as a part of it: that opens no group again.
    pub(crate) fn moved(&mut self, place: Place) {
        self.change(place, 1);
        self.groups.moved(place);
    }

    pub(crate) fn remove(&mut self, place: Place) {
        self.change(place, -1);
        self.groups.remove(place);
    }

    /// Counts that a letter of `group` was sent back at that moment.
    pub(crate) fn sent(&mut self, group: Option<GroupId>, at: Timestamp) {
        self.groups.sent(group, at);
    }

    /// Counts that a letter of `group` that was sent back at `sent_at` has failed again.
    pub(crate) fn failed_again(&mut self, group: Option<GroupId>, sent_at: Timestamp) {
        self.groups.failed_again(group, sent_at);
    }

    fn change(&mut self, place: Place, by: i64) {
        *self.changes.entry((place.facet, place.received_at.floor_to(SLICE))).or_default() += by;
    }

    pub(crate) async fn apply(self, tx: &mut Tx) -> Result<(), StoreError> {
        let mut facets: BTreeMap<FacetId, i64> = BTreeMap::new();
        for ((facet, _), change) in &self.changes {
            *facets.entry(*facet).or_default() += change;
        }
        let facets: Vec<_> = facets.into_iter().collect();
        let mut kinds = HashMap::new();
        for chunk in facets.chunks(CHUNK) {
            kinds.extend(lock_facets(tx, chunk).await?);
            change_facets(tx, chunk).await?;
        }
        let slices = of_scopes(self.changes, &kinds);
        for chunk in slices.iter().collect::<Vec<_>>().chunks(CHUNK) {
            change_slices(tx, chunk).await?;
        }
        for chunk in days(&slices).into_iter().collect::<Vec<_>>().chunks(CHUNK) {
            change_days(tx, chunk).await?;
        }
        self.groups.apply(tx, &kinds).await?;
        self.jobs.apply(tx).await
    }
}

/// The changes in the slices of each facet, and of all that have its status and importance.
fn of_scopes(changes: BTreeMap<(FacetId, Timestamp), i64>, kinds: &Kinds) -> Slices {
    let mut slices = Slices::new();
    for ((facet, at), change) in changes {
        let overall = kinds.get(&facet).map(|(status, importance)| Scope::all(*status, *importance));
        for scope in [Some(Scope::facet(facet)), overall].into_iter().flatten() {
            *slices.entry((scope, at)).or_default() += change;
        }
    }
    slices.retain(|_, change| *change != 0);
    slices
}

/// The same in days.
fn days(slices: &Slices) -> BTreeMap<(Scope, Timestamp), [i64; HOURS.len()]> {
    let mut days: BTreeMap<_, [i64; HOURS.len()]> = BTreeMap::new();
    for ((scope, at), change) in slices {
        let day = at.floor_to(DAY);
        let hour = at.since(day).as_secs() / HOUR.as_secs();
        for (n, change_of_hour) in (0..).zip(days.entry((*scope, day)).or_default()) {
            *change_of_hour += if n == hour { *change } else { 0 };
        }
    }
    days.retain(|_, hours| hours.iter().any(|change| *change != 0));
    days
}

/// Locks facets and says of what kind each is.
async fn lock_facets(tx: &mut Tx, changes: &[(FacetId, i64)]) -> Result<Kinds, StoreError> {
    /// An update of many rows would take them in any order.
    const IN_ORDER: Sql = Sql { sqlite: "", postgres: " ORDER BY id FOR NO KEY UPDATE" };
    let in_order = IN_ORDER.pick(tx);
    let rows: Vec<(i64, String, String)> = on!(tx, |tx| {
        let mut select = QueryBuilder::new("SELECT id, status, importance FROM facets WHERE id IN ");
        select.push(numbers(changes.iter().map(|(facet, _)| facet.0))).push(in_order);
        select.build_query_as().persistent(false).fetch_all(&mut **tx).await?
    });
    let kind = |(id, status, importance): (i64, String, String)| {
        Ok((FacetId(id), (parse("a status", &status)?, parse("an importance", &importance)?)))
    };
    rows.into_iter().map(kind).collect()
}

async fn change_facets(tx: &mut Tx, changes: &[(FacetId, i64)]) -> Result<(), StoreError> {
    on!(tx, |tx| {
        let mut update = QueryBuilder::new("WITH changes (id, change) AS (");
        update.push_values(changes, |mut row, (facet, change)| {
            row.push_bind(facet.0).push_bind(*change);
        });
        update.push(") UPDATE facets SET count = facets.count + changes.change FROM changes");
        update.push(" WHERE changes.id = facets.id");
        update.build().execute(&mut **tx).await?;
    });
    Ok(())
}

async fn change_slices(tx: &mut Tx, changes: &[(&(Scope, Timestamp), &i64)]) -> Result<(), StoreError> {
    on!(tx, |tx| {
        let mut upsert = QueryBuilder::new("INSERT INTO slices (scope, start, count) ");
        upsert.push_values(changes, |mut row, ((scope, start), change)| {
            row.push_bind(scope.0).push_bind(start.as_micros()).push_bind(**change);
        });
        upsert.push(" ON CONFLICT (scope, start) DO UPDATE SET count = slices.count + excluded.count");
        upsert.build().execute(&mut **tx).await?;
    });
    Ok(())
}

/// Names the hours only that something changes in: mostly it is one.
async fn change_days(tx: &mut Tx, changes: &[((Scope, Timestamp), [i64; HOURS.len()])]) -> Result<(), StoreError> {
    let is_changed = |hour: &usize| changes.iter().any(|(_, hours)| hours[*hour] != 0);
    let changed: Vec<usize> = (0..HOURS.len()).filter(is_changed).collect();
    let columns: Vec<&str> = changed.iter().map(|hour| HOURS[*hour]).collect();
    on!(tx, |tx| {
        let mut upsert = QueryBuilder::new("INSERT INTO days (");
        upsert.push(["scope", "start", "count"].into_iter().chain(columns.clone()).collect::<Vec<_>>().join(", "));
        upsert.push(") ");
        upsert.push_values(changes, |mut row, ((scope, start), hours)| {
            row.push_bind(scope.0).push_bind(start.as_micros()).push_bind(hours.iter().sum::<i64>());
            for hour in &changed {
                row.push_bind(hours[*hour]);
            }
        });
        upsert.push(" ON CONFLICT (scope, start) DO UPDATE SET count = days.count + excluded.count");
        for column in &columns {
            upsert.push(format_args!(", {column} = days.{column} + excluded.{column}"));
        }
        upsert.build().execute(&mut **tx).await?;
    });
    Ok(())
}
