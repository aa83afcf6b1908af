//! The query part of an address as a filter, and back.
//!
//! Pages and API read the same words. What is not known is refused and the answer names what it takes: a mistyped
//! `staus=open` must not list, or act on, everything.

mod activity;
mod cursor;
mod groups;
mod pairs;
mod waiting;
mod when;

use std::fmt::Display;

use amqp_message::{death::Reason, time::Timestamp};

use cursor::{Place, decode_cursor};
use pairs::{address, borrowed, read, said};

use super::error::WebError;
use crate::domain::{
    filter::{Cursor, LetterFilter, Sort},
    group::GroupId,
    letter::{Importance, Status},
};

pub use activity::{ACTIVITY_WORDS, ActivityQuery};
pub use cursor::{decode_number, encode_cursor, encode_number};
pub use groups::{GROUP_WORDS, GroupQuery};
pub use pairs::Pairs;
pub use waiting::{WAITING_WORDS, WaitingQuery};
pub use when::When;

/// The words of [`LetterQuery`], to name them where another one was given.
pub const WORDS: &str = "status, importance, broker, queue, type, reason, group, since, until, sort, limit, cursor";

/// Which letters an address asks for. It stays as it was written, so that `since=24h` moves with the clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LetterQuery {
    /// `None` when the address does not say; an empty list stands for all.
    pub statuses: Option<Vec<Status>>,
    pub importances: Vec<Importance>,
    pub brokers: Vec<String>,
    pub queues: Vec<String>,
    /// Names of types, or globs.
    pub types: Vec<String>,
    pub reasons: Vec<Reason>,
    pub groups: Vec<GroupId>,
    pub since: Option<When>,
    pub until: Option<When>,
    pub sort: Sort,
    pub limit: Option<usize>,
    pub cursor: Option<Cursor>,
}

impl LetterQuery {
    /// The word that stands for every status.
    const ANY: &str = "all";
    /// Stands for the letters whose queue or type is unknown, which the database keeps under the empty name.
    pub const UNKNOWN: &str = "\"\"";
    /// Letters a single answer holds at most.
    pub const MAX_LIMIT: usize = 1_000;

    pub fn take(pairs: &mut Pairs) -> Result<Self, WebError> {
        Ok(Self {
            statuses: take_statuses(pairs)?,
            importances: pairs.take_words("importance")?,
            brokers: pairs.take_names("broker"),
            queues: pairs.take_names("queue"),
            types: pairs.take_names("type"),
            reasons: pairs.take_words("reason")?,
            groups: pairs.take_words("group")?,
            since: pairs.take_parsed("since")?,
            until: pairs.take_parsed("until")?,
            sort: take_sort(pairs)?,
            limit: take_limit(pairs)?,
            cursor: take_cursor(pairs)?,
        })
    }

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

    /// The words that say it, by name, without what says the default.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let statuses = self.statuses.as_ref().map(|all| if all.is_empty() { Self::ANY.to_owned() } else { words(all) });
        let sort = if self.sort == Sort::Oldest { "oldest" } else { "" };
        said([
            ("status", statuses.unwrap_or_default()),
            ("importance", words(&self.importances)),
            ("broker", self.brokers.join(",")),
            ("queue", self.queues.join(",")),
            ("type", self.types.join(",")),
            ("reason", words(&self.reasons)),
            ("group", words(&self.groups)),
            ("since", self.since.as_ref().map(When::to_string).unwrap_or_default()),
            ("until", self.until.as_ref().map(When::to_string).unwrap_or_default()),
            ("sort", sort.to_owned()),
            ("limit", self.limit.map(|limit| limit.to_string()).unwrap_or_default()),
            ("cursor", self.cursor.map(encode_cursor).unwrap_or_default()),
        ])
    }

    /// The letters of one group that are open, or of that status.
    pub fn of_group(group: GroupId, status: Option<Status>) -> Self {
        let statuses = status.filter(|status| *status != Status::Open).map(|status| vec![status]);
        Self { statuses, groups: vec![group], ..Self::default() }
    }

    /// The address of the list.
    pub fn href(&self) -> String {
        self.href_with(&[])
    }

    /// The address of the list with further words behind it.
    pub fn href_with(&self, further: &[(&str, &str)]) -> String {
        address("/letters", borrowed(&self.pairs()).chain(further.iter().copied()))
    }

    /// The same with other words and from the first page on.
    pub fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut query = Self { cursor: None, ..self.clone() };
        change(&mut query);
        query
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

fn words<T: Display>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

fn take_statuses(pairs: &mut Pairs) -> Result<Option<Vec<Status>>, WebError> {
    let words = pairs.take_names("status");
    if words.iter().any(|word| word == LetterQuery::ANY) {
        return Ok(Some(Vec::new()));
    }
    let statuses = words.iter().map(|word| read("status", word)).collect::<Result<Vec<_>, _>>()?;
    Ok((!statuses.is_empty()).then_some(statuses))
}

fn take_sort(pairs: &mut Pairs) -> Result<Sort, WebError> {
    match pairs.take("sort")?.as_deref() {
        None | Some("newest") => Ok(Sort::Newest),
        Some("oldest") => Ok(Sort::Oldest),
        Some(word) => Err(WebError::bad_request(format!("sort: {word:?} is no order; it takes one of newest, oldest"))),
    }
}

fn take_limit(pairs: &mut Pairs) -> Result<Option<usize>, WebError> {
    let max = LetterQuery::MAX_LIMIT;
    let Some(text) = pairs.take("limit")? else { return Ok(None) };
    match text.parse() {
        Ok(limit) if (1..=max).contains(&limit) => Ok(Some(limit)),
        _ => Err(WebError::bad_request(format!("limit: {text:?} is not possible; it takes a number from 1 to {max}"))),
    }
}

fn take_cursor<P: Place>(pairs: &mut Pairs) -> Result<Option<P>, WebError> {
    let Some(text) = pairs.take("cursor")? else { return Ok(None) };
    let unknown = || WebError::bad_request("cursor: it takes the next_cursor of an earlier answer");
    decode_cursor(&text).map(Some).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<LetterQuery, WebError> {
        let mut pairs = Pairs::parse(text.as_bytes());
        let query = LetterQuery::take(&mut pairs)?;
        pairs.finish(WORDS).map(|()| query)
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
