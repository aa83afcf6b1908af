//! How far people are with a group, as the API says it.

use serde::Serialize;
use utoipa::ToSchema;

use super::words;
use crate::{
    domain::group_state::{GroupState, Regressed, Until},
    web::view::time::timestamp,
};

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
    /// That it was set aside and came again by itself; null where it has not.
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

/// Why a group that was set aside is open again.
#[derive(Serialize, ToSchema)]
struct RegressedItem {
    #[schema(format = DateTime)]
    at: String,
    /// What it was: `snoozed` or `resolved`, by whom and since when.
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
            regressed: progress.regressed.as_ref().map(RegressedItem::from),
            assignee: state.assignee.as_ref().map(ToString::to_string),
            ticket: state.ticket.clone(),
        }
    }
}

impl From<Until> for SnoozeItem {
    fn from(until: Until) -> Self {
        match until {
            Until::Time(at) => Self { time: Some(timestamp(at)), ..Self::default() },
            Until::More { more, come } => Self { more: Some(more), come: Some(come), ..Self::default() },
            Until::Change => Self { change: true, ..Self::default() },
        }
    }
}

impl From<&Regressed> for RegressedItem {
    fn from(regressed: &Regressed) -> Self {
        Self {
            at: timestamp(regressed.at),
            was: regressed.was.as_str(),
            by: regressed.by.to_string(),
            since: timestamp(regressed.since),
            reason: regressed.reason(),
        }
    }
}
