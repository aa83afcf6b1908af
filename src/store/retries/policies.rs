//! Policies of automatic retries, as far as people have set them.

use std::time::Duration;

use amqp_message::{death::Reason, time::Timestamp};
use serde::{Deserialize, Serialize};
use sqlx_macros::FromRow;

use crate::{
    domain::{
        activity::{Area, AuditEntry},
        actor::Actor,
        policy::{ActivePolicy, Delays, Origin, Policy},
        policy_meaning::in_full,
        version::Expected,
    },
    store::{
        ChangeError, Store, StoreError, StoreReader, audit,
        db::{LockTable, Tx, on},
        letters::rows::parse,
    },
};

const LOCK: LockTable = LockTable("LOCK TABLE policies IN SHARE ROW EXCLUSIVE MODE");

/// [`Delays`] as they are stored; times are milliseconds.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredDelays {
    Listed { delays: Vec<u64> },
    Growing { initial: u64, factor: f64, max: u64, attempts: u32 },
}

#[derive(FromRow)]
struct Row {
    queues: String,
    reason: String,
    delays: String,
    jitter: f64,
    via: String,
    keep_routing_key: bool,
    set_by: String,
    set_at: i64,
}

impl TryFrom<Row> for ActivePolicy {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let policy = Policy {
            queues: row.queues,
            reason: if row.reason.is_empty() { None } else { Some(parse("a reason", &row.reason)?) },
            delays: read_delays(&row.delays)?,
            jitter: row.jitter,
            via: parse("a place to wait", &row.via)?,
            keep_routing_key: row.keep_routing_key,
        };
        let origin = Origin::Person { by: Actor::named(row.set_by), at: Timestamp::from_micros(row.set_at) };
        Ok(Self { policy, origin })
    }
}

impl StoreReader {
    /// What people have set.
    pub async fn policies(&self) -> Result<Vec<ActivePolicy>, StoreError> {
        const SELECT: &str = "SELECT queues, reason, delays, jitter, via, keep_routing_key, set_by, set_at
            FROM policies ORDER BY queues, reason";
        let rows: Vec<Row> = on!(self.db.reader(), |pool| sqlx::query_as(SELECT).fetch_all(pool).await?);
        rows.into_iter().map(ActivePolicy::try_from).collect()
    }
}

impl Store {
    /// Sets the policy of these queues and this reason, in place of what was set before. What is set already stays as it
    /// is, with who set it.
    pub async fn set_policy(
        &self,
        policy: &Policy,
        expected: &Expected,
        by: &Actor,
        at: Timestamp,
    ) -> Result<(), ChangeError<ActivePolicy>> {
        const SET: &str = "INSERT INTO policies
            (queues, reason, delays, jitter, via, keep_routing_key, set_by, set_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (queues, reason) DO UPDATE SET
            delays = excluded.delays, jitter = excluded.jitter, via = excluded.via,
            keep_routing_key = excluded.keep_routing_key, set_by = excluded.set_by, set_at = excluded.set_at";
        let mut tx = self.db.begin().await?;
        tx.lock_table(LOCK).await?;
        let before = find(&mut tx, &policy.queues, policy.reason).await?;
        if before.as_ref().is_some_and(|before| before.policy == *policy) {
            return Ok(());
        }
        expected.check(before.as_ref())?;
        on!(&mut tx, |tx| sqlx::query(SET)
            .bind(&*policy.queues)
            .bind(reason_word(policy.reason))
            .bind(write_delays(&policy.delays))
            .bind(policy.jitter)
            .bind(policy.via.as_str())
            .bind(policy.keep_routing_key)
            .bind(by.as_str())
            .bind(at.as_micros())
            .execute(&mut **tx)
            .await
            .map(drop)?);
        let instead = before.map(|before| format!(", instead of {}", in_full(&before.policy))).unwrap_or_default();
        let detail = format!("{}{instead}", describe(policy));
        let entry = AuditEntry::new(at, by, Area::Policies, "set", &*policy.queues);
        audit::append(&mut tx, &AuditEntry { detail, ..entry }).await?;
        Ok(tx.commit().await?)
    }

    /// Takes back what was set, so that the configuration or a wider policy is in force again. The answer is whether
    /// there was anything.
    pub async fn unset_policy(
        &self,
        queues: &str,
        reason: Option<Reason>,
        expected: &Expected,
        by: &Actor,
        at: Timestamp,
    ) -> Result<bool, ChangeError<ActivePolicy>> {
        const UNSET: &str = "DELETE FROM policies WHERE queues = $1 AND reason = $2";
        let mut tx = self.db.begin().await?;
        tx.lock_table(LOCK).await?;
        let Some(removed) = find(&mut tx, queues, reason).await? else { return Ok(false) };
        expected.check(Some(&removed))?;
        on!(&mut tx, |tx| sqlx::query(UNSET)
            .bind(queues)
            .bind(reason_word(reason))
            .execute(&mut **tx)
            .await
            .map(drop)?);
        let entry = AuditEntry::new(at, by, Area::Policies, "remove", queues);
        audit::append(&mut tx, &AuditEntry { detail: describe(&removed.policy), ..entry }).await?;
        tx.commit().await?;
        Ok(true)
    }
}

/// What people have set for exactly these.
async fn find(tx: &mut Tx, queues: &str, reason: Option<Reason>) -> Result<Option<ActivePolicy>, StoreError> {
    const SELECT: &str = "SELECT queues, reason, delays, jitter, via, keep_routing_key, set_by, set_at
        FROM policies WHERE queues = $1 AND reason = $2";
    let row: Option<Row> =
        on!(tx, |tx| sqlx::query_as(SELECT).bind(queues).bind(reason_word(reason)).fetch_optional(&mut **tx).await?);
    row.map(ActivePolicy::try_from).transpose()
}

/// `for what is expired: after 10 s; then needs attention`
fn describe(policy: &Policy) -> String {
    let reason = policy.reason.map(|reason| format!("for what is {reason}: ")).unwrap_or_default();
    format!("{reason}{}", in_full(policy))
}

const fn reason_word(reason: Option<Reason>) -> &'static str {
    match reason {
        Some(reason) => reason.as_str(),
        None => "",
    }
}

fn write_delays(delays: &Delays) -> String {
    let millis = |delay: &Duration| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
    let stored = match delays {
        Delays::Listed(delays) => StoredDelays::Listed { delays: delays.iter().map(millis).collect() },
        Delays::Growing { initial, factor, max, attempts } => {
            StoredDelays::Growing { initial: millis(initial), factor: *factor, max: millis(max), attempts: *attempts }
        }
    };
    serde_json::json!(stored).to_string()
}

fn read_delays(text: &str) -> Result<Delays, StoreError> {
    let stored = serde_json::from_str(text)
        .map_err(|error| StoreError::Unreadable { what: "a policy's delays", why: error.to_string() })?;
    Ok(match stored {
        StoredDelays::Listed { delays } => Delays::Listed(delays.into_iter().map(Duration::from_millis).collect()),
        StoredDelays::Growing { initial, factor, max, attempts } => Delays::Growing {
            initial: Duration::from_millis(initial),
            factor,
            max: Duration::from_millis(max),
            attempts,
        },
    })
}
