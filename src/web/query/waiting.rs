//! Which waiting letters an address asks for.

use super::{
    Parameters, form, kept_names,
    pairs::{address, borrowed},
    parameters,
};
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

impl WaitingQuery {
    pub fn filter(&self) -> LetterFilter {
        LetterFilter {
            statuses: vec![Status::Scheduled],
            brokers: self.brokers.clone(),
            queues: kept_names(&self.queues),
            ..LetterFilter::default()
        }
    }

    /// The address of the page, with further words behind it.
    pub fn href_with(&self, further: &[(&'static str, &str)]) -> String {
        address("/scheduled", borrowed(&self.pairs()).chain(further.iter().copied()))
    }

    pub fn href(&self) -> String {
        self.href_with(&[])
    }

    /// The same from the first page on.
    pub fn first_page(&self) -> Self {
        Self { cursor: None, ..self.clone() }
    }

    pub fn after(&self, cursor: WaitingCursor) -> Self {
        Self { cursor: Some(cursor), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::query::Pairs;

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
