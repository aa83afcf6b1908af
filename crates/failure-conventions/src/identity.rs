//! What tells a message from all others at its queue, though it was published anew on the way.
//!
//! Some frameworks publish a new message for each try, and drop headers and properties. What they keep is an id of their
//! own or, where they have none, the body.

use std::{
    borrow::Cow,
    collections::HashMap,
    hash::{Hash, Hasher},
};

use amqp_message::{
    field::{FieldTable, FieldValue},
    message::Message,
};
use memchr::memmem;
use serde::Deserialize;

use super::{FailureReport, clean, dlo_headers, inner_body::InnerBodies, message_id::IdKind, stripped, symfony};

/// A body shorter than this, in bytes, says too little: what the message is stands in its headers.
const SAYS_LITTLE: usize = 16;

/// The largest body, in bytes, that is looked through for an id.
const MAX_BODY: usize = 64 * 1024;

/// Headers that hold the id which a framework gives to a message, or to a task.
const ID_HEADERS: [&str; 3] = ["NServiceBus.MessageId", "rbs2-msg-id", "cap-msg-id"];

/// Headers that whoever publishes writes anew, so that they tell no message from another.
const TRACING: [&str; 6] = ["traceparent", "tracestate", "baggage", "b3", "x-b3-*", "sentry-trace"];

/// Texts of which one stands in each body that has an id.
const SIGNS: [&str; 5] = ["\"actor_name\"", "\"task\"", "\"task_name\"", "\"displayName\"", "\"messageId\""];

/// Ids in bodies: Dramatiq, Celery's first protocol, TaskIQ, Laravel, MassTransit.
#[derive(Deserialize)]
#[serde(untagged)]
enum BodyWithId {
    Dramatiq {
        actor_name: String,
        message_id: String,
    },
    Celery {
        task: String,
        id: String,
    },
    TaskIq {
        task_name: String,
        task_id: String,
    },
    Laravel {
        #[serde(rename = "displayName")]
        display_name: String,
        uuid: String,
    },
    MassTransit {
        #[serde(rename = "messageType")]
        message_type: Vec<String>,
        #[serde(rename = "messageId")]
        message_id: String,
    },
}

/// Hashes what stays of a message, of which `report` was read, when it is published anew: the id that its framework gives
/// it, or else what it brings to its consumer.
pub fn hash(message: &Message, report: &FailureReport, state: &mut impl Hasher) {
    if let Some(id) = framework_id(message) {
        return ("id", id).hash(state);
    }
    if let Some(message) = symfony::without_stamps(&message.body) {
        return message.hash(state);
    }
    let lasting = if report.framework.is_some() { lasting(message) } else { Cow::Borrowed(message) };
    lasting.body.hash(state);
    if lasting.body.len() < SAYS_LITTLE {
        lasting.properties.kind.hash(state);
        let mut headers: Vec<_> = lasting.headers.iter().filter(|(name, _)| lasts(name)).collect();
        headers.sort_unstable_by_key(|(name, _)| *name);
        headers.hash(state);
    }
}

/// The `message_id`, where that perhaps tells the message from all others, and how far it does. What has an id of its
/// framework needs no other.
pub fn message_id(message: &Message) -> Option<(&str, IdKind)> {
    let id = message.properties.message_id.as_deref().filter(|_| framework_id(message).is_none())?;
    Some((id, IdKind::of(id))).filter(|(_, kind)| *kind != IdKind::Name)
}

/// Whether both are one message by their [`message_id`], whatever else has changed on the way but the type.
pub fn have_same_id(one: &Message, other: &Message) -> bool {
    let (type_of_one, type_of_other) = (&one.properties.kind, &other.properties.kind);
    message_id(one).is_some_and(|id| Some(id) == message_id(other))
        && (type_of_one.is_none() || type_of_other.is_none() || type_of_one == type_of_other)
}

