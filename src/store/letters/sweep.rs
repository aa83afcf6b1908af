//! The walk over all letters of a job, in batches.

use std::{collections::HashSet, mem, time::Duration};

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
    Matching(Box<Matching>),
    Left(LeftLetters),
}

/// All that match a filter.
pub struct Matching {
    filter: LetterFilter,
    /// Those still to be walked through, the current one last.
    ranges: Vec<Range>,
    /// The last letter taken of the current one.
    after: Option<(Timestamp, LetterId)>,
    /// What was received before or later is left alone.
    since: Timestamp,
    until: Timestamp,
    plan: Option<Plan>,
    /// All letters taken so far, 20 to 40 bytes each: one that was moved into a range that comes later is met there
    /// again.
    taken: HashSet<LetterId>,
    /// Whether any was taken since the ranges were found.
    takes_some: bool,
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
        let (ranges, plan) = self.ranges_of(filter).await?;
        Ok(Sweep::Matching(Box::new(Matching {
            filter: filter.clone(),
            ranges,
            after: None,
            since,
            until: end,
            plan,
            taken: HashSet::new(),
            takes_some: false,
        })))
    }

    /// Where all that matches stands by now, and how it is told from what does not.
    async fn ranges_of(&self, filter: &LetterFilter) -> Result<(Vec<Range>, Option<Plan>), StoreError> {
        // What is kept for a request is of a moment that is over.
        let now = Self { memo: None, ..self.clone() };
        let matching = now.matching(filter).await?;
        let plan = now.plan(filter, &matching).await?;
        Ok((matching.ranges(), plan))
    }

    /// The next letters of a walk, `limit` at most; none at its end.
    pub async fn next_of(&self, sweep: &mut Sweep, limit: usize) -> Result<Vec<LetterId>, StoreError> {
        loop {
            match self.page_of(sweep, limit).await? {
                Some(ids) if ids.is_empty() => {}
                ids => return Ok(ids.unwrap_or_default()),
            }
        }
    }

    /// What the next page of a walk has that was not met before, `limit` letters at most: often nothing, for all is
    /// walked through once more to see what was moved meanwhile. `None` at its end.
    pub async fn page_of(&self, sweep: &mut Sweep, limit: usize) -> Result<Option<Vec<LetterId>>, StoreError> {
        match sweep {
            Sweep::Matching(matching) => self.page_matching(matching, limit).await,
            Sweep::Left(left) => self.page_left(left, limit).await,
        }
    }

    async fn page_matching(&self, sweep: &mut Matching, limit: usize) -> Result<Option<Vec<LetterId>>, StoreError> {
        let Some(range) = sweep.ranges.last().copied() else {
            if !mem::take(&mut sweep.takes_some) {
                return Ok(None);
            }
            // Some may have been moved into a range that was walked through before, or that is new.
            (sweep.ranges, sweep.plan) = self.ranges_of(&sweep.filter).await?;
            return Ok(Some(Vec::new()));
        };
        let (received_at, id) = sweep.after.map_or((i64::MIN, Uuid::nil()), |(at, id)| (at.as_micros(), id.as_uuid()));
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
        sweep.after = rows.last().map(|(at, id)| (Timestamp::from_micros(*at), LetterId::from_uuid(*id)));
        if rows.is_empty() {
            sweep.ranges.pop();
        }
        let ids = rows.into_iter().map(|(_, id)| LetterId::from_uuid(id));
        let ids: Vec<LetterId> = ids.filter(|id| sweep.taken.insert(*id)).collect();
        sweep.takes_some |= !ids.is_empty();
        Ok(Some(ids))
    }

    async fn page_left(&self, sweep: &mut LeftLetters, limit: usize) -> Result<Option<Vec<LetterId>>, StoreError> {
        const DISCARDED: &str = "SELECT l.id FROM letters l JOIN facets f ON f.id = l.facet_id
            WHERE l.closed_at = $1 AND f.status = $2 AND l.id > $3 ORDER BY l.id LIMIT $4";
        const DUE: &str = "SELECT r.letter_id FROM retries r JOIN letters l ON l.id = r.letter_id
            JOIN facets f ON f.id = l.facet_id
            WHERE r.due_at = $1 AND f.status = $2 AND r.letter_id > $3 ORDER BY r.letter_id LIMIT $4";
        const DUE_OF: &str = "SELECT r.letter_id FROM retries r JOIN letters l ON l.id = r.letter_id
            JOIN facets f ON f.id = l.facet_id WHERE r.due_at = $1 AND f.status = $2 AND r.letter_id > $3
            AND r.job_id = $5 ORDER BY r.letter_id LIMIT $4";
        let (select, status, at, job) = match sweep.left {
            Left::Discarded(at) => (DISCARDED, Status::Discarded, at, None),
            Left::Due(at, None) => (DUE, Status::Scheduled, at, None),
            Left::Due(at, job) => (DUE_OF, Status::Scheduled, at, job),
        };
        let ids: Vec<Uuid> = on!(self.db.reader(), |pool| {
            let select = sqlx::query_scalar(select).bind(at.as_micros()).bind(status.as_str());
            let select = select.bind(sweep.after).bind(bigint(limit as u64));
            let select = if job.is_some() { select.bind(job) } else { select };
            select.fetch_all(pool).await?
        });
        let Some(last) = ids.last().copied() else { return Ok(None) };
        sweep.after = last;
        let ids: Vec<LetterId> = ids.into_iter().map(LetterId::from_uuid).collect();
        if self.scope.is_everything() {
            return Ok(Some(ids));
        }
        Ok(Some(self.summaries(&ids).await?.into_iter().map(|letter| letter.id).collect()))
    }
}
