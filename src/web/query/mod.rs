//! The query part of an address as a filter, and back.
//!
//! Pages and API read the same words. What is not known is refused and the answer names what it takes: a mistyped
//! `staus=open` must not list, or act on, everything.

mod activity;
mod cursor;
pub mod form;
mod groups;
mod listed;
mod pairs;
mod parameters;
mod waiting;
mod when;

use amqp_message::{death::Reason, time::Timestamp};

use listed::listed;

use crate::domain::{
    filter::{Cursor, LetterFilter, Sort},
    group::GroupId,
    letter::{Importance, Status},
};

pub use activity::{ActivityCursor, ActivityQuery};
pub use cursor::{encode_cursor, encode_number};
pub use groups::GroupQuery;
pub use listed::{Pager, ROWS};
pub use pairs::{Pairs, read};
pub(crate) use parameters::parameters;
pub use parameters::{Form, Parameters};
pub use waiting::WaitingQuery;
pub use when::When;

parameters! {
    /// Which letters an address asks for. It stays as it was written, so that `since=24h` moves with the clock.
    pub LetterQuery {
        /// `open`, `scheduled`, `retried`, `discarded`, or several by comma; all if left out.
        "status" statuses: Option<Vec<Status>> as form::Statuses => Option<String>,
        /// `critical`, `high`, `normal`, `low`, or several by comma.
        "importance" importances: Vec<Importance> as form::Words => Option<String>,
        /// Names, by comma.
        "broker" brokers: Vec<String> as form::Words => Option<String>,
        /// Names or globs (`*`, `?`), by comma; `""` is the queue that nothing is known of.
        "queue" queues: Vec<String> as form::Words => Option<String>,
        /// Full names of types or globs, by comma; `""` is the type that nothing is known of.
        "type" types: Vec<String> as form::Words => Option<String>,
        /// `rejected`, `expired`, `maxlen`, `delivery_limit`, `unknown`, or several by comma.
        "reason" reasons: Vec<Reason> as form::Words => Option<String>,
        /// Ids of groups, by comma.
        "group" groups: Vec<GroupId> as form::Words => Option<String>,
        /// Received at or after: RFC 3339, or how long ago (`24h`).
        "since" since: Option<When> as form::One => Option<String>,
        /// Received before: RFC 3339, or how long ago.
        "until" until: Option<When> as form::One => Option<String>,
        /// `newest` (default) or `oldest`
        "sort" sort: Sort as form::Order => Option<String>,
        /// 1 to 1000; 50 if left out.
        "limit" limit: Option<usize> as form::Limit => Option<u32>,
        /// `next_cursor` of the answer before.
        "cursor" cursor: Option<Cursor> as form::Cursor => Option<String>,
    }
}

listed!(LetterQuery, "/letters", Cursor);

impl LetterQuery {
    /// Stands for the letters whose queue or type is unknown, which the database keeps under the empty name.
    pub const UNKNOWN: &str = "\"\"";
    /// Letters a single answer holds at most.
    pub const MAX_LIMIT: usize = 1_000;

    pub fn filter(&self, now: Timestamp) -> LetterFilter {
        LetterFilter {
            statuses: self.statuses.clone().unwrap_or_default(),
            importances: self.importances.clone(),
            brokers: self.brokers.clone(),
            queues: kept_names(&self.queues),
            types: kept_names(&self.types),
            reasons: self.reasons.clone(),
            groups: self.groups.clone(),
            since: self.since.as_ref().map(|when| when.resolve(now)),
            until: self.until.as_ref().map(|when| when.resolve(now)),
        }
    }

    /// The letters of one group that are open, or of that status.
    pub fn of_group(group: GroupId, status: Option<Status>) -> Self {
        let statuses = status.filter(|status| *status != Status::Open).map(|status| vec![status]);
        Self { statuses, groups: vec![group], ..Self::default() }
    }

    /// A queue's name as a pattern that matches it. A comma, which would end the name, is matched by `?`; so are spaces
    /// at its ends, which would be trimmed, and a name that looks like the word for unknown queues.
    pub fn queue_pattern(queue: Option<&str>) -> String {
        match queue {
            None => Self::UNKNOWN.to_owned(),
            Some(Self::UNKNOWN) => "?".repeat(Self::UNKNOWN.len()),
            Some(name) => {
                let rest = name.trim_start();
                let inner = rest.trim_end();
                let hide = |spaces: &str| "?".repeat(spaces.chars().count());
                let (before, after) = (&name[..name.len() - rest.len()], &rest[inner.len()..]);
                hide(before) + &inner.replace(',', "?") + &hide(after)
            }
        }
    }
}

/// Names as the database keeps them.
fn kept_names(names: &[String]) -> Vec<String> {
    let kept = |name: &String| if name == LetterQuery::UNKNOWN { String::new() } else { name.clone() };
    names.iter().map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::error::WebError;

    fn parse(text: &str) -> Result<LetterQuery, WebError> {
        LetterQuery::read(Pairs::parse(text.as_bytes()))
    }

    #[test]
    fn what_is_written_is_read_again() {
        let check = |text, canonical| {
            let href = parse(text).map(|query| query.href()).ok();
            assert_eq!(href.as_deref().and_then(|href| href.strip_prefix("/letters")), Some(canonical));
        };
        check("", "");
        check("status=&queue=&broker=", "");
        check("status=all", "?status=all");
        check("status=open,retried&importance=high", "?status=open,retried&importance=high");
        check("importance=high&importance=low", "?importance=high,low");
        check("queue=texts.*,a%20b&sort=newest", "?queue=texts.*,a+b");
        check("since=24h&sort=oldest", "?since=24h&sort=oldest");
        check("since=2026-11-21T10:00", "?since=2026-11-21T10:00:00Z");
        check("since=2026-11-21T12:00:00%2B02:00", "?since=2026-11-21T10:00:00Z");
        check("until=2026-11-21&limit=7", "?until=2026-11-21T00:00:00Z&limit=7");
    }

    #[test]
    fn what_is_unknown_is_refused_with_what_it_takes() {
        let check = |text, part: &str| {
            let error = parse(text).expect_err(text);
            assert_eq!(error.status.as_u16(), 400);
            assert!(error.detail.contains(part), "{text}: {}", error.detail);
        };
        check("staus=open", "status, importance");
        check("status=opne", "open, scheduled, retried, discarded");
        check("importance=high,huge", "critical, high, normal, low");
        check("reason=x", "delivery_limit");
        check("since=yesterday", "24h");
        check("limit=0", "1 to 1000");
        check("limit=1001", "1 to 1000");
        check("sort=up", "newest, oldest");
        check("cursor=xyz", "next_cursor");
        check("limit=1&limit=2", "more than once");
    }

    #[test]
    fn names_become_patterns() {
        assert_eq!(LetterQuery::queue_pattern(Some("a,b")), "a?b");
        let unknown = LetterQuery { queues: vec![LetterQuery::queue_pattern(None)], ..LetterQuery::default() };
        assert_eq!(
            parse(unknown.href().trim_start_matches("/letters?")).ok().map(|query| query.filter(Timestamp::MAX).queues),
            Some(vec![String::new()])
        );
    }
}
