//! Saved views: lists of dead letters that somebody has given a name.

use amqp_message::time::Timestamp;
use uuid::Uuid;

use super::{
    activity::{Area, AuditEntry, Concerns},
    actor::Actor,
    rights::QueueScope,
};

/// Characters of a name.
pub const LONGEST_NAME: usize = 80;
/// Characters of its query.
pub const LONGEST_QUERY: usize = 16_384;
/// Views of one person.
pub const MOST: usize = 200;

/// What is saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewContent {
    pub name: String,
    /// What stands in the address of the list: the search, filters, order, columns.
    pub query: String,
    /// Others see it, too.
    pub is_shared: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SavedView {
    pub id: Uuid,
    pub content: ViewContent,
    /// The name of whoever has saved it.
    pub owner: String,
    /// The queues that its owner saw: who sees less does not see it, as its name and query may tell of the others.
    pub within: QueueScope,
    pub by: Actor,
    pub set_at: Timestamp,
}

/// Who asks for views: whose they are, and whether they may change what others share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keeper {
    pub name: String,
    pub is_admin: bool,
}

impl SavedView {
    /// Whether somebody sees it who sees these queues.
    pub fn is_seen(&self, keeper: &Keeper, scope: &QueueScope) -> bool {
        self.owner == keeper.name || self.content.is_shared && self.within.is_seen_by(scope)
    }

    /// Whether somebody may change it who sees it.
    pub fn may_be_changed_by(&self, keeper: &Keeper) -> bool {
        self.owner == keeper.name || keeper.is_admin
    }

    /// What is written down about a change of it; nothing of what nobody else sees.
    pub fn entry(&self, before: Option<&Self>, by: &Actor, at: Timestamp) -> Option<AuditEntry> {
        let was_shared = before.is_some_and(|before| before.content.is_shared);
        let action = match (was_shared, self.content.is_shared) {
            (false, false) => return None,
            (false, true) => "share",
            (true, true) => "set",
            (true, false) => "unshare",
        };
        Some(self.entry_of(action, by, at))
    }

    /// The same of another action on what others see.
    pub fn entry_of(&self, action: &str, by: &Actor, at: Timestamp) -> AuditEntry {
        AuditEntry {
            detail: self.content.query.clone(),
            concerns: Concerns::All(self.within.clone()),
            ..AuditEntry::new(at, by, Area::Views, action, &*self.content.name)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::rights::TeamQueues;

    fn keeper(name: &str) -> Keeper {
        Keeper { name: name.to_owned(), is_admin: false }
    }

    fn team(queue: &str) -> QueueScope {
        QueueScope::of(vec![Arc::new(TeamQueues::new(&[], &[queue.to_owned()]))])
    }

    fn view(is_shared: bool, within: QueueScope) -> SavedView {
        SavedView {
            id: Uuid::nil(),
            content: ViewContent { name: "ISK".to_owned(), query: "q=ISK".to_owned(), is_shared },
            owner: "ada".to_owned(),
            within,
            by: Actor::local(),
            set_at: Timestamp::default(),
        }
    }

    #[test]
    fn others_see_what_is_shared_by_who_saw_no_more_than_they() {
        let (all, a, b) = (QueueScope::everything(), team("a"), team("b"));
        let check = |view: &SavedView, name: &str, scope: &QueueScope, expected: bool| {
            assert_eq!(view.is_seen(&keeper(name), scope), expected, "{view:?}, {name}, {scope:?}");
        };
        check(&view(false, all.clone()), "ada", &a, true);
        check(&view(false, a.clone()), "ben", &all, false);
        check(&view(true, a.clone()), "ben", &a, true);
        check(&view(true, a.clone()), "ben", &all, true);
        check(&view(true, a), "ben", &b, false);
        check(&view(true, all), "ben", &b, false);
    }

    #[test]
    fn of_what_nobody_else_sees_nothing_is_written_down() {
        let (own, shared) = (view(false, QueueScope::everything()), view(true, QueueScope::everything()));
        let action = |now: &SavedView, before: Option<&SavedView>| {
            now.entry(before, &Actor::local(), Timestamp::default()).map(|entry| entry.action)
        };
        assert_eq!(action(&own, None), None);
        assert_eq!(action(&shared, Some(&own)).as_deref(), Some("share"));
        assert_eq!(action(&shared, Some(&shared)).as_deref(), Some("set"));
        assert_eq!(action(&own, Some(&shared)).as_deref(), Some("unshare"));
    }
}
