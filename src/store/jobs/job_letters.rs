//! Rows of the letters of a job.

use amqp_message::time::Timestamp;
use uuid::Uuid;

use crate::{
    domain::letter::LetterId,
    store::{
        StoreError,
        db::{
            Tx,
            columns::{self, Column},
        },
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
