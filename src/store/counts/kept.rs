//! Reading what is counted over time.

use amqp_message::time::Timestamp;
use futures_util::future::try_join_all;
use sqlx::{Encode, QueryBuilder, Row, Type};

use super::{
    facets::Matching,
    slices::{DAY, HOUR, HOURS, Scope, Span, THREE_HOURS, Unit},
};
use crate::{
    domain::{filter::LetterFilter, letter::Importance},
    store::{
        StoreError, StoreReader,
        db::{Either, id_list::Numbers, on},
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
        let statements: Vec<&[_]> = if are_many { scopes.chunks(1).collect() } else { vec![&scopes] };
        let mut counted = Vec::new();
        for span in spans {
            let reads = statements.iter().map(|scopes| self.counted_in(span, scopes));
            try_join_all(reads).await?.into_iter().for_each(|part| counted.extend(part));
        }
        Ok(counted)
    }

    async fn counted_in(
        &self,
        span: &Span,
        scopes: &[(usize, Vec<Scope>)],
    ) -> Result<impl Iterator<Item = Counted>, StoreError> {
        let (columns, width) = match span.unit {
            Unit::Slice => (1, DAY),
            Unit::Hours(hours) => (HOURS.len() / usize::from(hours), HOUR * u32::from(hours)),
        };
        // On SQLite the numbers stand in the text.
        let is_persistent = matches!(self.db.reader(), Either::Postgres(_));
        let rows: Vec<(i64, i64, Vec<i64>)> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("");
            push_parts(&mut select, scopes, span);
            let query = select.build();
            let rows = query.persistent(is_persistent).fetch_all(pool).await?;
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

/// Pushes a selection for each importance.
fn push_parts<DB: Numbers>(query: &mut QueryBuilder<DB>, scopes: &[(usize, Vec<Scope>)], span: &Span)
where
    for<'q> i64: Encode<'q, DB> + Type<DB>,
{
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
    for (n, (importance, scopes)) in scopes.iter().enumerate() {
        let and = if n > 0 { " UNION ALL " } else { "" };
        query.push(format!("{and}SELECT CAST({importance} AS BIGINT), start, {sums} FROM {table} WHERE scope "));
        DB::push(query, scopes.iter().map(|scope| scope.0));
        query.push(" AND start >= ").push_bind(from.as_micros());
        query.push(" AND start < ").push_bind(span.to.as_micros()).push(" GROUP BY start");
    }
}

fn sum(columns: &[&str]) -> String {
    format!("CAST(sum({}) AS BIGINT)", columns.join(" + "))
}
