//! How far people are with groups: `POST /api/v1/groups/{id}/…`, and the same for several.

use std::{collections::BTreeSet, sync::Arc};

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    change::given,
    commands::Nothing,
    group_item::{FullGroup, load, need},
    words,
};
use crate::{
    domain::{
        actor::Actor,
        group::{Group, GroupId},
        group_state::{GroupCommand, Until},
        version::Expected,
    },
    store::ChangeError,
    web::{
        error::{Gathered, WebError, codes::FaultCode},
        input::{
            call_body::{Call, CallBody, JsonBody},
            path_id::PathId,
            precondition::{ETag, Precondition},
        },
        orders::{
            self,
            groups::{GroupAction, GroupOrderFields},
        },
        problem::Problem,
        state::AppState,
        view::conflict::overtaken,
        visitor::CurrentUser,
    },
};

/// What ends a snooze: one of these.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Snooze {
    /// How long (`2h`, `7d`), `tomorrow` (nine o'clock, UTC), or until when (RFC 3339); at most a year.
    #[schema(min_length = 1, example = "2h")]
    until: Option<String>,
    /// After so many more dead letters of the group.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    more: Option<u64>,
    /// When a dead letter is more important than any before, comes by another exchange or publisher (`app_id`), or has
    /// another value in a header that ends in `version`; or when the same error begins in another queue or type.
    #[serde(default)]
    change: bool,
}

impl CallBody for Snooze {
    type Read = Until;

    async fn read(self, call: &Call<'_>) -> Result<Until, WebError> {
        let Self { until, more, change } = self;
        GroupOrderFields { until, more, change, ..GroupOrderFields::default() }.until(call.app.clock.now())
    }
}

macro_rules! command {
    ($(#[doc = $about:literal])+ $name:ident, $path:literal, $id:literal, $command:expr) => {
        $(#[doc = $about])+
        #[utoipa::path(post, path = $path, operation_id = $id, tag = "groups", params(PathId<Group>, Precondition),
            request_body(content = Nothing, description = "May be left out"), responses(
            (status = OK, body = FullGroup),
            (status = CONFLICT, body = Problem, content_type = "application/problem+json",
                description = "Not possible in its current state"),
        ))]
        pub async fn $name(
            State(app): State<Arc<AppState>>,
            user: CurrentUser,
            PathId(id): PathId<Group>,
            Precondition(expected): Precondition,
            JsonBody(()): JsonBody<Nothing>,
        ) -> Result<(ETag, Json<FullGroup>), WebError> {
            let id = need(&app, id).await?;
            carry_out(&app, id, &$command, &expected, &user).await?;
            load(&app, id).await
        }
    };
}

command! {
    /// Say that somebody is working on it: nobody is reminded of it any more
    acknowledge, "/groups/{id}/acknowledge", "acknowledge_group", GroupCommand::Acknowledge
}
command! {
    /// Say that it is done; when it fails again it is open, and says that it has regressed
    ///
    /// Its dead letters stay as they are.
    resolve, "/groups/{id}/resolve", "resolve_group", GroupCommand::Resolve
}
command! {
    /// Take back that it is acknowledged, snoozed or resolved
    reopen, "/groups/{id}/reopen", "reopen_group", GroupCommand::Reopen
}

/// Set it aside: nobody is notified of it until it wakes
#[utoipa::path(post, path = "/groups/{id}/snooze", operation_id = "snooze_group", tag = "groups",
    params(PathId<Group>, Precondition), request_body = Snooze, responses(
    (status = OK, body = FullGroup),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json",
        description = "Not possible in its current state"),
))]
pub async fn snooze(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Group>,
    Precondition(expected): Precondition,
    JsonBody(until): JsonBody<Snooze>,
) -> Result<(ETag, Json<FullGroup>), WebError> {
    let id = need(&app, id).await?;
    carry_out(&app, id, &GroupCommand::Snooze(until), &expected, &user).await?;
    load(&app, id).await
}

/// Carries out a command on one group.
pub(super) async fn carry_out(
    app: &AppState,
    id: GroupId,
    command: &GroupCommand,
    expected: &Expected,
    by: &Actor,
) -> Result<(), WebError> {
    let (report, _) = app.triage.act_on_groups(&[id], command, expected, by).await.map_err(changed)?;
    report.refused.first().map_or(Ok(()), |(_, refusal)| Err(orders::groups::refused(refusal)))
}

