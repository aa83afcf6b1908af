//! All schemas together: which type is found where, and where they disagree.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc};

use payload_codec::schema::{Schema, SchemaProblem, agree, well_known_message};
use prost_reflect::{DescriptorPool, MessageDescriptor};

use crate::domain::schema::{SchemaId, SchemaRecord};

/// One version, with its descriptors as far as they are at hand.
#[derive(Clone, Debug)]
pub struct SchemaVersion {
    pub record: Arc<SchemaRecord>,
    /// The version that took its place; none for one that is current.
    pub superseded_by: Option<SchemaId>,
    /// Older versions are not all kept in memory.
    pub schema: Option<Arc<Schema>>,
    /// Why it cannot be read any more, where that is so.
    pub unreadable: Vec<SchemaProblem>,
}

impl SchemaVersion {
    pub const fn is_current(&self) -> bool {
        self.superseded_by.is_none()
    }
}

/// A message type that some current schema describes.
#[derive(Debug)]
pub struct TypeEntry {
    /// Full name.
    pub name: String,
    lower: String,
    /// The schemas that describe it, the newest first.
    pub schemas: Vec<SchemaId>,
    /// Whether these describe it differently.
    pub disagrees: bool,
}

/// A type and where it is from.
#[derive(Clone, Debug)]
pub struct FoundType<'a> {
    pub message: MessageDescriptor,
    /// `None` for one that comes with protobuf itself.
    pub version: Option<&'a SchemaVersion>,
}

/// A snapshot; it is built anew when anything changes.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// Current ones first, each part with the newest first.
    versions: Vec<SchemaVersion>,
    /// Types of current schemas by name.
    types: Vec<TypeEntry>,
}

impl Catalogue {
    pub fn new(mut versions: Vec<SchemaVersion>) -> Self {
        versions.sort_by_key(|version| {
            let record = &version.record;
            (!version.is_current(), std::cmp::Reverse((record.uploaded_at, record.id)))
        });
        let types = types_of(&versions);
        Self { versions, types }
    }

    pub fn versions(&self) -> &[SchemaVersion] {
        &self.versions
    }

    pub fn version(&self, id: SchemaId) -> Option<&SchemaVersion> {
        self.versions.iter().find(|version| version.record.id == id)
    }

    /// The current schemas, the newest first.
    pub fn current(&self) -> impl Iterator<Item = &SchemaVersion> {
        self.versions.iter().filter(|version| version.is_current())
    }

    /// The pools of the current schemas, the newest first. Guessing and decoding take these.
    pub fn pools(&self) -> Vec<DescriptorPool> {
        self.current().filter_map(|version| Some(version.schema.as_ref()?.pool().clone())).collect()
    }

    /// The type of that name: of the newest current schema that describes it, else of an older one that is at hand,
    /// else the one that comes with protobuf.
    pub fn find(&self, name: &str) -> Option<FoundType<'_>> {
        self.descriptions(name).into_iter().next().or_else(|| {
            let message = well_known_message(name)?;
            Some(FoundType { message, version: None })
        })
    }

    /// Every description of a type, in the order in which they count.
    pub fn descriptions(&self, name: &str) -> Vec<FoundType<'_>> {
        let own = |version: &SchemaVersion| {
            let schema = version.schema.as_ref()?;
            schema.types().binary_search_by(|own| own.as_str().cmp(name)).ok()?;
            schema.message(name)
        };
        let found = self
            .versions
            .iter()
            .filter_map(|version| Some(FoundType { message: own(version)?, version: Some(version) }));
        found.collect()
    }

    /// The types of current schemas, by name.
    pub fn types(&self) -> &[TypeEntry] {
        &self.types
    }

    /// Types whose names contain all words of `query`, whatever their case; those whose last part fits best first.
    pub fn search(&self, query: &str) -> Vec<&TypeEntry> {
        let query = query.to_lowercase();
        let words: Vec<&str> = query.split_whitespace().collect();
        let mut found: Vec<&TypeEntry> =
            self.types.iter().filter(|entry| words.iter().all(|word| entry.lower.contains(word))).collect();
        if let Some(first) = words.first() {
            found.sort_by_cached_key(|entry| rank(entry, first));
        }
        found
    }

    /// Types that this schema and others which are current describe differently.
    pub fn disagreements(&self, id: SchemaId) -> impl Iterator<Item = &TypeEntry> {
        self.types.iter().filter(move |entry| entry.disagrees && entry.schemas.contains(&id))
    }
}

fn rank(entry: &TypeEntry, word: &str) -> u8 {
    let last = entry.lower.rsplit('.').next().unwrap_or_default();
    match () {
        () if last == word || entry.lower == word => 0,
        () if last.starts_with(word) => 1,
        () if last.contains(word) => 2,
        () => 3,
    }
}

fn types_of(versions: &[SchemaVersion]) -> Vec<TypeEntry> {
    let mut holders: BTreeMap<&str, Vec<&SchemaVersion>> = BTreeMap::new();
    for version in versions.iter().filter(|version| version.is_current()) {
        for name in version.schema.iter().flat_map(|schema| schema.types()) {
            holders.entry(name).or_default().push(version);
        }
    }
    let entry = |(name, holders): (&str, Vec<&SchemaVersion>)| TypeEntry {
        lower: name.to_lowercase(),
        disagrees: disagree(name, &holders),
        schemas: holders.iter().map(|version| version.record.id).collect(),
        name: name.to_owned(),
    };
    holders.into_iter().map(entry).collect()
}

fn disagree(name: &str, holders: &[&SchemaVersion]) -> bool {
    holders.len() > 1 && !agree(holders.iter().filter_map(|version| version.schema.as_ref()?.message(name)))
}
