//! Facets in a transaction: found, made, and kept from being removed meanwhile.

use std::{
    collections::{BTreeSet, HashMap, HashSet, hash_map::Entry},
    sync::{Mutex, PoisonError},
};

use super::facets::{FacetId, FacetKey};
use crate::store::{
    Store, StoreError,
    db::{Either, Sql, Tx, on},
};

const MAKE: &str = "INSERT INTO facets (broker, queue, reason, status, importance, count)
    VALUES ($1, $2, $3, $4, $5, 0) ON CONFLICT DO NOTHING";
const FIND: Sql = Sql {
    sqlite: "SELECT id FROM facets
        WHERE broker = $1 AND queue = $2 AND reason = $3 AND status = $4 AND importance = $5",
    postgres: "SELECT id FROM facets
        WHERE broker = $1 AND queue = $2 AND reason = $3 AND status = $4 AND importance = $5 FOR KEY SHARE",
};

/// The ids of facets seen so far. Another server may have removed one since; see [`FacetScope`].
#[derive(Default)]
pub(crate) struct FacetIds(Mutex<HashMap<FacetKey, FacetId>>);

impl FacetIds {
    fn get(&self, key: &FacetKey) -> Option<FacetId> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied()
    }

    fn put(&self, key: FacetKey, id: FacetId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, id);
    }

    /// To be called before they are removed: on SQLite nobody else writes until that is committed.
    pub(crate) fn forget(&self, ids: &HashSet<FacetId>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, id| !ids.contains(id));
    }
}

/// Finds facets while a transaction is open, makes those that are new in it, and keeps them from being removed until it
/// ends.
///
/// What is new is remembered only by [`committed`](Self::committed): a rollback takes the facet with it.
pub(crate) struct FacetScope<'a> {
    known: &'a FacetIds,
    held: HashMap<FacetKey, FacetId>,
}

impl FacetScope<'_> {
    /// Holds those that are there, and makes the others in the one order in which everybody makes them.
    pub(crate) async fn make_all(&mut self, tx: &mut Tx, keys: BTreeSet<FacetKey>) -> Result<(), StoreError> {
        let known = keys.iter().filter(|key| !self.held.contains_key(*key));
        let known: Vec<(&FacetKey, FacetId)> = known.filter_map(|key| Some((key, self.known.get(key)?))).collect();
        let there = hold(tx, &known).await?;
        self.held.extend(known.into_iter().filter(|(_, id)| there.contains(id)).map(|(key, id)| (key.clone(), id)));
        for key in keys {
            if let Entry::Vacant(missing) = self.held.entry(key) {
                let id = make_facet(tx, missing.key()).await?;
                missing.insert(id);
            }
        }
        Ok(())
    }

    pub(crate) async fn id(&mut self, tx: &mut Tx, key: &FacetKey) -> Result<FacetId, StoreError> {
        if let Some(id) = self.held.get(key) {
            return Ok(*id);
        }
        self.make_all(tx, BTreeSet::from([key.clone()])).await?;
        let lost = || StoreError::Unreadable { what: "a facet", why: "it was not made".to_owned() };
        self.held.get(key).copied().ok_or_else(lost)
    }

    pub(crate) fn committed(self) {
        for (key, id) in self.held {
            self.known.put(key, id);
        }
    }
}

/// Keeps facets from being removed until the transaction ends; says which of them are there. Others may hold them too, and
/// count in them.
async fn hold(tx: &mut Tx, facets: &[(&FacetKey, FacetId)]) -> Result<HashSet<FacetId>, StoreError> {
    const HOLD: &str = "SELECT id FROM facets WHERE id = ANY($1) ORDER BY id FOR KEY SHARE";
    let ids = facets.iter().map(|(_, id)| *id);
    // On SQLite there is only one writer, which forgets here what it removes there.
    let Either::Postgres(tx) = tx else { return Ok(ids.collect()) };
    let ids: Vec<i64> = ids.map(|id| id.0).collect();
    if ids.is_empty() {
        return Ok(HashSet::new());
    }
    let held: Vec<i64> = sqlx::query_scalar(HOLD).bind(ids).fetch_all(&mut **tx).await?;
    Ok(held.into_iter().map(FacetId).collect())
}

async fn make_facet(tx: &mut Tx, key: &FacetKey) -> Result<FacetId, StoreError> {
    let words = [&*key.broker, &*key.queue, key.reason.as_str(), key.status.as_str(), key.importance.as_str()];
    let find = FIND.pick(tx);
    loop {
        let id: Option<i64> = on!(&mut *tx, |tx| {
            let mut insert = sqlx::query(MAKE);
            let mut find = sqlx::query_scalar(find);
            for word in words {
                insert = insert.bind(word);
                find = find.bind(word);
            }
            insert.execute(&mut **tx).await?;
            find.fetch_optional(&mut **tx).await?
        });
        // One that was there may have been removed since.
        if let Some(id) = id {
            return Ok(FacetId(id));
        }
    }
}

impl Store {
    pub(crate) fn facet_scope(&self) -> FacetScope<'_> {
        FacetScope { known: &self.facets, held: HashMap::new() }
    }
}
