//! `GET /api/v1/queues/{broker}/{queue}`

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;

use super::queues::Queue;
use crate::{
    rabbitmq::topology::shell,
    web::{
        AppState,
        error::WebError,
        queue_details::{DayOutcomes, QueueDetails},
        queue_path::QueuePath,
        view::time::timestamp,
    },
};

/// A queue, what is the matter with it, and what dlo does next.
#[derive(Serialize, ToSchema)]
pub struct QueueDetail {
    #[serde(flatten)]
    queue: Queue,
    /// What one should see at once, the most pressing first.
    badges: Vec<QueueBadge>,
    /// What dlo does next and why, in sentences.
    next: Vec<String>,
    /// When the first of its scheduled retries is due; null where none is scheduled.
    #[schema(format = DateTime)]
    next_due: Option<String>,
    /// What may help; null where nothing is the matter.
    suggestion: Option<QueueSuggestion>,
    /// The last 14 days, the oldest first.
    days: Vec<QueueDay>,
}

/// Something that is the matter with a queue.
#[derive(Serialize, ToSchema)]
struct QueueBadge {
    /// `missing`, `not_running`, `no_consumers`, `full`, `growing` or `failing`
    name: &'static str,
    /// The same in words: `growing 40/min`.
    text: String,
}

/// What may help a queue.
#[derive(Serialize, ToSchema)]
struct QueueSuggestion {
    /// In sentences.
    why: String,
    /// A command for a shell; null where there is nothing to type.
    command: Option<String>,
}

/// What became of the failures of one day, which begins at midnight UTC.
#[derive(Serialize, ToSchema)]
struct QueueDay {
    #[schema(format = DateTime)]
    day: String,
    /// Messages that failed for the first time.
    failed: u64,
    /// Automatic retries after which the message has not failed again so far.
    succeeded: u64,
    /// Messages that needed attention.
    exhausted: u64,
}

impl From<&DayOutcomes> for QueueDay {
    fn from(day: &DayOutcomes) -> Self {
        let DayOutcomes { day, failed, succeeded, exhausted } = *day;
        Self { day: timestamp(day), failed, succeeded, exhausted }
    }
}

/// One queue: how it stands, what is the matter with it, and what dlo does next
#[utoipa::path(get, path = "/queues/{broker}/{queue}", operation_id = "get_queue", tag = "queues", params(QueuePath),
    responses((status = OK, body = QueueDetail)))]
pub async fn queue(State(app): State<Arc<AppState>>, path: QueuePath) -> Result<Json<QueueDetail>, WebError> {
    let facets = app.store().facets().await?;
    let details = QueueDetails::load(&app, path, &facets).await?;
    let facts = &details.facts;
    let badge = |badge: crate::domain::queue_outlook::Badge| QueueBadge { name: badge.name(), text: badge.to_string() };
    let suggestion = facts.suggestion().map(|suggestion| QueueSuggestion {
        why: suggestion.why,
        command: (!suggestion.command.is_empty()).then(|| shell::line(&suggestion.command)),
    });
    Ok(Json(QueueDetail {
        badges: facts.badges().into_iter().map(badge).collect(),
        next: facts.next(),
        next_due: details.next_due.map(timestamp),
        suggestion,
        days: details.days.iter().map(QueueDay::from).collect(),
        queue: Queue::of(&details, &app.policies.book()),
    }))
}
