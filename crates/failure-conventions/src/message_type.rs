//! Which type a message says it has.
//!
//! Only explicit marks count: a framework's own field, CloudEvents, the property `type`, `__TypeId__`, a parameter of
//! the content type, and at last fields of the body that only one library writes.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use super::{easynetq, evidence::Evidence};

/// Bytes of a type's name at most; anything longer is none.
const MAX_NAME: usize = 500;

/// The type; `report` is what the framework's own fields say.
pub(super) fn read(evidence: &Evidence, report: Option<String>) -> Option<String> {
    let name = report
        .or_else(|| cloud_event(evidence))
        .or_else(|| property(evidence))
        .or_else(|| evidence.text("__TypeId__"))
        .or_else(|| content_type_parameter(evidence.message.properties.content_type.as_deref()?))
        .or_else(|| taskiq(evidence))
        .or_else(|| body(evidence))?;
    let name = name.trim();
    (!name.is_empty() && name.len() <= MAX_NAME).then(|| name.to_owned())
}

/// In a header, in the spelling of the specification or in that of Brighter, or in a structured body
/// (<https://github.com/cloudevents/spec/blob/main/cloudevents/bindings/amqp-protocol-binding.md>).
fn cloud_event(evidence: &Evidence) -> Option<String> {
    const NAMES: [&str; 2] = ["cloudEvents:type", "cloudEvents_type"];
    #[derive(Deserialize)]
    struct Event {
        r#type: String,
    }
    let is_type = |name: &str| NAMES.iter().any(|known| name.eq_ignore_ascii_case(known));
    let header = evidence.message.headers.iter().find(|(name, _)| is_type(name)).and_then(|(_, value)| value.as_str());
    if let Some(name) = header {
        return Some(name.to_owned());
    }
    let content_type = evidence.message.properties.content_type.as_deref()?;
    let is_structured = content_type.starts_with("application/cloudevents+json");
    is_structured.then(|| evidence.body::<Event>()).flatten().map(|event| event.r#type)
}

/// The property is overloaded: RabbitMQ marks bodies of AMQP 1.0 in it, Brighter writes the media type there.
fn property(evidence: &Evidence) -> Option<String> {
    let kind = evidence.message.properties.kind.as_deref()?;
    let is_mark = kind == "amqp-1.0" || is_media_type(kind) || easynetq::is_wrapper(kind);
    (!is_mark).then(|| kind.to_owned())
}

fn is_media_type(text: &str) -> bool {
    const TOP_LEVEL: [&str; 9] =
        ["application", "audio", "font", "image", "message", "model", "multipart", "text", "video"];
    text.split_once('/').is_some_and(|(top, _)| TOP_LEVEL.contains(&top))
}

/// `messageType` or `proto`, as Protobuf users add them; no registered media type has either.
fn content_type_parameter(content_type: &str) -> Option<String> {
    let parameters = content_type.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let mut named =
        parameters.filter(|(name, _)| ["messagetype", "proto"].contains(&&*name.trim().to_ascii_lowercase()));
    named.next().map(|(_, value)| value.trim().trim_matches('"').to_owned())
}

/// TaskIQ writes both, and its labels beside them.
fn taskiq(evidence: &Evidence) -> Option<String> {
    evidence.text("task_name").filter(|_| evidence.has("task_id"))
}

/// The fields that give a library away.
#[derive(Deserialize)]
struct Body {
    /// ActiveJob.
    job_class: Option<String>,
    /// NestJS, with `data` beside it; the pattern may be an object.
    pattern: Option<Value>,
    data: Option<IgnoredAny>,
    /// Celery's message protocol 1, with `id` and `args` beside it.
    task: Option<Value>,
    id: Option<IgnoredAny>,
    args: Option<IgnoredAny>,
    /// TaskIQ, with `task_id` beside it; what hands its failures over may send no headers of its.
    task_name: Option<String>,
    task_id: Option<IgnoredAny>,
    /// Dramatiq, with `queue_name` beside it.
    actor_name: Option<String>,
    queue_name: Option<IgnoredAny>,
}

fn body(evidence: &Evidence) -> Option<String> {
    const SIGNS: [&str; 5] = ["\"job_class\"", "\"pattern\"", "\"task\"", "\"task_name\"", "\"actor_name\""];
    if !SIGNS.iter().any(|sign| evidence.mentions(sign)) {
        return None;
    }
    let body: Body = evidence.body()?;
    let pattern = body.pattern.filter(|_| body.data.is_some()).map(|pattern| match pattern {
        Value::String(pattern) => pattern,
        other => other.to_string(),
    });
    let task = body.task.filter(|_| body.id.is_some() && body.args.is_some());
    let task = task.and_then(|task| task.as_str().map(str::to_owned));
    let actor = body.actor_name.filter(|_| body.queue_name.is_some());
    let taskiq = body.task_name.filter(|_| body.task_id.is_some());
    body.job_class.or(pattern).or(task).or(taskiq).or(actor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use amqp_message::{
        field::FieldValue,
        message::{Message, Properties},
    };

    fn check(message: Message, expected: Option<&str>) {
        let evidence = Evidence { message: &message, deaths: &[], site: None };
        assert_eq!(read(&evidence, None).as_deref(), expected, "{message:?}");
    }

    fn properties(kind: Option<&str>, content_type: Option<&str>) -> Message {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let properties = Properties { kind: text(kind), content_type: text(content_type), ..Properties::default() };
        Message { properties, ..Message::default() }
    }

    fn header(name: &str, value: &str) -> Message {
        let headers = [(name.to_owned(), FieldValue::string(value))].into_iter().collect();
        Message { headers, ..Message::default() }
    }

    fn body(body: &str) -> Message {
        Message { body: body.into(), ..Message::default() }
    }

    #[test]
    fn the_property_is_a_type_unless_it_is_something_else() {
        check(properties(Some("order.placed.v1"), None), Some("order.placed.v1"));
        check(properties(Some("acme/order"), None), Some("acme/order"));
        check(properties(Some("application/json"), None), None);
        check(properties(Some("amqp-1.0"), None), None);
        check(properties(Some("EasyNetQ.SystemMessages.Error, EasyNetQ"), None), None);
        check(properties(Some(" "), None), None);
        check(properties(Some(&"x".repeat(501)), None), None);
    }

    #[test]
    fn content_types_have_parameters() {
        check(properties(None, Some("application/x-protobuf; messageType=\"a.B\"")), Some("a.B"));
        check(properties(None, Some("application/vnd.google.protobuf;proto=a.B; q=1")), Some("a.B"));
        check(properties(None, Some("application/json; charset=utf-8")), None);
    }

    #[test]
    fn headers_name_types() {
        check(header("cloudEvents:type", "a.b"), Some("a.b"));
        check(header("cloudevents_Type", "a.b"), Some("a.b"));
        check(header("__TypeId__", "a.B"), Some("a.B"));
        check(header("type", "a.b"), None);
        check(header("task_name", "billing:charge"), None);
        let mut taskiq = header("task_name", "billing:charge");
        taskiq.headers.set("task_id", FieldValue::string("1"));
        check(taskiq, Some("billing:charge"));
        check(body(r#"{"task_id":"1","task_name":"billing:charge","args":[]}"#), Some("billing:charge"));
        check(body(r#"{"task_name":"billing:charge"}"#), None);
    }

    #[test]
    fn structured_events_name_theirs_in_the_body() {
        let event = properties(None, Some("application/cloudevents+json; charset=utf-8"));
        check(Message { body: br#"{"type":"a.b"}"#.to_vec(), ..event.clone() }, Some("a.b"));
        check(Message { body: b"[]".to_vec(), ..event }, None);
    }

    #[test]
    fn bodies_give_libraries_away() {
        check(body(r#"{"job_class":"ChargeJob","arguments":[]}"#), Some("ChargeJob"));
        check(body(r#"{"pattern":"order_created","data":{}}"#), Some("order_created"));
        check(body(r#"{"pattern":{"cmd":"sum"},"data":1}"#), Some(r#"{"cmd":"sum"}"#));
        check(body(r#"{"pattern":"stripes"}"#), None);
        check(body(r#"{"task":"tasks.add","id":"1","args":[]}"#), Some("tasks.add"));
        check(body(r#"{"task":"wash up"}"#), None);
        check(body(r#"{"actor_name":"send","queue_name":"q"}"#), Some("send"));
        check(body("[]"), None);
    }
}
