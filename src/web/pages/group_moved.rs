//! Where the letters of a group are now: links to it are in notifications.

use crate::{
    domain::group::GroupId,
    web::{
        error::WebError,
        query::{LetterQuery, Listed},
        state::AppState,
        view::group::href,
    },
};

/// The address of what takes the place of a group: it is part of another, or its letters became of other types.
pub async fn moved_to(app: &AppState, id: GroupId) -> Result<Option<String>, WebError> {
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
