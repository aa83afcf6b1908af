//! Keeping the counts true when letters come and move.

use std::collections::BTreeMap;

use sqlx::QueryBuilder;

use super::{
    SLICE, StoreError,
    db::{Either, Tx, on},
    facets::FacetId,
};
use crate::domain::time::Timestamp;

/// Rows in one statement; three values each stay far below SQLite's 32,766.
const CHUNK: usize = 1_000;

/// Changes to the counts, collected while a transaction works and applied just before it commits, in one order
/// everywhere, so that two writers on Postgres wait for each other briefly and never in a circle.
#[derive(Default)]
pub(super) struct Tally {
    changes: BTreeMap<(FacetId, i64), i64>,
}

impl Tally {
    pub(super) fn add(&mut self, facet: FacetId, received_at: Timestamp) {
        self.change(facet, received_at, 1);
    }

    pub(super) fn remove(&mut self, facet: FacetId, received_at: Timestamp) {
        self.change(facet, received_at, -1);
    }

    fn change(&mut self, facet: FacetId, received_at: Timestamp, by: i64) {
        let slice = received_at.floor_to(SLICE).as_micros();
        *self.changes.entry((facet, slice)).or_default() += by;
    }

    pub(super) async fn apply(self, tx: &mut Tx) -> Result<(), StoreError> {
        let mut facets: BTreeMap<FacetId, i64> = BTreeMap::new();
        for ((facet, _), change) in &self.changes {
            *facets.entry(*facet).or_default() += change;
        }
        let facets: Vec<_> = facets.into_iter().filter(|(_, change)| *change != 0).collect();
        for chunk in facets.chunks(CHUNK) {
            change_facets(tx, chunk).await?;
        }
        let slices: Vec<_> = self.changes.into_iter().filter(|(_, change)| *change != 0).collect();
        for chunk in slices.chunks(CHUNK) {
            change_slices(tx, chunk).await?;
        }
        Ok(())
    }
}

async fn change_facets(tx: &mut Tx, changes: &[(FacetId, i64)]) -> Result<(), StoreError> {
    // An update of many rows takes them in any order.
    const LOCK: &str = "SELECT id FROM facets WHERE id = ANY($1) ORDER BY id FOR UPDATE";
    if let Either::Postgres(tx) = &mut *tx {
        let ids: Vec<i64> = changes.iter().map(|(facet, _)| facet.0).collect();
        sqlx::query(LOCK).bind(ids).execute(&mut **tx).await?;
    }
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

async fn change_slices(tx: &mut Tx, changes: &[((FacetId, i64), i64)]) -> Result<(), StoreError> {
    on!(tx, |tx| {
        let mut upsert = QueryBuilder::new("INSERT INTO facet_slices (facet_id, slice, count) ");
        upsert.push_values(changes, |mut row, ((facet, slice), change)| {
            row.push_bind(facet.0).push_bind(*slice).push_bind(*change);
        });
        upsert.push(" ON CONFLICT (facet_id, slice) DO UPDATE SET count = facet_slices.count + excluded.count");
        upsert.build().execute(&mut **tx).await?;
    });
    Ok(())
}
