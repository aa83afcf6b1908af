//! stub
use crate::domain::group::{GroupId, GroupKey};
use uuid::Uuid;
use xxhash_rust::xxh3::xxh3_128;
pub fn alike(error_type: Option<&str>, message: Option<&str>) -> String {
    format!("{}{}", error_type.unwrap_or_default(), message.unwrap_or_default())
}
pub fn id(key: &GroupKey) -> GroupId {
    GroupId::from_uuid(Uuid::from_u128(xxh3_128(format!("{key:?}").as_bytes())))
}
