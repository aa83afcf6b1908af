//! Versions of schemas.

pub(crate) mod mappings;

use std::collections::BTreeSet;

use amqp_message::time::Timestamp;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{Store, StoreError, StoreReader, audit, db::on, letters::rows::parse};
use crate::domain::{
    activity::{Area, AuditEntry},
    actor::Actor,
    number::plural,
    schema::{SchemaId, SchemaRecord, SchemaSource},
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    name: String,
    hash: String,
    source: String,
    files: String,
    size: i64,
    uploaded_by: String,
    uploaded_at: i64,
}

impl TryFrom<Row> for SchemaRecord {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let unreadable =
            |error: serde_json::Error| StoreError::Unreadable { what: "the files of a schema", why: error.to_string() };
        Ok(Self {
            id: SchemaId::from_uuid(row.id),
            name: row.name,
            hash: row.hash,
            source: parse("a source of schemas", &row.source)?,
            files: serde_json::from_str::<BTreeSet<String>>(&row.files).map_err(unreadable)?,
            size: row.size.unsigned_abs(),
            uploaded_at: Timestamp::from_micros(row.uploaded_at),
            uploaded_by: Actor::named(row.uploaded_by),
        })
    }
}

impl StoreReader {
    /// Which versions there are, each with when it was uploaded last. What changes, changes this; it is cheap to ask.
    pub async fn schema_versions(&self) -> Result<BTreeSet<(SchemaId, Timestamp)>, StoreError> {
        const SELECT: &str = "SELECT id, uploaded_at FROM schemas";
        let rows: Vec<(Uuid, i64)> = on!(self.db.reader(), |pool| sqlx::query_as(SELECT).fetch_all(pool).await?);
        Ok(rows.into_iter().map(|(id, at)| (SchemaId::from_uuid(id), Timestamp::from_micros(at))).collect())
    }

    /// All versions, the oldest upload first.
    pub async fn schemas(&self) -> Result<Vec<SchemaRecord>, StoreError> {
        const SELECT: &str = "SELECT id, name, hash, source, files, size, uploaded_by, uploaded_at
            FROM schemas ORDER BY uploaded_at, id";
        let rows: Vec<Row> = on!(self.db.reader(), |pool| sqlx::query_as(SELECT).fetch_all(pool).await?);
        rows.into_iter().map(SchemaRecord::try_from).collect()
    }

    /// The descriptors of one version, as they were added.
    pub async fn descriptors(&self, id: SchemaId) -> Result<Option<Vec<u8>>, StoreError> {
        const SELECT: &str = "SELECT descriptors FROM schemas WHERE id = $1";
        Ok(on!(self.db.reader(), |pool| sqlx::query_scalar(SELECT).bind(id.as_uuid()).fetch_optional(pool).await?))
    }
}

impl Store {
    /// Adds a version. The same descriptors are kept once: where they are there already, that version becomes the
    /// newest under this name. The answer is the id it has.
    pub async fn add_schema(&self, record: &SchemaRecord, descriptors: &[u8]) -> Result<SchemaId, StoreError> {
        const ADD: &str = "INSERT INTO schemas
            (id, name, hash, source, files, descriptors, size, uploaded_by, uploaded_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (hash) DO UPDATE SET
            name = excluded.name, source = excluded.source,
            uploaded_by = excluded.uploaded_by, uploaded_at = excluded.uploaded_at
            RETURNING id";
        let files = serde_json::json!(record.files).to_string();
        let size = i64::try_from(record.size).unwrap_or(i64::MAX);
        let mut tx = self.db.begin().await?;
        let id: Uuid = on!(&mut tx, |tx| sqlx::query_scalar(ADD)
            .bind(record.id.as_uuid())
            .bind(&*record.name)
            .bind(&*record.hash)
            .bind(record.source.as_str())
            .bind(&*files)
            .bind(descriptors)
            .bind(size)
            .bind(record.uploaded_by.as_str())
            .bind(record.uploaded_at.as_micros())
            .fetch_one(&mut **tx)
            .await?);
        let id = SchemaId::from_uuid(id);
        let entry = AuditEntry::new(record.uploaded_at, &record.uploaded_by, Area::Schemas, "upload", &*record.name);
        audit::append(&mut tx, &AuditEntry { detail: describe(record, id != record.id), ..entry }).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// The answer is its name, if it was there.
    pub async fn remove_schema(&self, id: SchemaId, by: &Actor, at: Timestamp) -> Result<Option<String>, StoreError> {
        const REMOVE: &str = "DELETE FROM schemas WHERE id = $1 RETURNING name";
        let mut tx = self.db.begin().await?;
        let name: Option<String> =
            on!(&mut tx, |tx| sqlx::query_scalar(REMOVE).bind(id.as_uuid()).fetch_optional(&mut **tx).await?);
        if let Some(name) = &name {
            audit::append(&mut tx, &AuditEntry::new(at, by, Area::Schemas, "remove", name)).await?;
        }
        tx.commit().await?;
        Ok(name)
    }
}

/// `3 files, from the folder that is watched`
fn describe(record: &SchemaRecord, was_known: bool) -> String {
    let files = plural(record.files.len() as u64, "file");
    let folder = if record.source == SchemaSource::Folder { ", from the folder that is watched" } else { "" };
    let again = if was_known { "; the same as were here before count as the newest again" } else { "" };
    format!("{files}{folder}{again}")
}
