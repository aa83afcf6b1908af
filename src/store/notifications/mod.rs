//! What is to be sent out, until it is sent.
//!
//! A notification is written in the transaction that decides about it, and sent afterwards, by whichever process claims
//! it. A process that dies while sending leaves its claim behind; another sends it again, for nobody knows whether it
//! has arrived.

mod acknowledged;
pub(crate) mod digest_figures;
pub(crate) mod digests;
pub(crate) mod incidents;
mod of_incidents;
mod set_back;
mod turn;

use std::{collections::BTreeMap, time::Duration};

use amqp_message::time::Timestamp;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError, StoreReader,
    clock::longest_claim,
    db::{Either, Sql, Tx, on},
    letters::rows::{bigint, parse},
};
use crate::domain::notification::{
    Attempt, Channel, ClaimedNotification, NewNotification, NotificationRecord, NotificationState,
};

/// No attempt waits longer than this for the next.
const LONGEST_WAIT: Duration = Duration::from_secs(2 * 60 * 60);
/// What limits of channels are counted over.
const MINUTE: Duration = Duration::from_secs(60);

#[derive(FromRow)]
struct Row {
    id: Uuid,
    channel: String,
    subject: String,
    kind: String,
    body: String,
    created_at: i64,
    due_at: i64,
    attempts: i64,
    state: String,
    ended_at: Option<i64>,
    problem: String,
}

impl Row {
    fn claimed(self) -> Result<ClaimedNotification, StoreError> {
        Ok(ClaimedNotification {
            created_at: Timestamp::from_micros(self.created_at),
            // The claim has counted the attempt that it is for.
            attempts: u32::try_from(self.attempts - 1).unwrap_or(0),
            notification: NewNotification {
                id: self.id,
                channel: parse("a channel", &self.channel)?,
                subject: self.subject,
                kind: parse("a kind of notification", &self.kind)?,
                body: self.body,
            },
        })
    }
}

impl TryFrom<Row> for NotificationRecord {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id,
            channel: parse("a channel", &row.channel)?,
            subject: row.subject,
            kind: parse("a kind of notification", &row.kind)?,
            created_at: Timestamp::from_micros(row.created_at),
            due_at: Timestamp::from_micros(row.due_at),
            attempts: u32::try_from(row.attempts).unwrap_or(u32::MAX),
            state: parse("a state of a notification", &row.state)?,
            ended_at: row.ended_at.map(Timestamp::from_micros),
            problem: Some(row.problem).filter(|problem| !problem.is_empty()),
        })
    }
}

const COLUMNS: &str = "id, channel, subject, kind, body, created_at, due_at, attempts, state, ended_at, problem";

/// Writes down what is to be sent, in the transaction that decides about it.
pub(crate) async fn append(tx: &mut Tx, new: &[NewNotification], at: Timestamp) -> Result<(), StoreError> {
    const INSERT: &str = "INSERT INTO notifications
        (id, channel, subject, kind, body, created_at, due_at, attempts, state, problem)
        VALUES ($1, $2, $3, $4, $5, $6, $6, 0, 'waiting', '')";
    for notification in new {
        on!(&mut *tx, |tx| sqlx::query(INSERT)
            .bind(notification.id)
            .bind(notification.channel.as_str())
            .bind(&*notification.subject)
            .bind(notification.kind.as_str())
            .bind(&*notification.body)
            .bind(at.as_micros())
            .execute(&mut **tx)
            .await
            .map(drop)?);
    }
    Ok(())
}

/// Of one subject a channel is sent what waits first, so that nobody hears the end of something before its beginning: `n` is
/// that.
macro_rules! is_first {
    () => {
        "NOT EXISTS (SELECT 1 FROM notifications o WHERE o.subject = n.subject AND o.channel = n.channel
            AND o.state = 'waiting' AND o.seq < n.seq)"
    };
}

macro_rules! claim {
    ($before:literal, $after:literal) => {
        concat!(
            "UPDATE notifications SET claimed_until = $1, attempts = attempts + 1 WHERE id ",
            $before,
            "SELECT n.id FROM notifications n WHERE n.state = 'waiting' AND n.channel = $4
                AND (n.due_at <= $2 OR n.due_at > $3)
                AND (n.claimed_until IS NULL OR n.claimed_until <= $2 OR n.claimed_until > $3) AND ",
            is_first!(),
            " ORDER BY n.due_at, n.seq LIMIT 1",
            $after,
            " RETURNING id, channel, subject, kind, body, created_at, due_at, attempts, state, ended_at, problem"
        )
    };
}

