//! Removing a marker, by a form or a call.

use axum::http::StatusCode;
use uuid::Uuid;

use crate::{
    domain::{actor::Actor, marker::Marker},
    web::{
        error::{WebError, codes::ProblemCode},
        input::path_id::missing,
        state::AppState,
    },
};

/// Why somebody who sees a marker may not remove it.
pub const NOT_THEIRS: &str =
    "It is about queues of other teams, too: only who may set markers for all of them removes it.";

/// Removes it; the answer is that one.
///
/// # Errors
/// 403 where they see it and may not remove it, 404 where they do not see it.
pub async fn remove(app: &AppState, id: Uuid, by: &Actor) -> Result<Marker, WebError> {
    if let Some(removed) = app.triage.remove_marker(id, by).await? {
        return Ok(removed);
    }
    Err(match app.store().marker(id).await? {
        Some(_) => WebError::new(StatusCode::FORBIDDEN, NOT_THEIRS).with_code(ProblemCode::NotAllowed),
        None => missing::<Marker>(),
    })
}