/// Whether two messages with equal [hashes](hash) say themselves that they are different ones: by an id, a type or a
/// header that both have.
pub fn are_different(one: &Message, other: &Message) -> bool {
    if framework_id(one).is_some() || have_same_id(one, other) {
        return false;
    }
    let (one, other) = (lasting(one), lasting(other));
    let differ = |one: &Option<String>, other: &Option<String>| {
        one.as_ref().zip(other.as_ref()).is_some_and(|(one, other)| one != other)
    };
    let (properties, others) = (&one.properties, &other.properties);
    differ(&properties.message_id, &others.message_id)
        || differ(&properties.correlation_id, &others.correlation_id)
        || differ(&properties.kind, &others.kind)
        || headers_differ(&one.headers, &other.headers)
}

/// By a map, as a message that its framework keeps in a body has any number of headers.
fn headers_differ(one: &FieldTable, other: &FieldTable) -> bool {
    let mut others = HashMap::new();
    for (name, value) in other.iter() {
        // Where a name stands twice the first counts.
        others.entry(name).or_insert(value);
    }
    one.iter().any(|(name, value)| lasts(name) && others.get(name).is_some_and(|its| *its != value))
}

/// The message without what was added to it when it failed, as far as that can be told.
fn lasting(message: &Message) -> Cow<'_, Message> {
    let bodies = InnerBodies::new([("*".to_owned(), super::InnerBody::Text)]);
    clean(message.clone(), &bodies).map_or(Cow::Borrowed(message), Cow::Owned)
}

fn lasts(name: &str) -> bool {
    let is_tracing = stripped::is_any_of(&TRACING, name);
    !is_tracing && !stripped::is_stripped(name) && !name.starts_with(dlo_headers::PREFIX)
}

fn framework_id(message: &Message) -> Option<String> {
    let header = |name: &str| message.headers.get(name).and_then(FieldValue::as_str);
    let celery = || header("id").filter(|_| header("task").is_some());
    let in_headers = celery().or_else(|| ID_HEADERS.iter().find_map(|name| header(name)));
    in_headers.map(str::to_owned).or_else(|| id_in_body(&message.body)).filter(|id| !id.is_empty())
}

