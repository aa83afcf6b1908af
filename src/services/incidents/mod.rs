//! Incidents: notifying users of what concerns them now, once, and when it is over.
//!
//! A group with open letters of an importance that pages people is one incident, however many letters it has. It ends
//! by itself with the last of them, and when somebody snoozes or resolves the group; while it is acknowledged, nobody
//! is reminded ([`acknowledged`]). Many groups that begin together are one ([`storms`]). What the watch raises is an
//! incident too. What is reported is decided and written down in one commit; [`super::deliveries`] sends it.

mod acknowledged;
mod group_watch;
pub mod heartbeat;
mod settings;
mod storms;
mod telling;
mod told_as;
pub mod wording;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use amqp_message::time::Timestamp;
pub use group_watch::GroupWatch;
pub use settings::Settings;
use storms::{Newcomer, Storms, is_of_group};
use telling::{going_on, notification};
use told_as::told_as_one;

use super::{
    change_feed::ChangeFeed,
    ids,
    live::Live,
    notifications::channels::{Channels, PageChannel},
    wakeup::Wakeup,
};
use crate::{
    clock::Clock,
    domain::{
        group::{Group, GroupFilter, GroupId},
        incident::{Incident, IncidentEvent},
        letter::Importance,
    },
    store::{IncidentRecord, Store, StoreError, Telling},
};

/// How often it is written down how an incident stands that is about no group.
const NOTED_EVERY: Duration = Duration::from_secs(60);
/// What keys of groups begin with.
const GROUP: &str = "group:";

fn key(group: GroupId) -> String {
    format!("{GROUP}{group}")
}

fn group_of(key: &str) -> Option<GroupId> {
    key.strip_prefix(GROUP)?.parse().ok()
}

/// Opens, repeats and ends incidents; cheap to clone.
#[derive(Clone)]
pub struct Incidents {
    store: Arc<Store>,
    channels: Live<Channels>,
    clock: Clock,
    feed: ChangeFeed,
    /// Notified when there is something to send.
    outbox: Wakeup,
    settings: Live<Settings>,
}

/// An incident that the database refuses must not hold up the others.
fn skip_if_refused(incident: &str, written: Result<(), StoreError>) -> Result<(), StoreError> {
    if let Err(error) = &written
        && error.is_refusal()
    {
        tracing::error!(incident, error = %error, "an incident cannot be written down; the others go on");
        return Ok(());
    }
    written
}

impl Incidents {
    pub fn new(
        store: Arc<Store>,
        channels: Live<Channels>,
        clock: Clock,
        feed: ChangeFeed,
        outbox: Wakeup,
        settings: Live<Settings>,
    ) -> Self {
        Self { store, channels, clock, feed, outbox, settings }
    }

    /// Compares the groups with the incidents that are open, and says what has changed.
    pub async fn look(&self) -> Result<(), StoreError> {
        // Who sees only the first groups of a storm tells them one by one, and another process tells the storm.
        let turn = self.store.incident_turn().await?;
        self.look_alone().await?;
        turn.end().await
    }

    async fn look_alone(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let (storms, others): (Vec<_>, Vec<_>) =
            self.store.open_incidents().await?.into_iter().partition(|record| record.incident.storm.is_some());
        let mut storms = Storms::of(storms);
        let alone = others.iter().filter(|record| is_of_group(&record.incident.key));
        let alone: Vec<_> = alone.map(|record| (record.incident.importance, record.incident.opened_at)).collect();
        let mut open: BTreeMap<String, IncidentRecord> =
            others.into_iter().map(|record| (record.incident.key.clone(), record)).collect();
        let mut newcomers = Vec::new();
        let has_incident = |group: GroupId| open.contains_key(&key(group)) || storms.has(&key(group));
        for (told_as, group) in told_as_one(self.concerning().await?, has_incident) {
            let Some(importance) = self.importance(&group) else { continue };
            let acknowledged_at = acknowledged::acknowledged_at(&group);
            let incident = self.of_group(told_as, &group, importance, now);
            let Some(incident) = storms.take(incident, &group) else { continue };
            let (key, is_quiet) = (incident.key.clone(), self.is_quiet(importance, now));
            let told = match open.remove(&key) {
                Some(was) if acknowledged::has_ended(&was, &group) => self.begin_anew(&was, is_quiet, now).await,
                Some(was) if was.told_at.is_some() || acknowledged_at.is_some() || is_quiet => {
                    self.go_on(&was, &incident, acknowledged_at, now).await
                }
                None if is_quiet => self.open(&incident, now).await.map(drop),
                record => {
                    newcomers.push(Newcomer { incident, record, acknowledged_at });
                    continue;
                }
            };
            skip_if_refused(&key, told)?;
        }
        self.welcome(newcomers, &alone, &mut storms, now).await?;
        self.follow(storms, now).await?;
        for (key, was) in open {
            let told = match is_of_group(&key) {
                true => self.end(&was, now).await.map(drop),
                false => self.go_on(&was, &was.incident, None, now).await,
            };
            skip_if_refused(&key, told)?;
        }
        Ok(())
    }

