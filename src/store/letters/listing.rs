//! Lists of letters: a page of those that a filter lets through, in an order.

use std::ops::RangeInclusive;

use sqlx::QueryBuilder;

use super::{
    JOINED,
    part::{Part, page_of, sort},
    rows::{SUMMARY_COLUMNS, SummaryRow},
};
use crate::{
    domain::{
        filter::{Cursor, LetterFilter, LetterPage, PageRequest, Sort},
        letter::{Importance, LetterId, LetterSummary},
    },
    store::{
        StoreError, StoreReader,
        counts::facets::{Matching, Range},
        db::{Either, Sql, id_list::push_ids, on},
        search::{found::FoundLetter, plan::Plan},
    },
};

/// Facets whose index ranges one statement merges; SQLite allows 500 terms in a compound SELECT.
const MERGED: usize = 200;
/// How often a list is read anew that changes while it is read.
const MOST_READS: usize = 3;
/// Letters that are looked at before ranges are merged.
const LOOKED_AT: usize = 1_000;
/// Of groups so many are merged at most.
const MOST_RANGES: usize = 2_000;

impl StoreReader {
    /// One page of the letters that `filter` lets through.
    pub async fn letters(&self, filter: &LetterFilter, page: &PageRequest) -> Result<LetterPage, StoreError> {
        let items = self.listed(&Part::new(filter, page, page.limit + 1)).await?;
        Ok(page_of(items, page))
    }

    /// Those that stand before the place which a page begins after, the nearest first.
    pub async fn letters_before(
        &self,
        filter: &LetterFilter,
        page: &PageRequest,
    ) -> Result<Vec<LetterSummary>, StoreError> {
        self.listed(&Part { is_backwards: true, ..Part::new(filter, page, page.limit) }).await
    }

    async fn listed(&self, part: &Part<'_>) -> Result<Vec<LetterSummary>, StoreError> {
        match part.page.sort {
            Sort::Importance => self.by_importance(part).await,
            _ => self.first_of(part).await,
        }
    }

