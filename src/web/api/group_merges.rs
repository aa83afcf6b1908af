//! Groups that are made one, and split again: `POST /api/v1/groups/merge`, `POST /api/v1/groups/{id}/unmerge`.

use std::{collections::BTreeSet, sync::Arc};

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    commands::Nothing,
    group_item::{FullGroup, load, need},
};
use crate::{
    domain::{
        group::{Group, GroupId},
        merge::MergeRefusal,
    },
    web::{
        error::WebError,
        input::{
            call_body::{Call, CallBody, JsonBody},
            path_id::PathId,
            precondition::{ETag, Precondition},
        },
        problem::Problem,
        state::AppState,
        view::conflict::overtaken,
        visitor::CurrentUser,
    },
};

/// Which groups to make one.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupsMerge {
    #[schema(min_items = 2, max_items = 1000)]
    ids: Vec<Uuid>,
}

impl CallBody for GroupsMerge {
    type Read = Vec<GroupId>;

    async fn read(self, _call: &Call<'_>) -> Result<Vec<GroupId>, WebError> {
        let ids: BTreeSet<GroupId> = self.ids.into_iter().map(GroupId::from_uuid).collect();
        Ok(ids.into_iter().collect())
    }
}

/// Which groups have become part of which.
#[derive(Serialize, ToSchema)]
pub struct GroupsMerged {
    into: Uuid,
    from: Vec<Uuid>,
    /// The moment at which it was done, which `undo` of `POST /groups/actions` takes with the groups of `from`, in microseconds
    /// since the epoch.
    at: i64,
}

/// Make groups one
///
/// They have to be of one queue and have the same reason. The one with the most dead letters stays as it is, with its state,
/// assignee, ticket and note. The dead letters of the others come into it, and so do those that would come into one of them.
#[utoipa::path(post, path = "/groups/merge", operation_id = "merge_groups", tag = "groups", request_body = GroupsMerge,
    responses((status = OK, body = GroupsMerged), (status = CONFLICT, body = Problem,
        content_type = "application/problem+json", description = "They cannot be merged")))]
pub async fn merge(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    JsonBody(ids): JsonBody<GroupsMerge>,
) -> Result<Json<GroupsMerged>, WebError> {
    let (merged, at) = app.triage.merge_groups(&ids, &user).await?.map_err(|refusal| refused(&refusal))?;
    let from = merged.from.iter().map(|id| id.as_uuid()).collect();
    Ok(Json(GroupsMerged { into: merged.into.as_uuid(), from, at: at.as_micros() }))
}

/// Split a group again that was merged
///
/// The id is that of the group that was merged, as `merged_from` of the other says. Its dead letters, those that came since
/// too, go back to it. It has the state that it had. `If-Match` is about the group that it is part of.
#[utoipa::path(post, path = "/groups/{id}/unmerge", operation_id = "unmerge_group", tag = "groups", params(PathId<Group>, Precondition),
    request_body(content = Nothing, description = "May be left out"), responses(
    (status = OK, body = FullGroup),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json", description = "It is not part of another"),
))]
pub async fn unmerge(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Group>,
    Precondition(expected): Precondition,
    JsonBody(()): JsonBody<Nothing>,
) -> Result<(ETag, Json<FullGroup>), WebError> {
    let into = need(&app, id).await?;
    let group = app.store().groups_by_id(&[into]).await?.pop();
    expected.check(group.as_ref()).map_err(|changed| overtaken(&changed))?;
    app.triage.split_again(id, &user).await?.map_err(|refusal| refused(&refusal))?;
    load(&app, id).await
}

/// Which of the groups is not there, is not told: somebody may only not see it.
fn refused(refusal: &MergeRefusal) -> WebError {
    WebError::conflict(format!("Not possible: {refusal}."))
}
