//! `GET /api/v1/queues`

use std::sync::Arc;

use amqp_message::death::Reason;
use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;

use super::policies::PolicyItem;
use super::words;
use crate::{
    domain::{letter::Status, policy::PolicyBook},
    store::WatchedQueue,
    web::{
        error::WebError,
        input::Query,
        query::Paging,
        shared::{
            queue_details::QueueDetails,
            queue_health::{levels, retry_figures},
        },
        state::AppState,
        view::{
            retry_outcomes::QueueOutcomes,
            tally::{self, QueueCounts, QueueKey},
            time::timestamp,
        },
    },
};

/// The queues that letters came from, and all of the brokers whose management API is asked.
#[derive(Serialize, ToSchema)]
pub struct Queues {
    items: Vec<Queue>,
    /// Where the next page begins; null on the last one.
    next_cursor: Option<String>,
    /// Queues on all pages.
    total: usize,
}

/// A queue, and how many letters of it are where.
#[derive(Default, Serialize, ToSchema)]
pub struct Queue {
    broker: String,
    /// Null for letters that do not say where they failed.
    queue: Option<String>,
    open: u64,
    /// Those with a retry that is due later.
    scheduled: u64,
    retried: u64,
    discarded: u64,
    /// Messages in it; null where its broker's management API is not asked, or does not say.
    depth: Option<u64>,
    /// Those of them that are ready, and those that a consumer has not acknowledged yet.
    ready: Option<u64>,
    unacknowledged: Option<u64>,
    consumers: Option<u64>,
    /// How many ready messages it holds at most; null where it has no such limit.
    max_length: Option<u64>,
    /// How many consumers it had, where it has lost them, and since when.
    had_consumers: Option<u64>,
    #[schema(format = DateTime)]
    without_consumers_since: Option<String>,
    /// Whether it has been without consumers for so long that it was notified.
    unhealthy: bool,
    /// The policy in force for what is rejected there; null where nothing is retried by itself.
    policy: Option<PolicyItem>,
    /// The same for each reason of which another one is in force; empty where it is one for all.
    other_policies: Vec<OtherPolicy>,
    last_7_days: Retries,
}

/// What is in force for what was not rejected.
#[derive(Serialize, ToSchema)]
struct OtherPolicy {
    /// `expired`, `maxlen`, `delivery_limit` or `unknown`
    #[schema(value_type = words::Reason)]
    reason: &'static str,
    /// Null where nothing is retried by itself.
    policy: Option<PolicyItem>,
}

/// Outcomes of automatic retries, today included.
#[derive(Default, Serialize, ToSchema)]
struct Retries {
    /// Messages that failed for the first time.
    failed: u64,
    /// Were retried and have not failed again for `groups.succeeded_after`.
    succeeded: u64,
    /// Were retried and have not failed again, but it is too early to tell.
    pending: u64,
    /// Needed attention: automatic retries were used up, or there were none. `dlo_exhausted_total` counts the same.
    exhausted: u64,
    /// How many succeeded after the first, second, … retry.
    succeeded_by_retry: Vec<u64>,
}

impl Queue {
    fn new(
        (broker, queue): QueueKey<'_>,
        counts: &QueueCounts,
        level: Option<&WatchedQueue>,
        outcomes: QueueOutcomes,
        book: &PolicyBook,
    ) -> Self {
        Self {
            broker: broker.to_owned(),
            queue: queue.map(str::to_owned),
            open: counts.of(Status::Open),
            scheduled: counts.of(Status::Scheduled),
            retried: counts.of(Status::Retried),
            discarded: counts.of(Status::Discarded),
            policy: queue.and_then(|queue| book.find(queue, Reason::Rejected)).map(|active| (&**active).into()),
            other_policies: queue.map(|queue| other_policies(queue, book)).unwrap_or_default(),
            last_7_days: outcomes.into(),
            ..Self::active(level)
        }
    }

    pub(super) fn of(details: &QueueDetails, book: &PolicyBook) -> Self {
        let key = (&*details.path.broker, Some(&*details.path.queue));
        Self::new(key, &details.counts, details.watched.as_ref(), details.outcomes.clone(), book)
    }

    /// Only how it stands.
    fn active(found: Option<&WatchedQueue>) -> Self {
        let Some(WatchedQueue { level, watched, .. }) = found else { return Self::default() };
        let lost = watched.as_ref().filter(|watched| watched.consumers == Some(0));
        Self {
            depth: level.messages,
            ready: level.messages_ready,
            unacknowledged: level.messages_unacknowledged,
            consumers: level.known_consumers(),
            max_length: level.max_length,
            had_consumers: lost.map(|watched| watched.had),
            without_consumers_since: lost.and_then(|watched| watched.without_since).map(timestamp),
            unhealthy: watched.as_ref().is_some_and(|watched| watched.told),
            ..Self::default()
        }
    }
}

impl From<QueueOutcomes> for Retries {
    fn from(outcomes: QueueOutcomes) -> Self {
        Self {
            failed: outcomes.failed,
            succeeded: outcomes.succeeded,
            pending: outcomes.pending,
            exhausted: outcomes.exhausted,
            succeeded_by_retry: outcomes.by_retry,
        }
    }
}

fn other_policies(queue: &str, book: &PolicyBook) -> Vec<OtherPolicy> {
    let rejected = book.find(queue, Reason::Rejected);
    let policies = Reason::ALL.iter().map(|reason| (reason.as_str(), book.find(queue, *reason)));
    let others = policies.filter(|(_, active)| *active != rejected);
    others.map(|(reason, active)| OtherPolicy { reason, policy: active.map(|active| (&**active).into()) }).collect()
}

/// Queues that letters came from and those of watched brokers, those with most open letters first
#[utoipa::path(get, path = "/queues", operation_id = "list_queues", tag = "queues", params(Paging),
    responses((status = OK, body = Queues)))]
pub async fn queues(State(app): State<Arc<AppState>>, Query(paging): Query<Paging>) -> Result<Json<Queues>, WebError> {
    let store = app.store();
    let (facets, figures) = tokio::try_join!(async { Ok(store.facets().await?) }, retry_figures(&app))?;
    let (outcomes, book) = (figures.by_queue(), app.policies.book());
    let levels = levels(&app, &[], true).await?;
    let queues = tally::queues_with(&facets, outcomes.keys().copied().chain(levels.keys()));
    let page = paging.page("queues", queues, |(key, _)| format!("{key:?}"))?;
    let items = page.items.into_iter().map(|(key, counts)| {
        Queue::new(key, &counts, levels.get(key), outcomes.get(&key).cloned().unwrap_or_default(), &book)
    });
    Ok(Json(Queues { items: items.collect(), next_cursor: page.next_cursor, total: page.total }))
}