    /// One importance after the other, of each the newest.
    async fn by_importance(&self, part: &Part<'_>) -> Result<Vec<LetterSummary>, StoreError> {
        let Part { filter, page, limit, is_backwards, .. } = *part;
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
            let after = after.map(|after| Cursor::at(after.received_at, after.id));
            let newest = PageRequest { sort: Sort::Newest, after, ..*page };
            items.extend(self.first_of(&Part { is_backwards, ..Part::new(&of_one, &newest, missing) }).await?);
        }
        Ok(items)
    }

    /// The first few of a part of a list. A letter that gets another status while it is read is in the list of all statuses
    /// none the less: where there are facets then that there were not, it is read again.
    async fn first_of(&self, part: &Part<'_>) -> Result<Vec<LetterSummary>, StoreError> {
        let mut matching = self.matching(part.filter).await?;
        let mut items = self.first_within(&matching, part).await?;
        if !part.filter.statuses.is_empty() {
            return Ok(items);
        }
        // What the request has asked before is of a moment that is over.
        let anew = Self { memo: None, ..self.clone() };
        for _ in 0..MOST_READS {
            let now = anew.matching(part.filter).await?;
            if !now.has_others_than(&matching) {
                break;
            }
            items = anew.first_within(&now, part).await?;
            matching = now;
        }
        Ok(items)
    }

    async fn first_within(&self, matching: &Matching, part: &Part<'_>) -> Result<Vec<LetterSummary>, StoreError> {
        if matching.facets.is_empty() {
            return Ok(Vec::new());
        }
        let plan = self.plan(part.filter, matching).await?;
        let part = Part { plan: plan.as_ref(), ..*part };
        if plan.as_ref().is_some_and(|plan| plan.is_few)
            && let Some(found) = self.found_in(part.filter, matching).await?
        {
            return self.pick(found, &part).await;
        }
        // All letters stand in one order only, that of time.
        let can_walk = part.rank().is_none();
        // Each range would ask the index anew.
        if can_walk && let Some(plan) = plan.as_ref().filter(|plan| plan.asks_index) {
            return match self.first_near(plan, matching, &part).await? {
                Some(items) => Ok(items),
                None => self.walk(matching, &part, None).await,
            };
        }
        let ranges = matching.ranges();
        if can_walk && self.walks(matching, ranges.len(), part.limit).await? {
            return self.walk(matching, &part, None).await;
        }
        // Where many ranges would have to be merged, what is asked for is mostly among the next few letters.
        if can_walk && matching.groups.is_none() && ranges.len() > MERGED {
            let items = self.walk(matching, &part, Some(LOOKED_AT)).await?;
            if items.len() == part.limit {
                return Ok(items);
            }
        }
        let mut items = Vec::new();
        for chunk in ranges.chunks(MERGED) {
            items.extend(self.merge(chunk, &part).await?);
        }
        sort(&mut items, part.page.sort, part.is_backwards);
        Ok(items)
    }

    /// Walking reads, at worst, every letter that does not match: the oldest letters of a status that all new ones have are
    /// the last in the walk. Merging reads so many of each range. How many letters of groups match nobody has counted.
    async fn walks(&self, matching: &Matching, ranges: usize, limit: usize) -> Result<bool, StoreError> {
        if matching.groups.is_some() {
            return Ok(ranges > MOST_RANGES);
        }
        let everything = self.everything().await?;
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
            query.push(JOINED).push(" WHERE ");
            matching.push_facets(&mut query);
            matching.push_groups(&mut query);
            part.push_conditions(&mut query, "l.");
            part.push_search(&mut query);
            part.push_order(&mut query, "l.");
            query.push(" LIMIT ").push(part.limit);
            query.build_query_as().fetch_all(pool).await?
        });
        self.told(rows)
    }

    /// Of many that match a page is mostly among the next few letters. SQLite lists all that the index has before it looks at
    /// the first of them, and so is asked about these alone. `None` where there are not enough, or nothing is gained.
    async fn first_near(
        &self,
        plan: &Plan,
        matching: &Matching,
        part: &Part<'_>,
    ) -> Result<Option<Vec<LetterSummary>>, StoreError> {
        let Some(rows) = self.rows_ahead(part).await? else { return Ok(None) };
        let plan = plan.within(&rows);
        let items = self.walk(matching, &Part { plan: Some(&plan), ..*part }, Some(LOOKED_AT)).await?;
        Ok(Some(items).filter(|items| items.len() == part.limit))
    }

    /// Between which rows of the index the next letters stand that are in it, where these are close to each other.
    async fn rows_ahead(&self, part: &Part<'_>) -> Result<Option<RangeInclusive<i64>>, StoreError> {
        const CLOSE: i64 = 20 * LOOKED_AT as i64;
        let Either::Sqlite(pool) = self.db.reader() else { return Ok(None) };
        let mut query = QueryBuilder::new(
            "SELECT min(x.seq), max(x.seq) FROM (SELECT id FROM letters l INDEXED BY letters_by_time WHERE 1 = 1 ",
        );
        part.push_conditions(&mut query, "l.");
        part.push_order(&mut query, "l.");
        query.push(" LIMIT ").push(LOOKED_AT).push(") AS ahead JOIN search_index x ON x.letter_id = ahead.id");
        let (first, last): (Option<i64>, Option<i64>) = query.build_query_as().fetch_one(pool).await?;
        Ok(first.zip(last).filter(|(first, last)| last - first < CLOSE).map(|(first, last)| first..=last))
    }

    /// Takes those of a page out of few.
    async fn pick(&self, mut found: Vec<FoundLetter>, part: &Part<'_>) -> Result<Vec<LetterSummary>, StoreError> {
        if part.rank().is_none() {
            part.cut(&mut found);
        }
        let ids: Vec<LetterId> = found.iter().map(|letter| letter.id).collect();
        let rows: Vec<SummaryRow> = on!(self.db.reader(), |pool| {
            let mut query = QueryBuilder::new("SELECT ");
            query
                .push(SUMMARY_COLUMNS)
                .push(" FROM (SELECT ")
                .push(part.columns())
                .push(" FROM letters l WHERE l.id IN ");
            push_ids(&mut query, &ids);
            part.push_conditions(&mut query, "l.");
            part.push_order(&mut query, "l.");
            query.push(" LIMIT ").push(part.limit);
            query.push(") AS page JOIN letters l ON l.id = page.id").push(JOINED);
            part.push_order(&mut query, "l.");
            query.build_query_as().fetch_all(pool).await?
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
