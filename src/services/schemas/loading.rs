//! From the versions in the database to the catalogue in memory.

use std::{collections::HashMap, sync::Arc};

use payload_codec::schema::Schema;
use tokio::{sync::MutexGuard, task::spawn_blocking};

use super::{Schemas, Versions, reading::read_set};
use crate::{
    domain::{
        mapping::MappingBook,
        schema::{SchemaId, superseded},
    },
    services::decoding::catalogue::{Catalogue, SchemaVersion},
    store::StoreError,
};

/// Types of older versions that are held in memory beside them; others are read when somebody looks at them.
const MOST_OLDER_TYPES: usize = 20_000;

impl Schemas {
    /// Reads what people have said of messages.
    pub(crate) async fn reload_mappings(&self) -> Result<(), StoreError> {
        let book = MappingBook::new(self.store.mappings().await?);
        self.mappings.send_if_modified(|current| {
            let changed = **current != book;
            if changed {
                *current = Arc::new(book);
            }
            changed
        });
        Ok(())
    }

    /// Makes the catalogue anew if there are other versions than `versions`. `fresh` is one that was just read, so that
    /// it is not read again.
    pub(crate) async fn reload_schemas(
        &self,
        mut versions: MutexGuard<'_, Versions>,
        fresh: Option<(SchemaId, Arc<Schema>)>,
    ) -> Result<(), StoreError> {
        let found = self.store.schema_versions().await?;
        if *versions != found
            && let Some(catalogue) = self.load(fresh).await?
        {
            self.catalogue.send_replace(Arc::new(catalogue));
            *versions = found;
        }
        Ok(())
    }

    /// `None` only while the program ends.
    async fn load(&self, fresh: Option<(SchemaId, Arc<Schema>)>) -> Result<Option<Catalogue>, StoreError> {
        let records = self.store.schemas().await?;
        let old = superseded(&records);
        let before = self.catalogue();
        let held = before.versions().iter().filter_map(|version| Some((version.record.id, version.schema.clone()?)));
        let mut held: HashMap<SchemaId, Arc<Schema>> = held.chain(fresh).collect();
        let mut versions = Vec::with_capacity(records.len());
        let mut room = MOST_OLDER_TYPES;
        // The newest first: of older versions those are held.
        for record in records.into_iter().rev() {
            let superseded_by = old.get(&record.id).copied();
            let mut version =
                SchemaVersion { record: Arc::new(record), superseded_by, schema: None, unreadable: Vec::new() };
            if version.is_current() || room > 0 {
                let held = held.remove(&version.record.id);
                self.fill(&mut version, held).await?;
            }
            if !version.is_current() {
                let types = version.schema.as_ref().map_or(0, |schema| schema.types().len());
                version.schema.take_if(|_| types > room);
                room = room.saturating_sub(types);
            }
            versions.push(version);
        }
        Ok(spawn_blocking(move || Catalogue::new(versions)).await.ok())
    }

    async fn fill(&self, version: &mut SchemaVersion, held: Option<Arc<Schema>>) -> Result<(), StoreError> {
        if held.is_some() {
            version.schema = held;
            return Ok(());
        }
        // It may have been removed since.
        let Some(bytes) = self.store.descriptors(version.record.id).await? else { return Ok(()) };
        match read_set(bytes, version.record.name.clone(), ()).await {
            Ok(schema) => version.schema = Some(schema),
            Err(problems) => version.unreadable = problems,
        }
        Ok(())
    }
}