fn id_in_body(body: &[u8]) -> Option<String> {
    if !body.starts_with(b"{") || body.len() > MAX_BODY {
        return None;
    }
    if !SIGNS.iter().any(|sign| memmem::find(body, sign.as_bytes()).is_some()) {
        return None;
    }
    Some(match serde_json::from_slice(body).ok()? {
        BodyWithId::Dramatiq { actor_name: what, message_id: id }
        | BodyWithId::Celery { task: what, id }
        | BodyWithId::TaskIq { task_name: what, task_id: id }
        | BodyWithId::Laravel { display_name: what, uuid: id } => format!("{what} {id}"),
        BodyWithId::MassTransit { message_type, message_id } => format!("{} {message_id}", message_type.join(" ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::DefaultHasher;

    fn message(body: &str, headers: &[(&str, &str)]) -> Message {
        let field = |(name, value): &(&str, &str)| ((*name).to_owned(), FieldValue::string(*value));
        Message { body: body.into(), headers: headers.iter().map(field).collect(), ..Message::default() }
    }

    fn with_id(message: Message, id: &str) -> Message {
        let properties = amqp_message::message::Properties { message_id: Some(id.to_owned()), ..message.properties };
        Message { properties, ..message }
    }

    fn hashed(message: &Message) -> u64 {
        let mut state = DefaultHasher::new();
        hash(message, &crate::read(message), &mut state);
        state.finish()
    }

    /// Whether the second may be the first that has come back.
    fn check(one: &Message, other: &Message, same: bool) {
        let is_same = hashed(one) == hashed(other) && !are_different(one, other);
        assert_eq!(is_same, same, "{one:?} {other:?}");
    }

    const ORDER: &str = r#"{"order":1090,"total":12.5}"#;

    #[test]
    fn what_was_lost_on_the_way_tells_nothing() {
        let first = message(ORDER, &[("tenant", "acme"), ("traceparent", "00-1")]);
        check(&first, &message(ORDER, &[]), true);
        check(&first, &message(ORDER, &[("tenant", "acme"), ("dlo-id", "x"), ("x-death", "y")]), true);
        check(&first, &message(ORDER, &[("traceparent", "00-2"), ("x-b3-spanid", "1")]), true);
        check(&with_id(first.clone(), "1"), &message(ORDER, &[]), true);
        check(&first, &message(r#"{"order":1091,"total":12.5}"#, &[]), false);
    }

    #[test]
    fn what_both_have_tells_them_apart() {
        let first = message(ORDER, &[("tenant", "acme")]);
        check(&first, &message(ORDER, &[("tenant", "other")]), false);
        check(&with_id(first.clone(), "1"), &with_id(first.clone(), "2"), false);
        check(&with_id(first.clone(), "1"), &with_id(first, "1"), true);
    }

    #[test]
    fn many_headers_are_compared_in_one_go() {
        let many = |last: &str| {
            let names = (0..1 << 18).map(|n| (format!("h{n}"), FieldValue::Void));
            let last = ("last".to_owned(), FieldValue::string(last));
            Message { headers: names.chain([last]).collect(), ..message(ORDER, &[]) }
        };
        assert!(!are_different(&many("a"), &many("a")));
        assert!(are_different(&many("a"), &many("b")));
    }

    #[test]
    fn a_short_body_is_told_by_its_headers() {
        check(&message("{}", &[("tenant", "acme")]), &message("{}", &[("tenant", "acme"), ("x-death", "1")]), true);
        check(&message("{}", &[("tenant", "acme")]), &message("{}", &[]), false);
    }

    #[test]
    fn an_id_of_the_framework_outlasts_all_else() {
        let dramatiq = |retries: &str| {
            let body =
                r#"{"actor_name":"charge","queue_name":"q","args":[1],"message_id":"m-1","options":{"retries":N}}"#;
            message(&body.replace('N', retries), &[])
        };
        check(&dramatiq("0"), &dramatiq("2"), true);
        let celery = |id: &str, retries: &str| {
            message(r#"[[42],{},{}]"#, &[("task", "billing.charge"), ("id", id), ("retries", retries)])
        };
        check(&celery("a", "0"), &celery("a", "3"), true);
        check(&celery("a", "0"), &celery("b", "0"), false);
        let old = |id: &str| message(&format!(r#"{{"task":"billing.charge","id":"{id}","args":[42]}}"#), &[]);
        check(&old("a"), &old("a"), true);
        check(&old("a"), &old("b"), false);
        check(
            &message(r#"{"task":"mow the lawn","done":false}"#, &[]),
            &message(r#"{"task":"mow the lawn","done":false}"#, &[]),
            true,
        );
    }

    #[test]
    fn an_id_outlasts_headers_that_count() {
        let with = |id: &str, tries: &str| with_id(message(ORDER, &[("x-retries", tries)]), id);
        check(&with("order-1090", "1"), &with("order-1090", "2"), true);
        check(&with("order-1090", "1"), &with("order-1091", "1"), false);
        check(&with("order-placed", "1"), &with("order-placed", "2"), false);
        let other_body = with_id(message("{}", &[]), "order-1090");
        assert!(have_same_id(&with("order-1090", "1"), &other_body));
        assert!(!have_same_id(&with("order-placed", "1"), &with("order-placed", "1")));
        let mut typed = [with("order-1090", "1"), other_body];
        for (message, kind) in typed.iter_mut().zip(["OrderPlaced", "OrderPaid"]) {
            message.properties.kind = Some(kind.to_owned());
        }
        assert!(!have_same_id(&typed[0], &typed[1]), "an order's number on several messages about it");
    }

    #[test]
    fn what_moleculer_publishes_is_what_had_failed() {
        let first = message(ORDER, &[("$requestID", "r")]);
        let marks =
            [("x-original-channel", "orders"), ("x-original-group", "billing"), ("x-error-message", "out of stock")];
        check(&first, &message(ORDER, &marks), true);
    }
}
