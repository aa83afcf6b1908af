//! Letters of retries that are held back, as long as they are not released: which of them are next.
//!
//! Those into a queue that is paused are passed over, so that the others do not wait for them. They are not released, and
//! held then: they would all be sent at once when the queue is resumed.

use uuid::Uuid;

use crate::{
    domain::{
        job::{Bulk, JobRecord, JobState},
        letter::{LetterId, Status},
        pacing::AHEAD,
    },
    store::{
        StoreError, StoreReader,
        db::{Sql, on},
        letters::rows::{bigint, parse},
    },
};

/// What becomes of a letter whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Released,
    /// The queue that it is to be sent to is paused.
    PassedOver,
    /// It is no longer the one that was meant: it has come in again since, or somebody has dealt with it.
    Gone,
}

/// The next letters of a job that it has not released.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frozen {
    /// Those that are still the ones that were meant.
    pub meant: Vec<LetterId>,
    /// Those that are not: they have come in again since, or somebody has dealt with them.
    pub gone: Vec<LetterId>,
    /// The last one that was passed over because its queue is paused. The next ones are looked for behind it, and then
    /// from the beginning. [`LetterId::LAST`] where all that are left are passed over.
    pub passed: Option<LetterId>,
}

impl StoreReader {
    /// The next letters of a job that it has not released, behind the last one that was passed over, `most` at most.
    /// Where there are none and nothing is passed over, none are left.
    pub async fn frozen(
        &self,
        job: Uuid,
        bulk: &Bulk,
        passed: Option<LetterId>,
        most: u64,
    ) -> Result<Frozen, StoreError> {
        let mut frozen = Frozen { passed, ..Frozen::default() };
        let mut turns = self.turns(job, bulk, passed, most).await?;
        if turns.is_empty() && passed.is_some() {
            frozen.passed = None;
            turns = self.turns(job, bulk, None, most).await?;
        }
        let mut are_all_seen = false;
        if turns.iter().any(|(_, turn)| *turn == Turn::PassedOver) {
            let ahead = most.max(AHEAD);
            turns = self.turns(job, bulk, frozen.passed, ahead).await?;
            are_all_seen = (turns.len() as u64) < ahead;
        }
        for (letter, turn) in turns {
            if (frozen.meant.len() + frozen.gone.len()) as u64 >= most {
                break;
            }
            match turn {
                Turn::Released => frozen.meant.push(letter),
                Turn::PassedOver => frozen.passed = Some(letter),
                Turn::Gone => frozen.gone.push(letter),
            }
        }
        if are_all_seen && frozen.meant.is_empty() && frozen.gone.is_empty() {
            frozen.passed = Some(LetterId::LAST);
        }
        Ok(frozen)
    }

    /// Whether letters of a job that sends are passed over: then one of them is the first that it has not released.
    pub(super) async fn passes_over(&self, record: &JobRecord) -> Result<bool, StoreError> {
        let Some(bulk) = record.bulk.as_ref().filter(|_| record.job.state == JobState::Running) else {
            return Ok(false);
        };
        // Before its first letter is due it waits for that.
        if record.progress.next_at <= Some(record.at.plus(bulk.command.delay())) {
            return Ok(false);
        }
        let first = self.turns(record.job.id, bulk, None, 1).await?;
        Ok(first.iter().any(|(_, turn)| *turn == Turn::PassedOver))
    }

    /// The letters of a job behind one of them that it has not released, in their order.
    async fn turns(
        &self,
        job: Uuid,
        bulk: &Bulk,
        after: Option<LetterId>,
        limit: u64,
    ) -> Result<Vec<(LetterId, Turn)>, StoreError> {
        // SQLite would rather walk along all letters of the job, more of which are behind it each time.
        const NEXT: Sql = Sql {
            sqlite: "SELECT j.letter_id, l.received_at, f.status, EXISTS (SELECT 1 FROM queue_pauses p
                    WHERE p.releasing = 0 AND p.broker = f.broker AND p.queue = coalesce($4, r.queue, f.queue))
                FROM job_letters j INDEXED BY job_letters_frozen LEFT JOIN letters l ON l.id = j.letter_id
                LEFT JOIN facets f ON f.id = l.facet_id LEFT JOIN retries r ON r.letter_id = j.letter_id
                WHERE j.job_id = $1 AND j.state = 'frozen' AND j.letter_id > $2 ORDER BY j.letter_id LIMIT $3",
            postgres: "SELECT j.letter_id, l.received_at, f.status, EXISTS (SELECT 1 FROM queue_pauses p
                    WHERE p.releasing = 0 AND p.broker = f.broker AND p.queue = coalesce($4, r.queue, f.queue))
                FROM job_letters j LEFT JOIN letters l ON l.id = j.letter_id
                LEFT JOIN facets f ON f.id = l.facet_id LEFT JOIN retries r ON r.letter_id = j.letter_id
                WHERE j.job_id = $1 AND j.state = 'frozen' AND j.letter_id > $2 ORDER BY j.letter_id LIMIT $3",
        };
        let next = NEXT.pick(self.db.reader());
        let rows: Vec<(Uuid, Option<i64>, Option<String>, bool)> = on!(self.db.reader(), |pool| sqlx::query_as(next)
            .bind(job)
            .bind(after.map_or(Uuid::nil(), LetterId::as_uuid))
            .bind(bigint(limit))
            .bind(bulk.command.queue())
            .fetch_all(pool)
            .await?);
        let turn = |(id, at, status, is_paused): (Uuid, Option<i64>, Option<String>, bool)| {
            let status: Option<Status> = status.map(|status| parse("a status", &status)).transpose()?;
            let is_same = at.is_some_and(|at| at <= bulk.until.as_micros());
            let is_meant = is_same && status.is_some_and(|status| bulk.still_means(status));
            let turn = match () {
                () if !is_meant => Turn::Gone,
                () if is_paused => Turn::PassedOver,
                () => Turn::Released,
            };
            Ok((LetterId::from_uuid(id), turn))
        };
        rows.into_iter().map(turn).collect()
    }
}
