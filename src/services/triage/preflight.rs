//! What is known of many letters before they are retried.

use std::{collections::BTreeMap, time::Duration};

use amqp_message::time::Timestamp;
use failure_conventions::danger::Danger;

use super::Triage;
use crate::{
    domain::{
        actor::Actor,
        command::{Command, Refusal},
        filter::{FacetCount, LetterFilter, Names},
        group::{Group, GroupFilter},
        letter::Status,
        preflight::{Preflight, TargetQueue},
        queue_pause::is_paused,
        rights::{QueueScope, Right},
    },
    store::{StoreError, StoreReader},
};

/// Why letters are refused that no queue is named for.
const NOT_SENT_BACK: &str =
    "nothing is sent back to the queue that it failed in, one of dlo or RabbitMQ or that retry.targets does not allow";

/// Queues that are told of.
const QUEUES: usize = 20;

impl Triage {
    /// What a retry of all that a filter lets through, and that was received until then, would meet. What was sent after
    /// `pending_since` has not succeeded yet.
    pub async fn preflight(
        &self,
        filter: &LetterFilter,
        [until, pending_since]: [Timestamp; 2],
        queue: Option<&str>,
        by: &Actor,
    ) -> Result<Preflight, StoreError> {
        let store = self.acting(by);
        // The end of a filter is no part of it.
        let end = until.plus(Duration::from_micros(1));
        let whole = LetterFilter { until: Some(filter.until.map_or(end, |until| until.min(end))), ..filter.clone() };
        let total = store.count(&whole).await?;
        let facets = facets(&store, &whole).await?;
        let mut refused = of_other_status(&facets);
        if queue.is_none() {
            let unknown = store.count(&of_no_queue(&whole)).await?;
            refused.push((Refusal::QueueUnknown.to_string(), unknown));
            refused.push((NOT_SENT_BACK.to_owned(), self.not_sent_back(&facets)));
        }
        refused.extend(self.dangerous(&store, &whole, queue).await?);
        refused.retain(|(_, letters)| *letters > 0);
        let wrong_queue = queue.and_then(|queue| self.limits.targets.check(queue).err());
        let to = (&by.scope(Right::Act), self.clock.now());
        let queues = if wrong_queue.is_none() { targets(&store, &facets, queue, to).await? } else { Vec::new() };
        let mut groups = groups(&store, &whole).await?;
        store.add_unknown(&mut groups, pending_since).await?;
        Ok(Preflight {
            total,
            refused,
            wrong_queue,
            queues,
            ended: groups.iter().map(|group| group.outcome.sent.saturating_sub(group.outcome.pending)).sum(),
            failed_again: groups.iter().map(|group| group.outcome.failed_again).sum(),
        })
    }

    /// Those that a retry would do harm to, and that are not refused for their queue already.
    async fn dangerous(
        &self,
        store: &StoreReader,
        filter: &LetterFilter,
        named: Option<&str>,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        let mut found: BTreeMap<&str, u64> = BTreeMap::new();
        let mut dangerous = store.dangerous(filter).await?;
        dangerous.retain(|(_, queue, _)| named.is_some() || self.limits.targets.check(queue).is_ok());
        for (word, queue, letters) in dangerous {
            let danger = self.limits.danger(word.parse::<Danger>().ok(), Some(&queue));
            if let Some(danger) = danger {
                *found.entry(danger.clause()).or_default() += letters;
            }
        }
        Ok(found.into_iter().map(|(why, letters)| (why.to_owned(), letters)).collect())
    }

    /// Open ones that failed in a queue that nothing is sent to; where others go is said by the retry that they wait for.
    fn not_sent_back(&self, facets: &[FacetCount]) -> u64 {
        let forbidden = |queue: &String| self.limits.targets.check(queue).is_err();
        let open = facets.iter().filter(|facet| facet.status == Status::Open);
        open.filter(|facet| facet.queue.as_ref().is_some_and(forbidden)).map(|facet| facet.count).sum()
    }
}

