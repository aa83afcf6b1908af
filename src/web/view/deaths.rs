//! The deaths of a message, as RabbitMQ reports them.

use amqp_message::{
    death::{Death, Reason},
    time::Timestamp,
};

use super::{number, text, time::Moment};

#[derive(Debug)]
pub struct DeathView {
    /// The first of these deaths; RabbitMQ does not say the latest.
    pub first: Option<Moment>,
    pub reason: String,
    pub queue: String,
    /// Empty for a single death.
    pub times: String,
    /// Where it had been published to.
    pub route: String,
    /// The time to live it had.
    pub expiration: String,
}

impl DeathView {
    pub fn new(death: &Death, now: Timestamp) -> Self {
        let times = if death.count > 1 { format!("{} times", number::thousands(death.count)) } else { String::new() };
        let expiration =
            death.original_expiration.as_deref().map(|ms| format!("time to live was {} ms", text::one_line(ms)));
        Self {
            first: death.first_at.map(|at| Moment::new(at, now)),
            reason: reason(&death.reason),
            queue: text::one_line(&death.queue),
            times,
            route: route(&death.exchange, &death.routing_keys.join(", ")),
            expiration: expiration.unwrap_or_default(),
        }
    }
}

/// `events / text.created`, with a name for the exchange that has none.
pub fn route(exchange: &str, routing_key: &str) -> String {
    let exchange = if exchange.is_empty() { "default exchange" } else { exchange };
    text::one_line(&if routing_key.is_empty() { exchange.to_owned() } else { format!("{exchange} / {routing_key}") })
}

/// The word of a later RabbitMQ that we do not know is shown as it came.
fn reason(word: &str) -> String {
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
