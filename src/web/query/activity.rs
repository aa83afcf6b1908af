//! Which entries an address asks for.

use amqp_message::time::Timestamp;

use super::{
    Pairs, When,
    pairs::{address, borrowed},
    take_limit, words,
};
use crate::{
    domain::activity::{ActivityFilter, Area},
    web::error::WebError,
};

/// The words of [`ActivityQuery`], to name them where another one was given.
pub const ACTIVITY_WORDS: &str = "area, by, subject, since, until, limit";

/// It stays as it was written, so that `since=24h` moves with the clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ActivityQuery {
    pub areas: Vec<Area>,
    /// Names as they are: they may hold commas, so each is given by a word of its own.
    pub by: Vec<String>,
    /// An id, or a name.
    pub subject: Option<String>,
    pub since: Option<When>,
    pub until: Option<When>,
    pub limit: Option<usize>,
}

impl ActivityQuery {
    pub fn take(pairs: &mut Pairs) -> Result<Self, WebError> {
        Ok(Self {
            areas: pairs.take_words("area")?,
            by: pairs.take_all("by"),
            subject: pairs.take("subject")?.map(|subject| subject.trim().to_owned()).filter(|text| !text.is_empty()),
            since: pairs.take_parsed("since")?,
            until: pairs.take_parsed("until")?,
            limit: take_limit(pairs)?,
        })
    }

    pub fn filter(&self, now: Timestamp) -> ActivityFilter {
        ActivityFilter {
            areas: self.areas.clone(),
            actors: self.by.clone(),
            subject: self.subject.clone(),
            since: self.since.as_ref().map(|when| when.resolve(now)),
            until: self.until.as_ref().map(|when| when.resolve(now)),
        }
    }

    /// Whether it lets everything through.
    pub fn is_open(&self) -> bool {
        *self == Self { limit: self.limit, ..Self::default() }
    }

    /// The address of the page that begins behind this line; without any, of the first.
    pub fn href(&self, before: Option<i64>) -> String {
        let written = [
            ("area", words(&self.areas)),
            ("subject", self.subject.clone().unwrap_or_default()),
            ("since", self.since.as_ref().map(When::to_string).unwrap_or_default()),
            ("until", self.until.as_ref().map(When::to_string).unwrap_or_default()),
            ("limit", self.limit.map(|limit| limit.to_string()).unwrap_or_default()),
            ("before", before.map(|before| before.to_string()).unwrap_or_default()),
        ];
        let by = self.by.iter().map(|name| ("by", name.as_str()));
        address("/activity", by.chain(borrowed(&written)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let check = |text: &str, canonical: &str| {
            let mut pairs = Pairs::parse(text.as_bytes());
            let query = ActivityQuery::take(&mut pairs);
            assert!(pairs.finish(ACTIVITY_WORDS).is_ok());
            assert_eq!(query.ok().map(|query| query.href(None)).as_deref(), Some(canonical));
        };
        check("", "/activity");
        check("area=&by=&subject=+", "/activity");
        check("area=letters,rules&since=24h", "/activity?area=letters,rules&since=24h");
        check("by=Doe,+Jane&by=Ann&limit=7", "/activity?by=Doe,+Jane&by=Ann&limit=7");
        check("subject=texts.*&until=2026-11-21", "/activity?subject=texts.*&until=2026-11-21T00:00:00Z");
    }

    #[test]
    fn what_is_unknown_is_refused() {
        let refused = |text: &str| ActivityQuery::take(&mut Pairs::parse(text.as_bytes())).is_err();
        for text in ["area=letter", "since=yesterday", "limit=0", "subject=a&subject=b"] {
            assert!(refused(text), "{text}");
        }
    }
}
