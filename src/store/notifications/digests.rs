//! Digests: what was sent when, and which slots of a schedule are taken.

use std::time::Duration;

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use uuid::Uuid;

use crate::{
    domain::{
        activity::{Area, AuditEntry},
        actor::Actor,
        digest::DigestReport,
        notification::{NewNotification, NotificationState},
    },
    store::{
        Store, StoreError, StoreReader, audit,
        db::{Tx, on},
        letters::rows::{bigint, parse},
        notifications,
    },
};

/// A digest's place among all, the newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigestPlace {
    pub made_at: Timestamp,
    pub id: Uuid,
}

/// A digest to write down.
#[derive(Clone, Copy, Debug)]
pub struct NewDigest<'a> {
    pub id: Uuid,
    pub name: &'a str,
    /// When it was due; `None` where somebody asked for it.
    pub slot: Option<Timestamp>,
    pub made_at: Timestamp,
    pub by: &'a Actor,
    pub since: Option<Timestamp>,
    /// `None` where there is nothing to report.
    pub notification: Option<&'a NewNotification>,
    /// As [`DigestReport::write`] wrote it.
    pub report: &'a str,
    /// How all groups stood, as [`GroupSnapshot::write`](crate::domain::digest::GroupSnapshot::write) wrote it.
    pub snapshot: &'a str,
}

/// Whether a digest is to be made for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotState {
    Due,
    /// It was made by this process or another.
    Taken,
    /// It was over before the digest had this schedule.
    Before,
}

/// A digest that was made, and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct DigestRecord {
    pub id: Uuid,
    pub name: String,
    pub slot: Option<Timestamp>,
    pub made_at: Timestamp,
    pub made_by: Actor,
    pub since: Option<Timestamp>,
    /// Whether there was nothing to report.
    pub is_quiet: bool,
    /// `None` where there was nothing to report, and once it is long over.
    pub sending: Option<Sending>,
}

/// How the telling of a digest stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sending {
    pub state: NotificationState,
    pub attempts: u32,
    /// When it is tried next, while it waits.
    pub due_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// Why it was refused, or the last attempt failed.
    pub problem: Option<String>,
}

impl DigestRecord {
    /// Why people have not read it, if Slack is to blame.
    pub fn problem(&self) -> Option<&str> {
        let sending = self.sending.as_ref().filter(|sending| sending.state != NotificationState::Delivered);
        sending.and_then(|sending| sending.problem.as_deref())
    }
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    name: String,
    slot: Option<i64>,
    made_at: i64,
    made_by: String,
    since: Option<i64>,
    notification_id: Option<Uuid>,
    state: Option<String>,
    attempts: Option<i64>,
    due_at: Option<i64>,
    ended_at: Option<i64>,
    problem: Option<String>,
}

impl TryFrom<Row> for DigestRecord {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let sending = match row.state {
            None => None,
            Some(state) => Some(Sending {
                state: parse("a state of a notification", &state)?,
                attempts: row.attempts.and_then(|attempts| attempts.try_into().ok()).unwrap_or(0),
                due_at: Timestamp::from_micros(row.due_at.unwrap_or_default()),
                ended_at: row.ended_at.map(Timestamp::from_micros),
                problem: row.problem.filter(|problem| !problem.is_empty()),
            }),
        };
        Ok(Self {
            id: row.id,
            name: row.name,
            slot: row.slot.map(Timestamp::from_micros),
            made_at: Timestamp::from_micros(row.made_at),
            made_by: Actor::named(row.made_by),
            since: row.since.map(Timestamp::from_micros),
            is_quiet: row.notification_id.is_none(),
            sending,
        })
    }
}

const SELECT: &str = "SELECT d.id, d.name, d.slot, d.made_at, d.made_by, d.since, d.notification_id, n.state,
    n.attempts, n.due_at, n.ended_at, n.problem FROM digests d LEFT JOIN notifications n ON n.id = d.notification_id";

impl StoreReader {
    /// Whether the digest of that name is still to be made for `slot`.
    pub async fn digest_slot(&self, name: &str, slot: Timestamp) -> Result<SlotState, StoreError> {
        const LOOK: &str = "SELECT EXISTS (SELECT 1 FROM digests WHERE name = $1 AND slot = $2),
            EXISTS (SELECT 1 FROM digest_schedules WHERE name = $1 AND begun_at < $2)";
        let (is_taken, is_ours): (bool, bool) = on!(self.db.reader(), |pool| sqlx::query_as(LOOK)
            .bind(name)
            .bind(slot.as_micros())
            .fetch_one(pool)
            .await?);
        Ok(match (is_taken, is_ours) {
            (true, _) => SlotState::Taken,
            (false, true) => SlotState::Due,
            (false, false) => SlotState::Before,
        })
    }

