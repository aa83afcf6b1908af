//! Which entries an address asks for.

use amqp_message::time::Timestamp;

use super::{Anchor, When, form, listed, parameters};
use crate::domain::activity::{ActivityFilter, Area};

parameters! {
    /// Which entries an address asks for. It stays as it was written, so that `since=24h` moves with the clock.
    pub ActivityQuery {
        /// What was changed; any of them.
        "area" areas: Vec<Area> as form::Repeated,
        /// Who did it; any of them. `dlo` is the server itself.
        "by" by: Vec<String> as form::Repeated,
        /// What it was done to: the id of a letter or group, or the name of a rule, schema, queue or digest.
        "subject" subject: Option<String> as form::Trimmed,
        /// Done at or after: RFC 3339, or how long ago (`24h`).
        "since" since: Option<When> as form::One,
        /// Done before: RFC 3339, or how long ago.
        "until" until: Option<When> as form::One,
        /// Entries of one answer.
        "limit" limit: Option<usize> as form::Limit,
        /// `next_cursor` of the answer before, to the same query.
        "cursor" cursor: Option<Anchor<i64>> as form::Cursor,
    }
}

parameters! {
    /// Which entries an export has: all that match, the newest first.
    pub ActivityExport {
        /// What was changed; any of them.
        "area" areas: Vec<Area> as form::Repeated,
        /// Who did it; any of them. `dlo` is the server itself.
        "by" by: Vec<String> as form::Repeated,
        /// What it was done to: the id of a letter or group, or the name of a rule, schema, queue or digest.
        "subject" subject: Option<String> as form::Trimmed,
        /// Done at or after: RFC 3339, or how long ago (`24h`).
        "since" since: Option<When> as form::One,
        /// Done before: RFC 3339, or how long ago.
        "until" until: Option<When> as form::One,
    }
}

impl ActivityExport {
    pub fn filter(&self, now: Timestamp) -> ActivityFilter {
        let Self { areas, by, subject, since, until } = self.clone();
        ActivityQuery { areas, by, subject, since, until, ..ActivityQuery::default() }.filter(now)
    }
}

listed!(ActivityQuery, "/activity", i64);

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
        *self == Self { limit: self.limit, cursor: self.cursor, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::query::Listed;
    use crate::web::query::{Pairs, Parameters};

    #[test]
    fn what_is_written_is_read_again() {
        let check = |text: &str, canonical: &str| {
            let query = ActivityQuery::read(Pairs::parse(text.as_bytes()));
            assert_eq!(query.ok().map(|query| query.href()).as_deref(), Some(canonical));
        };
        check("", "/activity");
        check("area=&by=&subject=+", "/activity");
        check("area=letters&area=rules&since=24h", "/activity?area=letters&area=rules&since=24h");
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
