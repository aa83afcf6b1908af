//! When letters were received, as a condition.

use sqlx::{Database, Encode, QueryBuilder, Type};

use crate::domain::filter::LetterFilter;

/// Pushes that letters were received in the time that is asked for. `table` is what stands before their columns: nothing, or a
/// name with its dot.
pub(crate) fn push_times<DB: Database>(query: &mut QueryBuilder<DB>, filter: &LetterFilter, table: &str)
where
    for<'q> i64: Encode<'q, DB> + Type<DB>,
{
    if let Some(since) = filter.since {
        query.push(" AND ").push(table).push("received_at >= ").push_bind(since.as_micros());
    }
    if let Some(until) = filter.until {
        query.push(" AND ").push(table).push("received_at < ").push_bind(until.as_micros());
    }
}
