//! Watermill's poison queue.

use amqp_message::{error_report::ErrorReport, message::Message};

use super::{evidence::Evidence, framework::Framework, report::FrameworkReport};
use crate::{danger::Danger, inner_body::InnerBodies};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "Watermill",
    records: "with `PoisonQueue`: what the error says",
    retried: "the headers of the failure are removed",
    read,
    clean,
    advice: "The middleware PoisonQueue records the text of the error; it keeps no stack trace and no time.",
};

const ADDED: [&str; 4] = ["reason_poisoned", "topic_poisoned", "handler_poisoned", "subscriber_poisoned"];

/// A topic is the queue itself where topics are queues, and a fanout exchange where they are published to many; then
/// the queue has a suffix that is not recorded. The poison topic came the same way as the original, so it shows which.
fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    let topic = evidence.text("topic_poisoned");
    if topic.is_none() && !evidence.has("reason_poisoned") {
        return None;
    }
    let error = ErrorReport::new(None, evidence.text("reason_poisoned"), None);
    let report = FrameworkReport { error, ..FrameworkReport::published() };
    if !evidence.message.exchange.is_empty() {
        let queue_candidates = topic.iter().cloned().collect();
        return Some(FrameworkReport { exchange: topic, routing_key: Some(String::new()), queue_candidates, ..report });
    }
    Some(FrameworkReport { queue: topic.clone(), exchange: Some(String::new()), routing_key: topic, ..report })
}

fn clean(message: &mut Message, _: &InnerBodies) -> Result<(), Danger> {
    message.headers.remove_where(|name| ADDED.contains(&name));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use amqp_message::{field::FieldValue, message::Message};

    #[test]
    fn a_topic_is_a_queue_or_an_exchange() {
        fn check(poison_exchange: &str, queue: Option<&str>, exchange: &str, routing_key: &str) {
            let headers = [("topic_poisoned".to_owned(), FieldValue::string("orders"))].into_iter().collect();
            let message = Message { exchange: poison_exchange.to_owned(), headers, ..Message::default() };
            let report = read(&Evidence { message: &message, deaths: &[], site: None }).unwrap();
            assert_eq!(report.queue.as_deref(), queue);
            assert_eq!(report.exchange.as_deref(), Some(exchange));
            assert_eq!(report.routing_key.as_deref(), Some(routing_key));
        }
        check("", Some("orders"), "", "orders");
        check("poison_queue", None, "orders", "");
    }
}
