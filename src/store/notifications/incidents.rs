//! Incidents: what concerns people until it is over. Of each key one is open at a time.

use std::collections::BTreeMap;

use amqp_message::time::Timestamp;
use sqlx_macros::FromRow;
use uuid::Uuid;

use crate::{
    domain::{
        incident::{Incident, IncidentKind},
        letter::Importance,
        notification::{Channel, NewNotification},
        storm::Storm,
    },
    store::{
        Store, StoreError, StoreReader,
        db::{Tx, on},
        letters::rows::parse,
        notifications,
    },
};

/// An incident as the database keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncidentRecord {
    pub id: Uuid,
    /// As it was when it was reported last.
    pub incident: Incident,
    /// When users were notified last; `None`: not yet, for it began in quiet hours.
    pub told_at: Option<Timestamp>,
    /// Since when it is acknowledged, as those who were notified know.
    pub acknowledged_at: Option<Timestamp>,
    /// Who was notified that it is open, and as how important last.
    pub told: BTreeMap<Channel, Importance>,
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    key: String,
    importance: String,
    detail: String,
    opened_at: i64,
    told_at: Option<i64>,
    resolved_at: Option<i64>,
    acknowledged_at: Option<i64>,
}

/// The rest of an incident, as it is stored.
#[derive(serde::Serialize, serde::Deserialize)]
struct Detail {
    kind: String,
    title: String,
    broker: String,
    queue: Option<String>,
    message_type: Option<String>,
    reason: Option<String>,
    error: Option<String>,
    open: u64,
    first_seen: i64,
    last_seen: i64,
    href: String,
    #[serde(default)]
    told: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    storm: Option<StormDetail>,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct StormDetail {
    groups: Vec<String>,
    joined: u64,
    told: u64,
    joined_at: i64,
}

impl From<&Storm> for StormDetail {
    fn from(storm: &Storm) -> Self {
        let (groups, joined_at) = (storm.groups.clone(), storm.joined_at.as_micros());
        Self { groups, joined: storm.joined, told: storm.told, joined_at }
    }
}

impl From<StormDetail> for Storm {
    fn from(detail: StormDetail) -> Self {
        let StormDetail { groups, joined, told, joined_at } = detail;
        Self { groups, joined, told, joined_at: Timestamp::from_micros(joined_at) }
    }
}

impl Detail {
    fn of(incident: &Incident, told: &BTreeMap<Channel, Importance>) -> Self {
        Self {
            kind: incident.kind.as_str().to_owned(),
            title: incident.title.clone(),
            broker: incident.broker.clone(),
            queue: incident.queue.clone(),
            message_type: incident.message_type.clone(),
            reason: incident.reason.map(|reason| reason.as_str().to_owned()),
            error: incident.error.clone(),
            open: incident.open,
            first_seen: incident.first_seen.as_micros(),
            last_seen: incident.last_seen.as_micros(),
            href: incident.href.clone(),
            told: told.iter().map(|(channel, importance)| (channel.to_string(), importance.to_string())).collect(),
            storm: incident.storm.as_ref().map(StormDetail::from),
        }
    }
}

impl TryFrom<Row> for IncidentRecord {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let unreadable =
            |error: serde_json::Error| StoreError::Unreadable { what: "an incident", why: error.to_string() };
        let detail: Detail = serde_json::from_str(&row.detail).map_err(unreadable)?;
        let kind: IncidentKind = parse("a kind of incident", &detail.kind)?;
        let told = |(channel, importance): (String, String)| {
            Ok((parse("a channel", &channel)?, parse("an importance", &importance)?))
        };
        let told = detail.told.into_iter().map(told).collect::<Result<_, StoreError>>()?;
        let incident = Incident {
            key: row.key,
            kind,
            title: detail.title,
            importance: parse("an importance", &row.importance)?,
            broker: detail.broker,
            queue: detail.queue,
            message_type: detail.message_type,
            reason: detail.reason.map(|word| parse("a reason", &word)).transpose()?,
            error: detail.error,
            open: detail.open,
            first_seen: Timestamp::from_micros(detail.first_seen),
            last_seen: Timestamp::from_micros(detail.last_seen),
            opened_at: Timestamp::from_micros(row.opened_at),
            resolved_at: row.resolved_at.map(Timestamp::from_micros),
            href: detail.href,
            storm: detail.storm.map(Storm::from),
        };
        let [told_at, acknowledged_at] = [row.told_at, row.acknowledged_at].map(|at| at.map(Timestamp::from_micros));
        Ok(Self { id: row.id, incident, told_at, acknowledged_at, told })
    }
}

