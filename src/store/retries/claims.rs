//! Claims of retries that are renewed, given back, or looked at before they are published.
//!
//! A claim whose lease has ended is made again by whoever is next. So each is named by its number: who comes back late to an
//! older one changes nothing of a newer one.

use std::collections::HashSet;

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use uuid::Uuid;

use super::sent_back;
use crate::{
    domain::{letter::LetterId, retry::Claim},
    store::{
        Store, StoreError, StoreReader,
        db::{
            columns::{self, Column},
            id_list::push_ids,
            on,
        },
        letters::rows::bigint,
    },
};

/// Claims in one transaction.
const CHUNK: usize = 1_000;

/// What becomes of claims that are still held.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Hold(Timestamp),
    End,
    /// As if they had never been made.
    GiveBack,
}

impl Change {
    const fn until(self) -> Option<i64> {
        match self {
            Self::Hold(until) => Some(until.as_micros()),
            Self::End | Self::GiveBack => None,
        }
    }
}

impl StoreReader {
    /// The claims of these letters that hold until then at least; not those of a job that is being stopped.
    pub async fn claims_to_send(&self, letters: &[LetterId], until: Timestamp) -> Result<HashSet<Claim>, StoreError> {
        let mut claims = HashSet::with_capacity(letters.len());
        for chunk in letters.chunks(CHUNK) {
            let rows: Vec<(Uuid, i64, i64)> = on!(self.db.reader(), |pool| {
                let mut select = QueryBuilder::new(
                    "SELECT r.letter_id, r.due_at, r.claims FROM retries r LEFT JOIN jobs j ON j.id = r.job_id
                        AND j.next_at IS NOT NULL AND j.state IN ('paused', 'cancelled', 'stopped')
                    WHERE j.id IS NULL AND r.claimed_until >= ",
                );
                select.push_bind(until.as_micros()).push(" AND r.letter_id IN ");
                push_ids(&mut select, chunk);
                select.build_query_as().fetch_all(pool).await?
            });
            claims.extend(rows.into_iter().map(|(letter, due_at, number)| Claim {
                letter: LetterId::from_uuid(letter),
                due_at: Timestamp::from_micros(due_at),
                number: number.unsigned_abs(),
            }));
        }
        Ok(claims)
    }
}

impl Store {
    /// Gives claimed retries back that were not sent.
    pub async fn unclaim_retries(&self, claims: &[Claim]) -> Result<(), StoreError> {
        self.change_claims(claims, Change::GiveBack).await
    }

    /// Gives claimed retries back of which nobody knows whether they have arrived.
    pub async fn end_leases(&self, claims: &[Claim]) -> Result<(), StoreError> {
        self.change_claims(claims, Change::End).await
    }

    /// Holds claims until then, as long as they are still held.
    pub async fn renew_leases(&self, claims: &[Claim], until: Timestamp) -> Result<(), StoreError> {
        self.change_claims(claims, Change::Hold(until)).await
    }

    async fn change_claims(&self, claims: &[Claim], change: Change) -> Result<(), StoreError> {
        const CHANGE: [&str; 2] = [
            "WITH held (letter, due_at, number, claimed_until, fewer) AS (",
            ") UPDATE retries SET claimed_until = held.claimed_until, claims = retries.claims - held.fewer FROM held
            WHERE retries.letter_id = held.letter AND retries.due_at = held.due_at AND retries.claims = held.number
            AND retries.claimed_until IS NOT NULL RETURNING letter_id",
        ];
        for chunk in claims.chunks(CHUNK) {
            let mut tx = self.db.begin().await?;
            let columns = vec![
                Column::ids(chunk, |claim| claim.letter.as_uuid()),
                Column::numbers(chunk, |claim| claim.due_at.as_micros()),
                Column::numbers(chunk, |claim| bigint(claim.number)),
                Column::numbers(chunk, |_| change.until()),
                Column::numbers(chunk, |_| i64::from(change == Change::GiveBack)),
            ];
            let changed = columns::execute_returning(&mut tx, CHANGE, columns).await?;
            if change == Change::GiveBack {
                sent_back::not_sent(&mut tx, changed).await?;
            }
            tx.commit().await?;
        }
        Ok(())
    }
}
