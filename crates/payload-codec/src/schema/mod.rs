//! Descriptors: read from sets as `protoc` and `buf` write them, or compiled from sources, and kept side by side.
//!
//! Every version of a schema is a pool of its own. Pools are never merged: two sets may disagree about a type, and
//! `prost-reflect` would pass over one of them in silence. Whoever reads a set reads it as far as it goes: a file that
//! is broken, or a type that is missing, is reported and the rest stays usable.
//!
//! This knows descriptors and nothing of messages. It never trusts one: what is too large, too deep or in a circle is
//! bounded before `prost-reflect` sees it, see `limits.rs`.

mod compile;
mod complete;
mod editions;
mod features;
mod imports;
mod limits;
mod names;
mod options;
mod place;
mod pool;
mod problem;
mod raw;
mod sane_options;
mod scan;
mod shape;
mod source;
mod unpack;
mod validate;
mod well_known;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use prost::Message;
use prost_reflect::{DescriptorPool, MessageDescriptor};
use xxhash_rust::xxh3::xxh3_128;

use pool::{Built, build};
use raw::RawSet;

pub use compile::compile;
pub(crate) use editions::is_closed;
pub use limits::{FILES as MAX_FILES, SOURCE_BYTES as MAX_SOURCE_BYTES};
pub use problem::SchemaProblem;
pub use shape::{agree, differences, type_of};
pub use source::Source;
pub use unpack::{Upload, is_set_name, unpack};
pub use well_known::well_known_message;

/// One version of a schema.
#[derive(Debug)]
pub struct Schema {
    hash: String,
    pool: DescriptorPool,
    /// The files it describes itself, each with its package.
    files: BTreeMap<String, String>,
    missing_files: BTreeMap<String, String>,
    missing_types: BTreeMap<String, String>,
    faults: Vec<SchemaProblem>,
    /// Full names of its messages, in order.
    types: Vec<String>,
}

impl Schema {
    /// Reads a `FileDescriptorSet`; `name` is for the messages of errors only.
    ///
    /// # Errors
    /// When nothing of it can be used: each reason. What can be used in part is, see [`problems`](Self::problems).
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, Vec<SchemaProblem>> {
        Self::build(bytes).map_err(|problems| {
            let placed = |problem: SchemaProblem| if problem.file.is_some() { problem } else { problem.in_file(name) };
            problems.into_iter().map(placed).collect()
        })
    }

    fn build(bytes: &[u8]) -> Result<Self, Vec<SchemaProblem>> {
        if bytes.len() > limits::SET_BYTES {
            let what = format!("It is larger than the {} bytes that are read.", limits::SET_BYTES);
            return Err(vec![SchemaProblem::new(what, "Leave out what no message here is made of.")]);
        }
        scan::check(bytes).map_err(|problem| vec![problem])?;
        let set = RawSet::decode(bytes).map_err(|error| vec![no_set(&error)])?;
        let Built { pool, files, missing_files, missing_types, faults } = build(set)?;
        let mut types: Vec<String> = messages(&pool)
            .filter(|message| files.contains_key(message.parent_file().name()))
            .map(|message| message.full_name().to_owned())
            .collect();
        types.sort();
        Ok(Self { hash: hash(bytes), pool, files, missing_files, missing_types, faults, types })
    }

    /// The descriptors, with the well-known types and with an empty message for each that is missing.
    pub const fn pool(&self) -> &DescriptorPool {
        &self.pool
    }

    /// The same for the same bytes.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The files it describes, as imports name them, each with its package; well-known ones not among them.
    pub const fn files(&self) -> &BTreeMap<String, String> {
        &self.files
    }

    /// Full names of the messages it describes, in order; entries of maps not among them.
    pub fn types(&self) -> &[String] {
        &self.types
    }

    /// One of its own messages, or a well-known one.
    pub fn message(&self, name: &str) -> Option<MessageDescriptor> {
        let message = self.pool.get_message_by_name(name)?;
        (!self.is_missing(name)).then_some(message)
    }

    /// Whether a type is used that the set does not hold; in the pool something else stands in its place.
    pub fn is_missing(&self, name: &str) -> bool {
        self.missing_types.contains_key(name)
    }

    /// Files that are imported and not in the set, each with the first file that imports it.
    pub const fn missing_files(&self) -> &BTreeMap<String, String> {
        &self.missing_files
    }

    /// Types that are used and not in the set, each with the first file that uses it.
    pub const fn missing_types(&self) -> &BTreeMap<String, String> {
        &self.missing_types
    }

    /// Files of the set that could not be used, or not in full, and why.
    pub fn faults(&self) -> &[SchemaProblem] {
        &self.faults
    }

    /// Everything that keeps it from being whole, in sentences.
    pub fn problems(&self) -> Vec<SchemaProblem> {
        let mut problems = self.faults.clone();
        let remedy = "Build the set with its imports: `protoc --include_imports` or `buf build`.";
        let import = |(missing, by): (&String, &String)| {
            SchemaProblem::new(format!("It imports {missing:?}, which is not in the set."), remedy).in_file(by)
        };
        problems.extend(self.missing_files.iter().map(import));
        let used = |(missing, by): (&String, &String)| {
            let what = format!("It uses {missing}, which is not in the set; fields of it are shown raw.");
            SchemaProblem::new(what, "").in_file(by)
        };
        problems.extend(self.missing_types.iter().map(used));
        problems
    }
}

/// Every message but the entries of maps, which nobody sends.
fn messages(pool: &DescriptorPool) -> impl Iterator<Item = MessageDescriptor> + '_ {
    pool.all_messages().filter(|message| !message.is_map_entry())
}

/// Of the bytes of a set.
pub fn hash(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

fn no_set(error: &prost::DecodeError) -> SchemaProblem {
    let reason = error.to_string();
    if reason.contains("recursion limit") {
        let what = "Its messages are declared within each other more than 90 deep, which is more than is read.";
        return SchemaProblem::new(what, "Nest less.");
    }
    let remedy =
        "It takes what `protoc --include_imports --descriptor_set_out=FILE` or `buf build -o FILE.binpb` write.";
    SchemaProblem::new("This is no FileDescriptorSet, or it was cut off.", remedy)
}
