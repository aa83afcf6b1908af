//! Markers, as people and programs set them.

use amqp_message::time::Timestamp;
use uuid::Uuid;

use super::Triage;
use crate::{
    domain::{
        actor::Actor,
        marker::{Marker, MarkerKind},
        rights::Right,
    },
    services::ids,
    store::StoreError,
};

/// A marker to set.
#[derive(Clone, Debug, PartialEq)]
pub struct NewMarker {
    pub kind: MarkerKind,
    pub title: String,
    pub at: Timestamp,
    pub service: Option<String>,
    pub queues: Vec<String>,
    pub link: Option<String>,
}

impl Triage {
    /// Sets a marker. It is about queues of who sets it only.
    pub async fn set_marker(&self, new: NewMarker, by: &Actor) -> Result<Marker, StoreError> {
        let NewMarker { kind, title, at, service, queues, link } = new;
        let (set_at, within) = (self.clock.now(), by.scope(Right::Mark));
        let id = ids::uuid(set_at);
        let marker = Marker { id, kind, title, at, service, queues, link, within, by: by.clone(), set_at };
        self.changes.add_marker(&marker).await?;
        Ok(marker)
    }

    /// Removes a marker; none is one that is not there, or that is about queues of others.
    pub async fn remove_marker(&self, id: Uuid, by: &Actor) -> Result<Option<Marker>, StoreError> {
        self.changes.remove_marker(id, by).await
    }
}
