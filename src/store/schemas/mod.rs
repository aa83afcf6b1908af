//! Versions of schemas.

pub(crate) mod mappings;

use std::collections::{BTreeMap, BTreeSet};

use amqp_message::time::Timestamp;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError, StoreReader, audit,
    db::{LockTable, Tx, on},
    letters::rows::parse,
};
use crate::domain::{
    activity::{Area, AuditEntry},
    actor::Actor,
    number::plural,
    schema::{SchemaId, SchemaRecord, SchemaSource, superseded},
};

const LOCK: LockTable = LockTable("LOCK TABLE schemas IN SHARE ROW EXCLUSIVE MODE");

/// All versions, the oldest upload first.
const SELECT: &str = "SELECT id, name, hash, source, files, size, uploaded_by, uploaded_at
    FROM schemas ORDER BY uploaded_at, id";

/// What became of descriptors that were brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemaAdded {
    /// Under which they are kept.
    pub id: SchemaId,
    /// Whether anything was written.
    pub is_new: bool,
}

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
        Ok(Self {
            id: SchemaId::from_uuid(row.id),
            name: row.name,
            hash: row.hash,
            source: parse("a source of schemas", &row.source)?,
            files: files_of(&row.files)?,
            size: row.size.unsigned_abs(),
            uploaded_at: Timestamp::from_micros(row.uploaded_at),
            uploaded_by: Actor::named(row.uploaded_by),
        })
    }
}

/// Before packages were kept, these were a list of names.
fn files_of(json: &str) -> Result<BTreeMap<String, Option<String>>, StoreError> {
    let listed = |names: BTreeSet<String>| names.into_iter().map(|name| (name, None)).collect();
    let files = serde_json::from_str(json).or_else(|_| serde_json::from_str(json).map(listed));
    files.map_err(|error| StoreError::Unreadable { what: "the files of a schema", why: error.to_string() })
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
    /// newest under this name. What a folder brings is left alone where it counts already: each server that shares the
    /// database reads it.
    pub async fn add_schema(&self, record: &SchemaRecord, descriptors: &[u8]) -> Result<SchemaAdded, StoreError> {
        const ADD: &str = "INSERT INTO schemas
            (id, name, hash, source, files, descriptors, size, uploaded_by, uploaded_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (hash) DO UPDATE SET
            name = excluded.name, source = excluded.source, files = excluded.files,
            uploaded_by = excluded.uploaded_by, uploaded_at = excluded.uploaded_at
            RETURNING id";
        let files = serde_json::json!(record.files).to_string();
        let size = i64::try_from(record.size).unwrap_or(i64::MAX);
        let mut tx = self.db.begin().await?;
        if record.source == SchemaSource::Folder {
            tx.lock_table(LOCK).await?;
            if let Some(id) = current(&mut tx, &record.hash).await? {
                return Ok(SchemaAdded { id, is_new: false });
            }
        }
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
        Ok(SchemaAdded { id, is_new: true })
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

/// The current version that has these descriptors.
async fn current(tx: &mut Tx, hash: &str) -> Result<Option<SchemaId>, StoreError> {
    let rows: Vec<Row> = on!(tx, |tx| sqlx::query_as(SELECT).fetch_all(&mut **tx).await?);
    let records: Vec<SchemaRecord> = rows.into_iter().map(SchemaRecord::try_from).collect::<Result<_, _>>()?;
    let old = superseded(&records);
    let found = records.iter().find(|record| record.hash == hash && !old.contains_key(&record.id));
    Ok(found.map(|record| record.id))
}

/// `3 files, from the folder that is watched`
fn describe(record: &SchemaRecord, was_known: bool) -> String {
    let files = plural(record.files.len() as u64, "file");
    let folder = if record.source == SchemaSource::Folder { ", from the folder that is watched" } else { "" };
    let again = if was_known { "; the same as were here before count as the newest again" } else { "" };
    format!("{files}{folder}{again}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_were_kept_without_their_packages_before() {
        let check = |json: &str, expected: &[(&str, Option<&str>)]| {
            let expected = expected.iter().map(|(name, package)| ((*name).to_owned(), package.map(str::to_owned)));
            assert_eq!(files_of(json).unwrap(), expected.collect::<BTreeMap<_, _>>(), "{json}");
        };
        check(r#"["a.proto", "b.proto"]"#, &[("a.proto", None), ("b.proto", None)]);
        check(r#"{"a.proto": "acme.v1", "b.proto": null}"#, &[("a.proto", Some("acme.v1")), ("b.proto", None)]);
        check("[]", &[]);
        assert!(files_of("1").is_err());
    }
}