fn changed(error: ChangeError<Group>) -> WebError {
    match error {
        ChangeError::Changed(changed) => overtaken(&changed),
        ChangeError::Store(error) => error.into(),
    }
}

/// What to do, and with which groups.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupsAction {
    #[schema(value_type = words::GroupCommand)]
    action: String,
    #[schema(min_items = 1, max_items = 1000)]
    ids: Vec<Uuid>,
    /// For `snooze`: how long, or until when.
    #[schema(min_length = 1, example = "2h")]
    until: Option<String>,
    /// For `snooze`: after so many more dead letters of each group.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    more: Option<u64>,
    /// For `snooze`: when something about its dead letters changes.
    #[serde(default)]
    change: bool,
    /// For `assign`: `me`, `user:NAME` or `team:NAME`, who have to see all of the groups; `null` or an empty text for nobody.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, example = "me")]
    assignee: Option<Option<String>>,
    /// For `undo`: `at` of the answer to what is to be undone.
    at: Option<i64>,
}

impl CallBody for GroupsAction {
    /// The groups, each once, and what to do with them.
    type Read = (Vec<GroupId>, GroupCommand);

    async fn read(self, call: &Call<'_>) -> Result<Self::Read, WebError> {
        let Self { action, ids, until, more, change, assignee, at } = self;
        let user = call.user().await?;
        let ids: BTreeSet<GroupId> = ids.into_iter().map(GroupId::from_uuid).collect();
        let ids: Vec<GroupId> = ids.into_iter().collect();
        let mut gathered = Gathered::default();
        let given = [
            ("until", until.is_some(), GroupAction::Snooze),
            ("more", more.is_some(), GroupAction::Snooze),
            ("change", change, GroupAction::Snooze),
            ("assignee", assignee.is_some(), GroupAction::Assign),
            ("at", at.is_some(), GroupAction::Undo),
        ];
        for (name, _, of) in given.iter().filter(|(_, is_given, of)| *is_given && action != of.as_str()) {
            let excluded = WebError::field(name, FaultCode::Excluded, format!("it goes only with {of}"));
            gathered.take(Err::<(), _>(excluded));
        }
        let groups = call.app.store().groups_by_id(&ids).await?;
        let assignee = assignee.map(Option::unwrap_or_default);
        let fields = GroupOrderFields { action, until, more, change, assignee, at };
        let command = fields.command(call.app, &user, &groups).await;
        WebError::both(gathered.end(), command).map(|((), command)| (ids, command))
    }
}

/// The outcome for each of them.
#[derive(Serialize, ToSchema)]
pub struct GroupsDone {
    /// Those that are changed, or had that assignee already.
    done: Vec<Uuid>,
    /// Those that are not, as they were in that state already, or cannot come to it.
    refused: Vec<GroupRefused>,
    /// The moment at which it was done, which `undo` takes, in microseconds since the epoch.
    at: i64,
}

/// A group that did not take it.
#[derive(Serialize, ToSchema)]
struct GroupRefused {
    id: Uuid,
    why: String,
}

/// Do one thing with several groups
///
/// To retry or discard their dead letters, see `POST /actions` with `filter.group`.
#[utoipa::path(post, path = "/groups/actions", operation_id = "act_on_groups", tag = "groups",
    request_body = GroupsAction, responses((status = OK, body = GroupsDone)))]
pub async fn act(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    JsonBody((ids, command)): JsonBody<GroupsAction>,
) -> Result<Json<GroupsDone>, WebError> {
    let (report, at) = app.triage.act_on_groups(&ids, &command, &Expected::Anything, &user).await.map_err(changed)?;
    let mut done: Vec<Uuid> = report.done.iter().chain(&report.unchanged).map(|id| id.as_uuid()).collect();
    done.sort_unstable();
    let refused = report.refused.iter().map(|(id, why)| GroupRefused { id: id.as_uuid(), why: why.to_string() });
    Ok(Json(GroupsDone { done, refused: refused.collect(), at: at.as_micros() }))
}
