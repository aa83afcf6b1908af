//! Which entries an address asks for.

use amqp_message::time::Timestamp;

use super::{
    Parameters, When, form,
    pairs::{address, borrowed},
    parameters,
};
use crate::domain::activity::{ActivityFilter, Area};

parameters! {
    /// Which entries an address asks for. It stays as it was written, so that `since=24h` moves with the clock.
    pub ActivityQuery {
        /// `letters`, `groups`, `rules`, `policies`, `schemas`, `mappings`, `digests`, or several by comma.
        "area" areas: Vec<Area> as form::Words => Option<String>,
        /// A name; given several times, any of them. `dlo` is the app itself.
        "by" by: Vec<String> as form::Repeated => Option<Vec<String>>,
        /// What it was done to: the id of a letter or group, or the name of a rule, schema, queue or digest.
        "subject" subject: Option<String> as form::Trimmed => Option<String>,
        /// Done at or after: RFC 3339, or how long ago (`24h`).
        "since" since: Option<When> as form::One => Option<String>,
        /// Done before: RFC 3339, or how long ago.
        "until" until: Option<When> as form::One => Option<String>,
        /// 1 to 1000; 50 if left out.
        "limit" limit: Option<usize> as form::Limit => Option<u32>,
    }
}

parameters! {
    /// Where a page of the API begins; those of the page `/activity` begin behind a line by its number.
    pub ActivityCursor {
        /// `next_cursor` of the answer before.
        "cursor" cursor: Option<i64> as form::NumberedCursor => Option<String>,
    }
}

impl ActivityQuery {
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
        let mut pairs = self.pairs();
        pairs.extend(before.map(|before| ("before", before.to_string())));
        address("/activity", borrowed(&pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::query::Pairs;

    #[test]
    fn what_is_written_is_read_again() {
        let check = |text: &str, canonical: &str| {
            let query = ActivityQuery::read(Pairs::parse(text.as_bytes()));
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
