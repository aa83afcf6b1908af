//! `GET /api/v1/activity`

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    domain::activity::ActivityEntry,
    web::{
        AppState, audit_subjects,
        error::WebError,
        input::Query,
        problem::Problem,
        query::{ActivityCursor, ActivityQuery, ROWS, encode_number},
        view::{
            activity::{Sentence, Subjects},
            time::rfc3339,
        },
    },
};

/// One page of what people did.
#[derive(Serialize, ToSchema)]
pub struct Activity {
    items: Vec<ActivityItem>,
    /// Where the next page begins; null on the last one.
    next_cursor: Option<String>,
}

/// Somebody did something.
#[derive(Serialize, ToSchema)]
struct ActivityItem {
    /// Grows from line to line.
    id: i64,
    at: String,
    by: String,
    /// `letters`, `groups`, `rules`, `policies`, `schemas`, `mappings` or `digests`
    area: &'static str,
    /// `retry`, `discard`, `set`, `remove` and the like
    action: String,
    /// The id of a letter or group, or a name; null where many letters are meant.
    subject: Option<String>,
    /// How many letters it changed.
    letters: u64,
    /// What else there is to say; null where there is nothing.
    detail: Option<String>,
    /// The same as a sentence without its beginning: `retried 71 letters of the group orders: timeout`
    text: String,
}

impl ActivityItem {
    fn new(entry: ActivityEntry, subjects: &Subjects) -> Self {
        let text = Sentence::new(&entry.entry, subjects).text();
        let ActivityEntry { seq, entry } = entry;
        Self {
            id: seq,
            at: rfc3339(entry.at),
            by: entry.by.as_str().to_owned(),
            area: entry.area.as_str(),
            action: entry.action,
            subject: Some(entry.subject).filter(|subject| !subject.is_empty()),
            letters: entry.letters,
            detail: Some(entry.detail).filter(|detail| !detail.is_empty()),
            text,
        }
    }
}

/// Who did what, newest first
#[utoipa::path(get, path = "/activity", tag = "activity", params(ActivityQuery, ActivityCursor), responses(
    (status = OK, body = Activity),
    (status = BAD_REQUEST, body = Problem, content_type = "application/problem+json"),
))]
pub async fn activity(
    State(app): State<Arc<AppState>>,
    Query(asked): Query<(ActivityQuery, ActivityCursor)>,
) -> Result<Json<Activity>, WebError> {
    let (query, ActivityCursor { cursor: before }) = asked;
    let limit = query.limit.unwrap_or(ROWS);
    let mut entries = app.store.activity(&query.filter(app.clock.now()), before, limit + 1).await?;
    let has_older = entries.len() > limit;
    entries.truncate(limit);
    let subjects = audit_subjects::load(&app, &entries).await?;
    let next_cursor = entries.last().filter(|_| has_older).map(|entry| encode_number(entry.seq));
    let items = entries.into_iter().map(|entry| ActivityItem::new(entry, &subjects)).collect();
    Ok(Json(Activity { items, next_cursor }))
}
