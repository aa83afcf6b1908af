//! What a day brings: the messages of the demo.
//!
//! Orders are protobuf, say their type, and are now and then compressed. Images are protobuf in base64 and say nothing
//! of it. Texts are JSON.

use base64::{Engine, prelude::BASE64_STANDARD};
use lapin::BasicProperties;
use serde_json::{Value, json};
use uuid::Uuid;

use super::types::{Types, gzip};
use crate::clock::Clock;

/// Customers by name and address.
const CUSTOMERS: [(&str, &str); 3] =
    [("Zoë Ångström", "zoe@example.com"), ("Kofi Mensah", "kofi@example.org"), ("李娜", "lina@example.net")];
const GOODS: [(&str, &str, u64); 3] =
    [("TEA-7", "Tea for seven", 1_290), ("CUP-1", "A cup", 990), ("POT-3", "Teapot, three litres", 4_450)];

/// A message before it is published.
pub(super) struct Event {
    pub routing_key: &'static str,
    pub properties: BasicProperties,
    pub body: Vec<u8>,
}

/// The `number`th order; of four of them one has no currency, of three one is compressed.
pub(super) fn order(types: &Types, number: u64) -> anyhow::Result<Event> {
    const TYPE: &str = "acme.orders.v1.OrderPlaced";
    let ((name, email), (sku, title, cents)) = (one_of(&CUSTOMERS), one_of(&GOODS));
    let quantity = fastrand::u64(1..4);
    let mut total = json!({ "cents": cents * quantity });
    if !number.is_multiple_of(4) {
        total["currency"] = json!("EUR");
    }
    let order = json!({
        "orderId": id(),
        "number": number,
        "customer": { "customerId": id(), "name": name, "email": email },
        "items": [{ "sku": sku, "title": title, "quantity": quantity, "price": { "currency": "EUR", "cents": cents } }],
        "total": total,
        "placedAt": now(),
    });
    let body = types.message(TYPE, &order)?;
    let properties = BasicProperties::default().with_content_type("application/x-protobuf".into());
    let event = Event { routing_key: "order.placed", properties: properties.with_type(TYPE.into()), body };
    if !number.is_multiple_of(3) {
        return Ok(event);
    }
    Ok(Event { body: gzip(&event.body)?, properties: event.properties.with_content_encoding("gzip".into()), ..event })
}

/// An image comes; of three of them one goes.
pub(super) fn image(types: &Types, number: u64) -> anyhow::Result<Event> {
    let (routing_key, name, image) = if number.is_multiple_of(3) {
        let removed = json!({ "imageId": id(), "removedBy": one_of(&CUSTOMERS).0, "removedAt": now() });
        ("image.removed", "acme.images.v1.ImageRemoved", removed)
    } else {
        ("image.uploaded", "acme.images.v1.ImageUploaded", uploaded(number))
    };
    let body = BASE64_STANDARD.encode(types.message(name, &image)?).into_bytes();
    Ok(Event { routing_key, properties: BasicProperties::default(), body })
}

fn uploaded(number: u64) -> Value {
    json!({
        "imageId": id(),
        "url": format!("https://images.example.com/{number}.jpg"),
        "contentType": "image/jpeg",
        "width": 1_280,
        "height": 720,
        "sizeBytes": 80_000 + fastrand::u64(..90_000),
        "uploadedBy": one_of(&CUSTOMERS).0,
        "uploadedAt": now(),
    })
}

pub(super) fn text(number: u64) -> Event {
    let properties = BasicProperties::default().with_content_type("application/json".into());
    let body = json!({ "text": number, "channel": "sms" }).to_string().into_bytes();
    Event { routing_key: "text.sent", properties: properties.with_type("TextSent".into()), body }
}

fn one_of<T: Copy>(all: &[T; 3]) -> T {
    let [first, second, third] = *all;
    match fastrand::u8(..3) {
        0 => first,
        1 => second,
        _ => third,
    }
}

fn id() -> String {
    Uuid::from_u128(fastrand::u128(..)).to_string()
}

fn now() -> Value {
    let now = jiff::Timestamp::from_microsecond(Clock::system().now().as_micros());
    json!(now.unwrap_or_default().to_string())
}
