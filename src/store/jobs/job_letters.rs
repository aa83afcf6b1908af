//! Rows of the letters of a job, and why some were not sent.

use amqp_message::time::Timestamp;
use uuid::Uuid;

use crate::{
    domain::{job::ToldNotSent, letter::LetterId},
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

/// A statement that writes down a reason in one state.
macro_rules! with_reason {
    ($state:literal) => {
        [
            "WITH new (job_id, letter_id, at, why) AS (",
            concat!(
                ") INSERT INTO job_letters (job_id, letter_id, state, at, why)
                SELECT job_id, letter_id, '",
                $state,
                "', at, why FROM new WHERE true
                ON CONFLICT (job_id, letter_id) DO UPDATE SET state = excluded.state, at = excluded.at, why = excluded.why"
            ),
        ]
    };
}

/// They were refused when the job came to them.
pub(super) const REFUSED: [&str; 2] = with_reason!("refused");
/// They could not be sent when they were due.
pub(super) const NOT_SENT: [&str; 2] = with_reason!("unsent");

/// Writes down why letters of a job were not sent, by one of the statements above.
pub(super) async fn write_why(
    tx: &mut Tx,
    statement: [&str; 2],
    job: Uuid,
    letters: &[(LetterId, String)],
    at: Timestamp,
) -> Result<(), StoreError> {
    for chunk in letters.chunks(CHUNK) {
        let columns = vec![
            Column::ids(chunk, |_| job),
            Column::ids(chunk, |(letter, _)| letter.as_uuid()),
            Column::numbers(chunk, |_| at.as_micros()),
            Column::texts(chunk, |(_, why)| why.as_str()),
        ];
        columns::execute(tx, statement, columns).await?;
    }
    Ok(())
}

/// The most reasons that are told apart.
const REASONS: u64 = 200;

impl StoreReader {
    /// Why letters of a job were refused or could not be sent, the commonest reason first.
    pub async fn job_not_sent(&self, job: Uuid) -> Result<Vec<ToldNotSent>, StoreError> {
        const SELECT: Sql = Sql {
            sqlite: "SELECT why, state = 'refused', COUNT(*) FROM job_letters INDEXED BY job_letters_why
                WHERE job_id = $1 AND why IS NOT NULL GROUP BY why, state = 'refused' ORDER BY COUNT(*) DESC, why LIMIT $2",
            postgres: "SELECT why, state = 'refused', COUNT(*) FROM job_letters
                WHERE job_id = $1 AND why IS NOT NULL GROUP BY why, state = 'refused' ORDER BY COUNT(*) DESC, why LIMIT $2",
        };
        let select = SELECT.pick(self.db.reader());
        let rows: Vec<(String, bool, i64)> = on!(self.db.reader(), |pool| sqlx::query_as(select)
            .bind(job)
            .bind(bigint(REASONS))
            .fetch_all(pool)
            .await?);
        let told = |(why, is_refusal, letters): (String, bool, i64)| ToldNotSent {
            why,
            is_refusal,
            letters: letters.unsigned_abs(),
        };
        Ok(rows.into_iter().map(told).collect())
    }
}
