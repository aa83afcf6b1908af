//! Markers, written with who set or removed them.

use uuid::Uuid;

use super::{audit_log::log, audited_store::AuditedStore};
use crate::{
    domain::{actor::Actor, marker::Marker},
    store::StoreError,
};

impl AuditedStore {
    pub(crate) async fn add_marker(&self, marker: &Marker) -> Result<(), StoreError> {
        self.store.add_marker(marker).await?;
        log(&marker.entry("set", &marker.by, marker.set_at));
        self.feed.changed(1);
        Ok(())
    }

    pub(crate) async fn remove_marker(&self, id: Uuid, by: &Actor) -> Result<Option<Marker>, StoreError> {
        let at = self.clock.now();
        let removed = self.store.remove_marker(id, by, at).await?;
        if let Some(marker) = &removed {
            log(&marker.entry("remove", by, at));
            self.feed.changed(1);
        }
        Ok(removed)
    }
}
