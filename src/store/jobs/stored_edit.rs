//! What a job changes in payloads, as it is stored.

use payload_codec::json::MergePatch;
use serde::{Deserialize, Serialize};

use crate::{
    domain::{
        actor::Actor,
        rights::{Grants, Right},
    },
    store::{StoreError, audit},
};

#[derive(Serialize, Deserialize)]
pub(super) struct StoredEdit {
    merge_patch: String,
    /// The queues of which whoever asked for it may see payloads.
    payload_within: String,
}

impl StoredEdit {
    pub(super) fn new(patch: &MergePatch, by: &Actor) -> Self {
        Self { merge_patch: patch.as_str().to_owned(), payload_within: by.scope(Right::Payload).written() }
    }

    /// The edit, and who asked for it with that right.
    pub(super) fn read(self, by: Actor) -> Result<(MergePatch, Actor), StoreError> {
        let patch = MergePatch::read(&self.merge_patch)
            .map_err(|mistake| StoreError::Unreadable { what: "the edit of a job", why: mistake.to_string() })?;
        let payload = audit::read_scope(&self.payload_within)?;
        let scope = |right| if right == Right::Payload { payload.clone() } else { by.scope(right) };
        let grants = Grants::new(scope);
        Ok((patch, by.granted(grants)))
    }
}
