//! A failed message with its deaths, and easy ways to read them.

use amqp_message::{
    death::Death,
    field::{FieldTable, FieldValue},
    message::Message,
};
use memchr::memmem;
use serde::de::DeserializeOwned;

/// The largest body, in bytes, that is parsed for what a framework wrote into it.
pub(super) const MAX_BODY: usize = 1024 * 1024;

/// All a framework's reader gets to see.
pub(super) struct Evidence<'a> {
    pub message: &'a Message,
    /// Newest first.
    pub deaths: &'a [Death],
    /// The death that counts, by RabbitMQ's account.
    pub site: Option<&'a Death>,
}

impl<'a> Evidence<'a> {
    pub fn header(&self, name: &str) -> Option<&'a FieldValue> {
        self.message.headers.get(name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.header(name).is_some()
    }

    pub fn text(&self, name: &str) -> Option<String> {
        self.message.headers.get_str(name).map(str::to_owned)
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        self.header(name).and_then(number)
    }

    pub fn table(&self, name: &str) -> Option<&'a FieldTable> {
        self.header(name).and_then(FieldValue::as_table)
    }

    /// Whether the body, a JSON object by its looks, contains `needle`: whether parsing it is worth the while.
    pub fn mentions(&self, needle: &str) -> bool {
        let body = &self.message.body;
        body.starts_with(b"{") && body.len() <= MAX_BODY && memmem::find(body, needle.as_bytes()).is_some()
    }

    /// The body as JSON of this shape. Only for messages that a header, a property or what it
    /// [mentions](Self::mentions) has shown to have it.
    pub fn body<T: DeserializeOwned>(&self) -> Option<T> {
        let body = &self.message.body;
        if body.len() > MAX_BODY {
            return None;
        }
        serde_json::from_slice(body).ok()
    }
}

/// A whole number of any width, or its digits: some frameworks turn every header into a string.
pub(super) fn number(value: &FieldValue) -> Option<u64> {
    match value.as_str() {
        Some(digits) => digits.parse().ok(),
        None => value.as_i64().and_then(|n| n.try_into().ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_numbers_in_any_form() {
        fn check(value: FieldValue, expected: Option<u64>) {
            assert_eq!(number(&value), expected);
        }
        check(FieldValue::ShortShortInt(3), Some(3));
        check(FieldValue::LongLongInt(3), Some(3));
        check(FieldValue::LongLongInt(-3), None);
        check(FieldValue::string("3"), Some(3));
        check(FieldValue::string("three"), None);
        check(FieldValue::Boolean(true), None);
    }

    #[test]
    fn leaves_large_bodies_alone() {
        fn check(body: Vec<u8>, expected: bool) {
            let message = Message { body, ..Message::default() };
            let evidence = Evidence { message: &message, deaths: &[], site: None };
            assert_eq!(evidence.body::<serde_json::Value>().is_some(), expected);
        }
        let spaces_and_null = |len: usize| [" ".repeat(len - 4).as_bytes(), b"null"].concat();
        check(spaces_and_null(MAX_BODY), true);
        check(spaces_and_null(MAX_BODY + 1), false);
        check(vec![b'['; MAX_BODY], false);
        check(vec![], false);
    }
}
