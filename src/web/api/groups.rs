//! `GET /api/v1/groups`, and one group with its note.

use std::sync::Arc;

use amqp_message::time::Timestamp;
use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{change::given, group_item::StateItem, group_state::carry_out, words};
use crate::{
    domain::{
        access::Right,
        actor::Actor,
        group::{Group, GroupId, Hour, Note, Outcome},
        group_state::GroupCommand,
        version::{Expected, Version, Versioned},
    },
    store::ChangeError,
    web::{
        AppState,
        call_body::{Call, CallBody, JsonBody},
        error::{Gathered, WebError},
        group_order,
        input::Query,
        order::read_note,
        path_id::{PathId, missing},
        precondition::{ETag, Precondition},
        query::{GroupQuery, Listed},
        security::{CurrentUser, Visitor},
        view::{conflict::overtaken, time::timestamp},
    },
};

/// Days of which a group says what happened hour by hour.
const DAYS: u64 = 14;

/// One page of groups.
#[derive(Serialize, ToSchema)]
pub struct Groups {
    items: Vec<GroupItem>,
    /// Where the next page begins; null on the last one.
    next_cursor: Option<String>,
    /// Groups on all pages.
    total: u64,
}

/// Dead letters with the same cause.
#[derive(Serialize, ToSchema)]
pub struct GroupItem {
    id: Uuid,
    broker: String,
    /// Null for letters that do not say where they failed.
    queue: Option<String>,
    message_type: Option<String>,
    /// `rejected`, `expired`, `maxlen`, `delivery_limit` or `unknown`
    #[schema(value_type = words::Reason)]
    reason: &'static str,
    /// What the error has in common, without numbers, ids, addresses and quoted values; null where none is recorded.
    error: Option<String>,
    /// All its letters, of any status.
    count: u64,
    open: u64,
    scheduled: u64,
    retried: u64,
    discarded: u64,
    #[schema(format = DateTime)]
    first_seen: String,
    #[schema(format = DateTime)]
    last_seen: String,
    /// The most important among its open letters; null where none is open.
    #[schema(value_type = Option<words::Importance>)]
    importance: Option<&'static str>,
    outcome: OutcomeItem,
    #[schema(format = DateTime)]
    last_retried_at: Option<String>,
    note: Option<String>,
    note_by: Option<String>,
    #[schema(format = DateTime)]
    note_at: Option<String>,
    /// Which version of the note this is, for `If-Match` with a change of the note; `none` where there is no note.
    note_version: String,
    #[serde(flatten)]
    state: StateItem,
    /// Which version this is of all that people change of the group: state, assignee, ticket and note. For `If-Match`.
    version: String,
}

/// Retry outcomes: how many times a letter was sent back, and how many of those failed again, are pending or succeeded.
#[derive(Serialize, ToSchema)]
struct OutcomeItem {
    sent: u64,
    failed_again: u64,
    pending: u64,
    succeeded: u64,
}

impl From<Outcome> for OutcomeItem {
    fn from(outcome: Outcome) -> Self {
        let Outcome { sent, failed_again, pending } = outcome;
        Self { sent, failed_again, pending, succeeded: outcome.succeeded() }
    }
}

impl From<Group> for GroupItem {
    fn from(group: Group) -> Self {
        let version = group.version().to_string();
        let (count, open, importance) = (group.n_letters(), group.n_open(), group.importance());
        let (note_by, note_at) = group.note.as_ref().map(|note| (note.by.to_string(), timestamp(note.at))).unzip();
        Self {
            id: group.id.as_uuid(),
            broker: group.key.broker,
            queue: group.key.queue,
            message_type: group.key.message_type,
            reason: group.key.reason.as_str(),
            error: Some(group.key.error).filter(|error| !error.is_empty()),
            count,
            open,
            scheduled: group.scheduled,
            retried: group.retried,
            discarded: group.discarded,
            first_seen: timestamp(group.first_seen),
            last_seen: timestamp(group.last_seen),
            importance: importance.map(|importance| importance.as_str()),
            outcome: group.outcome.into(),
            last_retried_at: group.last_sent_at.map(timestamp),
            version,
            state: StateItem::from(&group.state),
            note_version: Version::of_perhaps(group.note.as_ref()).to_string(),
            note: group.note.map(|note| note.text),
            note_by,
            note_at,
        }
    }
}

/// A group, and how it grew.
#[derive(Serialize, ToSchema)]
pub struct FullGroup {
    #[serde(flatten)]
    item: GroupItem,
    /// What happened in the last 14 days, by hours in which something did.
    hours: Vec<HourItem>,
}

