//! What a job that edits its letters has made of them: copies, and refusals.

use std::collections::HashSet;

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use uuid::Uuid;

use super::job_letters::{self, CHUNK};
use crate::{
    domain::{command::Refusal, letter::LetterId},
    store::{
        StoreError, StoreReader,
        db::{Tx, id_list::push_ids, on},
    },
};

/// Writes down copies that a job has made, and letters that could not be edited. Whom somebody else has dealt with is told
/// by a number only.
pub(crate) async fn write(
    tx: &mut Tx,
    job: Uuid,
    made: &[LetterId],
    refused: &[(LetterId, Refusal)],
    at: Timestamp,
) -> Result<(), StoreError> {
    const COPIES: [&str; 2] = [
        "WITH new (job_id, letter_id, at) AS (",
        ") INSERT INTO job_letters (job_id, letter_id, state, at, is_copy)
        SELECT job_id, letter_id, 'released', at, TRUE FROM new",
    ];
    job_letters::write(tx, COPIES, job, made, at).await?;
    let is_told =
        |refusal: &Refusal| !matches!(refusal, Refusal::NotFound | Refusal::WrongStatus { .. } | Refusal::InFlight);
    let told = refused.iter().filter(|(_, refusal)| is_told(refusal));
    let told: Vec<(LetterId, String)> = told.map(|(letter, refusal)| (*letter, refusal.to_string())).collect();
    job_letters::write_why(tx, job_letters::REFUSED, job, &told, at).await
}

impl StoreReader {
    /// Which of these letters are copies that a job has made.
    pub async fn copies_of_job(&self, job: Uuid, letters: &[LetterId]) -> Result<HashSet<LetterId>, StoreError> {
        let mut copies = HashSet::new();
        for chunk in letters.chunks(CHUNK) {
            let found: Vec<Uuid> = on!(self.db.reader(), |pool| {
                let mut select = QueryBuilder::new("SELECT letter_id FROM job_letters WHERE is_copy AND job_id = ");
                push_ids(select.push_bind(job).push(" AND letter_id IN "), chunk);
                select.build_query_scalar().fetch_all(pool).await?
            });
            copies.extend(found.into_iter().map(LetterId::from_uuid));
        }
        Ok(copies)
    }
}
