//! Groups as the API says them: how many letters, how far people are with them, how they grew.

use std::{slice, time::Duration};

use amqp_message::time::Timestamp;
use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{merged_item::MergedItem, policies::PolicyItem, words};
use crate::{
    domain::{
        access::Right,
        group::{Group, GroupId, Hour, Outcome},
        group_state::{GroupState, Reopened, Until},
        policy::PolicyBook,
        version::{Version, Versioned},
    },
    web::{
        error::WebError,
        input::{path_id::missing, precondition::ETag},
        state::AppState,
        view::time::timestamp,
        visitor::Visitor,
    },
};

/// Days of which a group says what happened hour by hour.
const DAYS: u64 = 14;

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
    /// Where a group was split by a field: what its dead letters say. Null for a group that is no part.
    #[schema(example = "currency: EUR")]
    part: Option<String>,
    /// The group that was split; null for a group that is no part.
    part_of: Option<Uuid>,
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
    /// The policy in force for this reason in this queue; null where nothing is retried by itself.
    policy: Option<PolicyItem>,
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

impl GroupItem {
    pub fn new(group: Group, policies: &PolicyBook) -> Self {
        let queue = group.key.queue.as_deref();
        let policy = queue.and_then(|queue| policies.find(queue, group.key.reason)).map(|active| (&**active).into());
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
            part_of: group.key.part.as_ref().map(|part| part.of.as_uuid()),
            part: group.key.part.map(|part| part.what),
            count,
            open,
            scheduled: group.scheduled,
            retried: group.retried,
            discarded: group.discarded,
            first_seen: timestamp(group.first_seen),
            last_seen: timestamp(group.last_seen),
            importance: importance.map(|importance| importance.as_str()),
            outcome: group.outcome.into(),
            policy,
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
    /// Groups that are part of this one.
    merged_from: Vec<MergedItem>,
    /// Into which groups it was split by a field.
    parts: Vec<PartItem>,
}

/// A part of a group that was split by a field.
#[derive(Serialize, ToSchema)]
struct PartItem {
    id: Uuid,
    /// What its dead letters say.
    part: String,
    open: u64,
}

impl From<Group> for PartItem {
    fn from(group: Group) -> Self {
        let open = group.n_open();
        Self { id: group.id.as_uuid(), part: group.key.part.map(|part| part.what).unwrap_or_default(), open }
    }
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

/// How far people are with a group.
#[derive(Serialize, ToSchema)]
pub struct StateItem {
    #[schema(value_type = words::GroupState)]
    state: &'static str,
    /// Who made it so, and when; null where nobody has.
    state_by: Option<String>,
    #[schema(format = DateTime)]
    state_at: Option<String>,
    /// What ends its snooze; null where it is not snoozed.
    snoozed_until: Option<SnoozeItem>,
    /// That it was acknowledged, snoozed or resolved and is open again by itself; null where it has not.
    regressed: Option<RegressedItem>,
    /// `user:NAME` or `team:NAME`.
    assignee: Option<String>,
    /// The address of its ticket.
    ticket: Option<String>,
}

/// What ends a snooze: one of these.
#[derive(Default, Serialize, ToSchema)]
struct SnoozeItem {
    #[schema(format = DateTime)]
    time: Option<String>,
    /// So many more dead letters, and so many have come by now.
    more: Option<u64>,
    come: Option<u64>,
    /// Anything about its dead letters that changes.
    change: bool,
}

/// Why a group is open again by itself.
#[derive(Serialize, ToSchema)]
struct RegressedItem {
    #[schema(format = DateTime)]
    at: String,
    /// What it was: `acknowledged`, `snoozed` or `resolved`, by whom and since when.
    #[schema(value_type = words::GroupState)]
    was: &'static str,
    by: String,
    #[schema(format = DateTime)]
    since: String,
    /// In words.
    reason: String,
}

impl From<&GroupState> for StateItem {
    fn from(state: &GroupState) -> Self {
        let progress = &state.progress;
        let set = progress.set.as_ref().map(|(by, at)| (by.to_string(), timestamp(*at)));
        let (state_by, state_at) = set.unzip();
        Self {
            state: progress.phase.as_str(),
            state_by,
            state_at,
            snoozed_until: progress.until.map(SnoozeItem::from),
            regressed: progress.reopened.as_ref().map(RegressedItem::from),
            assignee: state.assignee.as_ref().map(ToString::to_string),
            ticket: state.ticket.clone(),
        }
    }
}

impl From<Until> for SnoozeItem {
    fn from(until: Until) -> Self {
        match until {
            Until::Time(at) => Self { time: Some(timestamp(at)), ..Self::default() },
            Until::More { more, arrived } => Self { more: Some(more), come: Some(arrived), ..Self::default() },
            Until::Change => Self { change: true, ..Self::default() },
        }
    }
}

impl From<&Reopened> for RegressedItem {
    fn from(reopened: &Reopened) -> Self {
        Self {
            at: timestamp(reopened.at),
            was: reopened.was.as_str(),
            by: reopened.by.to_string(),
            since: timestamp(reopened.since),
            reason: reopened.reason(),
        }
    }
}

/// The group, or what it is part of; refuses who may not act on it, or does not see it.
pub(super) async fn need(app: &AppState, id: GroupId) -> Result<GroupId, WebError> {
    let (_, Json(group)) = load(app, id).await?;
    Visitor::need(Right::Act)?;
    Ok(GroupId::from_uuid(group.item.id))
}

pub(super) async fn load(app: &AppState, id: GroupId) -> Result<(ETag, Json<FullGroup>), WebError> {
    let since = app.clock.now().minus(Duration::from_secs(DAYS * 24 * 60 * 60));
    let store = app.store();
    let id = store.merged_into(id).await?.unwrap_or(id);
    let (group, mut hours, merged, parts) = tokio::try_join!(
        store.group(id, pending_since(app)),
        store.group_hours(slice::from_ref(&id), since),
        store.merged_from(id),
        store.parts_of(id),
    )?;
    let group = group.ok_or_else(missing::<Group>)?;
    Visitor::looks_at_queue(&group.key.broker, group.key.queue.as_deref());
    let hours = hours.remove(&id).unwrap_or_default().into_iter().map(HourItem::from).collect();
    let merged_from = merged.into_iter().map(MergedItem::from).collect();
    let parts = parts.into_iter().map(PartItem::from).collect();
    let version = group.version();
    let item = GroupItem::new(group, &app.policies.book());
    Ok((ETag(version), Json(FullGroup { item, hours, merged_from, parts })))
}

pub(super) fn pending_since(app: &AppState) -> Timestamp {
    app.clock.now().minus(app.settings.succeeded_after)
}
