//! Letters: taking them in, changing them, forgetting them; here, listing them and reading one.
//!
//! Whatever changes a letter goes the same way: `lock` reads how it stands, the domain's `lifecycle` decides, `apply`
//! writes what was decided.

pub(super) mod apply;
pub(super) mod closed;
pub(super) mod command_audit;
pub(super) mod commands;
pub(super) mod contents;
pub(super) mod delivery_dedup;
pub(super) mod edits;
pub(super) mod enrichment;
pub(super) mod history;
pub(super) mod insert;
pub(super) mod intake;
pub(super) mod lock;
mod not_enriched;
pub(super) mod order;
mod part;
pub(super) mod record;
pub(super) mod returned;
pub(super) mod rows;
mod sent_before;
pub(super) mod succeeded;
pub(super) mod sweep;
mod types;

use std::collections::HashMap;

use sqlx::QueryBuilder;

use part::{Part, page_of, sort};

use super::{
    StoreError, StoreReader,
    counts::facets::{Matching, Range},
    db::{
        Sql,
        id_list::{numbers, push_ids, push_uuids},
        on,
    },
    letters::rows::{ContentsRow, SUMMARY_COLUMNS, SummaryRow},
    search::plan::Plan,
};
use crate::domain::{
    filter::{LetterFilter, LetterPage, PageRequest, Sort},
    letter::{Importance, Letter, LetterId, LetterSummary},
};

/// Facets whose index ranges one statement merges; SQLite allows 500 terms in a compound SELECT.
const MERGED: usize = 200;
/// Letters that are looked at before ranges are merged.
const LOOKED_AT: usize = 2_000;
/// Of groups so many are merged at most.
const MOST_RANGES: usize = 2_000;

const CONTENTS: &str = "SELECT letter_id, exchange, routing_key, properties, headers, earlier_deaths, remarks, body
    FROM contents WHERE letter_id = $1";
const ALL_CONTENTS: &str = "SELECT letter_id, exchange, routing_key, properties, headers, earlier_deaths, remarks, body
    FROM contents WHERE letter_id IN ";

impl StoreReader {
    /// One page of the letters that `filter` lets through.
    pub async fn letters(&self, filter: &LetterFilter, page: &PageRequest) -> Result<LetterPage, StoreError> {
        let items = self.listed(filter, page, page.limit + 1, false).await?;
        Ok(page_of(items, page))
    }

    /// Those that stand before the place which a page begins after, the nearest first.
    pub async fn letters_before(
        &self,
        filter: &LetterFilter,
        page: &PageRequest,
    ) -> Result<Vec<LetterSummary>, StoreError> {
        self.listed(filter, page, page.limit, true).await
    }

    async fn listed(
        &self,
        filter: &LetterFilter,
        page: &PageRequest,
        limit: usize,
        is_backwards: bool,
    ) -> Result<Vec<LetterSummary>, StoreError> {
        match page.sort {
            Sort::Importance => self.by_importance(filter, page, limit, is_backwards).await,
            _ => self.first_of(filter, page, limit, is_backwards).await,
        }
    }

    /// One importance after the other, of each the newest.
    async fn by_importance(
        &self,
        filter: &LetterFilter,
        page: &PageRequest,
        limit: usize,
        is_backwards: bool,
    ) -> Result<Vec<LetterSummary>, StoreError> {
        let is_meant = |rank: u64, importance: Importance| {
            let is_ahead =
                page.after.is_none_or(|after| if is_backwards { rank <= after.rank } else { rank >= after.rank });
            is_ahead && (filter.importances.is_empty() || filter.importances.contains(&importance))
        };
        let mut ranks: Vec<_> =
            (0..).zip(Importance::ALL.iter().copied()).filter(|(rank, is)| is_meant(*rank, *is)).collect();
        if is_backwards {
            ranks.reverse();
        }
        let mut items = Vec::new();
        for (rank, importance) in ranks {
            let missing = limit - items.len();
            if missing == 0 {
                break;
            }
            let of_one = LetterFilter { importances: vec![importance], ..filter.clone() };
            let after = page.after.filter(|after| after.rank == rank);
            let newest = PageRequest { sort: Sort::Newest, after, ..*page };
            items.extend(self.first_of(&of_one, &newest, missing, is_backwards).await?);
        }
        Ok(items)
    }

    /// The first few of a part of a list.
    async fn first_of(
        &self,
        filter: &LetterFilter,
        page: &PageRequest,
        limit: usize,
        is_backwards: bool,
    ) -> Result<Vec<LetterSummary>, StoreError> {
        let matching = self.matching(filter).await?;
        if matching.facets.is_empty() {
            return Ok(Vec::new());
        }
        let plan = self.plan(filter, &matching).await?;
        let part = Part { filter, page, limit, plan: plan.as_ref(), is_backwards };
        if let Some(plan) = plan.as_ref().filter(|plan| plan.is_few) {
            return self.pick(plan, &matching, &part).await;
        }
        let ranges = matching.ranges();
        // Each range would ask the index anew.
        let asks_index = plan.as_ref().is_some_and(|plan| plan.asks_index);
        // All letters stand in one order only, that of time.
        let can_walk = part.rank().is_none();
        if can_walk && (asks_index || self.walks(&matching, ranges.len(), limit).await?) {
            return self.walk(&matching, &part, None).await;
        }
        // Where many ranges would have to be merged, what is asked for is mostly among the next few letters.
        if can_walk && matching.groups.is_none() && ranges.len() > MERGED {
            let items = self.walk(&matching, &part, Some(LOOKED_AT)).await?;
            if items.len() == limit {
                return Ok(items);
            }
        }
        let mut items = Vec::new();
        for chunk in ranges.chunks(MERGED) {
            items.extend(self.merge(chunk, &part).await?);
        }
        sort(&mut items, page.sort, is_backwards);
        Ok(items)
    }

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

