//! A JSON object that is changed in a few places and stays, everywhere else, as it was written.
//!
//! Numbers keep their digits and fields their order and duplicates, which a parsed value would lose.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// The fields of an object with the text of their values.
#[derive(Default)]
pub(super) struct RawObject<'a>(Vec<(String, Cow<'a, str>)>);

impl<'a> RawObject<'a> {
    pub fn parse(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// Replaces the value of a field that is there.
    pub fn replace(&mut self, name: &str, json: String) {
        if let Some((_, value)) = self.0.iter_mut().find(|(key, _)| key == name) {
            *value = Cow::Owned(json);
        }
    }

    /// Whether there was any of these.
    pub fn remove(&mut self, names: &[&str]) -> bool {
        let before = self.0.len();
        self.0.retain(|(key, _)| !names.contains(&key.as_str()));
        self.0.len() < before
    }
}

impl fmt::Display for RawObject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (n, (name, value)) in self.0.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            write!(f, "{comma}{}:{value}", serde_json::Value::from(name.as_str()))?;
        }
        f.write_str("}")
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = RawObject<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawObject<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
            fields.push((name, Cow::Borrowed(value.get())));
        }
        Ok(RawObject(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_touched_stays_as_written() {
        let json = r#"{"a": 1.10, "b":{"c":12345678901234567890,"d":[ 1 ]},"a":2,"ä\"":null}"#;
        let mut object = RawObject::parse(json).unwrap();
        assert_eq!(object.get("a"), Some("1.10"));
        object.replace("a", "3".to_owned());
        object.replace("missing", "3".to_owned());
        assert!(!object.remove(&["missing"]));
        let expected = r#"{"a":3,"b":{"c":12345678901234567890,"d":[ 1 ]},"a":2,"ä\"":null}"#;
        assert_eq!(object.to_string(), expected);
        assert!(object.remove(&["a", "b"]));
        assert_eq!(object.to_string(), r#"{"ä\"":null}"#);
    }

    #[test]
    fn only_objects_are_objects() {
        for json in ["[]", "1", "", "{", "{\"a\"}"] {
            assert!(RawObject::parse(json).is_none(), "{json}");
        }
    }
}
