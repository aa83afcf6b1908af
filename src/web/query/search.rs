//! A search in an address: what was typed, and what it means or why it means nothing.

use std::{convert::Infallible, fmt, str::FromStr};

use amqp_message::time::Timestamp;
use utoipa::openapi::{Object, ObjectBuilder};

use super::described::{Described, text};
use crate::domain::{
    filter::LetterFilter,
    search::{Mistake, Parsed, Search},
};

/// What was typed into the search box.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchText {
    text: String,
    parsed: Result<Parsed, Vec<Mistake>>,
}

impl SearchText {
    pub fn parsed(&self) -> Result<&Parsed, &[Mistake]> {
        self.parsed.as_ref().map_err(Vec::as_slice)
    }

    /// Whether it says itself which statuses it is about.
    pub fn names_status(&self) -> bool {
        self.parsed.as_ref().is_ok_and(Parsed::names_status)
    }

    /// Narrows a filter. What cannot be understood lets nothing through, so that it never acts on what was not meant.
    pub(super) fn narrow(&self, filter: &mut LetterFilter, now: Timestamp) {
        match &self.parsed {
            Ok(parsed) => filter.narrow(parsed, now),
            Err(_) => filter.search = Some(Search::nothing()),
        }
    }
}

impl FromStr for SearchText {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self { text: text.to_owned(), parsed: Parsed::read(text) })
    }
}

impl fmt::Display for SearchText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Described for SearchText {
    fn schema() -> Object {
        let examples = [
            "NoRate",
            "queue:billing.* error:\"no exchange rate\" importance:>=high",
            "payload.total.cents:>4000 -header.x-tenant:test (attempts:>3 OR since:2h)",
        ];
        ObjectBuilder::from(text()).examples(examples).max_length(Some(search_language::MAX_LENGTH)).build()
    }
}
