//! Groups that somebody makes one, and splits again.

use std::sync::Arc;

use axum::{extract::State, http::HeaderMap, response::Response};

use super::{redirect::redirect, toast::Toast};
use crate::{
    domain::{
        actor::Actor,
        group::{Group, GroupId},
    },
    web::{
        error::WebError,
        input::path_id::PathId,
        state::AppState,
        view::{group::href, number, report},
        visitor::CurrentUser,
    },
};

/// Merges the groups that are selected in the list.
pub async fn merge(app: &AppState, user: &Actor, ids: &[GroupId]) -> Result<Toast, WebError> {
    let (merged, at) =
        app.triage.merge_groups(ids, user).await?.map_err(|refusal| WebError::conflict(refusal.to_string()))?;
    let text = format!("Merged {} into one.", number::plural(ids.len() as u64, "group"));
    Ok(Toast::done(text).undone_for(merged.from, at))
}

/// Makes a group that was merged a group of its own again, and leads to it.
pub async fn unmerge(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Group>,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let toast = match app.triage.split_again(id, &user).await? {
        Ok(_) => Toast::done("It is an error group of its own again."),
        Err(refusal) => Toast::failed(report::not_done([&*refusal.to_string()])),
    };
    Ok(redirect(&href(id), &toast, &headers))
}
