//! The walk over all letters of a job, in batches.

use std::time::Duration;

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use uuid::Uuid;

use super::rows::bigint;
use crate::{
    domain::{
        filter::LetterFilter,
        job::Left,
        letter::{LetterId, Status},
    },
    store::{StoreError, StoreReader, counts::facets::Range, db::on, search::plan::Plan},
};

/// A walk over letters, in batches, each letter once, however it is moved meanwhile.
pub enum Sweep {
    Matching(Matching),
    Left(LeftLetters),
}

/// All that match a filter.
pub struct Matching {
    /// Those still to be walked through, the current one last.
    ranges: Vec<Range>,
    /// The last letter taken of the current one.
    after: Option<(Timestamp, LetterId)>,
    /// What was received before or later is left alone.
    since: Timestamp,
    until: Timestamp,
    plan: Option<Plan>,
}

/// All that a job has left in one state.
pub struct LeftLetters {
    left: Left,
    /// The last letter taken.
    after: Uuid,
}

impl Sweep {
    /// Begins a walk over the letters that a job has left so.
    pub const fn of_left(left: Left) -> Self {
        Self::Left(LeftLetters { left, after: Uuid::nil() })
    }
}

impl StoreReader {
    /// Begins a walk over the letters that `filter` lets through and that were received until then.
    pub async fn sweep(&self, filter: &LetterFilter, until: Timestamp) -> Result<Sweep, StoreError> {
        // The end of a filter is no part of it, this one is.
        let end = filter.until.map_or(until, |end| until.min(end.minus(Duration::from_micros(1))));
        let since = filter.since.unwrap_or(Timestamp::from_micros(i64::MIN));
        let matching = self.matching(filter).await?;
        let plan = self.plan(filter, &matching).await?;
        Ok(Sweep::Matching(Matching { ranges: matching.ranges(), after: None, since, until: end, plan }))
    }

    /// The next letters of a walk, `limit` at most; none at its end.
    pub async fn next_of(&self, sweep: &mut Sweep, limit: usize) -> Result<Vec<LetterId>, StoreError> {
        match sweep {
            Sweep::Matching(matching) => self.next_matching(matching, limit).await,
            Sweep::Left(left) => self.next_left(left, limit).await,
        }
    }

    async fn next_matching(&self, sweep: &mut Matching, limit: usize) -> Result<Vec<LetterId>, StoreError> {
        while let Some(range) = sweep.ranges.last() {
            let (received_at, id) =
                sweep.after.map_or((i64::MIN, Uuid::nil()), |(at, id)| (at.as_micros(), id.as_uuid()));
            let rows: Vec<(i64, Uuid)> = on!(self.db.reader(), |pool| {
                let mut next = QueryBuilder::new("SELECT received_at, id FROM letters l WHERE ");
                range.push(&mut next);
                next.push(" AND received_at >= ").push_bind(sweep.since.as_micros());
                next.push(" AND received_at <= ").push_bind(sweep.until.as_micros());
                next.push(" AND (received_at, id) > (").push_bind(received_at).push(", ").push_bind(id).push(")");
                if let Some(plan) = &sweep.plan {
                    plan.push_whole(&mut next);
                }
                next.push(" ORDER BY received_at, id LIMIT ").push_bind(bigint(limit as u64));
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
    async fn next_left(&self, sweep: &mut LeftLetters, limit: usize) -> Result<Vec<LetterId>, StoreError> {
        const DISCARDED: &str = "SELECT l.id FROM letters l JOIN facets f ON f.id = l.facet_id
            WHERE l.closed_at = $1 AND f.status = $2 AND l.id > $3 ORDER BY l.id LIMIT $4";
        const DUE: &str = "SELECT r.letter_id FROM retries r JOIN letters l ON l.id = r.letter_id
            JOIN facets f ON f.id = l.facet_id
            WHERE r.due_at = $1 AND f.status = $2 AND r.letter_id > $3 ORDER BY r.letter_id LIMIT $4";
        let (select, status, at) = match sweep.left {
            Left::Discarded(at) => (DISCARDED, Status::Discarded, at),
            Left::Due(at) => (DUE, Status::Scheduled, at),
        };
        loop {
            let ids: Vec<Uuid> = on!(self.db.reader(), |pool| sqlx::query_scalar(select)
                .bind(at.as_micros())
                .bind(status.as_str())
                .bind(sweep.after)
                .bind(bigint(limit as u64))
                .fetch_all(pool)
                .await?);
            sweep.after = ids.last().copied().unwrap_or(sweep.after);
            let (is_end, mut ids) = (ids.is_empty(), ids.into_iter().map(LetterId::from_uuid).collect::<Vec<_>>());
            if !self.scope.is_everything() {
                ids = self.summaries(&ids).await?.into_iter().map(|letter| letter.id).collect();
            }
            if is_end || !ids.is_empty() {
                return Ok(ids);
            }
        }
    }
}
