//! What people do with an action on many letters after it was asked for.

use std::sync::Arc;

use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    actions::{redirect, take_back},
    bulk_action,
    toast::Toast,
};
use crate::{
    domain::job::Job,
    web::{AppState, error::WebError, input::FormPairs, path_id::PathId, security::CurrentUser},
};

/// Takes back what it did.
pub async fn undo(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Job>,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let back = take_back(&mut pairs)?;
    let toast = match app.triage.undo(id, &user).await? {
        Ok(bulk) => bulk_action::carry_out(&app, bulk).await?,
        Err(why) => Toast::failed(why.to_string()),
    };
    Ok(redirect(&back, &toast, &headers))
}
