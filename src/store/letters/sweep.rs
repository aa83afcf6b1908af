//! The walk over all letters that match, in batches.

use std::time::Duration;

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use uuid::Uuid;

use super::rows::bigint;
use crate::{
    domain::{filter::LetterFilter, letter::LetterId},
    store::{StoreError, StoreReader, counts::facets::Range, db::on},
};

/// A walk over letters, in batches, each letter once, however it is moved meanwhile.
pub struct Sweep {
    /// Those still to be walked through, the current one last.
    ranges: Vec<Range>,
    /// The last letter taken of the current one.
    after: Option<(Timestamp, LetterId)>,
    /// What was received before or later is left alone.
    since: Timestamp,
    until: Timestamp,
}

impl StoreReader {
    /// Begins a walk over the letters that `filter` lets through and that were received until then.
    pub async fn sweep(&self, filter: &LetterFilter, until: Timestamp) -> Result<Sweep, StoreError> {
        // The end of a filter is no part of it, this one is.
        let end = filter.until.map_or(until, |end| until.min(end.minus(Duration::from_micros(1))));
        let since = filter.since.unwrap_or(Timestamp::from_micros(i64::MIN));
        Ok(Sweep { ranges: self.matching(filter).await?.ranges(), after: None, since, until: end })
    }

    /// The next letters of a walk, `limit` at most; none at its end.
    pub async fn next_of(&self, sweep: &mut Sweep, limit: usize) -> Result<Vec<LetterId>, StoreError> {
        while let Some(range) = sweep.ranges.last() {
            let (received_at, id) =
                sweep.after.map_or((i64::MIN, Uuid::nil()), |(at, id)| (at.as_micros(), id.as_uuid()));
            let rows: Vec<(i64, Uuid)> = on!(self.db.reader(), |pool| {
                let mut next = QueryBuilder::new("SELECT received_at, id FROM letters WHERE ");
                range.push(&mut next);
                next.push(" AND received_at >= ").push_bind(sweep.since.as_micros());
                next.push(" AND received_at <= ").push_bind(sweep.until.as_micros());
                next.push(" AND (received_at, id) > (").push_bind(received_at).push(", ").push_bind(id);
                next.push(") ORDER BY received_at, id LIMIT ").push_bind(bigint(limit as u64));
                next.build_query_as().persistent(false).fetch_all(pool).await?
            });
            let ids: Vec<LetterId> = rows.iter().map(|(_, id)| LetterId::from_uuid(*id)).collect();
            sweep.after = rows.last().map(|(at, id)| (Timestamp::from_micros(*at), LetterId::from_uuid(*id)));
            if !ids.is_empty() {
                return Ok(ids);
            }
            sweep.ranges.pop();
        }
        Ok(Vec::new())
    }
}