/// What users are notified of with a change of an incident, and when.
pub struct Telling<'a> {
    pub notifications: &'a [NewNotification],
    pub at: Timestamp,
}

impl Telling<'_> {
    /// Who was notified of `incident`, with those who were before.
    fn told(&self, incident: &Incident, before: &BTreeMap<Channel, Importance>) -> BTreeMap<Channel, Importance> {
        let now = self.notifications.iter().map(|told| (told.channel, incident.importance));
        before.iter().map(|(channel, importance)| (*channel, *importance)).chain(now).collect()
    }
}

impl Store {
    /// Opens an incident unless one of its key is open; says whether it did. Without `telling` nobody is notified yet.
    pub async fn open_incident(
        &self,
        id: Uuid,
        incident: &Incident,
        telling: Option<&Telling<'_>>,
    ) -> Result<bool, StoreError> {
        const OPEN: &str = "INSERT INTO incidents (id, key, importance, detail, opened_at, told_at)
            VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
        let told = telling.map(|telling| telling.told(incident, &BTreeMap::new())).unwrap_or_default();
        let mut tx = self.db.begin().await?;
        let rows = on!(&mut tx, |tx| sqlx::query(OPEN)
            .bind(id)
            .bind(&*incident.key)
            .bind(incident.importance.as_str())
            .bind(detail(incident, &told))
            .bind(incident.opened_at.as_micros())
            .bind(telling.map(|telling| telling.at.as_micros()))
            .execute(&mut **tx)
            .await?
            .rows_affected());
        finish(tx, rows, telling).await
    }

    /// Writes down that users are notified of an open incident as it is now; says whether nobody else did so meanwhile.
    pub async fn tell_incident(
        &self,
        was: &IncidentRecord,
        incident: &Incident,
        telling: &Telling<'_>,
    ) -> Result<bool, StoreError> {
        const TELL: &str = "UPDATE incidents SET told_at = $1, importance = $2, detail = $3
            WHERE id = $4 AND resolved_at IS NULL AND coalesce(told_at, -1) = $5 AND importance = $6";
        let told = telling.told(incident, &was.told);
        let mut tx = self.db.begin().await?;
        let rows = on!(&mut tx, |tx| sqlx::query(TELL)
            .bind(telling.at.as_micros())
            .bind(incident.importance.as_str())
            .bind(detail(incident, &told))
            .bind(was.id)
            .bind(was.told_at.map_or(-1, Timestamp::as_micros))
            .bind(was.incident.importance.as_str())
            .execute(&mut **tx)
            .await?
            .rows_affected());
        finish(tx, rows, Some(telling)).await
    }

    /// Writes down how an open incident is now, without anybody being notified; says whether nobody was meanwhile.
    pub async fn keep_incident(&self, was: &IncidentRecord, incident: &Incident) -> Result<bool, StoreError> {
        const KEEP: &str = "UPDATE incidents SET detail = $1
            WHERE id = $2 AND resolved_at IS NULL AND coalesce(told_at, -1) = $3 AND importance = $4";
        let rows = on!(self.db.writer(), |pool| sqlx::query(KEEP)
            .bind(detail(incident, &was.told))
            .bind(was.id)
            .bind(was.told_at.map_or(-1, Timestamp::as_micros))
            .bind(was.incident.importance.as_str())
            .execute(pool)
            .await?
            .rows_affected());
        Ok(rows > 0)
    }

