//! Groups that are split by a field, and whose parts are made one again: `POST /api/v1/groups/{id}/split`,
//! `…/split/preview`, `…/join`.

use std::sync::Arc;

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
        column::Column,
        group::{Group, GroupId},
        split::SplitRefusal,
        version::Expected,
    },
    services::group_splits::{FieldValues, NewSplit},
    web::{
        error::{WebError, codes::FaultCode},
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

/// By which field to tell the dead letters of a group apart.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitField {
    /// A field of payloads or a header.
    #[schema(max_length = 200, pattern = r"^\s*(payload|header)\..+$", example = "payload.currency")]
    field: String,
}

impl CallBody for SplitField {
    type Read = Column;

    async fn read(self, _: &Call<'_>) -> Result<Column, WebError> {
        read_field(&self.field)
    }
}

/// What dead letters say in a field.
#[derive(Serialize, ToSchema)]
pub struct SplitPreview {
    /// How many of them were looked into, the newest.
    read: u64,
    /// What most say first, 20 at most. What is hidden or cannot be read is not among these.
    values: Vec<ValueItem>,
    /// How many values there are beside these.
    left_out: usize,
    /// Of how many dead letters it cannot be told: they have no fields, are hidden, or are larger than 64 KiB.
    untold: u64,
}

/// One value, and how many say it.
#[derive(Serialize, ToSchema)]
struct ValueItem {
    /// In 80 characters at most; null stands for dead letters without the field.
    value: Option<String>,
    letters: u64,
}

impl From<FieldValues> for SplitPreview {
    fn from(found: FieldValues) -> Self {
        let FieldValues { read, values, left_out, untold } = found;
        let values = values.into_iter().map(|(value, letters)| ValueItem { value, letters }).collect();
        Self { read, values, left_out, untold }
    }
}

/// How to split a group.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupSplitBody {
    /// A field of payloads or a header.
    #[schema(max_length = 200, pattern = r"^\s*(payload|header)\..+$", example = "payload.currency")]
    field: String,
    /// Each becomes a group of its own, as the preview writes it; null stands for dead letters without the field.
    #[schema(min_items = 1, max_items = 20)]
    values: Vec<Option<String>>,
}

impl CallBody for GroupSplitBody {
    type Read = NewSplit;

    async fn read(self, _: &Call<'_>) -> Result<NewSplit, WebError> {
        let new = NewSplit { field: read_field(&self.field)?, values: self.values };
        match new.mistake() {
            None => Ok(new),
            Some((field, why)) => Err(WebError::field(field, FaultCode::Format, why)),
        }
    }
}

fn read_field(text: &str) -> Result<Column, WebError> {
    text.parse().map_err(|why| WebError::field("field", FaultCode::Format, why))
}

/// Groups that have become part of one.
#[derive(Serialize, ToSchema)]
pub struct PartsJoined {
    into: Uuid,
    from: Vec<Uuid>,
}

/// What the dead letters of a group say in a field
#[utoipa::path(post, path = "/groups/{id}/split/preview", operation_id = "preview_split", tag = "groups",
    params(PathId<Group>), request_body = SplitField, responses((status = OK, body = SplitPreview)))]
pub async fn preview(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<Group>,
    JsonBody(field): JsonBody<SplitField>,
) -> Result<Json<SplitPreview>, WebError> {
    let id = need(&app, id).await?;
    Ok(Json(app.group_splits.values(&app.store(), id, &field).await?.into()))
}

/// Split a group by a field
///
/// Dead letters that say one of the values come into a group of their own, and so do those that come. All others stay. People
/// are as far with a new part as they were with the group. `join` takes it back.
#[utoipa::path(post, path = "/groups/{id}/split", operation_id = "split_group", tag = "groups", params(PathId<Group>, Precondition),
    request_body = GroupSplitBody, responses((status = OK, body = FullGroup), (status = CONFLICT, body = Problem,
        content_type = "application/problem+json", description = "It cannot be split")))]
pub async fn split(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Group>,
    Precondition(expected): Precondition,
    JsonBody(new): JsonBody<GroupSplitBody>,
) -> Result<(ETag, Json<FullGroup>), WebError> {
    let id = need(&app, id).await?;
    as_expected(&app, id, &expected).await?;
    app.group_splits.split(id, &new, &user).await?.map_err(|refusal| refused(&refusal))?;
    load(&app, id).await
}

/// Merge the parts of a group that was split
#[utoipa::path(post, path = "/groups/{id}/join", operation_id = "join_group", tag = "groups", params(PathId<Group>, Precondition),
    request_body(content = Nothing, description = "May be left out"), responses((status = OK, body = PartsJoined),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json", description = "It has no parts")))]
pub async fn join(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Group>,
    Precondition(expected): Precondition,
    JsonBody(()): JsonBody<Nothing>,
) -> Result<Json<PartsJoined>, WebError> {
    let id = need(&app, id).await?;
    as_expected(&app, id, &expected).await?;
    let parts = app.group_splits.join(id, &user).await?.map_err(|refusal| refused(&refusal))?;
    Ok(Json(PartsJoined { into: id.as_uuid(), from: parts.iter().map(|id| id.as_uuid()).collect() }))
}

async fn as_expected(app: &AppState, id: GroupId, expected: &Expected) -> Result<(), WebError> {
    let group = app.store().groups_by_id(&[id]).await?.pop();
    expected.check(group.as_ref()).map_err(|changed| overtaken(&changed))
}

fn refused(refusal: &SplitRefusal) -> WebError {
    WebError::conflict(format!("Not possible: {refusal}."))
}
