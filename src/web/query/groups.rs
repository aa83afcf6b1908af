//! Which groups an address asks for.

use amqp_message::death::Reason;

use super::{Anchor, cursor, form, listed, names, parameters};
use crate::domain::{
    group::{Group, GroupCursor, GroupFilter, GroupSort},
    group_state::{Assignee, Phase},
    letter::Importance,
};

parameters! {
    /// Which groups an address asks for.
    pub GroupQuery {
        /// `open`: only groups with open letters; all if left out.
        "status" all: Option<bool> as form::OpenOrAll,
        /// How far people are with them.
        "state" phases: Vec<Phase> as form::Repeated,
        /// Assigned to one of these: `user:NAME` or `team:NAME`.
        "assignee" assignees: Vec<Assignee> as form::Repeated,
        /// With open letters of one of these.
        "importance" importances: Vec<Importance> as form::Repeated,
        /// Of one of these brokers.
        "broker" brokers: Vec<String> as form::Repeated,
        /// Names of queues, taken as they are.
        "queue" queues: Vec<String> as form::Repeated,
        /// Patterns for names of queues: `*` is any run of characters, `?` any one. With `queue` and `queue_unknown`: what
        /// one of them lets through.
        "queue_glob" queue_globs: Vec<String> as form::Repeated,
        /// `true`: of letters that do not say in which queue they failed. `false`: all others.
        "queue_unknown" queue_unknown: Option<bool> as form::One,
        /// Full names of message types, taken as they are.
        "type" types: Vec<String> as form::Repeated,
        /// Patterns for full names of message types, as those of queues.
        "type_glob" type_globs: Vec<String> as form::Repeated,
        /// `true`: of letters whose type is not known. `false`: all others.
        "type_unknown" type_unknown: Option<bool> as form::One,
        /// Dead-lettered for one of these reasons.
        "reason" reasons: Vec<Reason> as form::Repeated,
        /// `importance`: the most important open letters first; `biggest`: most open letters; `newest`: seen last.
        "sort" sort: GroupSort as form::Order,
        /// Groups of one answer.
        "limit" limit: Option<usize> as form::Limit,
        /// `next_cursor` of the answer before, to the same query.
        "cursor" cursor: Option<Anchor<GroupCursor>> as form::Cursor,
    }
}

listed!(GroupQuery, "/groups", GroupCursor, reach);

fn reach(query: &GroupQuery, place: &GroupCursor) -> String {
    let weight = place.importance.map_or(Importance::ALL.len(), |importance| importance as usize) as u64;
    let (open, seen) = (!place.open, !(place.last_seen.as_micros() as u64));
    let numbers: &[u64] = match query.sort {
        GroupSort::Importance => &[weight, open, seen],
        GroupSort::Biggest => &[open, seen],
        GroupSort::Newest => &[seen],
    };
    cursor::in_order(numbers, place.id.as_uuid().as_u128())
}

impl GroupQuery {
    /// Which groups are meant; `all` says it of the status where the address does not. An importance is one of open letters.
    pub fn filter(&self, all: bool) -> GroupFilter {
        GroupFilter {
            only_open: !self.all.unwrap_or(all) || !self.importances.is_empty(),
            phases: self.phases.clone(),
            assignees: self.assignees.clone(),
            importances: self.importances.clone(),
            brokers: self.brokers.clone(),
            queues: names(&self.queues, &self.queue_globs, self.queue_unknown),
            types: names(&self.types, &self.type_globs, self.type_unknown),
            reasons: self.reasons.clone(),
        }
    }
}

impl GroupQuery {
    /// Which groups the page shows: without a word about it those that need attention, which nobody has snoozed or resolved. What was
    /// acknowledged, snoozed or resolved is shown whether letters of it are open or not.
    pub fn page_filter(&self) -> GroupFilter {
        let filter = self.filter(!matches!(&*self.phases, [] | [Phase::Open]));
        let is_default = self.phases.is_empty() && self.all != Some(true);
        GroupFilter { phases: if is_default { Group::TO_DO.to_vec() } else { filter.phases }, ..filter }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::filter::Names;
    use crate::web::query::Listed;
    use crate::web::{
        error::WebError,
        query::{Pairs, Parameters},
    };

    fn parse(text: &str) -> Result<GroupQuery, WebError> {
        GroupQuery::read(Pairs::parse(text.as_bytes()))
    }

    #[test]
    fn what_is_written_is_read_again() {
        let check = |text, expected| assert_eq!(parse(text).map(|query| query.href()).ok().as_deref(), Some(expected));
        check("", "/groups");
        check("status=&queue=", "/groups");
        check("status=all&sort=importance", "/groups?status=all");
        check("sort=newest&type_glob=acme.*&queue=a,b", "/groups?queue=a,b&type_glob=acme.*&sort=newest");
        check("state=snoozed&state=open&assignee=user:a%26b", "/groups?state=snoozed&state=open&assignee=user:a%26b");
        check("importance=high&reason=expired&limit=7", "/groups?importance=high&reason=expired&limit=7");
    }

    #[test]
    fn what_is_unknown_is_refused_with_what_it_takes() {
        let check = |text, part: &str| {
            let error = parse(text).expect_err(text);
            assert_eq!(error.status.as_u16(), 400);
            assert!(error.detail.contains(part), "{text}: {}", error.detail);
        };
        check("status=retried", "open (with open dead letters) or all");
        check("sort=up", "importance, biggest, newest");
        check("cursor=xyz", "next_cursor");
        check("state=done", "open, acknowledged, snoozed, resolved");
        check("assignee=ada", "user:NAME or team:NAME");
        check(
            "group=x",
            "status, state, assignee, importance, broker, queue, queue_glob, queue_unknown, type, type_glob",
        );
    }

    #[test]
    fn a_page_shows_what_needs_attention() {
        use Phase::{Acknowledged, Open, Snoozed};
        let check = |text: &str, only_open, phases: &[Phase]| {
            let filter = parse(text).expect(text).page_filter();
            assert_eq!((filter.only_open, &*filter.phases), (only_open, phases), "{text}");
        };
        check("", true, &[Open, Acknowledged]);
        check("importance=high", true, &[Open, Acknowledged]);
        check("status=all", false, &[]);
        check("state=open", true, &[Open]);
        check("state=snoozed", false, &[Snoozed]);
        check("state=snoozed&status=open", true, &[Snoozed]);
        check("state=acknowledged&importance=low", true, &[Acknowledged]);
    }

    #[test]
    fn who_asks_for_an_importance_asks_for_open_letters() {
        let only_open = |text: &str, all| parse(text).map(|query| query.filter(all).only_open).ok();
        assert_eq!(only_open("", false), Some(true));
        assert_eq!(only_open("", true), Some(false));
        assert_eq!(only_open("status=open", true), Some(true));
        assert_eq!(only_open("status=all&importance=low", true), Some(true));
        assert_eq!(parse("queue_unknown=true").map(|query| query.filter(true).queues).ok(), Some(Names::exact([""])));
    }
}
