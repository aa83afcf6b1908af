//! Limits of time that a framework writes into a message, and of which RabbitMQ knows nothing: its worker drops what is
//! too old, without a word.

use std::borrow::Cow;

use amqp_message::{field::FieldValue, message::Message, time::Timestamp};
use memchr::memmem;
use serde::Deserialize;

use super::{evidence::MAX_BODY, moment, raw_object::RawObject};

/// The header in which Celery's second protocol has it.
const CELERY: &str = "expires";

/// Celery's first protocol (<https://docs.celeryq.dev/en/stable/internals/protocol.html>).
#[derive(Deserialize)]
struct CeleryBody<'a> {
    #[serde(borrow, rename = "task")]
    _task: Cow<'a, str>,
    #[serde(borrow)]
    expires: Option<Cow<'a, str>>,
}

/// Dramatiq's AgeLimit (<https://dramatiq.io/guide.html#message-age-limits>).
#[derive(Deserialize)]
struct DramatiqBody {
    message_timestamp: i64,
    options: DramatiqOptions,
}

#[derive(Deserialize)]
struct DramatiqOptions {
    /// Milliseconds.
    max_age: Option<i64>,
}

/// From when on its consumer drops the message; `None` where it does not say.
pub fn at(message: &Message) -> Option<Timestamp> {
    let headers = &message.headers;
    if headers.get("task").is_some() && headers.get("id").is_some() {
        return headers.get_str(CELERY).and_then(celery);
    }
    by_dramatiq(message).or_else(|| celery(&body_with::<CeleryBody<'_>>(message, "\"expires\"")?.expires?))
}

fn by_dramatiq(message: &Message) -> Option<Timestamp> {
    let body: DramatiqBody = body_with(message, "\"max_age\"")?;
    let millis = body.message_timestamp.checked_add(body.options.max_age?)?;
    moment::unix_millis(&millis.to_string())
}

/// Takes the limit off, so that the message counts as sent at `now`.
pub fn remove(message: &mut Message, now: Timestamp) {
    if message.headers.get_str(CELERY).is_some() {
        message.headers.replace(CELERY, FieldValue::Void);
    }
    if let Some(body) = text(message).and_then(|text| without_expiry(text, now)) {
        message.body = body.into_bytes();
    }
}

/// A time without an offset is in UTC, Celery's default.
fn celery(text: &str) -> Option<Timestamp> {
    moment::iso(text).or_else(|| moment::iso(&format!("{text}Z")))
}

/// The body, where it has `needle` in it and parsing it is worth the while.
fn body_with<'a, T: Deserialize<'a>>(message: &'a Message, needle: &str) -> Option<T> {
    let text = text(message).filter(|text| memmem::find(text.as_bytes(), needle.as_bytes()).is_some())?;
    serde_json::from_str(text).ok()
}

fn text(message: &Message) -> Option<&str> {
    std::str::from_utf8(Some(&message.body).filter(|body| is_object(body))?).ok()
}

/// By its looks, and not too large to be parsed.
fn is_object(body: &[u8]) -> bool {
    body.starts_with(b"{") && body.len() <= MAX_BODY
}

fn without_expiry(text: &str, now: Timestamp) -> Option<String> {
    let mut body = RawObject::parse(text)?;
    if body.get("actor_name").is_some() {
        // The limit may be the actor's, and then it is not in the message.
        body.replace("message_timestamp", (now.as_micros() / 1_000).to_string());
    } else if body.get("task").is_some() && body.get("expires").is_some() {
        body.replace("expires", "null".to_owned());
    } else {
        return None;
    }
    Some(body.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_795_262_400_000_000);

    fn message(body: &str, headers: &[(&str, &str)]) -> Message {
        let field = |(name, value): &(&str, &str)| ((*name).to_owned(), FieldValue::string(*value));
        Message { body: body.into(), headers: headers.iter().map(field).collect(), ..Message::default() }
    }

    fn check(mut message: Message, seconds: Option<u64>, without: &str) {
        assert_eq!(at(&message), seconds.map(Timestamp::from_seconds), "{message:?}");
        remove(&mut message, NOW);
        assert_eq!(String::from_utf8(message.body.clone()).unwrap(), without);
        assert!(at(&message).is_none_or(|at| at > NOW), "{message:?}");
    }

    #[test]
    fn what_a_worker_would_drop() {
        let celery = |expires| message("[[1],{},{}]", &[("task", "t"), ("id", "i"), ("expires", expires)]);
        check(celery("2026-03-14T09:26:53+00:00"), Some(1_773_480_413), "[[1],{},{}]");
        check(celery("2026-03-14T09:26:53"), Some(1_773_480_413), "[[1],{},{}]");
        check(celery("soon"), None, "[[1],{},{}]");
        check(
            message(r#"{"task":"t","id":"i","args":[1.10],"expires":"2026-03-14T09:26:53+00:00"}"#, &[]),
            Some(1_773_480_413),
            r#"{"task":"t","id":"i","args":[1.10],"expires":null}"#,
        );
        check(
            message(r#"{"task":"t","kwargs":{"max_age":60},"expires":"2026-03-14T09:26:53+00:00"}"#, &[]),
            Some(1_773_480_413),
            r#"{"task":"t","kwargs":{"max_age":60},"expires":null}"#,
        );
        check(
            message(
                r#"{"actor_name":"a","message_timestamp":1773480412000,"options":{"max_age":1000,"retries":0}}"#,
                &[],
            ),
            Some(1_773_480_413),
            r#"{"actor_name":"a","message_timestamp":1795262400000,"options":{"max_age":1000,"retries":0}}"#,
        );
    }

    #[test]
    fn a_long_message_has_its_limit_as_well() {
        let body = |sent: u64| {
            let args = "x".repeat(70 * 1024);
            format!(r#"{{"actor_name":"a","args":["{args}"],"message_timestamp":{sent},"options":{{"max_age":1000}}}}"#)
        };
        check(message(&body(1_773_480_412_000), &[]), Some(1_773_480_413), &body(1_795_262_400_000));
    }

    #[test]
    fn what_only_looks_like_it_is_left_alone() {
        check(
            message(r#"{"expires":"2026-03-14T09:26:53Z","card":1}"#, &[]),
            None,
            r#"{"expires":"2026-03-14T09:26:53Z","card":1}"#,
        );
        check(message("text", &[("expires", "2026-03-14T09:26:53Z")]), None, "text");
        check(message("{", &[]), None, "{");
    }
}
