//! Letters: taking them in, changing them, forgetting them; here, reading them.
//!
//! Whatever changes a letter goes the same way: `lock` reads how it stands, the domain's `lifecycle` decides, `apply`
//! writes what was decided.

pub(super) mod apply;
pub(super) mod closed;
pub(super) mod command_audit;
pub(super) mod commands;
pub(super) mod contents;
pub(super) mod delivery_dedup;
pub(crate) mod delivery_entries;
pub(super) mod edits;
pub(super) mod enrichment;
pub(super) mod history;
pub(super) mod insert;
pub(super) mod intake;
mod listing;
pub(super) mod lock;
mod not_enriched;
pub(super) mod order;
mod part;
pub(super) mod pending_acks;
mod reach;
pub(super) mod record;
pub(super) mod returned;
pub(super) mod rows;
mod sent_before;
pub(super) mod succeeded;
pub(super) mod sweep;
mod types;

use std::collections::HashMap;

use sqlx::QueryBuilder;

use super::{
    StoreError, StoreReader,
    db::{id_list::push_ids, on},
    letters::rows::{ContentsRow, SUMMARY_COLUMNS, SummaryRow},
};
use crate::domain::letter::{Letter, LetterId, LetterSummary};

const CONTENTS: &str = "SELECT letter_id, exchange, routing_key, properties, headers, earlier_deaths, remarks, body
    FROM contents WHERE letter_id = $1";
const ALL_CONTENTS: &str = "SELECT letter_id, exchange, routing_key, properties, headers, earlier_deaths, remarks, body
    FROM contents WHERE letter_id IN ";

impl StoreReader {
    pub async fn summary(&self, id: LetterId) -> Result<Option<LetterSummary>, StoreError> {
        Ok(self.summaries(&[id]).await?.pop())
    }

    /// Those of `ids` that exist, in no particular order.
    pub async fn summaries(&self, ids: &[LetterId]) -> Result<Vec<LetterSummary>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let rows: Vec<SummaryRow> = on!(self.db.reader(), |pool| {
            let mut query = QueryBuilder::new("SELECT ");
            query.push(SUMMARY_COLUMNS).push(" FROM letters l").push(JOINED).push(" WHERE l.id IN ");
            push_ids(&mut query, ids);
            query.build_query_as().fetch_all(pool).await?
        });
        let mut found = self.told(rows)?;
        found.retain(|letter| self.scope.includes(&letter.broker, letter.queue.as_deref().unwrap_or_default()));
        Ok(found)
    }

    fn told(&self, rows: Vec<SummaryRow>) -> Result<Vec<LetterSummary>, StoreError> {
        rows.into_iter().map(|row| Ok(self.without_payload(row.try_into()?))).collect()
    }

    /// Its title tells what is in it.
    pub(crate) fn without_payload(&self, mut letter: LetterSummary) -> LetterSummary {
        if !self.shows_payload(&letter.broker, letter.queue.as_deref()) {
            (letter.title, letter.telling) = (None, None);
        }
        letter
    }

    /// Whether who asks may see what is in the letters of a queue.
    pub fn shows_payload(&self, broker: &str, queue: Option<&str>) -> bool {
        self.payloads.includes(broker, queue.unwrap_or_default())
    }

    /// Whether a letter is there for who asks.
    pub(crate) async fn sees(&self, id: LetterId) -> Result<bool, StoreError> {
        Ok(self.scope.is_everything() || self.summary(id).await?.is_some())
    }

    /// A letter with its contents.
    pub async fn letter(&self, id: LetterId) -> Result<Option<Letter>, StoreError> {
        let Some(summary) = self.summary(id).await? else { return Ok(None) };
        let contents: Option<ContentsRow> =
            on!(self.db.reader(), |pool| sqlx::query_as(CONTENTS).bind(id.as_uuid()).fetch_optional(pool).await?);
        contents.map(|contents| contents.into_letter(summary)).transpose()
    }

    /// These letters with their contents, in their order; without those that are gone by now.
    pub async fn with_contents(&self, summaries: Vec<LetterSummary>) -> Result<Vec<Letter>, StoreError> {
        if summaries.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<LetterId> = summaries.iter().map(|summary| summary.id).collect();
        let rows: Vec<ContentsRow> = on!(self.db.reader(), |pool| {
            let mut query = QueryBuilder::new(ALL_CONTENTS);
            push_ids(&mut query, &ids);
            query.build_query_as().fetch_all(pool).await?
        });
        let mut contents: HashMap<_, _> =
            rows.into_iter().map(|row| (LetterId::from_uuid(row.letter_id), row)).collect();
        let letters =
            summaries.into_iter().filter_map(|summary| Some(contents.remove(&summary.id)?.into_letter(summary)));
        letters.collect()
    }
}

const JOINED: &str = " JOIN facets f ON f.id = l.facet_id LEFT JOIN retries r ON r.letter_id = l.id";
