//! What tells a message from all others at its queue, though it was published anew on the way.
//!
//! Some frameworks publish a new message for each try, and drop headers and properties. What they keep is an id of their
//! own or, where they have none, the body.

use std::{
    borrow::Cow,
    collections::HashMap,
    hash::{Hash, Hasher},
};

use amqp_message::{field::FieldValue, message::Message};
use memchr::memmem;
use serde::Deserialize;

use super::{
    FailureReport, clean, dlo_headers, evidence, inner_body::InnerBodies, message_id::IdKind, stripped, symfony,
};

/// A body of more bytes says nothing of what an [`Identity`] is made of.
pub const LARGEST_BODY: usize = evidence::MAX_BODY;

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
    told_id(message).filter(|_| framework_id(message).is_none())
}

fn told_id(message: &Message) -> Option<(&str, IdKind)> {
    let id = message.properties.message_id.as_deref()?;
    Some((id, IdKind::of(id))).filter(|(_, kind)| *kind != IdKind::Name)
}

/// Whether both are one message by their [`message_id`], whatever else has changed on the way but the type.
pub fn have_same_id(one: &Message, other: &Message) -> bool {
    let (type_of_one, type_of_other) = (one.properties.kind.as_deref(), other.properties.kind.as_deref());
    message_id(one).is_some_and(|id| Some(id) == message_id(other)) && !differ(type_of_one, type_of_other)
}

/// What both have and is not the same.
fn differ(one: Option<&str>, other: Option<&str>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one != other)
}

/// What a message is compared by with others that may be the same. Its body is not in it, so that many can be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// It has an id of its framework, which is in the [hash](hash).
    is_named: bool,
    message_id: Option<String>,
    kind: Option<String>,
    /// The message id, the correlation id and the type that it had before it failed.
    lasting: [Option<String>; 3],
    /// Headers that it had then.
    headers: HashMap<String, FieldValue>,
}

impl Identity {
    /// That of a message, of which a body of more than [`LARGEST_BODY`] bytes may be left out.
    pub fn of(message: &Message) -> Self {
        let lasting = lasting(message);
        let properties = &lasting.properties;
        let is_named = framework_id(message).is_some();
        let mut headers = HashMap::new();
        for (name, value) in lasting.headers.iter().filter(|(name, _)| lasts(name)) {
            // Where a name stands twice the first counts.
            headers.entry(name.to_owned()).or_insert_with(|| value.clone());
        }
        Self {
            is_named,
            message_id: told_id(message).filter(|_| !is_named).map(|(id, _)| id.to_owned()),
            kind: message.properties.kind.clone(),
            lasting: [&properties.message_id, &properties.correlation_id, &properties.kind].map(Clone::clone),
            headers,
        }
    }

    /// The same as [`have_same_id`].
    pub fn has_same_id(&self, other: &Self) -> bool {
        self.message_id.is_some()
            && self.message_id == other.message_id
            && !differ(self.kind.as_deref(), other.kind.as_deref())
    }

    /// Whether two messages with equal [hashes](hash) say themselves that they are different ones: by an id, a type or a
    /// header that both have. Of an id that a framework writes into the body it is enough that one still has it.
    pub fn differs_from(&self, other: &Self) -> bool {
        if self.is_named || other.is_named || self.has_same_id(other) {
            return false;
        }
        let mut texts = self.lasting.iter().zip(&other.lasting);
        texts.any(|(one, other)| differ(one.as_deref(), other.as_deref()))
            || self.headers.iter().any(|(name, value)| other.headers.get(name).is_some_and(|its| its != value))
    }
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
        let [identity, others] = [one, other].map(Identity::of);
        let is_same = hashed(one) == hashed(other) && !identity.differs_from(&others);
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
            Identity::of(&Message { headers: names.chain([last]).collect(), ..message(ORDER, &[]) })
        };
        assert!(!many("a").differs_from(&many("a")));
        assert!(many("a").differs_from(&many("b")));
    }

    #[test]
    fn a_body_that_is_too_large_is_not_needed() {
        let body = format!(r#"{{"actor_name":"a","message_id":"1","args":"{}"}}"#, "x".repeat(LARGEST_BODY));
        let mut whole = with_id(message(&body, &[("tenant", "acme")]), "m-1");
        whole.properties.kind = Some("EasyNetQ.SystemMessages.Error, EasyNetQ".to_owned());
        assert_eq!(Identity::of(&Message { body: Vec::new(), ..whole.clone() }), Identity::of(&whole));
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
        let same_id = |one: &Message, other: &Message| {
            let is_same = have_same_id(one, other);
            assert_eq!(Identity::of(one).has_same_id(&Identity::of(other)), is_same);
            is_same
        };
        assert!(same_id(&with("order-1090", "1"), &other_body));
        assert!(!same_id(&with("order-placed", "1"), &with("order-placed", "1")));
        let mut typed = [with("order-1090", "1"), other_body];
        for (message, kind) in typed.iter_mut().zip(["OrderPlaced", "OrderPaid"]) {
            message.properties.kind = Some(kind.to_owned());
        }
        assert!(!same_id(&typed[0], &typed[1]), "an order's number on several messages about it");
    }

    #[test]
    fn what_moleculer_publishes_is_what_had_failed() {
        let first = message(ORDER, &[("$requestID", "r")]);
        let marks =
            [("x-original-channel", "orders"), ("x-original-group", "billing"), ("x-error-message", "out of stock")];
        check(&first, &message(ORDER, &marks), true);
    }
}
