//! Keeping the counts true when letters come and move.

use std::collections::BTreeMap;

use sqlx::QueryBuilder;

use super::{
    SLICE, StoreError,
    db::{Tx, on},
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
        for (facet, change) in facets.into_iter().filter(|(_, change)| *change != 0) {
            change_facet(tx, facet, change).await?;
        }
        let slices: Vec<_> = self.changes.into_iter().filter(|(_, change)| *change != 0).collect();
        for chunk in slices.chunks(CHUNK) {
            change_slices(tx, chunk).await?;
        }
        Ok(())
    }
}

async fn change_facet(tx: &mut Tx, facet: FacetId, change: i64) -> Result<(), StoreError> {
    const CHANGE: &str = "UPDATE facets SET count = count + $1 WHERE id = $2";
    on!(tx, |tx| sqlx::query(CHANGE).bind(change).bind(facet.0).execute(&mut **tx).await.map(drop)?);
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
