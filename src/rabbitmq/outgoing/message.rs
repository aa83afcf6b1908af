//! The message a retry publishes.

use amqp_message::{field::FieldTable, message::Message};
use failure_conventions::{FailureCount, dlo_headers, stripped::is_stripped};

use crate::domain::letter::LetterId;

/// The address RabbitMQ rewrites for direct reply-to. Published as it stands, outside of a request of our own, it
/// closes the channel; the rewritten form passes.
const DIRECT_REPLY_TO: &str = "amq.rabbitmq.reply-to";

/// The message that brings letter `id` to the queue `target` by the default exchange.
///
/// `count` is how often it has failed in `failed_queue`. A retry to any other queue starts to count at none.
pub fn outgoing(
    id: LetterId,
    message: Message,
    failed_queue: Option<&str>,
    target: &str,
    count: FailureCount,
) -> Message {
    let mut outgoing = message;
    outgoing.exchange = String::new();
    outgoing.routing_key = target.to_owned();

    let properties = &mut outgoing.properties;
    // It could expire again before a consumer gets to it.
    properties.expiration = None;
    // RabbitMQ refuses a user other than the connection's own.
    properties.user_id = None;
    properties.reply_to.take_if(|reply_to| reply_to == DIRECT_REPLY_TO);

    strip(&mut outgoing.headers);
    let count_there = if failed_queue == Some(target) { count } else { FailureCount::default() };
    dlo_headers::write(&mut outgoing.headers, id, target, count_there);
    outgoing
}

/// The expiration with which an edited copy goes out: the one that its edit gave it, which stands in `message`, unless
/// its framework has put another message in its place, which is `clean`.
pub fn expiration_of_copy(message: &Message, clean: &Message) -> Option<String> {
    let (given, goes_out) = (&message.properties.expiration, &clean.properties.expiration);
    given.clone().filter(|given| goes_out.as_ref() == Some(given))
}

/// Whether a header of this name never goes out as it stands: a retry takes it off, or writes it itself.
pub fn takes_over(name: &str) -> bool {
    is_stripped(name) || name.starts_with(dlo_headers::PREFIX)
}

/// Unknown `x-*` headers stay: they may be an application's.
fn strip(headers: &mut FieldTable) {
    headers.remove_where(is_stripped);
}

#[cfg(test)]
mod tests {
    use super::*;
    use amqp_message::{field::FieldValue, message::Properties};

    const ID: &str = "019a8b7c-0000-7000-8000-000000000001";
    const COUNT: FailureCount = FailureCount { attempts: 5, rounds: 2 };

    fn letter(headers: &[&str]) -> Message {
        Message {
            exchange: "dlx".to_owned(),
            routing_key: "order.placed".to_owned(),
            properties: Properties::default(),
            headers: headers.iter().map(|name| ((*name).to_owned(), FieldValue::LongInt(7))).collect(),
            body: vec![0, 0xff],
        }
    }

    fn check_headers(headers: &[&str], expected: &[&str]) {
        let outgoing = outgoing(ID.parse().unwrap(), letter(headers), Some("q"), "q", COUNT);
        let names: Vec<&str> = outgoing.headers.iter().map(|(name, _)| name).collect();
        assert_eq!(names, [expected, &["dlo-id", "dlo-attempts", "dlo-rounds", "dlo-queue"]].concat());
    }

    fn check_attempts(failed_queue: Option<&str>, target: &str, expected: &str) {
        let outgoing = outgoing(ID.parse().unwrap(), letter(&["dlo-attempts"]), failed_queue, target, COUNT);
        assert_eq!((&*outgoing.exchange, &*outgoing.routing_key), ("", target));
        assert_eq!(outgoing.body, [0, 0xff]);
        assert_eq!(outgoing.headers.get_str("dlo-id"), Some(ID));
        assert_eq!(outgoing.headers.get_str("dlo-queue"), Some(target));
        assert_eq!(outgoing.headers.get_str("dlo-attempts"), Some(expected));
    }

    #[test]
    fn strips_what_does_harm_and_nothing_else() {
        check_headers(&["x-death", "x-first-death-queue", "x-last-death-reason"], &[]);
        check_headers(&["CC", "BCC", "x-delay", "x-stream-offset"], &[]);
        check_headers(&["x-delivery-count", "x-acquired-count"], &[]);
        check_headers(
            &["x-tenant", "x-death-star", "cc", "MT-Reason"],
            &["x-tenant", "x-death-star", "cc", "MT-Reason"],
        );
    }

    #[test]
    fn counts_attempts_by_queue() {
        check_attempts(Some("q"), "q", "5");
        check_attempts(Some("q"), "other", "0");
        check_attempts(None, "q", "0");
    }

    #[test]
    fn keeps_all_properties_but_three() {
        let text = |text: &str| Some(text.to_owned());
        let mut message = letter(&[]);
        message.properties = Properties {
            content_type: text("application/json"),
            delivery_mode: Some(1),
            priority: Some(3),
            reply_to: text("amq.rabbitmq.reply-to.g1h2"),
            expiration: text("30000"),
            user_id: text("guest"),
            kind: text("t"),
            ..Properties::default()
        };
        let sent = |message: &Message| outgoing(ID.parse().unwrap(), message.clone(), None, "q", COUNT).properties;
        let expected = Properties { expiration: None, user_id: None, ..message.properties.clone() };
        assert_eq!(sent(&message), expected);

        message.properties.reply_to = text("amq.rabbitmq.reply-to");
        assert_eq!(sent(&message), Properties { reply_to: None, ..expected });
    }
}
