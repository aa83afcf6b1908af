//! What is known of one queue, for its page and for the API.

use std::time::Duration;

use amqp_message::{death::Reason, time::Timestamp};

use super::policy_effect::counted_since;
use crate::{
    domain::{
        filter::{FacetCount, LetterFilter, Names, PageRequest, Sort},
        letter::Status,
        policy::{Delays, PolicyBook, RetryCounts, Via},
        queue_outlook::QueueFacts,
        queue_sample::QueueSample,
    },
    store::{StoreError, StoreReader, WatchedQueue},
    web::{
        error::WebError,
        query::queue_path::{QueuePath, missing},
        state::AppState,
        view::{
            retry_outcomes::{QueueOutcomes, RetryFigures},
            small_chart::DayOutcomes,
            tally::{self, QueueCounts, QueueKey},
        },
        visitor::Visitor,
    },
};

/// Days of which charts tell, today included.
pub const DAYS: u32 = 14;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// What "lately" is: long enough for a rate, short enough to end when the trouble does.
const LATELY: Duration = Duration::from_secs(15 * 60);

pub struct QueueDetails {
    pub path: QueuePath,
    pub counts: QueueCounts,
    pub watched: Option<WatchedQueue>,
    /// When its broker last answered; `None` where it is not asked.
    pub looked_at: Option<Timestamp>,
    /// Its broker's management API is asked.
    pub is_watched: bool,
    /// A queue of dlo itself, of which nothing is retried.
    pub is_ours: bool,
    pub outcomes: QueueOutcomes,
    pub days: Vec<DayOutcomes>,
    /// How it stood over the last 24 hours, as far as somebody looked.
    pub samples: Vec<QueueSample>,
    pub next_due: Option<Timestamp>,
    pub facts: QueueFacts,
}

impl QueueDetails {
    pub async fn load(app: &AppState, path: QueuePath, facets: &[FacetCount]) -> Result<Self, WebError> {
        let QueuePath { broker, queue } = &path;
        let (now, store) = (app.clock.now(), app.store());
        let key: QueueKey<'_> = (broker, Some(queue));
        let counts = tally::queues_with(facets, std::iter::empty()).into_iter().find(|(other, _)| *other == key);
        let of_queue = LetterFilter {
            brokers: vec![broker.clone()],
            queues: Names::exact([queue.as_str()]),
            ..LetterFilter::default()
        };
        let names = [queue.as_str()];
        let (watched, brokers, days, recent, lately, waiting, pauses, samples) = tokio::try_join!(
            store.watched_queues_named(&names),
            store.watched_brokers(),
            store.queue_retry_counts(broker, queue, now.minus(DAY * (DAYS - 1))),
            store.recent_retry_counts(now.minus(app.settings.succeeded_after)),
            store.recent_retry_counts(now.minus(LATELY)),
            store.waiting(&of_queue, None, 1),
            store.queue_pauses(),
            store.queue_samples(broker, queue, now),
        )?;
        let is_watched = app.settings.watch.contains_key(broker);
        let watched = watched.into_iter().find(|level| level.broker == *broker).filter(|_| is_watched);
        let pause = pauses.into_iter().find(|pause| pause.is_of(broker, queue));
        if counts.is_none() && watched.is_none() && pause.is_none() && days.is_empty() {
            return Err(missing());
        }
        Visitor::looks_at_queue(broker, Some(queue));
        let asked = brokers.iter().find(|asked| asked.name == *broker).filter(|_| is_watched);
        let listed_at = asked.filter(|_| watched.is_none()).and_then(|asked| asked.listed_at(now));
        let is_missing = match listed_at {
            Some(at) => !has_failed_since(&store, &of_queue, at).await?,
            None => false,
        };
        let settings = app.settings.watch.get(broker);
        let is_ours = settings.is_some_and(|settings| settings.is_ours(queue));
        let counts = counts.map(|(_, counts)| counts).unwrap_or_default();
        let next_due = waiting.items.first().map(|item| item.retry.due_at);
        let book = app.policies.book();
        let (known, succeeded) = known(&days, &recent, key, now);
        let facts = QueueFacts {
            vhost: settings.map_or_else(|| "/".to_owned(), |settings| settings.vhost.clone()),
            pause,
            level: watched.as_ref().map(|watched| watched.level.clone()),
            is_missing,
            open: counts.of(Status::Open),
            scheduled: counts.of(Status::Scheduled),
            next_due_in: next_due.map(|due| due.since(now)),
            is_retried: !is_ours && is_retried(&book, queue),
            waits_in_broker: !is_ours && waits_in_broker(&book, queue),
            lately: (exhausted(&lately, key), now.since(now.minus(LATELY).floor_to(Duration::from_secs(5 * 60)))),
            known,
            succeeded,
        };
        Ok(Self {
            counts,
            looked_at: asked.and_then(|asked| asked.looked_at),
            is_watched,
            is_ours,
            outcomes: outcomes(&days, &recent, key, now),
            days: by_day(&days, figures(days.iter(), &recent, key).pending, now),
            samples: samples.into_iter().filter(|_| is_watched).collect(),
            next_due,
            facts,
            watched,
            path,
        })
    }
}

