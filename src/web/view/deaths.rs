//! What RabbitMQ reports of a message, in words.

use amqp_message::death::Reason;

use super::text;

/// `events / text.created`, with a name for the exchange that has none.
pub fn route(exchange: &str, routing_key: &str) -> String {
    let exchange = if exchange.is_empty() { "default exchange" } else { exchange };
    text::one_line(&if routing_key.is_empty() { exchange.to_owned() } else { format!("{exchange} / {routing_key}") })
}

/// The word of a later RabbitMQ that we do not know is shown as it came.
pub fn reason(word: &str) -> String {
    let label = match word.parse() {
        Ok(Reason::Rejected) => "Rejected",
        Ok(Reason::Expired) => "Expired",
        Ok(Reason::MaxLen) => "Queue was full",
        Ok(Reason::DeliveryLimit) => "Delivery limit reached",
        Ok(Reason::Unknown) => "Dead-lettered",
        Err(_) => return text::one_line(word),
    };
    label.to_owned()
}
