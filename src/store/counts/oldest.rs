//! What has waited longest.

use std::collections::{BTreeMap, HashMap};

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;

use super::{
    facets::{FacetId, SeenFacet},
    seen::read_numbers,
};
use crate::{
    domain::{
        filter::{LetterFilter, PageRequest, Sort},
        letter::{Importance, Status},
    },
    store::{
        StoreError, StoreReader,
        db::{Sql, id_list::numbers, on},
        letters::rows::parse,
    },
};

/// So few facets are asked at once, each for its own. Of more, so many of the oldest letters are looked at first, and then as many
/// as there are facets: to look at a letter takes about as long as to ask a facet.
const FEW: usize = 200;

impl StoreReader {
    /// When the first of the letters that a filter lets through was received.
    pub async fn first_received(&self, filter: &LetterFilter) -> Result<Option<Timestamp>, StoreError> {
        let first = PageRequest { sort: Sort::Oldest, after: None, limit: 1 };
        Ok(self.letters(filter, &first).await?.items.first().map(|letter| letter.received_at))
    }

    /// When the oldest open letter of each importance was received.
    pub async fn oldest_open(&self) -> Result<Vec<(Importance, Timestamp)>, StoreError> {
        let open = LetterFilter { statuses: vec![Status::Open], ..LetterFilter::default() };
        let mut facets = self.matching(&open).await?.facets;
        let mut oldest = BTreeMap::new();
        for most in [FEW, facets.len()] {
            if facets.len() > FEW {
                oldest.extend(self.among_the_oldest(&facets, most).await?);
                facets.retain(|(_, key, _)| !oldest.contains_key(&key.importance));
            }
        }
        oldest.extend(self.oldest_of_each(&facets).await?);
        Ok(oldest.into_iter().collect())
    }

    /// Those that are among so many of the oldest letters of all.
    async fn among_the_oldest(
        &self,
        facets: &[SeenFacet],
        most: usize,
    ) -> Result<BTreeMap<Importance, Timestamp>, StoreError> {
        // In one row: there are thousands.
        const OLDEST: Sql = Sql {
            sqlite: "SELECT group_concat(facet_id || ' ' || received_at, ' ') FROM (
                SELECT facet_id, received_at FROM letters ORDER BY received_at, id LIMIT $1) AS first",
            postgres: "SELECT string_agg(facet_id || ' ' || received_at, ' ') FROM (
                SELECT facet_id, received_at FROM letters ORDER BY received_at, id LIMIT $1) AS first",
        };
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let select = OLDEST.pick(self.db.reader());
        let line: Option<String> =
            on!(self.db.reader(), |pool| sqlx::query_scalar(select).bind(most).fetch_one(pool).await?);
        let by_importance: HashMap<FacetId, Importance> =
            facets.iter().map(|(id, key, _)| (*id, key.importance)).collect();
        let mut oldest: BTreeMap<Importance, Timestamp> = BTreeMap::new();
        for (facet, received_at) in read_numbers(&line.unwrap_or_default())? {
            if let Some(importance) = by_importance.get(&facet) {
                let at = Timestamp::from_micros(received_at);
                oldest.entry(*importance).and_modify(|oldest| *oldest = at.min(*oldest)).or_insert(at);
            }
        }
        Ok(oldest)
    }

    /// One step into the index for each, all in one statement.
    async fn oldest_of_each(&self, facets: &[SeenFacet]) -> Result<Vec<(Importance, Timestamp)>, StoreError> {
        // Nothing may ask for the inner time but its minimum: a database would look for it once more.
        const OLDEST: &str =
            "SELECT f.importance, min((SELECT min(l.received_at) FROM letters l WHERE l.facet_id = f.id))
            FROM facets f WHERE f.id IN ";
        if facets.is_empty() {
            return Ok(Vec::new());
        }
        let ids = numbers(facets.iter().map(|(id, ..)| id.0));
        let rows: Vec<(String, Option<i64>)> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new(OLDEST);
            select.push(&ids).push(" GROUP BY f.importance");
            select.build_query_as().persistent(false).fetch_all(pool).await?
        });
        let there = rows.into_iter().filter_map(|(of, at)| Some((of, Timestamp::from_micros(at?))));
        there.map(|(of, at)| Ok((parse("an importance", &of)?, at))).collect()
    }
}
