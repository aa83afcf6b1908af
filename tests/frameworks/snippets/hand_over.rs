//! hand_over URL QUEUE: a service that hands its failures over to dlo. The docs show what is between the marks.

use std::{error::Error, fmt::Display};

use futures_util::StreamExt as _;
use lapin::{
    BasicProperties, Channel, Connection, ConnectionProperties,
    message::Delivery,
    options::{BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions},
    types::{AMQPValue, FieldTable},
};

// docs: begin
/// Publishes the message to dlo with its error and with all that it came with, then acknowledges it.
async fn hand_over<E: Error>(
    channel: &Channel,
    message: &Delivery,
    queue: &str,
    error: &E,
) -> Result<(), Box<dyn Error>> {
    let mut trace = format!("{}: {error}", std::any::type_name::<E>());
    let mut source = error.source();
    while let Some(cause) = source {
        trace += &format!("\ncaused by: {cause}");
        source = cause.source();
    }
    let came = &message.properties;
    let mut headers = came.headers().clone().unwrap_or_default();
    let mut set = |name: &str, text: &dyn Display| {
        headers.insert(name.into(), AMQPValue::LongString(text.to_string().into()));
    };
    set("x-exception-message", error);
    set("x-exception-stacktrace", &trace);
    set("x-original-exchange", &"");
    set("x-original-routingKey", &queue);
    // All but its expiration and its user id.
    let mut copy = BasicProperties::default().with_headers(headers).with_delivery_mode(2);
    macro_rules! keep {
        ($($get:ident $with:ident),*) => { $(if let Some(value) = came.$get() { copy = copy.$with(value.clone()); })* };
    }
    keep!(content_type with_content_type, content_encoding with_content_encoding, priority with_priority);
    keep!(correlation_id with_correlation_id, reply_to with_reply_to, message_id with_message_id);
    keep!(timestamp with_timestamp, kind with_type, app_id with_app_id);
    let publish =
        channel.basic_publish("dlx".into(), queue.into(), BasicPublishOptions::default(), &message.data, copy);
    // confirm_select() was called.
    if !publish.await?.await?.is_ack() {
        return Err("RabbitMQ did not take the message".into());
    }
    message.ack(BasicAckOptions::default()).await?;
    Ok(())
}
// docs: end

#[derive(Debug)]
struct OutOfStock(String);

impl Display for OutOfStock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no stock for {}", self.0)
    }
}

impl Error for OutOfStock {}

#[expect(clippy::print_stdout, reason = "it is how the runner follows it")]
fn say(line: &str) {
    println!("{line}");
}

fn work(message: &Delivery) -> Result<(), OutOfStock> {
    let body = String::from_utf8_lossy(&message.data).into_owned();
    say(&format!(r#"{{"call": "{body}"}}"#));
    let headers = message.properties.headers().as_ref();
    let attempts = headers.and_then(|headers| headers.inner().get("dlo-attempts")?.as_long_string());
    let succeeds = body != "never" && attempts.is_some_and(|attempts| attempts.as_bytes() == b"2");
    if succeeds { Ok(()) } else { Err(OutOfStock(body)) }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(queue)) = (arguments.next(), arguments.next()) else { return Err("URL QUEUE".into()) };
    let connection = Connection::connect(&url, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(queue.as_str().into(), durable, FieldTable::default()).await?;
    let options = BasicConsumeOptions::default();
    let mut messages = channel.basic_consume(queue.as_str().into(), "".into(), options, FieldTable::default()).await?;
    say(r#"{"ready": true}"#);
    while let Some(message) = messages.next().await {
        let message = message?;
        match work(&message) {
            Ok(()) => {
                message.ack(BasicAckOptions::default()).await?;
            }
            Err(error) => hand_over(&channel, &message, &queue, &error).await?,
        }
    }
    Ok(())
}
