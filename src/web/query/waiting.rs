//! Which waiting letters an address asks for.

use super::{
    Pairs, encode_cursor, kept_names,
    pairs::{address, borrowed, said},
    take_cursor, take_limit,
};
use crate::{
    domain::{filter::LetterFilter, letter::Status, waiting::WaitingCursor},
    web::error::WebError,
};

/// The words of [`WaitingQuery`], to name them where another one was given.
pub const WAITING_WORDS: &str = "broker, queue, limit, cursor";

#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaitingQuery {
    pub brokers: Vec<String>,
    /// Names or globs of the queues they failed in.
    pub queues: Vec<String>,
    pub limit: Option<usize>,
    pub cursor: Option<WaitingCursor>,
}

impl WaitingQuery {
    pub fn take(pairs: &mut Pairs) -> Result<Self, WebError> {
        Ok(Self {
            brokers: pairs.take_names("broker"),
            queues: pairs.take_names("queue"),
            limit: take_limit(pairs)?,
            cursor: take_cursor(pairs)?,
        })
    }

    pub fn filter(&self) -> LetterFilter {
        LetterFilter {
            statuses: vec![Status::Scheduled],
            brokers: self.brokers.clone(),
            queues: kept_names(&self.queues),
            ..LetterFilter::default()
        }
    }

    /// The words that say it, by name.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        said([
            ("broker", self.brokers.join(",")),
            ("queue", self.queues.join(",")),
            ("limit", self.limit.map(|limit| limit.to_string()).unwrap_or_default()),
            ("cursor", self.cursor.map(encode_cursor).unwrap_or_default()),
        ])
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

    #[test]
    fn what_is_written_is_read_again() {
        let check = |text: &str, canonical: &str| {
            let mut pairs = Pairs::parse(text.as_bytes());
            let query = WaitingQuery::take(&mut pairs).map(|query| query.href());
            assert!(pairs.finish(WAITING_WORDS).is_ok());
            assert_eq!(query.ok().as_deref(), Some(canonical));
        };
        check("", "/scheduled");
        check("queue=&broker=", "/scheduled");
        check("queue=texts.*&broker=main&limit=7", "/scheduled?broker=main&queue=texts.*&limit=7");
    }
}
