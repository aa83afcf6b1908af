//! `GET /api/v1/queues/{broker}/{queue}`

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{commands::Nothing, queues::Queue};
use crate::{
    domain::{queue_pause::QueuePause, queue_sample::QueueSample},
    rabbitmq::topology::shell,
    web::{
        error::WebError,
        input::call_body::{Call, CallBody, JsonBody},
        orders::{letters::read_note, queue_pausing},
        query::queue_path::QueuePath,
        shared::queue_details::QueueDetails,
        state::AppState,
        view::{small_chart::DayOutcomes, time::timestamp},
        visitor::CurrentUser,
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
    /// Retries into it are paused; null where they are not.
    pause: Option<Pause>,
    /// What may help; null where nothing is the matter.
    suggestion: Option<QueueSuggestion>,
    /// The last 14 days, the oldest first.
    days: Vec<QueueDay>,
    /// How it stood in each quarter of the last 24 hours, the oldest first, as far as its broker told.
    samples: Vec<Sample>,
}

/// Who has paused retries into a queue, and until when.
#[derive(Serialize, ToSchema)]
struct Pause {
    /// It ends by itself as soon as the queue has a consumer.
    until_consumers: bool,
    /// Why; may be empty.
    note: String,
    by: String,
    #[schema(format = DateTime)]
    since: String,
}

impl From<&QueuePause> for Pause {
    fn from(pause: &QueuePause) -> Self {
        Self {
            until_consumers: pause.until_consumers,
            note: pause.note.clone(),
            by: pause.by.to_string(),
            since: timestamp(pause.at),
        }
    }
}

/// How retries into a queue are paused.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPause {
    /// It ends by itself as soon as the queue has a consumer; takes a broker whose management API is asked.
    #[serde(default)]
    until_consumers: bool,
    /// Why.
    #[schema(max_length = 8000)]
    note: Option<String>,
}

impl CallBody for NewPause {
    type Read = (bool, String);

    async fn read(self, _: &Call<'_>) -> Result<(bool, String), WebError> {
        Ok((self.until_consumers, read_note(&self.note.unwrap_or_default())?))
    }
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

/// The worst of a queue in a quarter of an hour.
#[derive(Serialize, ToSchema)]
#[schema(as = QueueSample)]
struct Sample {
    /// When that quarter began.
    #[schema(format = DateTime)]
    at: String,
    /// The most messages that were in it; null where that was not told.
    depth: Option<u64>,
    /// The fewest consumers it had; null where that was not told.
    consumers: Option<u64>,
}

impl From<&QueueSample> for Sample {
    fn from(sample: &QueueSample) -> Self {
        let QueueSample { at, messages, consumers } = *sample;
        Self { at: timestamp(at), depth: messages, consumers }
    }
}

/// One queue: how it stands, what is the matter with it, and what dlo does next
#[utoipa::path(get, path = "/queues/{broker}/{queue}", operation_id = "get_queue", tag = "queues", params(QueuePath),
    responses((status = OK, body = QueueDetail)))]
pub async fn queue(State(app): State<Arc<AppState>>, path: QueuePath) -> Result<Json<QueueDetail>, WebError> {
    load(&app, path).await
}

/// Pause retries into a queue
///
/// Automatic and manual ones wait in the database until the queue is resumed. What is being sent, and what waits in
/// RabbitMQ already, still goes out.
#[utoipa::path(post, path = "/queues/{broker}/{queue}/pause", operation_id = "pause_queue", tag = "queues",
    params(QueuePath), request_body = NewPause, responses((status = OK, body = QueueDetail)))]
pub async fn pause(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    path: QueuePath,
    JsonBody((until_consumers, note)): JsonBody<NewPause>,
) -> Result<Json<QueueDetail>, WebError> {
    queue_pausing::pause(&app, &path, until_consumers, note, &user).await?;
    load(&app, path).await
}

/// Resume retries into a queue; what is due goes out at the usual pace, oldest first
#[utoipa::path(post, path = "/queues/{broker}/{queue}/resume", operation_id = "resume_queue", tag = "queues",
    params(QueuePath), request_body(content = Nothing, description = "May be left out"),
    responses((status = OK, body = QueueDetail)))]
pub async fn resume(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    path: QueuePath,
    JsonBody(()): JsonBody<Nothing>,
) -> Result<Json<QueueDetail>, WebError> {
    queue_pausing::resume(&app, &path, &user).await?;
    load(&app, path).await
}

async fn load(app: &AppState, path: QueuePath) -> Result<Json<QueueDetail>, WebError> {
    let facets = app.store().facets().await?;
    let details = QueueDetails::load(app, path, &facets).await?;
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
        pause: facts.pause.as_ref().map(Pause::from),
        days: details.days.iter().map(QueueDay::from).collect(),
        samples: details.samples.iter().map(Sample::from).collect(),
        queue: Queue::of(&details, &app.policies.book()),
    }))
}
