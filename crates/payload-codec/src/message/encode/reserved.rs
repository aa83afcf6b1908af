//! Members whose key begins with `#`: unknown fields and what is behind the last field.

use super::{Encoder, message::Parts, twin::FieldTwin};
use crate::{
    json::{Kind, Member, Node},
    message::{encoded::Encoded, raw_json},
    wire::MAX_NUMBER,
};

const FORMS: &str = r#"{"varint": …}, {"fixed32": …}, {"fixed64": …}, {"bytes": …} or {"group": {…}}"#;

impl Encoder<'_> {
    pub(super) fn reserved(&mut self, member: &Member<'_>, twin: Option<FieldTwin<'_>>, parts: &mut Parts) {
        match member.key.strip_prefix('#').unwrap_or_default() {
            "rest" => {
                let rest = match self.unhidden(&member.value) {
                    Some(bytes) => Some(bytes),
                    None => self.noted(member.value.at, raw_json::base64(&member.value)),
                };
                parts.rest.extend(rest.unwrap_or_default());
            }
            "truncated" => self.problem(member.at, "the payload was cut to be shown, so it cannot be edited"),
            number => {
                let Some(number) = self.number(number, member.at) else { return };
                let unchanged = twin.and_then(|twin| twin.unchanged(&member.value));
                let bytes = unchanged.or_else(|| self.unhidden(&member.value));
                let bytes = bytes.unwrap_or_else(|| self.unknown(number, &member.value));
                parts.fields.push((number, bytes));
            }
        }
    }

    fn number(&mut self, digits: &str, at: usize) -> Option<u32> {
        let number = digits.parse().ok().filter(|number| (1..=MAX_NUMBER).contains(number));
        let is_plain = !digits.starts_with(['0', '+']);
        let reason = || format!("\"#\" is followed by a field number from 1 to {MAX_NUMBER}, or by \"rest\"");
        self.noted(at, number.filter(|_| is_plain).ok_or_else(reason))
    }

    /// The occurrences of an unknown field, with their tags.
    fn unknown(&mut self, number: u32, node: &Node<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let occurrences = match &node.kind {
            Kind::Array(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(node),
        };
        for occurrence in occurrences {
            if let Some(encoded) = self.unknown_value(occurrence) {
                encoded.write(number, &mut bytes);
            }
        }
        bytes
    }

    fn unknown_value(&mut self, node: &Node<'_>) -> Option<Encoded> {
        let expected = || format!("an unknown field is {FORMS}");
        let member = self.noted(node.at, node.as_pair().filter(|it| !it.key.starts_with('#')).ok_or_else(expected))?;
        if member.key == "group" {
            return Some(Encoded::Group(self.group(&member.value)));
        }
        let value = self.noted(node.at, raw_json::read(member).ok_or_else(expected))?;
        self.noted(member.value.at, value)
    }

    /// The fields of a group that is not in the schema.
    pub(super) fn group(&mut self, node: &Node<'_>) -> Vec<u8> {
        let Kind::Object(members) = &node.kind else {
            self.problem(node.at, format!("a group is an object, and this is {}", node.describe()));
            return Vec::new();
        };
        self.deeper(node.at, |this| this.group_fields(members))
    }

    fn group_fields(&mut self, members: &[Member<'_>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for member in members {
            let number = self.number(member.key.strip_prefix('#').unwrap_or_default(), member.at);
            if let Some(number) = number {
                bytes.extend(self.within(&member.key, |this| this.unknown(number, &member.value)));
            }
        }
        bytes
    }
}
