//! The schemas in force, and which types messages are of: brought by people or found in a folder, kept in the database,
//! and held ready in memory by every process that shares it.

mod folder;
mod loading;
mod reading;

use std::{collections::BTreeSet, hash::Hasher, sync::Arc, time::Duration};

use amqp_message::time::Timestamp;
use payload_codec::schema::{Schema, SchemaProblem, Upload, hash};
use thiserror::Error;
use tokio::sync::{Mutex, watch};
use xxhash_rust::xxh3::Xxh3;

use reading::{apart, name_by, name_of, read, read_set};

use super::{audited_store::AuditedStore, ids};
use crate::{
    clock::Clock,
    domain::{
        actor::Actor,
        mapping::{ActiveMapping, Carrier, Mapping, MappingBook},
        schema::{SchemaId, SchemaRecord, SchemaSource, packaged},
        version::{Changed, Expected},
    },
    services::decoding::catalogue::Catalogue,
    store::{ChangeError, StoreError, StoreReader},
};

pub use folder::{Folder, FolderState, collect};

/// Types of all current schemas together; they are held in memory, at about 10 kB each.
const MOST_TYPES: usize = 150_000;
/// Of a name, in characters.
const LONGEST_NAME: usize = 200;

#[derive(Debug, Error)]
pub enum SchemaError {
    /// What is wrong with what was brought.
    #[error("{}", describe(.0))]
    Invalid(Vec<SchemaProblem>),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, Error)]
pub enum MappingError {
    /// The field that is wrong, and why.
    #[error("{0}: {1}")]
    Invalid(&'static str, String),
    #[error("somebody else has changed it")]
    Changed(Changed<ActiveMapping>),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ChangeError<ActiveMapping>> for MappingError {
    fn from(error: ChangeError<ActiveMapping>) -> Self {
        match error {
            ChangeError::Changed(changed) => Self::Changed(changed),
            ChangeError::Store(error) => Self::Store(error),
        }
    }
}

/// The result of an upload.
#[derive(Clone, Debug)]
pub struct Uploaded {
    pub id: SchemaId,
    pub schema: Arc<Schema>,
    /// The same descriptors were here already.
    pub was_known: bool,
}

/// What somebody brings, and who it is.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub files: Vec<Upload>,
    /// What to call it; made from the names of files where it is left out.
    pub name: Option<String>,
    pub source: SchemaSource,
    pub by: Actor,
}

/// Which there are, each with when it was uploaded last.
type Versions = BTreeSet<(SchemaId, Timestamp)>;

#[derive(Clone)]
pub struct Schemas {
    store: StoreReader,
    changes: AuditedStore,
    clock: Clock,
    catalogue: watch::Sender<Arc<Catalogue>>,
    mappings: watch::Sender<Arc<MappingBook>>,
    /// The versions that the catalogue was made from. Whoever changes the catalogue holds it.
    versions: Arc<Mutex<Versions>>,
    /// One set is read at a time: each may take hundreds of megabytes while it is.
    reading: Arc<Mutex<()>>,
    folder: watch::Sender<Option<FolderState>>,
}

impl Schemas {
    /// Without any; [`reload`](Self::reload) reads those of the database.
    pub fn new(changes: AuditedStore, clock: Clock) -> Self {
        Self {
            store: changes.reader(),
            changes,
            clock,
            catalogue: watch::Sender::default(),
            mappings: watch::Sender::default(),
            versions: Arc::default(),
            reading: Arc::default(),
            folder: watch::Sender::default(),
        }
    }

    /// Stands for the schemas and mappings in force: the same in every process that shares the database.
    pub fn edition(&self) -> i64 {
        let mut hasher = Xxh3::new();
        for version in self.catalogue().current() {
            hasher.write(version.record.id.as_uuid().as_bytes());
            hasher.write_i64(version.record.uploaded_at.as_micros());
        }
        for active in self.mappings().all() {
            let mapping = &active.mapping;
            let broker = mapping.broker.as_deref().unwrap_or_default();
            for part in [broker, mapping.carrier.as_str(), &mapping.pattern, &mapping.message_type] {
                hasher.write(part.as_bytes());
                hasher.write_u8(0xff);
            }
        }
        hasher.finish().cast_signed()
    }

