//! Which groups an address asks for.

use amqp_message::death::Reason;

use super::{
    Pairs, encode_cursor, kept_names,
    pairs::{address, borrowed, said},
    take_cursor, take_limit, words,
};
use crate::{
    domain::{
        group::{GroupCursor, GroupFilter, GroupSort},
        letter::Importance,
    },
    web::error::WebError,
};

/// The words of [`GroupQuery`], to name them where another one was given.
pub const GROUP_WORDS: &str = "status, importance, broker, queue, type, reason, sort, limit, cursor";

#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupQuery {
    /// Whether groups without open letters are meant too; `None` when the address does not say.
    pub all: Option<bool>,
    pub importances: Vec<Importance>,
    pub brokers: Vec<String>,
    /// Names or globs, as those of types.
    pub queues: Vec<String>,
    pub types: Vec<String>,
    pub reasons: Vec<Reason>,
    pub sort: GroupSort,
    pub limit: Option<usize>,
    pub cursor: Option<GroupCursor>,
}

impl GroupQuery {
    /// What `status` takes.
    const OPEN: &str = "open";
    const ALL: &str = "all";

    pub fn take(pairs: &mut Pairs) -> Result<Self, WebError> {
        Ok(Self {
            all: take_all(pairs)?,
            importances: pairs.take_words("importance")?,
            brokers: pairs.take_names("broker"),
            queues: pairs.take_names("queue"),
            types: pairs.take_names("type"),
            reasons: pairs.take_words("reason")?,
            sort: pairs.take_parsed("sort")?.unwrap_or_default(),
            limit: take_limit(pairs)?,
            cursor: take_cursor(pairs)?,
        })
    }

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

    /// The words that say it, by name.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let status = self.all.map(|all| if all { Self::ALL } else { Self::OPEN }).unwrap_or_default();
        let sort = if self.sort == GroupSort::default() { "" } else { self.sort.as_str() };
        said([
            ("status", status.to_owned()),
            ("importance", words(&self.importances)),
            ("broker", self.brokers.join(",")),
            ("queue", self.queues.join(",")),
            ("type", self.types.join(",")),
            ("reason", words(&self.reasons)),
            ("sort", sort.to_owned()),
            ("limit", self.limit.map(|limit| limit.to_string()).unwrap_or_default()),
            ("cursor", self.cursor.map(encode_cursor).unwrap_or_default()),
        ])
    }

    /// The address of the page.
    pub fn href(&self) -> String {
        address("/groups", borrowed(&self.pairs()))
    }

    /// The same with other words and from the first page on.
    pub fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut query = Self { cursor: None, ..self.clone() };
        change(&mut query);
        query
    }
}

fn take_all(pairs: &mut Pairs) -> Result<Option<bool>, WebError> {
    match pairs.take("status")?.as_deref() {
        None => Ok(None),
        Some(GroupQuery::OPEN) => Ok(Some(false)),
        Some(GroupQuery::ALL) => Ok(Some(true)),
        Some(word) => Err(WebError::bad_request(format!(
            "status: {word:?} is no status of groups; it takes open (with open dead letters) or all"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<GroupQuery, WebError> {
        let mut pairs = Pairs::parse(text.as_bytes());
        let query = GroupQuery::take(&mut pairs)?;
        pairs.finish(GROUP_WORDS).map(|()| query)
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
        check("group=x", GROUP_WORDS);
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
