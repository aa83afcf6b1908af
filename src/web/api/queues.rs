//! `GET /api/v1/queues`

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;

use super::policies::PolicyItem;
use crate::{
    domain::{death::Reason, letter::Status},
    web::{
        Office,
        error::WebError,
        force::counted_since,
        view::{
            healing::{self, Healing},
            tally,
        },
    },
};

/// The queues that letters came from.
#[derive(Serialize, ToSchema)]
pub struct Queues {
    items: Vec<Queue>,
}

/// A queue, and how many letters of it are where.
#[derive(Serialize, ToSchema)]
struct Queue {
    broker: String,
    /// Null for letters that do not say where they failed.
    queue: Option<String>,
    open: u64,
    scheduled: u64,
    /// Letters that wait for a retry.
    in_backoff: u64,
    retried: u64,
    discarded: u64,
    /// The policy in force for what is rejected there; null where nothing is retried by itself.
    policy: Option<PolicyItem>,
    last_7_days: Retries,
}

/// What became of automatic retries, today included.
#[derive(Serialize, ToSchema)]
struct Retries {
    /// Messages that failed for the first time.
    failed: u64,
    /// Went back by themselves and have not failed again so far.
    healed: u64,
    /// Became a person's matter because their retries were used up.
    exhausted: u64,
    /// How many healed after the first, second, … retry.
    healed_by_retry: Vec<u64>,
}

impl From<Healing> for Retries {
    fn from(healing: Healing) -> Self {
        Self {
            failed: healing.failed,
            healed: healing.healed,
            exhausted: healing.exhausted,
            healed_by_retry: healing.by_retry,
        }
    }
}

/// Queues that letters came from, those with most open letters first
#[utoipa::path(get, path = "/queues", tag = "queues", responses((status = OK, body = Queues)))]
pub async fn queues(State(office): State<Arc<Office>>) -> Result<Json<Queues>, WebError> {
    let since = counted_since(office.clock.now());
    let (facets, counts) = tokio::try_join!(office.store.facets(), office.store.retry_counts(since))?;
    let (healing, book) = (healing::by_queue(&counts), office.policies.book());
    let items = tally::queues_with(&facets, healing.keys().copied()).into_iter().map(|(key, counts)| Queue {
        broker: key.0.to_owned(),
        queue: key.1.map(str::to_owned),
        open: counts.of(Status::Open),
        scheduled: counts.of(Status::Scheduled),
        in_backoff: counts.of(Status::Scheduled),
        retried: counts.of(Status::Retried),
        discarded: counts.of(Status::Discarded),
        policy: key.1.and_then(|queue| book.find(queue, Reason::Rejected)).map(|standing| (&**standing).into()),
        last_7_days: healing.get(&key).cloned().unwrap_or_default().into(),
    });
    Ok(Json(Queues { items: items.collect() }))
}
