//! How queues stand and what needs a hand, as far as the watch has found out.

use std::collections::BTreeMap;

use amqp_message::time::Timestamp;

use super::policy_effect::counted_since;
use crate::{
    domain::{
        lifecycle::recognition::OWN_RETRIES,
        number::span,
        queue_level::Trouble,
        watch::{Concern, ConcernKind, DocsPage, HintKind, SettingHint, without_exchange},
    },
    store::{QueueStops, WatchedBroker, WatchedQueue},
    web::{
        error::WebError,
        state::AppState,
        view::{number, retry_outcomes::RetryFigures, tally::QueueKey, text, watch::ConcernLine},
    },
};

/// Queues that are looked at where nobody names any.
const MOST: usize = 300;
/// More than any broker is watched with.
const ALL: usize = 1_000_000;

/// Queues of the brokers that are asked.
pub struct Levels(BTreeMap<(String, String), WatchedQueue>);

/// Those of `names` and so many of the others that are worth a look; or all of them.
pub async fn levels(app: &AppState, names: &[&str], all: bool) -> Result<Levels, WebError> {
    let is_asked = |queue: &WatchedQueue| app.settings.watch.contains_key(&queue.broker);
    if app.settings.watch.is_empty() {
        return Ok(Levels(BTreeMap::new()));
    }
    let mut queues = app.store().watched_queues(if all { ALL } else { MOST }).await?;
    if !all {
        queues.extend(app.store().watched_queues_named(names).await?);
    }
    let keyed = |queue: WatchedQueue| ((queue.broker.clone(), queue.level.name.clone()), queue);
    Ok(Levels(queues.into_iter().filter(is_asked).map(keyed).collect()))
}

/// What automatic retries have come to in the last days.
pub async fn retry_figures(app: &AppState) -> Result<RetryFigures, WebError> {
    let now = app.clock.now();
    let store = app.store();
    let (counts, recent) = tokio::try_join!(
        store.retry_counts(counted_since(now)),
        store.recent_retry_counts(now.minus(app.settings.succeeded_after)),
    )?;
    Ok(RetryFigures { counts, recent })
}

/// Queues whose messages are not processed as they should be.
pub struct UnhealthyQueues {
    /// What was reported, the longest first, then what else is the matter at this moment.
    pub lines: Vec<ConcernLine>,
    /// How many there are besides.
    pub others: usize,
    /// Why nothing is known of the queues of some broker, in sentences.
    pub unknown: Vec<String>,
}

impl UnhealthyQueues {
    /// More are not read by anybody.
    const SHOWN: usize = 20;

    /// What was reported of one queue.
    pub async fn reported_of(app: &AppState, broker: &str, queue: &str) -> Result<Vec<ConcernLine>, WebError> {
        let mut concerns = app.store().concerns().await?;
        concerns.retain(|(of, concern)| of == broker && concern.queue() == Some(queue));
        concerns.retain(|_| app.settings.watch.contains_key(broker));
        Ok(reported(&concerns, app.clock.now()))
    }

    pub async fn load(app: &AppState) -> Result<Self, WebError> {
        let store = app.store();
        let (concerns, queues, brokers) =
            tokio::try_join!(store.concerns(), store.queues_in_trouble(MOST), store.watched_brokers())?;
        let is_asked = |(broker, _): &(String, Concern)| app.settings.watch.contains_key(broker);
        let concerns: Vec<_> = concerns.into_iter().filter(is_asked).collect();
        let mut lines = reported(&concerns, app.clock.now());
        lines.extend(queues.iter().filter_map(|queue| app.trouble(queue, &concerns)));
        let others = lines.len().saturating_sub(Self::SHOWN);
        lines.truncate(Self::SHOWN);
        Ok(Self { lines, others, unknown: app.unknown(&brokers) })
    }
}

/// Settings of services that are likely missing, in sentences.
pub async fn missing_settings(app: &AppState, queues: &[(String, String)]) -> Result<Vec<ConcernLine>, WebError> {
    let mut lines = own_retries(app, queues).await?;
    lines.extend(stopped_retries(app, queues).await?);
    for broker in app.store().watched_brokers().await? {
        let Some(settings) = app.settings.watch.get(&broker.name) else { continue };
        let single = broker.hints.iter().filter(|hint| hint.kind != HintKind::NoDeadLetterExchange);
        let line = |hint: &SettingHint| {
            ConcernLine::of_queue(&broker.name, &hint.queue, &hint.sentence(settings)).with_docs(hint.docs())
        };
        lines.extend(single.take(UnhealthyQueues::SHOWN).map(line));
        lines.extend(
            without_exchange(&broker.hints, settings).map(|sentence| ConcernLine::of_many(&broker.name, &sentence)),
        );
    }
    Ok(lines)
}