    /// Walking reads, at worst, every letter that does not match: the oldest letters of a status that all new ones have are
    /// the last in the walk. Merging reads so many of each range. How many letters of groups match nobody has counted.
    async fn walks(&self, matching: &Matching, ranges: usize, limit: usize) -> Result<bool, StoreError> {
        if matching.groups.is_some() {
            return Ok(ranges > MOST_RANGES);
        }
        let everything: u64 = self.sums_of_all().await?.iter().map(|(.., count)| count).sum();
        let others = everything.saturating_sub(matching.total());
        Ok(others <= (ranges as u64).saturating_mul(limit as u64))
    }

    /// Reads all letters by time and drops those of other facets: right where nearly all of them match.
    ///
    /// A condition that Postgres can tell nothing of keeps it from reading all letters of these facets and sorting them: it
    /// takes them for few as long as its statistics are older than a storm.
    /// With `most` it gives up after so many letters.
    async fn walk(
        &self,
        matching: &Matching,
        part: &Part<'_>,
        most: Option<usize>,
    ) -> Result<Vec<LetterSummary>, StoreError> {
        // SQLite would rather look up each facet and sort all that it finds.
        const BY_TIME: Sql = Sql { sqlite: "letters l INDEXED BY letters_by_time", postgres: "letters l" };
        let by_time = BY_TIME.pick(self.db.reader());
        let rows: Vec<SummaryRow> = on!(self.db.reader(), |pool| {
            let mut query = QueryBuilder::new("SELECT ");
            query.push(SUMMARY_COLUMNS).push(" FROM ");
            match most {
                None => _ = query.push(by_time),
                Some(most) => {
                    query.push("(SELECT * FROM ").push(by_time).push(" WHERE 1 = 1");
                    part.push_conditions(&mut query, "l.");
                    part.push_order(&mut query, "l.");
                    query.push(" LIMIT ").push(most).push(") AS l");
                }
            }
            query.push(JOINED).push(" WHERE CASE WHEN l.facet_id IN ");
            query.push(numbers(matching.ids().map(|facet| facet.0))).push(" THEN TRUE ELSE FALSE END");
            if let Some(groups) = &matching.groups {
                query.push(" AND l.group_id IN ");
                push_uuids(&mut query, groups.iter().map(|home| home.group.as_uuid()).collect());
            }
            part.push_conditions(&mut query, "l.");
            part.push_search(&mut query);
            part.push_order(&mut query, "l.");
            query.push(" LIMIT ").push(part.limit);
            query.build_query_as().fetch_all(pool).await?
        });
        self.told(rows)
    }

    /// Takes the few that the index gives, and sorts them.
    async fn pick(&self, plan: &Plan, matching: &Matching, part: &Part<'_>) -> Result<Vec<LetterSummary>, StoreError> {
        let rows: Vec<SummaryRow> = on!(self.db.reader(), |pool| {
            let mut query = QueryBuilder::new("SELECT ");
            query.push(SUMMARY_COLUMNS).push(" FROM (SELECT ").push(part.columns());
            plan.push_letters(&mut query, matching);
            part.push_conditions(&mut query, "l.");
            part.push_order(&mut query, "l.");
            query.push(" LIMIT ").push(part.limit);
            query.push(") AS page JOIN letters l ON l.id = page.id").push(JOINED);
            part.push_order(&mut query, "l.");
            query.build_query_as().persistent(false).fetch_all(pool).await?
        });
        self.told(rows)
    }

    /// Takes the first few of each range and merges them.
    async fn merge(&self, ranges: &[Range], part: &Part<'_>) -> Result<Vec<LetterSummary>, StoreError> {
        let rows: Vec<SummaryRow> = on!(self.db.reader(), |pool| {
            let mut query = QueryBuilder::new("SELECT ");
            query.push(SUMMARY_COLUMNS).push(" FROM (");
            for (n, range) in ranges.iter().enumerate() {
                query.push(if n == 0 { "" } else { " UNION ALL " });
                query.push("SELECT * FROM (SELECT ").push(part.columns()).push(" FROM letters l WHERE ");
                part.push_range(&mut query, *range);
                query.push(" LIMIT ").push(part.limit).push(") AS range_").push(n);
            }
            part.push_order(&mut query, "");
            query.push(" LIMIT ").push(part.limit);
            query.push(") AS page JOIN letters l ON l.id = page.id").push(JOINED);
            part.push_order(&mut query, "l.");
            query.build_query_as().fetch_all(pool).await?
        });
        self.told(rows)
    }
}

const JOINED: &str = " JOIN facets f ON f.id = l.facet_id LEFT JOIN retries r ON r.letter_id = l.id";
