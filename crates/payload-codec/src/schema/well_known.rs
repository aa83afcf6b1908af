//! The types that come with protobuf itself: always there, whether a set brings them or not.

use std::sync::LazyLock;

use prost::Message;
use prost_reflect::{DescriptorPool, MessageDescriptor};

use super::raw::RawFile;

/// The folder of their files.
pub const FOLDER: &str = "google/protobuf/";

/// A pool of nothing else.
pub fn pool() -> DescriptorPool {
    DescriptorPool::global()
}

/// The message of that full name, such as `google.protobuf.Timestamp`, if it comes with protobuf itself.
pub fn well_known_message(name: &str) -> Option<MessageDescriptor> {
    pool().get_message_by_name(name)
}

pub fn files() -> &'static [RawFile] {
    static FILES: LazyLock<Vec<RawFile>> =
        LazyLock::new(|| pool().files().filter_map(|file| RawFile::decode(&*file.encode_to_vec()).ok()).collect());
    &FILES
}

pub fn is_well_known(file: &str) -> bool {
    file.starts_with(FOLDER)
}

/// Whether ours counts in place of one that a set brings. Options are read by `descriptor.proto`, and dates, wrappers and
/// the like by their published definitions: a set that says otherwise would be read wrong, or not at all.
pub fn is_ours(file: &str) -> bool {
    files().iter().any(|ours| ours.name.as_deref() == Some(file))
}
