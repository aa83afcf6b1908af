//! Facets with their counts, as pages read them: many at once, and often.
//!
//! Only the counts are read each time, all in one row. What a facet stands for never changes, and no id is given twice, so it
//! is read once.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use sqlx::{Database, QueryBuilder};
use sqlx_macros::FromRow;

use super::facets::{FacetId, FacetKey, SeenFacet};
use crate::{
    domain::filter::LetterFilter,
    store::{
        StoreError, StoreReader,
        db::{Sql, on},
    },
};

/// So many are kept; there are more only where names are made up all the time.
const MOST_KEPT: usize = 100_000;

/// What facets stand for, as far as somebody has asked.
#[derive(Default)]
pub(crate) struct FacetKeys(RwLock<HashMap<FacetId, Arc<FacetKey>>>);

impl FacetKeys {
    /// Those of these counts that are known, and the first id that is not.
    fn join(&self, counts: &[(FacetId, i64)]) -> (Vec<SeenFacet>, Option<FacetId>) {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut seen = Vec::with_capacity(counts.len());
        let mut unknown: Option<FacetId> = None;
        for (id, count) in counts {
            match known.get(id) {
                Some(key) => seen.push((*id, Arc::clone(key), count.unsigned_abs())),
                None => unknown = Some(unknown.map_or(*id, |first| first.min(*id))),
            }
        }
        (seen, unknown)
    }

    fn keep(&self, keys: &HashMap<FacetId, Arc<FacetKey>>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() + keys.len() > MOST_KEPT {
            known.clear();
        }
        known.extend(keys.iter().take(MOST_KEPT).map(|(id, key)| (*id, Arc::clone(key))));
    }

    /// To be called where another server may answer from now on, which may not have all that this one had.
    pub(crate) fn forget(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

#[derive(FromRow)]
struct KeyRow {
    id: i64,
    broker: String,
    queue: String,
    reason: String,
    status: String,
    importance: String,
}

impl KeyRow {
    fn key(&self) -> Result<FacetKey, StoreError> {
        FacetKey::read(&self.broker, &self.queue, &self.reason, &self.status, &self.importance)
    }
}

impl StoreReader {
    /// The facets that are there for who asks, of these statuses, importances and reasons.
    pub(crate) async fn facets_of(&self, filter: &LetterFilter) -> Result<Vec<SeenFacet>, StoreError> {
        let counts = self.counts_of(filter).await?;
        let (mut seen, unknown) = self.facet_keys.join(&counts);
        if let Some(first) = unknown {
            let new = self.keys_from(first, filter).await?;
            self.facet_keys.keep(&new);
            let missing = counts.iter().filter(|(id, _)| *id >= first);
            let missing = missing.filter_map(|(id, count)| Some((*id, Arc::clone(new.get(id)?), count.unsigned_abs())));
            seen.retain(|(id, ..)| *id < first);
            seen.extend(missing);
        }
        let mut last: Option<(Arc<FacetKey>, bool)> = None;
        // Those of a queue stand side by side, mostly.
        seen.retain(|(_, key, _)| match &last {
            Some((other, includes)) if (&other.queue, &other.broker) == (&key.queue, &key.broker) => *includes,
            _ => last.insert((Arc::clone(key), self.scope.includes(&key.broker, &key.queue))).1,
        });
        Ok(seen)
    }

    /// How many letters each facet has that has any.
    async fn counts_of(&self, filter: &LetterFilter) -> Result<Vec<(FacetId, i64)>, StoreError> {
        const COUNTS: Sql = Sql {
            sqlite: "SELECT group_concat(id || ' ' || count, ' ') FROM facets WHERE count > 0",
            postgres: "SELECT string_agg(id || ' ' || count, ' ') FROM facets WHERE count > 0",
        };
        let counts = COUNTS.pick(self.db.reader());
        let line: Option<String> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new(counts);
            push_words(&mut select, filter);
            select.build_query_scalar().fetch_one(pool).await?
        });
        read_numbers(&line.unwrap_or_default())
    }

    /// What those facets stand for whose ids begin there.
    async fn keys_from(
        &self,
        first: FacetId,
        filter: &LetterFilter,
    ) -> Result<HashMap<FacetId, Arc<FacetKey>>, StoreError> {
        const KEYS: &str = "SELECT id, broker, queue, reason, status, importance FROM facets WHERE id >= ";
        let rows: Vec<KeyRow> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new(KEYS);
            select.push_bind(first.0);
            push_words(&mut select, filter);
            select.build_query_as().fetch_all(pool).await?
        });
        rows.iter().map(|row| Ok((FacetId(row.id), Arc::new(row.key()?)))).collect()
    }
}

/// Reads ids of facets and a number of each, by turns.
pub(super) fn read_numbers(line: &str) -> Result<Vec<(FacetId, i64)>, StoreError> {
    let unreadable =
        || StoreError::Unreadable { what: "a list of facets", why: "something in it is no number".to_owned() };
    let mut words = line.split_ascii_whitespace();
    let mut numbers = Vec::new();
    while let Some(id) = words.next() {
        let id = id.parse().map_err(|_| unreadable())?;
        let number = words.next().and_then(|number| number.parse().ok()).ok_or_else(unreadable)?;
        numbers.push((FacetId(id), number));
    }
    Ok(numbers)
}

/// Pushes which statuses, importances and reasons are meant: all in it are words of our own.
fn push_words<DB: Database>(query: &mut QueryBuilder<DB>, filter: &LetterFilter) {
    let quoted = |words: Vec<&str>| words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ");
    for (column, words) in [
        ("status", quoted(filter.statuses.iter().map(|status| status.as_str()).collect())),
        ("importance", quoted(filter.importances.iter().map(|importance| importance.as_str()).collect())),
        ("reason", quoted(filter.reasons.iter().map(|reason| reason.as_str()).collect())),
    ] {
        if !words.is_empty() {
            query.push(" AND ").push(column).push(" IN (").push(words).push(")");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_numbers_are_read_by_turns() {
        let read = |line| read_numbers(line).ok();
        assert_eq!(read("3 20 17 -1"), Some(vec![(FacetId(3), 20), (FacetId(17), -1)]));
        assert_eq!(read(""), Some(Vec::new()));
        assert_eq!((read("3"), read("3 x")), (None, None));
    }
}
