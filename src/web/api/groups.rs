//! `GET /api/v1/groups`, and one group with its note.

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    change::given,
    group_item::{FullGroup, GroupItem, load, need, pending_since},
    group_state::carry_out,
};
use crate::{
    domain::{
        actor::Actor,
        group::{Group, GroupId, Note},
        group_state::GroupCommand,
        version::Expected,
    },
    store::ChangeError,
    web::{
        error::{Gathered, WebError},
        input::{
            Query,
            call_body::{Call, CallBody, JsonBody},
            path_id::{PathId, missing},
            precondition::{ETag, Precondition},
        },
        orders::{self, letters::read_note},
        query::{GroupQuery, Listed},
        state::AppState,
        view::conflict::overtaken,
        visitor::CurrentUser,
    },
};

/// One page of groups.
#[derive(Serialize, ToSchema)]
pub struct Groups {
    items: Vec<GroupItem>,
    /// Where the next page begins; null on the last one.
    next_cursor: Option<String>,
    /// Groups on all pages.
    total: u64,
}

/// Error groups, those with the most important open dead letters first
#[utoipa::path(get, path = "/groups", operation_id = "list_groups", tag = "groups", params(GroupQuery), responses(
    (status = OK, body = Groups),
))]
pub async fn groups(
    State(app): State<Arc<AppState>>,
    Query(query): Query<GroupQuery>,
) -> Result<Json<Groups>, WebError> {
    let (filter, limit, policies) = (query.filter(true), query.limit(), app.policies.book());
    let page = app.store().groups(&filter, query.sort, query.place()?, limit, pending_since(&app)).await?;
    Ok(Json(Groups {
        items: page.items.into_iter().map(|group| GroupItem::new(group, &policies)).collect(),
        next_cursor: query.next_cursor(page.next),
        total: page.total,
    }))
}

/// One group, with how it grew in the last 14 days
///
/// The id of one that was merged answers with the group that it is part of.
#[utoipa::path(get, path = "/groups/{id}", operation_id = "get_group", tag = "groups", params(PathId<Group>), responses(
    (status = OK, body = FullGroup),
))]
pub async fn group(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<Group>,
) -> Result<(ETag, Json<FullGroup>), WebError> {
    load(&app, id).await
}

/// What to say of it; what is left out stays as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupChange {
    /// `null` or an empty text removes it.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, max_length = 8000, example = "ticket 4711")]
    note: Option<Option<String>>,
    /// `me`, `user:NAME` or `team:NAME`, who has to see the group; `null` or an empty text for nobody.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, example = "me")]
    assignee: Option<Option<String>>,
    /// The address of its ticket, by http or https; `null` or an empty text removes it.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, max_length = 2000, example = "https://tracker.example/BILL-2291")]
    ticket: Option<Option<String>>,
}

/// What is to be changed of a group.
pub struct GroupEdit {
    /// The group, or what it is part of.
    id: GroupId,
    note: Option<String>,
    commands: Vec<GroupCommand>,
}

impl CallBody for GroupChange {
    type Read = GroupEdit;

    async fn read(self, call: &Call<'_>) -> Result<GroupEdit, WebError> {
        let (id, user) = (call.id::<Group>().await?, call.user().await?);
        let id = need(call.app, id).await?;
        let mut gathered = Gathered::default();
        let note = gathered.take(self.note.map(|note| read_note(&note.unwrap_or_default())).transpose());
        let ticket = self.ticket.map(|ticket| orders::groups::ticket(&ticket.unwrap_or_default()));
        let ticket = gathered.take(ticket.transpose());
        let assign = match self.assignee {
            Some(assignee) => gathered.take(assign(call.app, &user, id, assignee).await.map(Some)),
            None => None,
        };
        gathered.end()?;
        Ok(GroupEdit { id, note, commands: [assign, ticket].into_iter().flatten().collect() })
    }
}

/// Set the note, the assignee and the ticket of a group
///
/// `ETag` and `If-Match` are about all that people change of a group: its state, assignee, ticket and note. Where several are
/// given, it is checked before any of them is changed. `If-Match` with `note_version` serves for the note alone.
#[utoipa::path(patch, path = "/groups/{id}", operation_id = "update_group", tag = "groups", params(PathId<Group>, Precondition),
    request_body = GroupChange, responses(
    (status = OK, body = FullGroup),
))]
pub async fn change(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(_named): PathId<Group>,
    Precondition(expected): Precondition,
    JsonBody(GroupEdit { id, note, commands }): JsonBody<GroupChange>,
) -> Result<(ETag, Json<FullGroup>), WebError> {
    if commands.is_empty() && note.is_none() {
        let group = app.store().groups_by_id(&[id]).await?.pop();
        expected.check(group.as_ref()).map_err(|changed| overtaken(&changed))?;
    }
    let mut expected = expected;
    // The note alone has a version of its own, which must not stand for the rest.
    for command in &commands {
        carry_out(&app, id, command, &expected, &user).await?;
        expected = Expected::Anything;
    }
    if let Some(note) = note
        && !app.triage.set_group_note(id, &note, &expected, &user).await.map_err(refused)?
    {
        return Err(missing::<Group>());
    }
    load(&app, id).await
}

async fn assign(app: &AppState, by: &Actor, id: GroupId, assignee: Option<String>) -> Result<GroupCommand, WebError> {
    let groups = app.store().groups_by_id(&[id]).await?;
    let assignee = orders::groups::read_assignee(app, by, &assignee.unwrap_or_default(), &groups).await?;
    Ok(GroupCommand::Assign(assignee))
}

fn refused(error: ChangeError<Note>) -> WebError {
    match error {
        ChangeError::Changed(changed) => overtaken(&changed),
        ChangeError::Store(error) => error.into(),
    }
}
