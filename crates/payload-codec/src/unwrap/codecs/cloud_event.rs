//! CloudEvents in structured mode: a JSON object with the event's data in it
//! (<https://github.com/cloudevents/spec/blob/main/cloudevents/formats/json-format.md>).

use super::{
    super::{escaping, evidence::Expected, hints::TypeHint},
    Decoded,
    base64::Base64,
    hole::{Filling, Hole},
    json_object::JsonObject,
};

/// The attributes every event has (CloudEvents 1.0 §3.1).
const REQUIRED: [&str; 4] = ["specversion", "id", "source", "type"];

pub(in super::super) fn decode(body: &[u8]) -> Option<Decoded<Hole>> {
    let object = JsonObject::read(body, "specversion")?;
    if !REQUIRED.iter().all(|name| object.get(name).is_some_and(|value| value.starts_with('"'))) {
        return None;
    }
    let attribute = |name| object.string(name).map(|(text, _)| text);
    let (hole, payload) = data(&object)?;
    let is_irregular = hole.is_irregular(&payload, body);
    let mut expected = Expected::of_properties(attribute("datacontenttype").as_deref(), None);
    expected
        .type_hints
        .insert(0, TypeHint::CloudEvent { event_type: attribute("type")?, data_schema: attribute("dataschema") });
    Some(Decoded { is_irregular, expected: Some(expected), ..Decoded::new(hole, payload, 0.0).certain() })
}

fn data(object: &JsonObject) -> Option<(Hole, Vec<u8>)> {
    if let Some(value) = object.get("data_base64") {
        let (text, escaping) = escaping::read(value)?;
        let (base64, payload) = if text.is_empty() { Default::default() } else { Base64::decode(&text)? };
        return Some((object.hole(value, Filling::Base64(base64, escaping))?, payload));
    }
    let value = object.get("data")?;
    match escaping::read(value) {
        Some((text, escaping)) => Some((object.hole(value, Filling::Text(escaping))?, text.into_bytes())),
        None => Some((object.hole(value, Filling::Value)?, value.as_bytes().to_vec())),
    }
}