/// Queues whose framework retries by itself as well, as their dead letters say.
async fn own_retries(app: &AppState, queues: &[(String, String)]) -> Result<Vec<ConcernLine>, WebError> {
    let (now, mut lines) = (app.clock.now(), Vec::new());
    for broker in app.brokers.all() {
        let named = queues.iter().filter(|(of, _)| *of == broker.name).map(|(_, queue)| queue.as_str());
        for (queue, seen) in app.store().own_retries(&broker.name, &named.collect::<Vec<_>>()).await? {
            let ago = span(now.since(seen));
            let sentence =
                format!("dlo retries none of its messages automatically: {OWN_RETRIES}. Last seen {ago} ago.");
            lines.push(ConcernLine::of_queue(&broker.name, &queue, &sentence).with_docs(Some(DocsPage::SYMFONY)));
        }
    }
    Ok(lines)
}

/// Queues of which messages are not retried any more, since they come as another message each time.
async fn stopped_retries(app: &AppState, queues: &[(String, String)]) -> Result<Vec<ConcernLine>, WebError> {
    let (now, mut lines) = (app.clock.now(), Vec::new());
    for broker in app.brokers.all() {
        let named = queues.iter().filter(|(of, _)| *of == broker.name).map(|(_, queue)| queue.as_str());
        for stops in app.store().stopped_retries(&broker.name, &named.collect::<Vec<_>>()).await? {
            let QueueStops { queue, messages, since, last, has_id } = stops;
            let (since, last) = (span(now.since(since)), span(now.since(last)));
            let lacks = if has_id { "another message_id each time" } else { "no message_id" };
            let what = number::plural(messages, "message");
            let sentence = format!(
                "Automatic retries of {what} were stopped in the last {since}, the last one {last} ago: a service publishes \
                 copies of what failed without the headers of dlo, with {lacks}, so that each looks like a new message. \
                 Have it keep dlo-id, or at least the message_id. These messages are open dead letters."
            );
            lines.push(ConcernLine::of_queue(&broker.name, &queue, &sentence).with_docs(Some(DocsPage::HAND_OVER)));
        }
    }
    Ok(lines)
}

fn reported(concerns: &[(String, Concern)], now: Timestamp) -> Vec<ConcernLine> {
    let mut concerns: Vec<_> = concerns.iter().collect();
    concerns.sort_by_key(|(_, concern)| concern.since());
    concerns.into_iter().map(|(broker, concern)| ConcernLine::new(broker, concern, now)).collect()
}

impl AppState {
    /// What is the matter with a queue of a service beside what was reported. What a broker said that does not answer any
    /// more is no longer known.
    fn trouble(&self, queue: &WatchedQueue, reported: &[(String, Concern)]) -> Option<ConcernLine> {
        let WatchedQueue { broker, level, .. } = queue;
        let is_reported = |kind, queue| {
            reported.iter().any(|(of, concern)| (of, concern.kind(), concern.queue()) == (broker, kind, queue))
        };
        let is_watched = self.settings.watch.get(broker)?.watches(level);
        if !is_watched || is_reported(ConcernKind::Unreachable, None) {
            return None;
        }
        let told_without_consumers = is_reported(ConcernKind::NoConsumers, Some(&level.name));
        let is_new = |trouble: &Trouble| !(told_without_consumers && matches!(trouble, Trouble::NoConsumers { .. }));
        let sentences: Vec<_> = level.troubles().iter().filter(|it| is_new(it)).map(Trouble::to_string).collect();
        (!sentences.is_empty()).then(|| ConcernLine::of_queue(broker, &level.name, &sentences.join(" ")))
    }

    fn unknown(&self, brokers: &[WatchedBroker]) -> Vec<String> {
        let why = |name: &String| {
            let found = brokers.iter().find(|broker| broker.name == *name);
            match found.filter(|broker| broker.looked_at.is_some()) {
                None => Some(format!("{} has not been asked yet.", text::one_line(name))),
                Some(broker) => {
                    let problem = broker.problem.as_deref()?;
                    Some(format!("{}: {}.", text::one_line(name), text::one_line(problem)))
                }
            }
        };
        self.settings.watch.keys().filter_map(why).collect()
    }
}

impl Levels {
    pub fn get(&self, (broker, queue): QueueKey<'_>) -> Option<&WatchedQueue> {
        self.0.get(&(broker.to_owned(), queue?.to_owned()))
    }

    pub fn keys(&self) -> impl Iterator<Item = QueueKey<'_>> {
        self.0.keys().map(|(broker, queue)| (broker.as_str(), Some(queue.as_str())))
    }

    /// Sorts those first that need a hand, then those that may need one soon.
    pub fn urgency(&self, key: QueueKey<'_>) -> u8 {
        let Some(queue) = self.get(key) else { return 2 };
        let is_without = queue.level.known_consumers() == Some(0) && queue.watched.is_some();
        match queue.watched.as_ref().is_some_and(|watched| watched.told) {
            true => 0,
            false if is_without || !queue.level.troubles().is_empty() => 1,
            false => 2,
        }
    }
}