    pub fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue.borrow())
    }

    /// Announces every new catalogue: what was made from the pools has to be made anew then.
    pub fn subscribe(&self) -> watch::Receiver<Arc<Catalogue>> {
        self.catalogue.subscribe()
    }

    pub fn mappings(&self) -> Arc<MappingBook> {
        Arc::clone(&self.mappings.borrow())
    }

    /// The folder that is watched, if one is.
    pub fn folder(&self) -> Option<FolderState> {
        self.folder.borrow().clone()
    }

    /// Brings in step with the database.
    pub async fn reload(&self) -> Result<(), StoreError> {
        self.reload_mappings().await?;
        let versions = self.versions.lock().await;
        self.reload_schemas(versions, None).await
    }

    /// Reads what was brought and adds it as a version. It is current from now on.
    pub async fn upload(&self, delivery: Delivery) -> Result<Uploaded, SchemaError> {
        let turn = Arc::clone(&self.reading).lock_owned().await;
        let given = delivery.name.or_else(|| name_of(&delivery.files));
        let (files, called) = (delivery.files, given.clone().unwrap_or_default());
        let found = apart(turn, move || read(files, &called)).await;
        let ((schema, bytes), turn) = found.map_err(SchemaError::Invalid)?;
        let name = given.unwrap_or_else(|| name_by(schema.files()));
        let record = SchemaRecord {
            id: SchemaId::from_uuid(ids::uuid(self.clock.now())),
            name: name.chars().take(LONGEST_NAME).collect(),
            hash: schema.hash().to_owned(),
            source: delivery.source,
            files: packaged(schema.files()),
            size: bytes.len() as u64,
            uploaded_at: self.latest(),
            uploaded_by: delivery.by,
        };
        self.check_room(&record, &schema)?;
        // Nobody else is to see it first: it would be read once more.
        let versions = self.versions.lock().await;
        let id = self.changes.add_schema(&record, &bytes).await?;
        self.reload_schemas(versions, Some((id, Arc::clone(&schema)))).await?;
        drop(turn);
        Ok(Uploaded { id, schema, was_known: id != record.id })
    }

    /// Removes a version; one whose place it took counts again. The answer is whether it was there.
    pub async fn remove(&self, id: SchemaId, by: &Actor) -> Result<bool, StoreError> {
        let removed = self.changes.remove_schema(id, by).await?;
        self.reload().await?;
        Ok(removed)
    }

    /// The descriptors of a version, also of one that is not held in memory.
    pub async fn open(&self, id: SchemaId) -> Result<Option<Arc<Schema>>, SchemaError> {
        let catalogue = self.catalogue();
        let Some(version) = catalogue.version(id) else { return Ok(None) };
        if let Some(schema) = &version.schema {
            return Ok(Some(Arc::clone(schema)));
        }
        let turn = Arc::clone(&self.reading).lock_owned().await;
        let Some(bytes) = self.store.descriptors(id).await? else { return Ok(None) };
        Ok(Some(read_set(bytes, version.record.name.clone(), turn).await.map_err(SchemaError::Invalid)?))
    }

    /// Says of which type messages are that come by something.
    pub async fn map(&self, mapping: &Mapping, expected: &Expected, by: &Actor) -> Result<(), MappingError> {
        if let Some((field, why)) = mapping.mistakes().into_iter().next() {
            return Err(MappingError::Invalid(field, why));
        }
        self.changes.set_mapping(mapping, expected, by).await?;
        Ok(self.reload().await?)
    }

    /// Takes it back; the answer is whether there was anything.
    pub async fn unmap(
        &self,
        broker: Option<&str>,
        carrier: Carrier,
        pattern: &str,
        expected: &Expected,
        by: &Actor,
    ) -> Result<bool, MappingError> {
        let unset = self.changes.unset_mapping(broker, carrier, pattern, expected, by).await?;
        self.reload().await?;
        Ok(unset)
    }

    /// Now, or just after the newest upload: which counts is told by this time, and clocks are put back.
    fn latest(&self) -> Timestamp {
        let catalogue = self.catalogue();
        let newest = catalogue.versions().iter().map(|version| version.record.uploaded_at).max();
        newest.map_or(self.clock.now(), |newest| newest.plus(Duration::from_micros(1)).max(self.clock.now()))
    }

    fn check_room(&self, record: &SchemaRecord, schema: &Schema) -> Result<(), SchemaError> {
        let catalogue = self.catalogue();
        let others = catalogue.current().filter(|version| !record.supersedes(&version.record));
        let held: usize = others.filter_map(|version| Some(version.schema.as_ref()?.types().len())).sum();
        if held.saturating_add(schema.types().len()) <= MOST_TYPES {
            return Ok(());
        }
        let what = format!("With the schemas that are current it would be more than {MOST_TYPES} types.");
        Err(SchemaError::Invalid(vec![SchemaProblem::new(what, "Remove schemas that no message here is made of.")]))
    }

    /// Whether some version is made of these very descriptors.
    fn knows(&self, descriptors: &[u8]) -> bool {
        let hash = hash(descriptors);
        self.catalogue().versions().iter().any(|version| version.record.hash == hash)
    }
}

fn describe(problems: &[SchemaProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
