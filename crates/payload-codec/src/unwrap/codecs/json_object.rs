//! The members of a JSON object, with their places in the text.

use std::{fmt, ops::Range};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{
    super::escaping::{self, Escaping},
    hole::{Filling, Hole},
};

/// A JSON object as it is written.
pub(super) struct JsonObject<'a> {
    text: &'a str,
    members: Vec<(String, &'a str)>,
}

impl<'a> JsonObject<'a> {
    /// Reads a body that is an object. Only one in which `word` stands somewhere is parsed.
    pub fn read(body: &'a [u8], word: &str) -> Option<Self> {
        if *body.trim_ascii_start().first()? != b'{' {
            return None;
        }
        let text = std::str::from_utf8(body).ok()?;
        if !text.contains(word) {
            return None;
        }
        let Members(members) = serde_json::from_str(text).ok()?;
        Some(Self { text, members })
    }

    /// The member's value as it is written.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.members.iter().find(|(its_name, _)| its_name == name).map(|(_, value)| *value)
    }

    /// Names and values in order, duplicates included.
    pub fn members(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.members.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// The text of a member that is a string, and the manner in which it is written.
    pub fn string(&self, name: &str) -> Option<(String, Escaping)> {
        escaping::read(self.get(name)?)
    }

    /// The place of a value that this object handed out.
    pub fn hole(&self, value: &str, filling: Filling) -> Option<Hole> {
        let Range { start, end } = self.place(value)?;
        let (before, after) = (self.text.get(..start)?.to_owned(), self.text.get(end..)?.to_owned());
        Some(Hole { before, after, filling })
    }

    fn place(&self, value: &str) -> Option<Range<usize>> {
        let start = value.as_ptr().addr().checked_sub(self.text.as_ptr().addr())?;
        Some(start..start.checked_add(value.len())?)
    }
}

/// As [`JsonObject::members`] gives them.
struct Members<'a>(Vec<(String, &'a str)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
            members.push((name, value.get()));
        }
        Ok(Members(members))
    }
}
