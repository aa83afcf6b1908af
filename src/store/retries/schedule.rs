//! Scheduling retries and taking them off again.

use sqlx::QueryBuilder;

use crate::{
    domain::{
        letter::LetterId,
        lifecycle::{NewRetry, RetryChange},
    },
    store::{
        StoreError,
        db::{
            Tx,
            columns::{self, Column},
            id_list::push_ids,
            on,
        },
    },
};

/// Rows that are written at a time.
const CHUNK: usize = 1_000;

/// What becomes of the retries of letters: each with its id and broker.
pub(crate) async fn change(tx: &mut Tx, letters: &[(LetterId, &str, RetryChange<'_>)]) -> Result<(), StoreError> {
    let over = letters.iter().filter(|(.., change)| change.is_over()).map(|(letter, ..)| *letter);
    unschedule(tx, &over.collect::<Vec<_>>()).await?;
    let new = letters.iter().filter_map(|(letter, broker, change)| Some((*letter, *broker, *change.new_retry()?)));
    schedule(tx, &new.collect::<Vec<_>>()).await
}

async fn schedule(tx: &mut Tx, retries: &[(LetterId, &str, NewRetry<'_>)]) -> Result<(), StoreError> {
    // SQLite would take the ON of the last clause for a join's, were there no WHERE before it.
    const UPSERT: [&str; 2] = [
        "WITH new (letter_id, broker, due_at, scheduled_at, queue, actor, job_id) AS (",
        ") INSERT INTO retries (letter_id, broker, due_at, scheduled_at, queue, actor, job_id, claims)
        SELECT letter_id, broker, due_at, scheduled_at, queue, actor, job_id, 0 FROM new WHERE true
        ON CONFLICT (letter_id) DO UPDATE SET due_at = excluded.due_at, scheduled_at = excluded.scheduled_at,
            queue = excluded.queue, actor = excluded.actor, job_id = excluded.job_id, claimed_until = NULL, held = 0",
    ];
    for chunk in retries.chunks(CHUNK) {
        let columns = vec![
            Column::ids(chunk, |(letter, ..)| letter.as_uuid()),
            Column::texts(chunk, |(_, broker, _)| *broker),
            Column::numbers(chunk, |(.., retry)| retry.due_at.as_micros()),
            Column::numbers(chunk, |(.., retry)| retry.scheduled_at.as_micros()),
            Column::texts(chunk, |(.., retry)| retry.queue),
            Column::texts(chunk, |(.., retry)| retry.by),
            Column::perhaps_ids(chunk, |(.., retry)| retry.job),
        ];
        columns::execute(tx, UPSERT, columns).await?;
    }
    Ok(())
}

async fn unschedule(tx: &mut Tx, ids: &[LetterId]) -> Result<(), StoreError> {
    for chunk in ids.chunks(CHUNK) {
        on!(&mut *tx, |tx| {
            let mut delete = QueryBuilder::new("DELETE FROM retries WHERE letter_id IN ");
            push_ids(&mut delete, chunk);
            delete.build().execute(&mut **tx).await?;
        });
    }
    Ok(())
}
