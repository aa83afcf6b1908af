//! The group of an incident is acknowledged.

use amqp_message::time::Timestamp;

use super::{Incidents, notification};
use crate::{
    domain::{group::Group, group_state::Phase, incident::IncidentEvent},
    store::{IncidentRecord, StoreError, Telling},
};

/// Since when a group is acknowledged.
pub(super) fn acknowledged_at(group: &Group) -> Option<Timestamp> {
    let is_acknowledged = group.state.phase() == Phase::Acknowledged;
    group.state.progress.set.as_ref().filter(|_| is_acknowledged).map(|(_, at)| *at)
}

impl Incidents {
    /// Tells those who were notified that it is acknowledged, where they have a use for that; or notes that it is no more.
    pub(super) async fn acknowledge(
        &self,
        was: &IncidentRecord,
        since: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let channels = self.channels.now();
        let knows = channels.pages().iter().filter(|page| since.is_some() && page.knows_as(was).is_some());
        let told = knows.filter_map(|page| notification(page, &was.incident, None, IncidentEvent::Acknowledged, now));
        let notifications: Vec<_> = told.collect();
        let telling = Telling { notifications: &notifications, at: now };
        if self.store.acknowledge_incident(was, since, &telling).await? {
            tracing::info!(
                incident = was.incident.key,
                is_acknowledged = since.is_some(),
                "whether an incident is acknowledged has changed"
            );
            self.outbox.notify();
        }
        Ok(())
    }
}
