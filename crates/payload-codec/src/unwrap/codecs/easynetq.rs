//! EasyNetQ's error message: a JSON object with the body that failed as text in `Message` and its properties in
//! `BasicProperties` (EasyNetQ `SystemMessages/Error.cs`).

use super::{
    super::{evidence::Expected, original, problem::Problem, wrapping::Wrapping},
    Decoded, Kind,
    hole::Filling,
    json_object::JsonObject,
};

/// The members that together are found nowhere else.
const MEMBERS: [&str; 6] = ["RoutingKey", "Exchange", "Queue", "Exception", "Message", "BasicProperties"];

pub(in super::super) fn codecs(body: &[u8]) -> Option<Decoded> {
    let object = JsonObject::read(body, "BasicProperties")?;
    if !MEMBERS.iter().all(|name| object.get(name).is_some()) {
        return None;
    }
    let (text, escaping) = object.string("Message")?;
    let hole = object.hole(object.get("Message")?, Filling::Text(escaping))?;
    let irregular = hole.write(text.as_bytes()).is_ok_and(|written| written.as_bytes() != body);
    let mut peeled = Decoded::new(Wrapping::EasyNetQ(hole), text.into_bytes(), 0.0).certain();
    let (properties, _) = original::easynetq_properties(object.get("BasicProperties")?);
    let (content_type, content_encoding) = (properties.content_type, properties.content_encoding);
    peeled.expected = Some(Expected::of_properties(content_type.as_deref(), content_encoding.as_deref()));
    peeled.problem = irregular.then_some(Problem::Irregular(Kind::EasyNetQ));
    Some(peeled)
}
