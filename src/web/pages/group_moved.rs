//! Where the letters of a group are now: links to it are in notifications.

use askama::Template;
use axum::response::{IntoResponse, Redirect, Response};

use super::{fragment, part::GroupPart};
use crate::{
    domain::group::GroupId,
    web::{
        error::WebError,
        query::{LetterQuery, Listed},
        state::AppState,
        view::group::href,
    },
};

/// In place of the state of a group.
#[derive(Template)]
#[template(path = "group/_moved.html")]
struct Moved {
    /// The address of what takes its place.
    there: String,
}

/// The answer about a group that something else has taken the place of: the way there. A page that is open already, and asks
/// how far people are with it, says so; to be led there would put a page into it.
pub async fn answer_elsewhere(
    app: &AppState,
    id: GroupId,
    part: Option<GroupPart>,
) -> Result<Option<Response>, WebError> {
    Ok(match moved_to(app, id).await? {
        Some(there) if part == Some(GroupPart::State) => Some(fragment::only(Moved { there }.render()?)),
        there => there.map(|there| Redirect::to(&there).into_response()),
    })
}

/// The address of what takes the place of a group: it is part of another, or its letters became of other types.
async fn moved_to(app: &AppState, id: GroupId) -> Result<Option<String>, WebError> {
    let store = app.store();
    if let Some(into) = store.merged_into(id).await? {
        return Ok(Some(href(into)));
    }
    let groups: Vec<GroupId> = store.goes_on_as(id).await?.into_iter().map(|group| group.id).collect();
    Ok(match &*groups {
        [] => None,
        [group] => Some(href(*group)),
        _ => Some(LetterQuery { groups, ..LetterQuery::default() }.href()),
    })
}
