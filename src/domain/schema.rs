//! Schemas as they are kept: versions of descriptor sets, and which of them count.

use std::{collections::BTreeMap, fmt, str::FromStr};

use amqp_message::{time::Timestamp, word_enum};
use uuid::Uuid;

use super::actor::Actor;

/// Names one version of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaId(Uuid);

impl SchemaId {
    pub const fn from_uuid(id: Uuid) -> Self {
        Self(id)
    }

    pub const fn as_uuid(self) -> Uuid {
        self.0
    }
}

impl fmt::Display for SchemaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for SchemaId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| format!("{text:?} is no id of a schema; one is a UUID"))
    }
}

word_enum! {
    /// How a schema came here.
    SchemaSource, "source of schemas" {
        /// A person brought it, on the page or by the API.
        Upload = "upload",
        /// It lay in the folder that the configuration names.
        Folder = "folder",
    }
}

/// One version of a schema, without its descriptors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaRecord {
    pub id: SchemaId,
    /// What people call it.
    pub name: String,
    /// Of the descriptors: the same set is kept once.
    pub hash: String,
    pub source: SchemaSource,
    /// The files it describes, well-known ones not among them, each with its package. `None`: it was added before packages
    /// were kept.
    pub files: BTreeMap<String, Option<String>>,
    /// Of the descriptors, bytes.
    pub size: u64,
    pub uploaded_at: Timestamp,
    pub uploaded_by: Actor,
}

impl SchemaRecord {
    /// Whether this one, which is newer, takes the place of `older`: it describes all files of that one anew. A set that
    /// describes only some of them stands beside it, so that no type is lost, and so does one of another package:
    /// browsers leave out folders, and many files have one name then.
    pub fn supersedes(&self, older: &Self) -> bool {
        let is_anew = |(name, package): (&String, &Option<String>)| {
            let anew = self.files.get(name);
            anew.is_some_and(|anew| anew.is_none() || package.is_none() || anew == package)
        };
        older.files.iter().all(is_anew)
    }

    /// Later uploads first.
    fn order(&self) -> (Timestamp, SchemaId) {
        (self.uploaded_at, self.id)
    }
}

/// Files with their packages, as a record has them.
pub fn packaged(files: &BTreeMap<String, String>) -> BTreeMap<String, Option<String>> {
    files.iter().map(|(name, package)| (name.clone(), Some(package.clone()))).collect()
}

/// Those that are not current, and which version took the place of each: the first that did.
pub fn superseded(records: &[SchemaRecord]) -> BTreeMap<SchemaId, SchemaId> {
    let successor = |older: &SchemaRecord| {
        let newer = records.iter().filter(|newer| newer.order() > older.order() && newer.supersedes(older));
        newer.min_by_key(|newer| newer.order()).map(|newer| (older.id, newer.id))
    };
    records.iter().filter_map(successor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A package stands before the name of its file; one that is not known is a question mark.
    fn file(file: &&str) -> (String, Option<String>) {
        let (package, name) = file.split_once(':').unwrap_or(("", *file));
        (name.to_owned(), Some(package.to_owned()).filter(|package| package != "?"))
    }

    fn record(n: u128, name: &str, files: &[&str]) -> SchemaRecord {
        SchemaRecord {
            id: SchemaId(Uuid::from_u128(n)),
            name: name.to_owned(),
            hash: n.to_string(),
            source: SchemaSource::Upload,
            files: files.iter().map(file).collect(),
            size: 0,
            uploaded_at: Timestamp::from_micros(i64::try_from(n).unwrap_or(0)),
            uploaded_by: Actor::local(),
        }
    }

    /// In the order of upload, and the numbers (from 1) of those that are still current.
    fn check(sets: &[(&str, &[&str])], current: &[u128]) {
        let records: Vec<SchemaRecord> = (1..).zip(sets).map(|(n, (name, files))| record(n, name, files)).collect();
        let old = superseded(&records);
        let found = records.iter().filter(|record| !old.contains_key(&record.id));
        assert_eq!(found.map(|record| record.id.as_uuid().as_u128()).collect::<Vec<_>>(), current, "{sets:?}");
    }

    #[test]
    fn a_newer_set_of_the_same_files_counts() {
        check(&[("a", &["x"]), ("b", &["x"])], &[2]);
        check(&[("a", &["x"]), ("b", &["x", "y"])], &[2]);
        check(&[("a", &["x", "y"]), ("b", &["x"])], &[1, 2]);
        check(&[("a", &["x", "y"]), ("a", &["x", "z"])], &[1, 2]);
        check(&[("a", &["x"]), ("a", &["y"])], &[1, 2]);
        check(&[("a", &["x"]), ("a", &["x"]), ("a", &["x"])], &[3]);
    }

    #[test]
    fn files_of_one_name_are_told_apart_by_their_packages() {
        check(&[("a", &["billing:x"]), ("b", &["orders:x"])], &[1, 2]);
        check(&[("a", &["billing:x"]), ("b", &["x"])], &[1, 2]);
        check(&[("a", &["billing:x", "y"]), ("b", &["orders:x", "y"]), ("c", &["billing:x", "y", "z"])], &[2, 3]);
        check(&[("a", &["?:x"]), ("b", &["orders:x"]), ("c", &["?:x"])], &[3]);
    }

    #[test]
    fn the_first_that_took_its_place_is_named() {
        let records = [record(1, "a", &["x"]), record(2, "a", &["x"]), record(3, "a", &["x"])];
        let old = superseded(&records);
        assert_eq!(old, BTreeMap::from([(records[0].id, records[1].id), (records[1].id, records[2].id)]));
        assert_eq!(superseded(&records[..1]), BTreeMap::new(), "without the newer ones it counts again");
    }
}
