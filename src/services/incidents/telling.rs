//! Notifying of an incident that is open, and of its end.

use amqp_message::time::Timestamp;

use super::{Incidents, group_of, wording};
use crate::{
    domain::{
        group::{Group, GroupId},
        incident::{Incident, IncidentEvent},
        notification::NewNotification,
    },
    services::{ids, notifications::channels::PageChannel},
    store::{IncidentRecord, StoreError, Telling},
};

impl Incidents {
    /// Notifies of an incident that is open: for the first time after quiet hours, to more people when it has become more important,
    /// or once more, unless it is acknowledged.
    pub(super) async fn go_on(
        &self,
        was: &IncidentRecord,
        incident: &Incident,
        acknowledged_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let incident = going_on(was, incident);
        let (is_acknowledged, is_quiet) = (acknowledged_at.is_some(), self.is_quiet(incident.importance, now));
        let Some(told_at) = was.told_at else {
            if is_quiet || is_acknowledged {
                return Ok(());
            }
            return self.tell(was, &incident, None, now).await;
        };
        if incident.importance < was.incident.importance && !is_quiet {
            return self.tell(was, &incident, None, now).await;
        }
        if is_acknowledged != was.acknowledged_at.is_some() {
            self.acknowledge(was, acknowledged_at, now).await?;
        }
        let every = self.settings.now().remind_every;
        if is_acknowledged || is_quiet || every.is_zero() || now.since(told_at) < every {
            return Ok(());
        }
        self.tell(was, &incident, Some(IncidentEvent::Reminded), now).await
    }

    /// Notifies those who want to hear of it and have not yet, and the others of `again`, if that is anything.
    pub(super) async fn tell(
        &self,
        was: &IncidentRecord,
        incident: &Incident,
        again: Option<IncidentEvent>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let told = |page: &PageChannel| {
            let event = if page.knows(was, incident.importance) { again? } else { IncidentEvent::Opened };
            let had = was.told.get(&page.kind).filter(|had| **had != incident.importance);
            let had = had.map(|importance| Incident { importance: *importance, ..was.incident.clone() });
            notification(page, incident, had.as_ref(), event, now)
        };
        let notifications: Vec<_> = self.wanted(incident.importance).iter().filter_map(told).collect();
        let telling = Telling { notifications: &notifications, at: now };
        if self.store.tell_incident(was, incident, &telling).await? {
            tracing::info!(incident = incident.key, again = again.is_some(), "incident notified");
            self.outbox.notify();
        }
        Ok(())
    }

    pub(super) async fn end(&self, was: &IncidentRecord, now: Timestamp) -> Result<bool, StoreError> {
        let open = self.still_open(&was.incident).await?;
        let incident = Incident { resolved_at: Some(now), open, ..was.incident.clone() };
        // Who was never told that it began need not hear that it is over; who was hears it, however important it is now.
        let told = |page: &PageChannel| {
            let importance = page.knows_as(was).filter(|_| was.told_at.is_some())?;
            let incident = Incident { importance, ..incident.clone() };
            notification(page, &incident, None, IncidentEvent::Resolved, now)
        };
        let notifications: Vec<_> = self.channels.now().pages().iter().filter_map(told).collect();
        let telling = Telling { notifications: &notifications, at: now };
        let ended = self.store.resolve_incident(was.id, &telling).await?;
        if ended {
            tracing::info!(incident = incident.key, "an incident is over");
            self.outbox.notify();
        }
        Ok(ended)
    }

    /// Open letters of its groups, which somebody has set aside, or which have fewer important ones.
    async fn still_open(&self, incident: &Incident) -> Result<u64, StoreError> {
        let of_storm = incident.storm.iter().flat_map(|storm| &storm.groups);
        let groups: Vec<GroupId> = of_storm.chain([&incident.key]).filter_map(|key| group_of(key)).collect();
        Ok(self.store.groups_told_as(&groups).await?.iter().map(Group::n_open).sum())
    }
}

/// An open incident as it is now. What it is known by outside stays what it was once it was reported.
pub(super) fn going_on(was: &IncidentRecord, now: &Incident) -> Incident {
    let opened_at = was.incident.opened_at;
    let known_as = was.told_at.map_or(now, |_| &was.incident);
    Incident { opened_at, ..now.clone() }.known_as(known_as)
}

/// What one channel is sent; `None` where there is nothing to say there.
pub(super) fn notification(
    page: &PageChannel,
    incident: &Incident,
    was: Option<&Incident>,
    event: IncidentEvent,
    now: Timestamp,
) -> Option<NewNotification> {
    let body = wording::body(page.kind, incident, was, event, now)?;
    let (id, kind) = (ids::uuid(now), wording::kind(event));
    Some(NewNotification { id, channel: page.kind, subject: incident.key.clone(), kind, body })
}