/// One hour.
#[derive(Serialize, ToSchema)]
struct HourItem {
    /// When it began.
    #[schema(format = DateTime)]
    start: String,
    /// Letters received.
    received: u64,
    /// Letters sent back, and how many of these came back since.
    sent: u64,
    failed_again: u64,
}

impl From<Hour> for HourItem {
    fn from(hour: Hour) -> Self {
        let Hour { start, received, sent, failed_again } = hour;
        Self { start: timestamp(start), received, sent, failed_again }
    }
}

/// Error groups, those with the most important open dead letters first
#[utoipa::path(get, path = "/groups", operation_id = "list_groups", tag = "groups", params(GroupQuery), responses(
    (status = OK, body = Groups),
))]
pub async fn groups(
    State(app): State<Arc<AppState>>,
    Query(query): Query<GroupQuery>,
) -> Result<Json<Groups>, WebError> {
    let (filter, limit) = (query.filter(true), query.limit());
    let page = app.store().groups(&filter, query.sort, query.place()?, limit, pending_since(&app)).await?;
    Ok(Json(Groups {
        items: page.items.into_iter().map(GroupItem::from).collect(),
        next_cursor: query.next_cursor(page.next),
        total: page.total,
    }))
}

/// One group, with how it grew in the last 14 days
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
    note: Option<String>,
    commands: Vec<GroupCommand>,
}

impl CallBody for GroupChange {
    type Read = GroupEdit;

    async fn read(self, call: &Call<'_>) -> Result<GroupEdit, WebError> {
        let (id, user) = (call.id::<Group>().await?, call.user().await?);
        need(call.app, id).await?;
        let mut gathered = Gathered::default();
        let note = gathered.take(self.note.map(|note| read_note(&note.unwrap_or_default())).transpose());
        let ticket = self.ticket.map(|ticket| group_order::ticket(&ticket.unwrap_or_default()));
        let ticket = gathered.take(ticket.transpose());
        let assign = match self.assignee {
            Some(assignee) => gathered.take(assign(call.app, &user, id, assignee).await.map(Some)),
            None => None,
        };
        gathered.end()?;
        Ok(GroupEdit { note, commands: [assign, ticket].into_iter().flatten().collect() })
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
    PathId(id): PathId<Group>,
    Precondition(expected): Precondition,
    JsonBody(GroupEdit { note, commands }): JsonBody<GroupChange>,
) -> Result<(ETag, Json<FullGroup>), WebError> {
    let mut expected = expected;
    // The note alone has a version of its own, which must not stand for the rest.
    for command in &commands {
        carry_out(&app, id, command, &expected, &user).await?;
        expected = Expected::Anything;
    }
    if let Some(note) = note {
        app.triage.set_group_note(id, &note, &expected, &user).await.map_err(refused)?;
    }
    load(&app, id).await
}

async fn assign(app: &AppState, by: &Actor, id: GroupId, assignee: Option<String>) -> Result<GroupCommand, WebError> {
    let groups = app.store().groups_by_id(&[id]).await?;
    let assignee = group_order::read_assignee(app, by, &assignee.unwrap_or_default(), &groups).await?;
    Ok(GroupCommand::Assign(assignee))
}

fn refused(error: ChangeError<Note>) -> WebError {
    match error {
        ChangeError::Changed(changed) => overtaken(&changed),
        ChangeError::Store(error) => error.into(),
    }
}

/// Refuses who may not act on a group, or does not see it.
pub(super) async fn need(app: &AppState, id: GroupId) -> Result<(), WebError> {
    let _ = load(app, id).await?;
    Visitor::need(Right::Act)
}

pub(super) async fn load(app: &AppState, id: GroupId) -> Result<(ETag, Json<FullGroup>), WebError> {
    let since = app.clock.now().minus(std::time::Duration::from_secs(DAYS * 24 * 60 * 60));
    let store = app.store();
    let (group, mut hours) =
        tokio::try_join!(store.group(id, pending_since(app)), store.group_hours(std::slice::from_ref(&id), since),)?;
    let group = group.ok_or_else(missing::<Group>)?;
    Visitor::looks_at_queue(&group.key.broker, group.key.queue.as_deref());
    let hours = hours.remove(&id).unwrap_or_default().into_iter().map(HourItem::from).collect();
    Ok((ETag(group.version()), Json(FullGroup { item: group.into(), hours })))
}

fn pending_since(app: &AppState) -> Timestamp {
    app.clock.now().minus(app.settings.succeeded_after)
}
