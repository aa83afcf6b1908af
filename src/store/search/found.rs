//! The letters of a search, where they are few enough to be held: a page and all that is counted beside it ask for them once.

use std::{collections::HashSet, sync::Arc};

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use uuid::Uuid;

use super::plan::Plan;
use crate::{
    domain::{filter::LetterFilter, letter::LetterId},
    store::{
        StoreError, StoreReader,
        counts::{
            facets::{FacetId, Matching},
            times::push_times,
        },
        db::{Sql, on},
    },
};

/// A letter that a search finds.
#[derive(Clone, Copy)]
pub(crate) struct FoundLetter {
    pub(crate) id: LetterId,
    pub(crate) facet: FacetId,
    pub(crate) received_at: Timestamp,
}

/// All that a search finds; `None` where they are too many to be counted.
pub(crate) type FoundLetters = Option<Arc<[FoundLetter]>>;

impl StoreReader {
    /// The letters that a filter of any status finds.
    pub(crate) async fn found_letters(&self, any: &LetterFilter) -> Result<FoundLetters, StoreError> {
        let once = self.memo.as_ref().map(|memo| memo.found(any)).unwrap_or_default();
        once.get_or_try_init(async || self.find_letters(any).await).await.cloned()
    }

    /// The letters that `filter` finds; `matching` is what it lets through.
    pub(crate) async fn found_in(
        &self,
        filter: &LetterFilter,
        matching: &Matching,
    ) -> Result<Option<Vec<FoundLetter>>, StoreError> {
        let found = self.found_letters(&filter.of_any_status()).await?;
        let facets: HashSet<FacetId> = matching.ids().collect();
        let is_meant = |letter: &&FoundLetter| facets.contains(&letter.facet);
        Ok(found.map(|found| found.iter().filter(is_meant).copied().collect()))
    }

    async fn find_letters(&self, any: &LetterFilter) -> Result<FoundLetters, StoreError> {
        let matching = self.matching(any).await?;
        let plan = self.plan(any, &matching).await?.filter(|plan| plan.can_be_counted);
        match plan {
            Some(_) if matching.facets.is_empty() => Ok(Some(Arc::default())),
            Some(plan) => self.list_found(any, &matching, &plan).await.map(Some),
            None => Ok(None),
        }
    }

    async fn list_found(
        &self,
        filter: &LetterFilter,
        matching: &Matching,
        plan: &Plan,
    ) -> Result<Arc<[FoundLetter]>, StoreError> {
        const ID: Sql = Sql { sqlite: "hex(l.id)", postgres: "CAST(l.id AS TEXT)" };
        let mut tx = self.begin_for(plan).await?;
        // In one row: there are thousands.
        let text: Option<String> = on!(&mut tx, |tx| {
            let mut query = QueryBuilder::new("SELECT string_agg(");
            query.push(ID.pick(self.db.reader())).push(" || ' ' || l.facet_id || ' ' || l.received_at, ' ') ");
            plan.push_letters(&mut query, matching, false);
            push_times(&mut query, filter, "l.");
            query.build_query_scalar().persistent(false).fetch_one(&mut **tx).await?
        });
        let words: Vec<&str> = text.as_deref().unwrap_or_default().split_whitespace().collect();
        let letters = words.chunks(3).map(|words| read(words).ok_or_else(unreadable));
        letters.collect()
    }
}

fn read(words: &[&str]) -> Option<FoundLetter> {
    let &[id, facet, received_at] = words else { return None };
    Some(FoundLetter {
        id: LetterId::from_uuid(Uuid::try_parse(id).ok()?),
        facet: FacetId(facet.parse().ok()?),
        received_at: Timestamp::from_micros(received_at.parse().ok()?),
    })
}

fn unreadable() -> StoreError {
    StoreError::Unreadable { what: "letters found", why: "they are no ids, facets and times".to_owned() }
}
