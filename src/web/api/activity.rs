//! `GET /api/v1/activity`

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;

use super::words;
use crate::{
    domain::activity::ActivityEntry,
    web::{
        error::WebError,
        input::Query,
        query::{ActivityQuery, Listed},
        shared::audit_subjects,
        state::AppState,
        view::{
            activity::{Sentence, Subjects},
            time::timestamp,
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
pub(super) struct ActivityItem {
    /// Grows from line to line.
    id: i64,
    #[schema(format = DateTime)]
    at: String,
    by: String,
    /// `page`, `token` or `command line`; null where nobody has to sign in, and for dlo itself.
    #[schema(value_type = Option<words::Asking>)]
    via: Option<&'static str>,
    /// From which address, where that is known.
    address: Option<String>,
    /// `letters`, `groups`, `rules`, `grouping_rules`, `policies`, `schemas`, `mappings`, `digests`, `markers`, `views`, `users` or `tokens`
    #[schema(value_type = words::Area)]
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
    pub(super) fn new(entry: ActivityEntry, subjects: &Subjects) -> Self {
        let text = Sentence::new(&entry.entry, subjects).text();
        let ActivityEntry { seq, entry } = entry;
        Self {
            id: seq,
            at: timestamp(entry.at),
            by: entry.by.as_str().to_owned(),
            via: entry.by.origin().map(|origin| origin.via.as_str()),
            address: entry.by.origin().and_then(|origin| origin.address).map(|address| address.to_string()),
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
#[utoipa::path(get, path = "/activity", operation_id = "list_activity", tag = "activity", params(ActivityQuery), responses(
    (status = OK, body = Activity),
))]
pub async fn activity(
    State(app): State<Arc<AppState>>,
    Query(query): Query<ActivityQuery>,
) -> Result<Json<Activity>, WebError> {
    let (before, limit) = (query.place()?, query.limit());
    let mut entries = app.store().activity(&query.filter(app.clock.now()), before, limit + 1).await?;
    let has_older = entries.len() > limit;
    entries.truncate(limit);
    let subjects = audit_subjects::load(&app.store(), &entries).await?;
    let next_cursor = query.next_cursor(entries.last().filter(|_| has_older).map(|entry| entry.seq));
    let items = entries.into_iter().map(|entry| ActivityItem::new(entry, &subjects)).collect();
    Ok(Json(Activity { items, next_cursor }))
}