    /// The digests of that name, or where none is given of all, the newest first, from behind a place on. They are
    /// about all queues, so that they are not there for who sees only some.
    pub async fn digests(
        &self,
        name: Option<&str>,
        behind: Option<DigestPlace>,
        limit: usize,
    ) -> Result<Vec<DigestRecord>, StoreError> {
        if !self.scope.is_everything() {
            return Ok(Vec::new());
        }
        let rows: Vec<Row> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new(SELECT);
            select.push(" WHERE TRUE");
            if let Some(name) = name {
                select.push(" AND d.name = ").push_bind(name);
            }
            if let Some(DigestPlace { made_at, id }) = behind {
                select.push(" AND (d.made_at, d.id) < (").push_bind(made_at.as_micros());
                select.push(", ").push_bind(id).push(")");
            }
            select.push(" ORDER BY d.made_at DESC, d.id DESC LIMIT ").push_bind(bigint(limit as u64));
            select.build_query_as().fetch_all(pool).await?
        });
        rows.into_iter().map(DigestRecord::try_from).collect()
    }

    /// One digest as it was sent.
    pub async fn digest(&self, id: Uuid) -> Result<Option<(DigestRecord, DigestReport)>, StoreError> {
        const REPORT: &str = "SELECT report FROM digests WHERE id = $1";
        if !self.scope.is_everything() {
            return Ok(None);
        }
        let row: Option<Row> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new(SELECT);
            select.push(" WHERE d.id = ").push_bind(id).build_query_as().fetch_optional(pool).await?
        });
        let Some(row) = row else { return Ok(None) };
        let report: String = on!(self.db.reader(), |pool| sqlx::query_scalar(REPORT).bind(id).fetch_one(pool).await?);
        let report =
            DigestReport::read(&report).map_err(|why| StoreError::Unreadable { what: "a digest's report", why })?;
        Ok(Some((row.try_into()?, report)))
    }

    /// When a digest of each name was last sent, or had nothing to say; a name of which none did is left out.
    pub async fn digests_sent(&self) -> Result<Vec<(String, Timestamp)>, StoreError> {
        const SENT: &str = "SELECT d.name, max(coalesce(n.ended_at, d.made_at)) FROM digests d
            LEFT JOIN notifications n ON n.id = d.notification_id
            WHERE d.notification_id IS NULL OR (n.state = 'delivered' AND n.ended_at IS NOT NULL)
            GROUP BY d.name ORDER BY d.name";
        let rows: Vec<(String, i64)> = on!(self.db.reader(), |pool| sqlx::query_as(SENT).fetch_all(pool).await?);
        Ok(rows.into_iter().map(|(name, at)| (name, Timestamp::from_micros(at))).collect())
    }
}

impl Store {
    /// Notes that a digest has this schedule from now on, unless it has had it before. What is due by it is due from then
    /// on only.
    pub async fn keep_digest_schedule(&self, name: &str, schedule: &str, now: Timestamp) -> Result<(), StoreError> {
        // A clock that was put back must not hold it up until it has caught up.
        const KEEP: &str = "INSERT INTO digest_schedules (name, schedule, begun_at) VALUES ($1, $2, $3)
            ON CONFLICT (name) DO UPDATE SET schedule = excluded.schedule, begun_at = excluded.begun_at
            WHERE digest_schedules.schedule <> excluded.schedule OR digest_schedules.begun_at > excluded.begun_at";
        on!(self.db.writer(), |pool| sqlx::query(KEEP)
            .bind(name)
            .bind(schedule)
            .bind(now.as_micros())
            .execute(pool)
            .await
            .map(drop)?);
        Ok(())
    }

    /// Writes down a digest together with what is to be sent. The answer is whether that was done: a slot is taken once,
    /// by whichever process comes first.
    pub async fn add_digest(&self, new: &NewDigest<'_>) -> Result<bool, StoreError> {
        let mut tx = self.db.begin().await?;
        if !insert(&mut tx, new).await? {
            return Ok(false);
        }
        if let Some(notification) = new.notification {
            notifications::append(&mut tx, std::slice::from_ref(notification), new.made_at).await?;
        }
        match new.slot {
            Some(_) => forget_snapshots(&mut tx, new).await?,
            None => {
                audit::append(&mut tx, &AuditEntry::new(new.made_at, new.by, Area::Digests, "send", new.name)).await?
            }
        }
        tx.commit().await?;
        Ok(true)
    }

    /// Removes digests made longer than `keep` ago, but for the last that each name has: the next one begins where that
    /// ended.
    pub async fn forget_digests(&self, now: Timestamp, keep: Duration) -> Result<u64, StoreError> {
        const FORGET: &str = "DELETE FROM digests WHERE made_at < $1 AND EXISTS (SELECT 1 FROM digests later
            LEFT JOIN notifications n ON n.id = later.notification_id WHERE later.name = digests.name
            AND later.slot IS NOT NULL AND later.made_at > digests.made_at AND later.snapshot <> ''
            AND coalesce(n.state, '') <> 'refused')";
        Ok(on!(self.db.writer(), |pool| sqlx::query(FORGET)
            .bind(now.minus(keep).as_micros())
            .execute(pool)
            .await?
            .rows_affected()))
    }
}

async fn insert(tx: &mut Tx, new: &NewDigest<'_>) -> Result<bool, StoreError> {
    const INSERT: &str = "INSERT INTO digests
        (id, name, slot, made_at, made_by, since, notification_id, report, snapshot)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (name, slot) DO NOTHING";
    let rows = on!(tx, |tx| sqlx::query(INSERT)
        .bind(new.id)
        .bind(new.name)
        .bind(new.slot.map(Timestamp::as_micros))
        .bind(new.made_at.as_micros())
        .bind(new.by.as_str())
        .bind(new.since.map(Timestamp::as_micros))
        .bind(new.notification.map(|notification| notification.id))
        .bind(new.report)
        .bind(new.snapshot)
        .execute(&mut **tx)
        .await?
        .rows_affected());
    Ok(rows > 0)
}

/// No digest is compared any more with one that was made before the one that this one was compared with.
async fn forget_snapshots(tx: &mut Tx, new: &NewDigest<'_>) -> Result<(), StoreError> {
    const FORGET: &str = "UPDATE digests SET snapshot = '' WHERE name = $1 AND made_at < $2 AND snapshot <> ''";
    let Some(since) = new.since else { return Ok(()) };
    on!(tx, |tx| sqlx::query(FORGET).bind(new.name).bind(since.as_micros()).execute(&mut **tx).await.map(drop)?);
    Ok(())
}
