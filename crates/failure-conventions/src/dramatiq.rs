//! Dramatiq: rejects to `<queue>.XQ`, and keeps what it knows in the body.

use amqp_message::message::Message;
use serde::Deserialize;

use super::{evidence::Evidence, exception, framework::Framework, raw_object::RawObject, report::FrameworkReport};
use crate::{danger::Danger, inner_body::InnerBodies};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "Dramatiq",
    records: "traceback of the try before, attempts, type",
    retried: "its options begin anew",
    read,
    clean,
    advice: "Dramatiq records the traceback of the try before the last. With max_retries=0 there is none; its log has it.",
};

/// What makes a body one of its messages.
#[derive(Deserialize)]
struct Body {
    actor_name: String,
    queue_name: String,
    options: Options,
}

#[derive(Deserialize)]
struct Options {
    #[serde(default)]
    retries: u64,
    traceback: Option<String>,
}

/// Its messages have neither headers nor a content type; only the body gives it away.
fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    let queue = evidence.site?.queue.as_str();
    if !evidence.mentions("\"actor_name\"") {
        return None;
    }
    let body: Body = evidence.body()?;
    if plain_queue(&body.queue_name) != queue {
        return None;
    }
    let Options { retries, traceback } = body.options;
    Some(FrameworkReport {
        error: traceback.as_deref().and_then(exception::python),
        message_type: Some(body.actor_name),
        ..FrameworkReport::attempts(Some(retries.saturating_add(1)))
    })
}

/// Messages that wait for a retry are in `<queue>.DQ`.
fn plain_queue(queue: &str) -> &str {
    queue.strip_suffix(".DQ").unwrap_or(queue)
}

/// With its retries in place the first failure would be the last.
fn clean(message: &mut Message, _: &InnerBodies) -> Result<(), Danger> {
    if let Some(body) = with_fresh_options(&message.body) {
        message.body = body.into_bytes();
    }
    Ok(())
}

fn with_fresh_options(body: &[u8]) -> Option<String> {
    let mut message = RawObject::parse(std::str::from_utf8(body).ok()?)?;
    let mut options = RawObject::parse(message.get("options")?)?;
    options.remove(&["traceback", "requeue_timestamp", "eta"]);
    options.replace("retries", "0".to_owned());
    let options = options.to_string();
    let queue: String = serde_json::from_str(message.get("queue_name")?).ok()?;
    message.replace("queue_name", serde_json::Value::from(plain_queue(&queue)).to_string());
    message.replace("options", options);
    Some(message.to_string())
}

#[cfg(test)]
mod tests {
    use amqp_message::field::FieldValue;

    use super::*;

    #[test]
    fn a_long_message_is_one_as_well() {
        let body = |retries: u64| {
            let args = "x".repeat(17 * 1024);
            let options = format!(r#"{{"retries":{retries}}}"#);
            format!(r#"{{"queue_name":"q","actor_name":"charge","args":["{args}"],"options":{options}}}"#)
        };
        let death = [("queue", "q"), ("reason", "rejected")];
        let death = death.map(|(name, text)| (name.to_owned(), FieldValue::string(text))).into_iter().collect();
        let mut message = Message { body: body(20).into(), ..Message::default() };
        message.headers.set("x-death", FieldValue::Array(vec![FieldValue::Table(death)]));
        let report = crate::read(&message);
        assert_eq!((report.framework, report.failure.attempts), (Some("Dramatiq"), 21));
        assert_eq!(report.failure.message_type.as_deref(), Some("charge"));
        let clean = crate::clean(message, &InnerBodies::default()).unwrap();
        assert_eq!(String::from_utf8(clean.body).unwrap(), body(0));
    }

    #[test]
    fn options_are_fresh_and_all_else_is_as_it_was() {
        fn check(body: &str, expected: Option<&str>) {
            assert_eq!(with_fresh_options(body.as_bytes()).as_deref(), expected);
        }
        check(
            r#"{"queue_name":"q.DQ","args":[1.10],"options":{"retries":3,"traceback":"x","eta":1,"max_retries":5}}"#,
            Some(r#"{"queue_name":"q","args":[1.10],"options":{"retries":0,"max_retries":5}}"#),
        );
        check(r#"{"queue_name":"q","options":{}}"#, Some(r#"{"queue_name":"q","options":{}}"#));
        check(r#"{"options":[]}"#, None);
        check("junk", None);
    }
}
