//! Many groups as one incident.

use amqp_message::time::Timestamp;

use super::{
    GROUP, Incidents,
    acknowledged::{acknowledged_at, has_ended},
    telling::going_on,
    wording,
};
use crate::{
    domain::{
        group::Group,
        incident::{Incident, IncidentEvent},
        letter::Importance,
        storm::{Storm, Surroundings, WITHIN},
    },
    store::{IncidentRecord, StoreError},
};

/// What keys of storms begin with.
const STORM: &str = "storm:";

/// A group that concerns people and that nobody was notified of.
pub(super) struct Newcomer {
    pub incident: Incident,
    /// Its incident, where it was opened in quiet hours.
    pub record: Option<IncidentRecord>,
    /// Since when it is acknowledged.
    pub acknowledged_at: Option<Timestamp>,
}

/// A storm that is open, and what was found of its groups.
struct OpenStorm {
    record: IncidentRecord,
    found: Vec<Incident>,
    /// Since when each of the groups that it had is acknowledged.
    acknowledged: Vec<Option<Timestamp>>,
}

/// All storms that are open.
pub(super) struct Storms(Vec<OpenStorm>);

impl Storms {
    pub fn of(records: Vec<IncidentRecord>) -> Self {
        Self(
            records
                .into_iter()
                .map(|record| OpenStorm { record, found: Vec::new(), acknowledged: Vec::new() })
                .collect(),
        )
    }

    /// Takes a group that belongs to a storm; gives back one that belongs to none, has become more important, or of which
    /// somebody has to hear again.
    pub fn take(&mut self, incident: Incident, group: &Group) -> Option<Incident> {
        let is_of = |storm: &&mut OpenStorm| {
            let of = storm.record.incident.storm.as_ref();
            storm.record.incident.importance <= incident.importance
                && of.is_some_and(|of| of.groups.binary_search(&incident.key).is_ok())
                && !has_ended(&storm.record, group)
        };
        let Some(storm) = self.0.iter_mut().find(is_of) else { return Some(incident) };
        storm.found.push(incident);
        storm.acknowledged.push(acknowledged_at(group));
        None
    }

    /// Whether a group belongs to one.
    pub fn has(&self, group: &str) -> bool {
        let has = |of: &Storm| of.groups.binary_search_by(|key| (**key).cmp(group)).is_ok();
        self.0.iter().any(|storm| storm.record.incident.storm.as_ref().is_some_and(has))
    }

    /// One that takes in what begins now. Of what came into one that is acknowledged nobody would be called.
    fn gathering(&mut self, importance: Importance, now: Timestamp) -> Option<&mut OpenStorm> {
        self.0.iter_mut().find(|storm| {
            let incident = &storm.record.incident;
            let is_ours = incident.importance == importance && storm.record.acknowledged_at.is_none();
            is_ours && incident.storm.as_ref().is_some_and(|storm| storm.gathers(now))
        })
    }

    /// Of a storm that begins now: the same in every process that sees the same storms.
    fn next_key(&self, importance: Importance) -> String {
        let prefix = format!("{STORM}{importance}:");
        let number = |storm: &OpenStorm| storm.record.incident.key.strip_prefix(&prefix)?.parse::<u64>().ok();
        let last = self.0.iter().filter_map(number).max().unwrap_or(0);
        format!("{prefix}{}", last + 1)
    }
}

impl Incidents {
    /// Opens an incident for each of the new groups, or one for many of them.
    pub(super) async fn welcome(
        &self,
        newcomers: Vec<Newcomer>,
        alone: &[(Importance, Timestamp)],
        storms: &mut Storms,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        for importance in Importance::ALL {
            let is_late = |(of, at): &&(Importance, Timestamp)| of == importance && now.since(*at) < WITHIN;
            let surroundings = Surroundings {
                at_most: self.settings.now().collect_above,
                alone: alone.iter().filter(is_late).count(),
                gathers: storms.gathering(*importance, now).is_some(),
                now,
            };
            let these: Vec<_> = newcomers.iter().filter(|new| new.incident.importance == *importance).collect();
            let latest: Vec<Timestamp> = these.iter().map(|new| new.incident.last_seen).collect();
            let mut many = Vec::new();
            for (new, together) in these.into_iter().zip(surroundings.together(&latest)) {
                match together {
                    true => many.push(new),
                    false => self.welcome_one(new, now).await?,
                }
            }
            self.welcome_many(*importance, &many, storms, now).await?;
        }
        Ok(())
    }

