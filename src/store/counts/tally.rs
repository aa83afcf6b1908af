//! Keeping the counts true when letters come and move.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;

use super::{
    facets::FacetId,
    place::{Kinds, Place},
    slices::{SLICE, Scope, WIDTHS, micros},
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

/// Rows in one statement; four values each stay far below SQLite's 32,766.
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

type SliceKey = (Scope, Duration, Timestamp);

impl Tally {
    pub(crate) fn add(&mut self, place: Place) {
        self.change(place, 1);
        self.groups.add(place);
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
        for chunk in slices(self.changes, &kinds).chunks(CHUNK) {
            change_slices(tx, chunk).await?;
        }
        self.groups.apply(tx, &kinds).await?;
        self.jobs.apply(tx).await
    }
}

/// The changes in slices of every width, of each facet and of all that have its status and importance.
fn slices(changes: BTreeMap<(FacetId, Timestamp), i64>, kinds: &Kinds) -> Vec<(SliceKey, i64)> {
    let mut slices: BTreeMap<SliceKey, i64> = BTreeMap::new();
    for ((facet, at), change) in changes {
        let overall = kinds.get(&facet).map(|(status, importance)| Scope::all(*status, *importance));
        for scope in [Some(Scope::facet(facet)), overall].into_iter().flatten() {
            for width in WIDTHS {
                *slices.entry((scope, width, at.floor_to(width))).or_default() += change;
            }
        }
    }
    slices.into_iter().filter(|(_, change)| *change != 0).collect()
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

async fn change_slices(tx: &mut Tx, changes: &[(SliceKey, i64)]) -> Result<(), StoreError> {
    on!(tx, |tx| {
        let mut upsert = QueryBuilder::new("INSERT INTO slices (scope, width, start, count) ");
        upsert.push_values(changes, |mut row, ((scope, width, start), change)| {
            row.push_bind(scope.0).push_bind(micros(*width)).push_bind(start.as_micros()).push_bind(*change);
        });
        upsert.push(" ON CONFLICT (scope, width, start) DO UPDATE SET count = slices.count + excluded.count");
        upsert.build().execute(&mut **tx).await?;
    });
    Ok(())
}