    /// Opens an incident that is about no group, unless it is open already.
    pub async fn raise(&self, incident: &Incident) -> Result<(), StoreError> {
        self.open(incident, self.clock.now()).await.map(drop)
    }

    /// Writes down how an open incident stands now that is about no group: what is told of it later, and repeated to
    /// Alertmanager, is not older than a minute.
    pub async fn note(&self, was: &IncidentRecord, incident: &Incident) -> Result<(), StoreError> {
        if incident.last_seen.since(was.incident.last_seen) < NOTED_EVERY {
            return Ok(());
        }
        self.store.keep_incident(was, &going_on(was, incident)).await.map(drop)
    }

    /// Ends the incident of a key, if there is one.
    pub async fn clear(&self, key: &str) -> Result<(), StoreError> {
        let open = self.store.open_incidents().await?;
        let Some(was) = open.iter().find(|record| record.incident.key == key) else { return Ok(()) };
        self.end(was, self.clock.now()).await.map(drop)
    }

    /// Groups with open letters of which some channel wants to hear, and that nobody has set aside.
    async fn concerning(&self) -> Result<Vec<Group>, StoreError> {
        let importances: Vec<Importance> =
            Importance::ALL.iter().filter(|importance| self.is_wanted(**importance)).copied().collect();
        if importances.is_empty() {
            return Ok(Vec::new());
        }
        let phases = Group::TO_DO.to_vec();
        let filter = GroupFilter { only_open: true, phases, importances, ..GroupFilter::default() };
        self.store.matching_groups(&filter).await
    }

    /// The channels that want to hear of that.
    fn wanted(&self, importance: Importance) -> Vec<PageChannel> {
        self.channels.now().pages().iter().filter(|page| page.wants(importance)).cloned().collect()
    }

    fn is_wanted(&self, importance: Importance) -> bool {
        self.channels.now().pages().iter().any(|page| page.wants(importance))
    }

    /// The most important among its open letters of which somebody wants to hear.
    fn importance(&self, group: &Group) -> Option<Importance> {
        let mut counts = Importance::ALL.iter().zip(group.open);
        counts.find(|(importance, n)| *n > 0 && self.is_wanted(**importance)).map(|(is, _)| *is)
    }

    fn of_group(&self, told_as: GroupId, group: &Group, importance: Importance, now: Timestamp) -> Incident {
        let href = self.settings.now().public_url.join(&format!("groups/{}", group.id));
        wording::of_group(key(told_as), group, importance, href.map(String::from).unwrap_or_default(), now)
    }

    async fn open(&self, incident: &Incident, now: Timestamp) -> Result<bool, StoreError> {
        let id = ids::uuid(now);
        self.tell_apart(&incident.key).await?;
        if self.is_quiet(incident.importance, now) {
            return self.store.open_incident(id, incident, None).await;
        }
        let pages = self.wanted(incident.importance);
        let notifications: Vec<_> =
            pages.iter().filter_map(|page| notification(page, incident, None, IncidentEvent::Opened, now)).collect();
        let opened =
            self.store.open_incident(id, incident, Some(&Telling { notifications: &notifications, at: now })).await?;
        if opened {
            tracing::info!(incident = incident.key, importance = %incident.importance, "an incident was opened");
            self.outbox.notify();
        }
        Ok(opened)
    }

    /// What was told as this group was told of an incident that is over.
    async fn tell_apart(&self, key: &str) -> Result<(), StoreError> {
        let Some(group) = group_of(key) else { return Ok(()) };
        self.store.tell_apart(group, key).await
    }

    fn is_quiet(&self, importance: Importance, now: Timestamp) -> bool {
        let settings = self.settings.now();
        let quiet = settings.quiet_hours.as_ref().and_then(|hours| hours.end_if_quiet(now)).is_some();
        quiet && settings.quiet.contains(&importance)
    }
}