/// Whether a message has failed there since its broker listed the queues: then it may have been declared since.
async fn has_failed_since(store: &StoreReader, of_queue: &LetterFilter, at: Timestamp) -> Result<bool, StoreError> {
    let since = LetterFilter { since: Some(at), ..of_queue.clone() };
    let first = PageRequest { sort: Sort::Newest, after: None, limit: 1 };
    Ok(!store.letters(&since, &first).await?.items.is_empty())
}

fn is_retried(book: &PolicyBook, queue: &str) -> bool {
    let retries = |delays: &Delays| delays.retries() > 0;
    Reason::ALL.iter().any(|reason| book.find(queue, *reason).is_some_and(|active| retries(&active.policy.delays)))
}

fn waits_in_broker(book: &PolicyBook, queue: &str) -> bool {
    let found = Reason::ALL.iter().filter_map(|reason| book.find(queue, *reason));
    found.into_iter().any(|active| active.policy.via == Via::Broker && active.policy.delays.retries() > 0)
}

fn is_of(counts: &RetryCounts, (broker, queue): QueueKey<'_>) -> bool {
    counts.broker == broker && counts.queue.as_deref() == queue
}

fn exhausted(lately: &[RetryCounts], key: QueueKey<'_>) -> u64 {
    lately.iter().filter(|counts| is_of(counts, key)).map(|counts| counts.exhausted).sum()
}

/// Outcomes of the days that the list of queues shows.
fn outcomes(
    days: &[(Timestamp, RetryCounts)],
    recent: &[RetryCounts],
    key: QueueKey<'_>,
    now: Timestamp,
) -> QueueOutcomes {
    let since = counted_since(now).floor_to(DAY);
    figures(days.iter().filter(|(day, _)| *day >= since), recent, key)
}

fn figures<'a>(
    days: impl Iterator<Item = &'a (Timestamp, RetryCounts)>,
    recent: &[RetryCounts],
    key: QueueKey<'_>,
) -> QueueOutcomes {
    let mut counts: Vec<RetryCounts> = Vec::new();
    for (_, of_day) in days {
        match counts.iter_mut().find(|counts| counts.failures == of_day.failures) {
            Some(counts) => {
                counts.failed += of_day.failed;
                counts.retried += of_day.retried;
                counts.exhausted += of_day.exhausted;
            }
            None => counts.push(of_day.clone()),
        }
    }
    let recent = recent.iter().filter(|counts| is_of(counts, key)).cloned().collect();
    let figures = RetryFigures { counts, recent };
    figures.by_queue().remove(&key).unwrap_or_default()
}

/// Retries since yesterday of which it is known what came of them, and those that succeeded.
fn known(days: &[(Timestamp, RetryCounts)], recent: &[RetryCounts], key: QueueKey<'_>, now: Timestamp) -> (u64, u64) {
    let since = now.minus(DAY).floor_to(DAY);
    let latest = || days.iter().filter(|(day, _)| *day >= since);
    let succeeded = figures(latest(), recent, key).succeeded;
    let failed_again: u64 = latest().filter(|(_, counts)| counts.failures > 1).map(|(_, counts)| counts.failed).sum();
    (succeeded + failed_again, succeeded)
}

/// Every day, those without anything too. What went back last may still fail: it counts for no day yet.
fn by_day(counts: &[(Timestamp, RetryCounts)], mut pending: u64, now: Timestamp) -> Vec<DayOutcomes> {
    let first = now.minus(DAY * (DAYS - 1)).floor_to(DAY);
    let day = |n: u32| {
        let day = first.plus(DAY * n);
        let of_day = || counts.iter().filter(|(start, _)| *start == day).map(|(_, counts)| counts);
        let failed = |failures| of_day().filter(|one| one.failures == failures).map(|one| one.failed).sum::<u64>();
        let succeeded = of_day().map(|one| one.retried.saturating_sub(failed(one.failures + 1))).sum();
        DayOutcomes { day, failed: failed(1), succeeded, exhausted: of_day().map(|one| one.exhausted).sum() }
    };
    let mut days: Vec<_> = (0..DAYS).map(day).collect();
    for day in days.iter_mut().rev() {
        let not_known = pending.min(day.succeeded);
        day.succeeded -= not_known;
        pending -= not_known;
    }
    days
}
