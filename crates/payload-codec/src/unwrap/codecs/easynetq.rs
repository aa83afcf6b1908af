//! EasyNetQ's error message: a JSON object with the body that failed as text in `Message` and its properties in
//! `BasicProperties` (EasyNetQ `SystemMessages/Error.cs`).

use serde_json::{Map, Value};

use super::{
    super::evidence::Expected,
    Decoded,
    hole::{Filling, Hole},
    json_object::JsonObject,
};

/// The members that together are found nowhere else.
const MEMBERS: [&str; 6] = ["RoutingKey", "Exchange", "Queue", "Exception", "Message", "BasicProperties"];

pub(in super::super) fn decode(body: &[u8]) -> Option<Decoded<Hole>> {
    let object = JsonObject::read(body, "BasicProperties")?;
    if !MEMBERS.iter().all(|name| object.get(name).is_some()) {
        return None;
    }
    let (text, escaping) = object.string("Message")?;
    let hole = object.hole(object.get("Message")?, Filling::Text(escaping))?;
    let is_irregular = hole.is_irregular(text.as_bytes(), body);
    let expected = Some(expected(object.get("BasicProperties")?));
    Some(Decoded { is_irregular, expected, ..Decoded::new(hole, text.into_bytes(), 0.0).certain() })
}

/// What the properties of the message inside say of its body; nothing if they cannot be read.
fn expected(basic_properties: &str) -> Expected {
    let properties: Map<String, Value> = serde_json::from_str(basic_properties).unwrap_or_default();
    // Up to version 8.0 all of them are written, each with a flag that says whether it was set.
    let text = |name: &str| {
        let is_set = properties.get(&format!("{name}Present")).and_then(Value::as_bool).unwrap_or(true);
        properties.get(name).filter(|_| is_set)?.as_str()
    };
    Expected::of_properties(text("ContentType"), text("ContentEncoding"))
}