/// How many were sent to a channel within a minute, or are being sent; taken or not. One that is tried again counts once. What
/// a clock wrote down that was ahead does not count.
async fn sent_lately(tx: &mut Tx, channel: Channel, (now, lease): (Timestamp, Duration)) -> Result<u64, StoreError> {
    const SENT: &str = "SELECT COUNT(*) FROM (
            SELECT id FROM notifications WHERE channel = $3 AND ended_at > $1 AND ended_at < $2
            UNION ALL SELECT id FROM notifications
                WHERE channel = $3 AND state = 'waiting' AND claimed_until > $1 AND claimed_until < $2
        ) AS sent";
    let sent: i64 = on!(tx, |tx| sqlx::query_scalar(SENT)
        .bind(now.minus(MINUTE).as_micros())
        .bind(longest_claim(now, lease))
        .bind(channel.as_str())
        .fetch_one(&mut **tx)
        .await?);
    Ok(sent.unsigned_abs())
}

impl Store {
    /// Claims one notification for a channel that is due, for `lease`; until then no other process sends it. Of one subject
    /// only the first that waits can be claimed. None is claimed where as many were sent within a minute as the limit says.
    /// What is due or claimed for longer than there is reason to was written by a clock that was ahead, and is due too.
    pub async fn claim_notification(
        &self,
        now: Timestamp,
        lease: Duration,
        (channel, limit): (Channel, Option<u64>),
    ) -> Result<Option<ClaimedNotification>, StoreError> {
        const CLAIM: Sql = Sql {
            sqlite: claim!("IN (", ")"),
            // The subquery of an IN may be carried out several times, and each time it skips what it has just locked.
            postgres: claim!("= ANY(ARRAY(", " FOR UPDATE SKIP LOCKED))"),
        };
        let mut tx = self.claiming_turn().await?;
        if let Some(limit) = limit
            && sent_lately(&mut tx, channel, (now, lease)).await? >= limit
        {
            return tx.commit().await.map(|()| None);
        }
        let claim = CLAIM.pick(&tx);
        let row: Option<Row> = on!(&mut tx, |tx| sqlx::query_as(claim)
            .bind(now.plus(lease).as_micros())
            .bind(now.as_micros())
            .bind(now.plus(LONGEST_WAIT).as_micros())
            .bind(channel.as_str())
            .fetch_optional(&mut **tx)
            .await?);
        tx.commit().await?;
        row.map(Row::claimed).transpose()
    }

    /// Writes down the result of an attempt. The claim of one that is to be made again ends now, and is not forgotten: it
    /// counts among those of its channel.
    pub async fn end_attempt(&self, id: Uuid, attempt: &Attempt, now: Timestamp) -> Result<(), StoreError> {
        const END: &str = "UPDATE notifications SET claimed_until = $6, state = $1, due_at = coalesce($2, due_at),
            ended_at = $3, problem = $4 WHERE id = $5 AND state = 'waiting'";
        let (state, due_at, problem) = match attempt {
            Attempt::Delivered => (NotificationState::Delivered, None, ""),
            Attempt::Later(at, why) => (NotificationState::Waiting, Some(at.as_micros()), why.as_str()),
            Attempt::Refused(why) => (NotificationState::Refused, None, why.as_str()),
        };
        let is_over = state != NotificationState::Waiting;
        let (ended_at, tried_at) = (is_over.then_some(now.as_micros()), (!is_over).then_some(now.as_micros()));
        on!(self.db.writer(), |pool| sqlx::query(END)
            .bind(state.as_str())
            .bind(due_at)
            .bind(ended_at)
            .bind(problem)
            .bind(id)
            .bind(tried_at)
            .execute(pool)
            .await
            .map(drop)?);
        Ok(())
    }

    /// Ends the claims that a process which died has left behind, where nobody else can hold one: a SQLite database has one
    /// server. On Postgres they end by themselves.
    pub async fn release_abandoned_notifications(&self) -> Result<(), StoreError> {
        const RELEASE: &str = "UPDATE notifications SET claimed_until = NULL WHERE claimed_until IS NOT NULL";
        if let Either::Sqlite(pool) = self.db.writer() {
            sqlx::query(RELEASE).execute(pool).await?;
        }
        Ok(())
    }
}

