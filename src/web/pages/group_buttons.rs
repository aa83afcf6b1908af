//! What the page of a group offers to do.

use super::{bulk_action::BulkAction, choices::Choice};
use crate::{
    domain::{
        access::Right,
        actor::Actor,
        group::{Group, GroupId},
        group_state::Assignee,
    },
    web::{
        error::WebError,
        orders,
        state::AppState,
        view::{group::href, number, text},
        visitor::Visitor,
    },
};

/// A button that asks once more.
pub struct AskButton {
    pub label: String,
    pub href: String,
    pub class: &'static str,
    pub icon: &'static str,
    pub key: &'static str,
}

/// Nobody, and all who see it; whoever has it is chosen. Who may not act reads no list of users.
pub async fn assignees(app: &AppState, by: &Actor, group: &Group) -> Result<Vec<Choice>, WebError> {
    let all = match Visitor::need(Right::Act) {
        Ok(()) => orders::groups::assignable(app, by, std::slice::from_ref(group)).await?,
        Err(_) => Vec::new(),
    };
    // Who had it may be gone.
    let gone = group.state.assignee.iter().filter(|assignee| !all.contains(assignee));
    let choice = |assignee: &Assignee| Choice {
        value: assignee.to_string(),
        label: text::one_line(&assignee.in_words()),
        is_selected: group.state.assignee.as_ref() == Some(assignee),
    };
    let nobody =
        Choice { value: String::new(), label: "nobody".to_owned(), is_selected: group.state.assignee.is_none() };
    Ok([nobody].into_iter().chain(gone.chain(&all).map(choice)).collect())
}

pub fn actions(group: &Group) -> Vec<AskButton> {
    let (open, discarded) = (group.n_open(), group.discarded);
    let action = |all, label: String, class, icon, key| AskButton {
        label,
        href: confirmation_href(group.id, all),
        class,
        icon,
        key,
    };
    let of_open = (open > 0).then(|| {
        let n = number::thousands(open);
        [
            action(BulkAction::Retry, format!("Retry {n} …"), "primary", "i-retry", "r"),
            action(BulkAction::Discard, format!("Discard {n} …"), "danger", "i-discard", "d"),
        ]
    });
    let reopen = (discarded > 0).then(|| {
        action(BulkAction::Reopen, format!("Reopen {} discarded …", number::thousands(discarded)), "", "", "")
    });
    of_open.into_iter().flatten().chain(reopen).collect()
}

pub fn confirmation_href(id: GroupId, all: BulkAction) -> String {
    let (name, word) = all.as_pair();
    format!("{}?{name}={word}", href(id))
}
