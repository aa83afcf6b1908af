//! Watermill's poison queue.

use super::{evidence::Evidence, told::Told};

/// A topic is the queue itself where topics are queues, and a fanout exchange where they are published to many; then
/// the queue has a suffix nobody tells. The poison topic came the same way as the original, so it shows which.
pub(super) fn read(evidence: &Evidence) -> Option<Told> {
    let topic = evidence.text("topic_poisoned");
    if topic.is_none() && !evidence.has("reason_poisoned") {
        return None;
    }
    if !evidence.message.exchange.is_empty() {
        return Some(Told { exchange: topic, routing_key: Some(String::new()), ..Told::published() });
    }
    Some(Told { queue: topic.clone(), exchange: Some(String::new()), routing_key: topic, ..Told::published() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{field::FieldValue, message::Message};

    #[test]
    fn a_topic_is_a_queue_or_an_exchange() {
        fn check(poison_exchange: &str, queue: Option<&str>, exchange: &str, routing_key: &str) {
            let headers = [("topic_poisoned".to_owned(), FieldValue::string("orders"))].into_iter().collect();
            let message = Message { exchange: poison_exchange.to_owned(), headers, ..Message::default() };
            let told = read(&Evidence { message: &message, deaths: &[], site: None }).unwrap();
            assert_eq!(told.queue.as_deref(), queue);
            assert_eq!(told.exchange.as_deref(), Some(exchange));
            assert_eq!(told.routing_key.as_deref(), Some(routing_key));
        }
        check("", Some("orders"), "", "orders");
        check("poison_queue", None, "orders", "");
    }
}
