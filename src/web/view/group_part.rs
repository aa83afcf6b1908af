//! Parts of a group that was split by a field.

use super::{number, text};
use crate::domain::group::Group;

pub struct PartView {
    pub id: String,
    /// `currency: EUR`
    pub what: String,
    pub open: String,
}

impl PartView {
    pub fn new(group: &Group) -> Self {
        Self {
            id: group.id.to_string(),
            what: group.key.part.as_ref().map(|part| text::one_line(&part.what)).unwrap_or_default(),
            open: number::thousands(group.n_open()),
        }
    }
}