    async fn welcome_one(&self, new: &Newcomer, now: Timestamp) -> Result<(), StoreError> {
        let told = match &new.record {
            Some(was) => self.go_on(was, &new.incident, new.acknowledged_at, now).await,
            None => self.open(&new.incident, now).await.map(drop),
        };
        super::skip_if_refused(&new.incident.key, told)
    }

    async fn welcome_many(
        &self,
        importance: Importance,
        many: &[&Newcomer],
        storms: &mut Storms,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if many.is_empty() {
            return Ok(());
        }
        for was in many.iter().filter_map(|new| new.record.as_ref()) {
            // Nobody was notified of it, so nobody is now.
            super::skip_if_refused(&was.incident.key, self.end(was, now).await.map(drop))?;
        }
        for new in many.iter().filter(|new| new.record.is_none()) {
            self.tell_apart(&new.incident.key).await?;
        }
        let groups = many.iter().map(|new| new.incident.clone());
        if let Some(storm) = storms.gathering(importance, now) {
            storm.acknowledged.extend(many.iter().map(|new| new.acknowledged_at));
            storm.found.extend(groups);
            return Ok(());
        }
        let found: Vec<Incident> = groups.collect();
        let joined = found.len() as u64;
        let storm = Storm { groups: keys(&found), joined, told: joined, joined_at: now };
        let key = storms.next_key(importance);
        let href = self.settings.now().public_url.join(&format!("groups?importance={importance}"));
        let incident =
            wording::of_storm(key, &found, importance, storm, href.map(String::from).unwrap_or_default(), now);
        super::skip_if_refused(&incident.key, self.open(&incident, now).await.map(drop))
    }

    /// Says of each storm that it has grown, goes on or is over.
    pub(super) async fn follow(&self, storms: Storms, now: Timestamp) -> Result<(), StoreError> {
        for OpenStorm { record, found, acknowledged } in storms.0 {
            // All of them are acknowledged, or the storm is not.
            let all = acknowledged.into_iter().collect::<Option<Vec<_>>>();
            let acknowledged_at = all.and_then(|all| all.into_iter().min());
            let followed = match found.is_empty() {
                true => self.end(&record, now).await.map(drop),
                false => self.follow_one(&record, &found, acknowledged_at, now).await,
            };
            super::skip_if_refused(&record.incident.key, followed)?;
        }
        Ok(())
    }

    async fn follow_one(
        &self,
        was: &IncidentRecord,
        found: &[Incident],
        acknowledged_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let before = was.incident.storm.clone().unwrap_or_default();
        let groups = keys(found);
        let joined = groups.iter().filter(|key| before.groups.binary_search(key).is_err()).count() as u64;
        let joined_at = if joined > 0 { now } else { before.joined_at };
        let storm = Storm { groups, joined: before.joined + joined, told: before.told, joined_at };
        let (key, href) = (was.incident.key.clone(), was.incident.href.clone());
        let opened_at = was.incident.opened_at;
        let is_changed = storm.groups != before.groups;
        let incident = wording::of_storm(key, found, was.incident.importance, storm, href, opened_at);
        let incident = going_on(was, &incident);
        let is_told = |storm: &&Storm| {
            storm.has_grown(was.told_at.unwrap_or(now), now) && !self.is_quiet(incident.importance, now)
        };
        let Some(storm) = incident.storm.as_ref().filter(is_told) else {
            if is_changed && !self.store.keep_incident(was, &incident).await? {
                return Ok(());
            }
            return self.go_on(was, &incident, acknowledged_at, now).await;
        };
        let storm = Storm { told: storm.joined, ..storm.clone() };
        let incident = Incident { storm: Some(storm), ..incident };
        self.tell(was, &incident, Some(IncidentEvent::Updated), now).await
    }
}

/// The keys of groups, in order.
fn keys(groups: &[Incident]) -> Vec<String> {
    let mut keys: Vec<String> = groups.iter().map(|group| group.key.clone()).collect();
    keys.sort_unstable();
    keys
}

/// Whether a key is of a group, and not of a storm or of what the watch raises.
pub(super) fn is_of_group(key: &str) -> bool {
    key.starts_with(GROUP)
}
