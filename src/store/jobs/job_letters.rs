//! Rows of the letters of a job, and why some were not sent.

use amqp_message::time::Timestamp;
use uuid::Uuid;

use crate::{
    domain::{
        job::{NotSent, ToldNotSent, WhyNotSent},
        letter::LetterId,
    },
    store::{
        StoreError, StoreReader,
        db::{
            Sql, Tx,
            columns::{self, Column},
            on,
        },
        letters::rows::bigint,
    },
};

/// Rows in one statement.
pub(super) const CHUNK: usize = 1_000;

/// Runs a statement around a table `new (job_id, letter_id, at)` of these letters.
pub(super) async fn write(
    tx: &mut Tx,
    statement: [&str; 2],
    job: Uuid,
    letters: &[LetterId],
    at: Timestamp,
) -> Result<(), StoreError> {
    for chunk in letters.chunks(CHUNK) {
        let columns = vec![
            Column::ids(chunk, |_| job),
            Column::ids(chunk, |letter| letter.as_uuid()),
            Column::numbers(chunk, |_| at.as_micros()),
        ];
        columns::execute(tx, statement, columns).await?;
    }
    Ok(())
}

/// The state of letters that were refused when the job came to them.
pub(super) const REFUSED: &str = "refused";
/// Of those that could not be sent when they were due.
pub(super) const UNSENT: &str = "unsent";

/// Writes down why letters of a job were not sent, and their state.
pub(super) async fn write_why(
    tx: &mut Tx,
    state: &str,
    job: Uuid,
    letters: &[(LetterId, String)],
    at: Timestamp,
) -> Result<(), StoreError> {
    const WRITE: [&str; 2] = [
        "WITH new (job_id, letter_id, state, at, why) AS (",
        ") INSERT INTO job_letters (job_id, letter_id, state, at, why)
        SELECT job_id, letter_id, state, at, why FROM new WHERE true
        ON CONFLICT (job_id, letter_id) DO UPDATE SET state = excluded.state, at = excluded.at, why = excluded.why",
    ];
    for chunk in letters.chunks(CHUNK) {
        let columns = vec![
            Column::ids(chunk, |_| job),
            Column::ids(chunk, |(letter, _)| letter.as_uuid()),
            Column::texts(chunk, |_| state),
            Column::numbers(chunk, |_| at.as_micros()),
            Column::texts(chunk, |(_, why)| why.as_str()),
        ];
        columns::execute(tx, WRITE, columns).await?;
    }
    Ok(())
}

/// The most reasons that are told apart.
const REASONS: u64 = 200;

impl StoreReader {
    /// Why letters of a job were refused or could not be sent.
    pub async fn job_not_sent(&self, job: Uuid) -> Result<ToldNotSent, StoreError> {
        // The sums are of all reasons. SQLite would look through all letters of the job.
        const SELECT: Sql = Sql {
            sqlite: "SELECT why, COUNT(*),
                SUM(COUNT(*) FILTER (WHERE state = 'refused')) OVER (), SUM(COUNT(*)) OVER ()
                FROM job_letters INDEXED BY job_letters_why WHERE job_id = $1 AND why IS NOT NULL
                GROUP BY why ORDER BY COUNT(*) DESC, why LIMIT $2",
            postgres: "SELECT why, COUNT(*),
                CAST(SUM(COUNT(*) FILTER (WHERE state = 'refused')) OVER () AS BIGINT), CAST(SUM(COUNT(*)) OVER () AS BIGINT)
                FROM job_letters WHERE job_id = $1 AND why IS NOT NULL
                GROUP BY why ORDER BY COUNT(*) DESC, why LIMIT $2",
        };
        let select = SELECT.pick(self.db.reader());
        let rows: Vec<(String, i64, i64, i64)> = on!(self.db.reader(), |pool| sqlx::query_as(select)
            .bind(job)
            .bind(bigint(REASONS))
            .fetch_all(pool)
            .await?);
        let (refused, all) = rows.first().map(|(.., refused, all)| (*refused, *all)).unwrap_or_default();
        let reason = |(why, letters, ..): (String, i64, _, _)| NotSent {
            why: WhyNotSent::Told(why),
            letters: letters.unsigned_abs(),
        };
        Ok(ToldNotSent {
            reasons: rows.into_iter().map(reason).collect(),
            refused: refused.unsigned_abs(),
            unsent: (all - refused).unsigned_abs(),
        })
    }
}
