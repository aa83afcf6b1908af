//! Which groups an address asks for.

use amqp_message::death::Reason;

use super::{form, kept_names, listed, parameters};
use crate::domain::{
    group::{GroupCursor, GroupFilter, GroupSort},
    letter::Importance,
};

parameters! {
    /// Which groups an address asks for.
    pub GroupQuery {
        /// `open`: only groups with open letters; `all` if left out.
        "status" all: Option<bool> as form::OpenOrAll => Option<String>,
        /// With open letters of this importance: `critical`, `high`, `normal`, `low`, or several by comma.
        "importance" importances: Vec<Importance> as form::Words => Option<String>,
        /// Names, by comma.
        "broker" brokers: Vec<String> as form::Words => Option<String>,
        /// Names or globs (`*`, `?`), by comma; `""` is the queue that nothing is known of.
        "queue" queues: Vec<String> as form::Words => Option<String>,
        /// Full names of types or globs, by comma; `""` is the type that nothing is known of.
        "type" types: Vec<String> as form::Words => Option<String>,
        /// `rejected`, `expired`, `maxlen`, `delivery_limit`, `unknown`, or several by comma.
        "reason" reasons: Vec<Reason> as form::Words => Option<String>,
        /// `importance` (default): the most important open letters first; `biggest`: most open letters; `newest`: seen last
        "sort" sort: GroupSort as form::Order => Option<String>,
        /// 1 to 1000; 50 if left out.
        "limit" limit: Option<usize> as form::Limit => Option<u32>,
        /// `next_cursor` of the answer before.
        "cursor" cursor: Option<GroupCursor> as form::Cursor => Option<String>,
    }
}

listed!(GroupQuery, "/groups", GroupCursor);

impl GroupQuery {
    /// Which groups are meant; `all` says it of the status where the address does not. An importance is one of open letters.
    pub fn filter(&self, all: bool) -> GroupFilter {
        GroupFilter {
            only_open: !self.all.unwrap_or(all) || !self.importances.is_empty(),
            importances: self.importances.clone(),
            brokers: self.brokers.clone(),
            queues: kept_names(&self.queues),
            types: kept_names(&self.types),
            reasons: self.reasons.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        check("sort=newest&type=acme.*&queue=a,b", "/groups?queue=a,b&type=acme.*&sort=newest");
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
        check("group=x", "status, importance, broker, queue, type, reason, sort, limit, cursor");
    }

    #[test]
    fn who_asks_for_an_importance_asks_for_open_letters() {
        let only_open = |text: &str, all| parse(text).map(|query| query.filter(all).only_open).ok();
        assert_eq!(only_open("", false), Some(true));
        assert_eq!(only_open("", true), Some(false));
        assert_eq!(only_open("status=open", true), Some(true));
        assert_eq!(only_open("status=all&importance=low", true), Some(true));
        assert_eq!(parse("queue=%22%22").map(|query| query.filter(true).queues).ok(), Some(vec![String::new()]));
    }
}
