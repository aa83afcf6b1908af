//! Which waiting letters an address asks for.

use super::{form, kept_names, listed, parameters};
use crate::domain::{filter::LetterFilter, letter::Status, waiting::WaitingCursor};

parameters! {
    /// Which waiting letters an address asks for.
    pub WaitingQuery {
        "broker" brokers: Vec<String> as form::Words => Option<String>,
        /// Names or globs of the queues they failed in.
        "queue" queues: Vec<String> as form::Words => Option<String>,
        "limit" limit: Option<usize> as form::Limit => Option<u32>,
        "cursor" cursor: Option<WaitingCursor> as form::Cursor => Option<String>,
    }
}

listed!(WaitingQuery, "/scheduled", WaitingCursor);

impl WaitingQuery {
    pub fn filter(&self) -> LetterFilter {
        LetterFilter {
            statuses: vec![Status::Scheduled],
            brokers: self.brokers.clone(),
            queues: kept_names(&self.queues),
            ..LetterFilter::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::query::{Pairs, Parameters};

    #[test]
    fn what_is_written_is_read_again() {
        let check = |text: &str, canonical: &str| {
            let query = WaitingQuery::read(Pairs::parse(text.as_bytes())).map(|query| query.href());
            assert_eq!(query.ok().as_deref(), Some(canonical));
        };
        check("", "/scheduled");
        check("queue=&broker=", "/scheduled");
        check("queue=texts.*&broker=main&limit=7", "/scheduled?broker=main&queue=texts.*&limit=7");
    }
}
