//! Reading what is counted over time.

use amqp_message::time::Timestamp;
use futures_util::future::try_join_all;
use sqlx::{AssertSqlSafe, Row};

use super::{
    facets::Matching,
    slices::{DAY, HOUR, HOURS, Scope, Span, THREE_HOURS, Unit},
};
use crate::{
    domain::{filter::LetterFilter, letter::Importance},
    store::{
        StoreError, StoreReader,
        db::{id_list::numbers, on},
    },
};

/// Of so many scopes each importance is read by a statement of its own, all at once; of fewer one statement is sooner.
const MANY: usize = 400;

/// Letters of one importance received in one unit of time.
pub(super) struct Counted {
    /// Its place in [`Importance::ALL`].
    pub(super) importance: usize,
    pub(super) start: Timestamp,
    pub(super) count: u64,
}

impl StoreReader {
    /// The letters of some spans of time, in the units of these.
    pub(super) async fn kept(
        &self,
        filter: &LetterFilter,
        matching: Option<&Matching>,
        spans: &[Span],
    ) -> Result<Vec<Counted>, StoreError> {
        let of = |importance| Scope::of(filter, matching, importance);
        let mut scopes: Vec<(usize, Vec<Scope>)> = Importance::ALL.iter().map(|each| of(*each)).enumerate().collect();
        scopes.retain(|(_, scopes)| !scopes.is_empty());
        if scopes.is_empty() {
            return Ok(Vec::new());
        }
        let are_many = scopes.iter().map(|(_, scopes)| scopes.len()).sum::<usize>() > MANY;
        let mut counted = Vec::new();
        for span in spans {
            let parts: Vec<String> = scopes.iter().map(|(importance, of)| part(*importance, of, span)).collect();
            let statements = if are_many { parts } else { vec![parts.join(" UNION ALL ")] };
            let reads = statements.into_iter().map(|select| self.counted_in(span, select));
            try_join_all(reads).await?.into_iter().for_each(|part| counted.extend(part));
        }
        Ok(counted)
    }

    async fn counted_in(&self, span: &Span, select: String) -> Result<impl Iterator<Item = Counted>, StoreError> {
        let (columns, width) = match span.unit {
            Unit::Slice => (1, DAY),
            Unit::Hours(hours) => (HOURS.len() / usize::from(hours), HOUR * u32::from(hours)),
        };
        let rows: Vec<(i64, i64, Vec<i64>)> = on!(self.db.reader(), |pool| {
            let rows = sqlx::query(AssertSqlSafe(select)).persistent(false).fetch_all(pool).await?;
            let read = rows.iter().map(|row| {
                let counts = (2..2 + columns).map(|column| row.try_get(column)).collect::<Result<_, _>>()?;
                Ok((row.try_get(0)?, row.try_get(1)?, counts))
            });
            read.collect::<Result<_, sqlx::Error>>()?
        });
        let (from, to) = (span.from, span.to);
        let counted = rows.into_iter().flat_map(move |(importance, start, counts)| {
            let importance = usize::try_from(importance).unwrap_or_default();
            let starts = (0..).map(move |n| Timestamp::from_micros(start).plus(width * n));
            starts.zip(counts).map(move |(start, count)| Counted { importance, start, count: count.unsigned_abs() })
        });
        // The first day and the last may be there for some of their hours only.
        Ok(counted.filter(move |counted| from <= counted.start && counted.start < to && counted.count > 0))
    }
}

/// Selects what is counted of one importance in a span. All in it are numbers of our own, so they may stand in the text.
fn part(importance: usize, scopes: &[Scope], span: &Span) -> String {
    let scopes = numbers(scopes.iter().map(|scope| scope.0));
    let (table, from, sums) = match span.unit {
        Unit::Slice => ("slices", span.from, sum(&["count"])),
        Unit::DAY => ("days", span.from, sum(&["count"])),
        Unit::Hours(hours) => {
            let sums: Vec<String> = if hours.is_multiple_of(3) {
                THREE_HOURS.chunks(usize::from(hours / 3)).map(sum).collect()
            } else {
                HOURS.chunks(usize::from(hours)).map(sum).collect()
            };
            ("days", span.from.floor_to(DAY), sums.join(", "))
        }
    };
    let (from, to) = (from.as_micros(), span.to.as_micros());
    format!(
        "SELECT CAST({importance} AS BIGINT), start, {sums} FROM {table}
            WHERE scope IN {scopes} AND start >= {from} AND start < {to} GROUP BY start"
    )
}

fn sum(columns: &[&str]) -> String {
    format!("CAST(sum({}) AS BIGINT)", columns.join(" + "))
}
