//! The group of an incident is acknowledged.

use amqp_message::time::Timestamp;

use super::{Incidents, telling::notification};
use crate::{
    domain::{group::Group, group_state::Phase, incident::IncidentEvent},
    store::{IncidentRecord, StoreError, Telling},
};

/// Since when a group is acknowledged.
pub(super) fn acknowledged_at(group: &Group) -> Option<Timestamp> {
    let is_acknowledged = group.state.phase() == Phase::Acknowledged;
    group.state.progress.set.as_ref().filter(|_| is_acknowledged).map(|(_, at)| *at)
}

/// Whether a group is open again by itself, while those who were notified believe that somebody works on it.
pub(super) fn has_ended(was: &IncidentRecord, group: &Group) -> bool {
    let progress = &group.state.progress;
    let is_by_itself = progress.phase == Phase::Open && progress.set.is_none();
    let reopened = progress.reopened.as_ref().filter(|reopened| is_by_itself && reopened.was == Phase::Acknowledged);
    was.acknowledged_at.zip(reopened).is_some_and(|(since, reopened)| reopened.at >= since)
}

impl Incidents {
    /// Ends an incident whose acknowledgement has ended by itself: who has acknowledged it elsewhere is called by a new one
    /// only. The next look opens that. In quiet hours all of it waits.
    pub(super) async fn begin_anew(
        &self,
        was: &IncidentRecord,
        is_quiet: bool,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if is_quiet {
            return Ok(());
        }
        self.end(was, now).await.map(drop)
    }

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
