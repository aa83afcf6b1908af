//! The outcomes of the letters of jobs: collected while a transaction works, and written with its counts.

use std::collections::BTreeMap;

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use uuid::Uuid;

use super::job_letters::{self, CHUNK};
use crate::{
    domain::letter::LetterId,
    store::{
        StoreError,
        db::{
            Tx,
            columns::{self, Column},
            id_list::push_ids,
            on,
        },
        letters::rows::bigint,
    },
};

#[derive(Default)]
pub(crate) struct JobTally {
    sent: BTreeMap<Uuid, Vec<(LetterId, Timestamp)>>,
    not_sent: BTreeMap<Uuid, Vec<(LetterId, String)>>,
    not_sent_at: Timestamp,
    failed_again: Vec<LetterId>,
    failed_at: Timestamp,
}

impl JobTally {
    /// Counts that a job has sent a letter.
    pub(crate) fn sent(&mut self, job: Uuid, letter: LetterId, at: Timestamp) {
        self.sent.entry(job).or_default().push((letter, at));
    }

    /// Writes down why a letter of a job could not be sent.
    pub(crate) fn not_sent(&mut self, job: Uuid, letter: LetterId, why: &str, at: Timestamp) {
        self.not_sent.entry(job).or_default().push((letter, why.to_owned()));
        self.not_sent_at = self.not_sent_at.max(at);
    }

    /// Counts that a letter has failed again, whichever job has sent it.
    pub(crate) fn failed_again(&mut self, letter: LetterId, at: Timestamp) {
        self.failed_again.push(letter);
        self.failed_at = self.failed_at.max(at);
    }

    pub(crate) async fn apply(self, tx: &mut Tx) -> Result<(), StoreError> {
        let mut changes: BTreeMap<Uuid, Change> = BTreeMap::new();
        for (job, letters) in &self.sent {
            for chunk in letters.chunks(CHUNK) {
                write_sent(tx, *job, chunk).await?;
            }
            let change = changes.entry(*job).or_default();
            change.sent = letters.len() as u64;
            change.last_sent_at = letters.iter().map(|(_, at)| at.as_micros()).max();
        }
        for (job, letters) in &self.not_sent {
            job_letters::write_why(tx, job_letters::UNSENT, *job, letters, self.not_sent_at).await?;
        }
        for chunk in self.failed_again.chunks(CHUNK) {
            for job in write_failed(tx, chunk, self.failed_at).await? {
                changes.entry(job).or_default().failed_again += 1;
            }
        }
        for (job, change) in changes {
            change.apply(tx, job).await?;
        }
        Ok(())
    }
}

/// What is added to the figures of one job.
#[derive(Default)]
struct Change {
    sent: u64,
    failed_again: u64,
    last_sent_at: Option<i64>,
}

impl Change {
    async fn apply(&self, tx: &mut Tx, job: Uuid) -> Result<(), StoreError> {
        const ADD: &str = "UPDATE jobs SET sent = sent + $1, failed_again = failed_again + $2,
            last_sent_at = coalesce($3, last_sent_at) WHERE id = $4";
        on!(tx, |tx| sqlx::query(ADD)
            .bind(bigint(self.sent))
            .bind(bigint(self.failed_again))
            .bind(self.last_sent_at)
            .bind(job)
            .execute(&mut **tx)
            .await
            .map(drop)?);
        Ok(())
    }
}

async fn write_sent(tx: &mut Tx, job: Uuid, letters: &[(LetterId, Timestamp)]) -> Result<(), StoreError> {
    const WRITE: [&str; 2] = [
        "WITH new (job_id, letter_id, at) AS (",
        ") INSERT INTO job_letters (job_id, letter_id, state, at) SELECT job_id, letter_id, 'sent', at FROM new WHERE true
        ON CONFLICT (job_id, letter_id) DO UPDATE SET state = excluded.state, at = excluded.at, why = NULL",
    ];
    let columns = vec![
        Column::ids(letters, |_| job),
        Column::ids(letters, |(letter, _)| letter.as_uuid()),
        Column::numbers(letters, |(_, at)| at.as_micros()),
    ];
    columns::execute(tx, WRITE, columns).await
}

/// The answer is the job of each that one has sent.
async fn write_failed(tx: &mut Tx, letters: &[LetterId], at: Timestamp) -> Result<Vec<Uuid>, StoreError> {
    Ok(on!(tx, |tx| {
        let mut update = QueryBuilder::new("UPDATE job_letters SET state = 'failed', at = ");
        update.push_bind(at.as_micros()).push(" WHERE state = 'sent' AND letter_id IN ");
        push_ids(&mut update, letters);
        update.push(" RETURNING job_id").build_query_scalar().fetch_all(&mut **tx).await?
    }))
}
