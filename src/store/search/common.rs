//! Searches that a good part of all letters match. That is seen of some of them, and these need not be counted.
//!
//! Only Postgres is asked. It goes through letters, or through rows of the index, until it has more than few, and compares
//! each with all that stands for a range of numbers; SQLite counts in the index.

use sqlx::{PgPool, Postgres, QueryBuilder};

use super::{
    fragment::Fragment,
    plan::{FEW, Plan},
};
use crate::{
    domain::filter::LetterFilter,
    store::{
        StoreError, StoreReader,
        counts::{facets::Matching, times::push_times},
        db::Either,
    },
};

/// Of fewer letters all can be counted.
const LEAST: u64 = 50 * FEW;

/// One in so many of the letters that are looked at has to match, and so many pages have to have one that does. Of a search
/// with few letters, which are 2 % at most, eight of 40 pages that stand together are met once in 500,000 times, and eight of
/// 40 letters that stand apart, too.
const COMMON: i64 = 5;

/// Pages of a table that are looked at, each with letters that came one after the other, or with none any more.
const PAGES: i64 = 40;

/// Pages that are looked at before: where less than half of what it takes is there, more need not be.
const FIRST_PAGES: i64 = 5;

/// Rows of a page that are looked at, the first ones: words that are stored apart are read for each. A page has some 120 rows
/// at most, so that what is seen of a fifth of these 20 has more letters than few of [`LEAST`], however they stand.
const ROWS: i64 = 20;

/// What was seen of a table.
struct Sample {
    rows: i64,
    matched: i64,
    /// Pages with one that matched.
    pages: i64,
}

impl StoreReader {
    /// Whether the index surely gives more than [`FEW`] letters for a condition. If not, it is not known.
    pub(super) async fn is_common_in_index(&self, condition: &Fragment) -> Result<bool, StoreError> {
        self.is_common(("search_index", "x"), |query| condition.push(query)).await
    }

    /// Whether surely more than [`FEW`] letters match all of a filter. If not, it is not known.
    pub(super) async fn is_common_filter(
        &self,
        filter: &LetterFilter,
        matching: &Matching,
        plan: &Plan,
    ) -> Result<bool, StoreError> {
        self.is_common(("letters", "l"), |query| {
            matching.push_facets(query);
            matching.push_groups(query);
            plan.push_whole(query);
            push_times(query, filter, "l.");
        })
        .await
    }

    async fn is_common(
        &self,
        table: (&str, &str),
        push_condition: impl Fn(&mut QueryBuilder<Postgres>) + Send + Sync,
    ) -> Result<bool, StoreError> {
        let Either::Postgres(pool) = self.db.reader() else { return Ok(false) };
        if self.everything().await? < LEAST {
            return Ok(false);
        }
        let first = look_at(pool, table, FIRST_PAGES, &push_condition).await?;
        if first.matched * 2 * COMMON < first.rows {
            return Ok(false);
        }
        let seen = look_at(pool, table, PAGES, &push_condition).await?;
        Ok(seen.matched * COMMON >= seen.rows && seen.pages * COMMON >= PAGES)
    }
}

async fn look_at(
    pool: &PgPool,
    (table, alias): (&str, &str),
    pages: i64,
    push_condition: &(impl Fn(&mut QueryBuilder<Postgres>) + Sync),
) -> Result<Sample, StoreError> {
    let mut query = QueryBuilder::new(format!(
        "SELECT COUNT(*), COUNT(*) FILTER (WHERE matches), COUNT(DISTINCT page) FILTER (WHERE matches)
        FROM (SELECT ({alias}.ctid::TEXT::POINT)[0] AS page, asked.matches FROM {table} {alias}
        TABLESAMPLE SYSTEM (least(100, 100.0 * {pages} * current_setting('block_size')::BIGINT
            / greatest(1, pg_relation_size('{table}')))) CROSS JOIN LATERAL (SELECT "
    ));
    push_condition(&mut query);
    // With `OFFSET` the condition is asked once, and planned for one row: Postgres takes the sample for a tenth of the table,
    // and would first read the whole index to look up so many letters in what matches.
    query.push(format_args!(
        " AS matches OFFSET 0) AS asked WHERE ({alias}.ctid::TEXT::POINT)[1] <= {ROWS}) AS looked_at"
    ));
    let (rows, matched, pages) = query.build_query_as().persistent(false).fetch_one(pool).await?;
    Ok(Sample { rows, matched, pages })
}
