//! Names that an object gives more than once. Which of them counts differs between readers of JSON
//! (<https://www.rfc-editor.org/rfc/rfc8259#section-4>), so that none does here.

use std::{collections::HashSet, fmt};

use serde::{
    Deserialize,
    de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

use super::BodySchema;
use crate::web::error::{
    MOST_FAULTS,
    codes::FaultCode,
    fault::{Fault, Place},
};

impl BodySchema {
    /// Names that are given more than once, in objects that are described, as far as they are told. What is no JSON is
    /// looked at as far as it is.
    pub fn repeated(&self, body: &[u8]) -> Vec<Fault> {
        let mut faults = Vec::new();
        let described = Described { schema: self, of: &self.root, steps: &mut Vec::new(), faults: &mut faults };
        _ = described.deserialize(&mut serde_json::Deserializer::from_slice(body));
        faults
    }
}

/// A value, and what is said of it.
struct Described<'a> {
    schema: &'a BodySchema,
    of: &'a Value,
    /// To the value.
    steps: &'a mut Vec<String>,
    faults: &'a mut Vec<Fault>,
}

impl Described<'_> {
    fn within<R>(&mut self, step: String, of: &Value, read: impl FnOnce(Described<'_>) -> R) -> R {
        self.steps.push(step);
        let result = read(Described { schema: self.schema, of, steps: self.steps, faults: self.faults });
        self.steps.pop();
        result
    }
}

/// What is said of a field; null where it takes anything.
fn field_of<'a>(object: &'a Value, name: &str) -> &'a Value {
    object["properties"].get(name).unwrap_or(&object["additionalProperties"])
}

impl<'de> DeserializeSeed<'de> for Described<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        let of = self.schema.object_of(self.of);
        let has_fields = of["properties"].is_object() || of["additionalProperties"].is_object();
        if has_fields || of["items"].is_object() {
            from.deserialize_any(Described { of, ..self })
        } else {
            IgnoredAny::deserialize(from).map(drop)
        }
    }
}

/// Anything but a list or an object has no names.
macro_rules! nothing {
    ($($visit:ident: $of:ty),+) => { $(fn $visit<E: Error>(self, _: $of) -> Result<(), E> { Ok(()) })+ };
}

impl<'de> Visitor<'de> for Described<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    nothing!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        let of = &self.of["items"];
        for place in 0_usize.. {
            if self.within(place.to_string(), of, |item| items.next_element_seed(item))?.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<(), A::Error> {
        let (mut seen, of) = (HashSet::new(), self.of);
        while let Some(name) = fields.next_key::<String>()? {
            self.within(name.clone(), field_of(of, &name), |field| {
                if seen.contains(&name) && field.faults.len() <= MOST_FAULTS {
                    let place = Place::of_steps(field.steps);
                    field.faults.push(Fault::new(place, FaultCode::Repeated, "it is given more than once"));
                }
                fields.next_value_seed(field)
            })?;
            seen.insert(name);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use utoipa::ToSchema;

    use super::*;

    #[derive(ToSchema)]
    #[expect(dead_code, reason = "describes a body")]
    struct Body {
        name: String,
        parts: Option<Vec<Part>>,
        headers: BTreeMap<String, String>,
        #[schema(value_type = Value)]
        payload: Value,
    }

    #[derive(ToSchema)]
    #[expect(dead_code, reason = "describes a body")]
    struct Part {
        is_new: bool,
    }

    #[test]
    fn a_name_is_given_once() {
        let check = |body: &str, expected: &[&str]| {
            let faults = BodySchema::of::<Body>().repeated(body.as_bytes());
            let places: Vec<_> = faults.iter().filter_map(|fault| fault.place.pointer()).collect();
            assert_eq!(places, expected, "{body}");
        };
        check(r#"{"name": 1, "parts": null, "headers": 7}"#, &[]);
        check(r#"{"name": 1, "name": "a", "x": {}, "x": 1}"#, &["/name", "/x"]);
        check(r#"{"parts": [{}, {"is_new": 1, "is_new": {}}]}"#, &["/parts/1/is_new"]);
        check(r#"{"headers": {"a": 1, "a": [], "b": 2}}"#, &["/headers/a"]);
        check(r#"{"payload": {"a": 1, "a": 2}, "name": 1e999, "name": 1}"#, &["/name"]);
        check(r#"{"name": 1, "name": 2, "#, &["/name"]);
        check("[1, 2", &[]);
        let often = format!(r#"{{{}"name": 1}}"#, r#""name": 1, "#.repeat(100_000));
        assert_eq!(BodySchema::of::<Body>().repeated(often.as_bytes()).len(), MOST_FAULTS + 1);
    }
}