impl StoreReader {
    /// When the next notification for a channel that nobody is sending at the moment is due.
    pub async fn next_notification_due(
        &self,
        channel: Channel,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, StoreError> {
        const NEXT: &str = concat!(
            "SELECT min(CASE WHEN n.due_at > $2 THEN $1 ELSE n.due_at END) FROM notifications n
            WHERE n.state = 'waiting' AND n.channel = $3
            AND (n.claimed_until IS NULL OR n.claimed_until <= $1 OR n.claimed_until > $2) AND ",
            is_first!(),
        );
        let due: Option<i64> = on!(self.db.reader(), |pool| sqlx::query_scalar(NEXT)
            .bind(now.as_micros())
            .bind(now.plus(LONGEST_WAIT).as_micros())
            .bind(channel.as_str())
            .fetch_one(pool)
            .await?);
        Ok(due.map(Timestamp::from_micros))
    }

    /// Since when or from when on a notification is due though nothing is tried at its channel, whatever the clock says: a
    /// channel that takes its time is sent one after the other.
    pub async fn first_notification_due(&self) -> Result<Option<Timestamp>, StoreError> {
        const FIRST: &str = concat!(
            "SELECT min(CASE WHEN tried_at > due_at THEN tried_at ELSE due_at END) FROM (
            SELECT min(n.due_at) AS due_at, (SELECT max(t.claimed_until) FROM notifications t
                WHERE t.state = 'waiting' AND t.channel = n.channel) AS tried_at
            FROM notifications n WHERE n.state = 'waiting' AND ",
            is_first!(),
            " GROUP BY n.channel) AS channels",
        );
        let due: Option<i64> = on!(self.db.reader(), |pool| sqlx::query_scalar(FIRST).fetch_one(pool).await?);
        Ok(due.map(Timestamp::from_micros))
    }

    /// When something was delivered last to each channel, where that was after `since`.
    pub async fn last_delivered(&self, since: Timestamp) -> Result<BTreeMap<Channel, Timestamp>, StoreError> {
        const LAST: &str = "SELECT channel, max(ended_at) FROM notifications
            WHERE ended_at > $1 AND state = 'delivered' GROUP BY channel";
        let rows: Vec<(String, i64)> =
            on!(self.db.reader(), |pool| sqlx::query_as(LAST).bind(since.as_micros()).fetch_all(pool).await?);
        rows.into_iter().map(|(channel, at)| Ok((parse("a channel", &channel)?, Timestamp::from_micros(at)))).collect()
    }

    /// How many wait to be sent, and since when the first of them does.
    pub async fn waiting_notifications(&self) -> Result<(u64, Option<Timestamp>), StoreError> {
        const COUNT: &str = "SELECT COUNT(*), min(created_at) FROM notifications WHERE state = 'waiting'";
        let (count, since): (i64, Option<i64>) =
            on!(self.db.reader(), |pool| sqlx::query_as(COUNT).fetch_one(pool).await?);
        Ok((count.unsigned_abs(), since.map(Timestamp::from_micros)))
    }

    /// What was sent, or is to be sent, about any of `subjects`, or where none is named about anything, the newest first.
    pub async fn notifications(
        &self,
        subjects: &[String],
        limit: usize,
    ) -> Result<Vec<NotificationRecord>, StoreError> {
        if subjects.is_empty() && !self.scope.is_everything() {
            return Ok(Vec::new());
        }
        let rows: Vec<Row> = on!(self.db.reader(), |pool| {
            let mut select = sqlx::QueryBuilder::new("SELECT ");
            select.push(COLUMNS).push(" FROM notifications");
            if !subjects.is_empty() {
                select.push(" WHERE subject IN (");
                let mut list = select.separated(", ");
                for subject in subjects {
                    list.push_bind(subject.clone());
                }
                select.push(")");
            }
            select.push(" ORDER BY seq DESC LIMIT ").push_bind(bigint(limit as u64));
            select.build_query_as().fetch_all(pool).await?
        });
        rows.into_iter().map(NotificationRecord::try_from).collect()
    }
}