/// How many letters of each kind the filter lets through.
async fn facets(store: &StoreReader, filter: &LetterFilter) -> Result<Vec<FacetCount>, StoreError> {
    let mut facets = if filter.is_counted_anew() || filter.since.is_some() {
        store.facets_within(filter).await?
    } else {
        store.facets().await?
    };
    let queues = filter.queues.matcher();
    facets.retain(|facet| {
        any(&filter.statuses, &facet.status)
            && any(&filter.importances, &facet.importance)
            && any(&filter.brokers, &facet.broker)
            && any(&filter.reasons, &facet.reason)
            && queues.matches(facet.queue.as_deref().unwrap_or_default())
    });
    Ok(facets)
}

/// An empty list lets everything through.
fn any<T: PartialEq>(wanted: &[T], value: &T) -> bool {
    wanted.is_empty() || wanted.contains(value)
}

/// Letters in a status that takes no retry.
fn of_other_status(facets: &[FacetCount]) -> Vec<(String, u64)> {
    let command = Command::Retry { delay: Duration::ZERO, queue: None };
    let refused = Status::ALL.iter().filter(|status| !command.allowed_in().contains(status));
    refused
        .map(|status| {
            let why = Refusal::WrongStatus { command: command.name(), status: *status }.to_string();
            (why, facets.iter().filter(|facet| facet.status == *status).map(|facet| facet.count).sum())
        })
        .collect()
}

/// Those that nothing says of where they failed, and that wait for no retry to somewhere.
fn of_no_queue(filter: &LetterFilter) -> LetterFilter {
    let is_meant = filter.queues.matcher().matches("") && any(&filter.statuses, &Status::Open);
    // Nothing is of both kinds.
    let until = if is_meant { filter.until } else { Some(Timestamp::from_micros(i64::MIN)) };
    LetterFilter { queues: Names::exact([""]), statuses: vec![Status::Open], until, ..filter.clone() }
}

/// The groups that the letters are in. Most filters say that of themselves, and no letter has to be looked at.
async fn groups(store: &StoreReader, filter: &LetterFilter) -> Result<Vec<Group>, StoreError> {
    if !filter.groups.is_empty() {
        return store.groups_by_id(&filter.groups).await;
    }
    let is_of_open = filter.statuses == [Status::Open];
    if filter.search.is_some() || filter.since.is_some() || !(is_of_open || filter.importances.is_empty()) {
        return store.groups_by_id(&store.groups_of_letters(filter).await?).await;
    }
    let filter = GroupFilter {
        only_open: is_of_open,
        importances: filter.importances.clone(),
        brokers: filter.brokers.clone(),
        queues: filter.queues.clone(),
        types: filter.types.clone(),
        reasons: filter.reasons.clone(),
        ..GroupFilter::default()
    };
    store.matching_groups(&filter).await
}

/// Where they go, and how it stands there.
async fn targets(
    store: &StoreReader,
    facets: &[FacetCount],
    named: Option<&str>,
    (seen, now): (&QueueScope, Timestamp),
) -> Result<Vec<TargetQueue>, StoreError> {
    let mut letters: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for facet in facets {
        if let Some(queue) = named.or(facet.queue.as_deref()) {
            *letters.entry((&facet.broker, queue)).or_default() += facet.count;
        }
    }
    let mut queues: Vec<_> = letters.into_iter().filter(|(_, letters)| *letters > 0).collect();
    queues.sort_by_key(|(_, letters)| std::cmp::Reverse(*letters));
    queues.truncate(QUEUES);
    let names: Vec<&str> = queues.iter().map(|((_, queue), _)| *queue).collect();
    let pauses = store.queue_pauses().await?;
    let (mut levels, brokers) = (store.watched_queues_named(&names).await?, store.watched_brokers().await?);
    let answers = |broker: &str| brokers.iter().any(|it| it.name == broker && it.listed_at(now).is_some());
    let target = |((broker, name), letters): ((&str, &str), u64)| {
        let place = levels.iter().position(|watched| watched.broker == broker && watched.level.name == name);
        let level = place.map(|place| levels.swap_remove(place).level);
        let is_paused = is_paused(&pauses, broker, name);
        let is_missing = level.is_none() && seen.includes(broker, name) && answers(broker);
        TargetQueue { broker: broker.to_owned(), name: name.to_owned(), letters, level, is_missing, is_paused }
    };
    Ok(queues.into_iter().map(target).collect())
}