    /// Ends an incident; says whether it was open.
    pub async fn resolve_incident(&self, id: Uuid, telling: &Telling<'_>) -> Result<bool, StoreError> {
        const RESOLVE: &str = "UPDATE incidents SET resolved_at = $1 WHERE id = $2 AND resolved_at IS NULL";
        let mut tx = self.db.begin().await?;
        let rows = on!(&mut tx, |tx| sqlx::query(RESOLVE)
            .bind(telling.at.as_micros())
            .bind(id)
            .execute(&mut **tx)
            .await?
            .rows_affected());
        finish(tx, rows, Some(telling)).await
    }
}

impl StoreReader {
    /// Those that are open, the oldest first.
    pub async fn open_incidents(&self) -> Result<Vec<IncidentRecord>, StoreError> {
        const SELECT: &str = "SELECT id, key, importance, detail, opened_at, told_at, resolved_at, acknowledged_at
            FROM incidents
            WHERE resolved_at IS NULL ORDER BY opened_at, id";
        let rows: Vec<Row> = on!(self.db.reader(), |pool| sqlx::query_as(SELECT).fetch_all(pool).await?);
        let mut records = rows.into_iter().map(IncidentRecord::try_from).collect::<Result<Vec<_>, _>>()?;
        records.retain(|record| self.sees_incident(&record.incident));
        Ok(records)
    }

    /// A storm is of many queues.
    fn sees_incident(&self, incident: &Incident) -> bool {
        let queue = incident.queue.as_deref();
        match incident.kind {
            IncidentKind::Group => self.scope.includes(&incident.broker, queue.unwrap_or_default()),
            IncidentKind::Watch => queue.is_none_or(|queue| self.scope.includes(&incident.broker, queue)),
            IncidentKind::Storm => self.scope.is_everything(),
        }
    }

    /// How many are open and were notified, by importance.
    pub async fn count_open_incidents(&self) -> Result<Vec<(Importance, u64)>, StoreError> {
        const COUNT: &str = "SELECT importance, COUNT(*) FROM incidents
            WHERE resolved_at IS NULL AND told_at IS NOT NULL GROUP BY importance";
        let rows: Vec<(String, i64)> = on!(self.db.reader(), |pool| sqlx::query_as(COUNT).fetch_all(pool).await?);
        let count =
            |(importance, count): (String, i64)| Ok((parse("an importance", &importance)?, count.unsigned_abs()));
        rows.into_iter().map(count).collect()
    }
}

impl Store {
    /// Removes incidents that are over since before then, and what was sent before then and is not waiting.
    pub async fn forget_told(&self, before: Timestamp) -> Result<(), StoreError> {
        const INCIDENTS: &str = "DELETE FROM incidents WHERE resolved_at < $1";
        const NOTIFICATIONS: &str = "DELETE FROM notifications WHERE state <> 'waiting' AND ended_at < $1";
        on!(self.db.writer(), |pool| {
            sqlx::query(INCIDENTS).bind(before.as_micros()).execute(pool).await?;
            sqlx::query(NOTIFICATIONS).bind(before.as_micros()).execute(pool).await?;
        });
        Ok(())
    }
}

fn detail(incident: &Incident, told: &BTreeMap<Channel, Importance>) -> String {
    serde_json::json!(Detail::of(incident, told)).to_string()
}

/// Whoever changed the row notifies users, in the same commit.
pub(super) async fn finish(mut tx: Tx, rows: u64, telling: Option<&Telling<'_>>) -> Result<bool, StoreError> {
    if rows == 0 {
        return Ok(false);
    }
    if let Some(telling) = telling {
        notifications::append(&mut tx, telling.notifications, telling.at).await?;
    }
    tx.commit().await?;
    Ok(true)
}
