//! The request a delivery makes. Secrets are added here, so that none is kept with a delivery.

use amqp_message::time::Timestamp;
use reqwest::{Client, Request, header::CONTENT_TYPE};
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{Channel, signing::message_id};

/// One thing a channel is to be sent: JSON that stays as it is however often it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Webhooks get it, so that a receiver knows what it has had already.
    pub id: Uuid,
    /// What the channel takes, but for what is secret: no routing key, no token.
    pub body: String,
}

impl Delivery {
    /// # Errors
    /// When `body` cannot be written as JSON; those of this floor always can.
    pub fn new(id: Uuid, body: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self { id, body: serde_json::to_string(body)? })
    }
}

/// Why there is no request: a clause.
pub(super) fn build(
    client: &Client,
    channel: &Channel,
    delivery: &Delivery,
    now: Timestamp,
) -> Result<Request, &'static str> {
    let body = || delivery.body.clone();
    let json = "application/json";
    let request = match channel {
        Channel::SlackWebhook { url } => client.post(url.reveal().clone()).header(CONTENT_TYPE, json).body(body()),
        Channel::SlackBot(bot) => client
            .post(bot.api.join(&["chat.postMessage"]))
            .bearer_auth(bot.token.reveal())
            // Slack adds a warning to its answer where no charset is named.
            .header(CONTENT_TYPE, "application/json; charset=utf-8")
            .body(with(&delivery.body, "channel", &bot.channel)?),
        Channel::PagerDuty { url, routing_key } => client
            .post(url.join(&["v2", "enqueue"]))
            .header(CONTENT_TYPE, json)
            .body(with(&delivery.body, "routing_key", routing_key.reveal())?),
        Channel::Alertmanager { url } => {
            client.post(url.join(&["api", "v2", "alerts"])).header(CONTENT_TYPE, json).body(body())
        }
        Channel::Webhook { url, key } => {
            let seconds = u64::try_from(now.as_micros()).unwrap_or(0) / 1_000_000;
            client
                .post(url.reveal().clone())
                .header(CONTENT_TYPE, json)
                .header("webhook-id", message_id(delivery.id))
                .header("webhook-timestamp", seconds)
                .header("webhook-signature", key.sign(delivery.id, seconds, delivery.body.as_bytes()))
                .body(body())
        }
    };
    // What reqwest says of it holds the address.
    request.build().map_err(|_| "the channel's settings make no valid request")
}

/// The object with one more field.
fn with(body: &str, name: &str, value: &str) -> Result<String, &'static str> {
    const NO_OBJECT: &str = "the delivery is no JSON object";
    let mut object: Map<String, Value> = serde_json::from_str(body).map_err(|_| NO_OBJECT)?;
    object.insert(name.to_owned(), Value::from(value));
    serde_json::to_string(&object).map_err(|_| NO_OBJECT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_added_and_the_rest_stays() {
        fn check(body: &str, expected: Option<&str>) {
            assert_eq!(with(body, "k", "v\"").ok().as_deref(), expected, "{body}");
        }
        check(r#"{"b":1.0,"a":[]}"#, Some(r#"{"b":1.0,"a":[],"k":"v\""}"#));
        check(r#"{"k":"forged"}"#, Some(r#"{"k":"v\""}"#));
        check("[]", None);
        check("{", None);
    }
}
