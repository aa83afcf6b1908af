//! The types of `google.protobuf` from their own forms in JSON.

use prost_reflect::MessageDescriptor;

use super::{Encoder, fields::Type, message::shown, text_forms};
use crate::{
    json::{self, Member, Node},
    message::{
        declaration::Declaration,
        encoded::Encoded,
        well_known::{WellKnown, type_name},
    },
};

impl Encoder<'_> {
    pub(super) fn well_known(&mut self, of: WellKnown, descriptor: &MessageDescriptor, node: &Node<'_>) -> Vec<u8> {
        match of {
            WellKnown::Timestamp => self.text_form(node, text_forms::timestamp),
            WellKnown::Duration => self.text_form(node, text_forms::duration),
            WellKnown::FieldMask => self.text_form(node, text_forms::field_mask),
            WellKnown::Wrapper => self.wrapper(descriptor, node),
            WellKnown::Any => self.any(descriptor, node),
            WellKnown::Value => self.free_value(descriptor, node),
            WellKnown::Struct | WellKnown::ListValue => self.only_field(descriptor, 1, node),
        }
    }

    fn text_form(&mut self, node: &Node<'_>, form: fn(&str) -> Result<Vec<u8>, String>) -> Vec<u8> {
        if self.refuses_mark(node) {
            return Vec::new();
        }
        // What is no string is told what it should look like, as any other text would be.
        let result = match node.as_text() {
            Some(text) => form(text),
            None => Err(format!("a string was expected, and this is {}", node.describe())),
        };
        self.noted(node.at, result).unwrap_or_default()
    }

    /// Zero and empty values are what an empty message means.
    fn wrapper(&mut self, descriptor: &MessageDescriptor, node: &Node<'_>) -> Vec<u8> {
        let Some(field) = descriptor.get_field(1) else { return Vec::new() };
        let encoded = self.value(&Type { kind: field.kind(), is_group: false }, node, None);
        let mut bytes = Vec::new();
        match encoded {
            None | Some(Encoded::Varint(0) | Encoded::Fixed32(0) | Encoded::Fixed64(0)) => {}
            Some(Encoded::Len(value)) if value.is_empty() => {}
            Some(encoded) => encoded.write(1, &mut bytes),
        }
        bytes
    }

    /// A `Value` has a field for each kind of JSON.
    fn free_value(&mut self, descriptor: &MessageDescriptor, node: &Node<'_>) -> Vec<u8> {
        let number = match node.kind {
            json::Kind::Null => 1,
            json::Kind::Number(_) => 2,
            json::Kind::Text(_) => 3,
            json::Kind::Bool(_) => 4,
            json::Kind::Object(_) => 5,
            json::Kind::Array(_) => 6,
        };
        self.only_field(descriptor, number, node)
    }

    fn only_field(&mut self, descriptor: &MessageDescriptor, number: u32, node: &Node<'_>) -> Vec<u8> {
        match Declaration::by_number(descriptor, number) {
            Some(declaration) => self.field(&declaration, node, None),
            None => Vec::new(),
        }
    }

    /// The members beside `@type` are the fields of that type; a well-known one is in `value`.
    fn any(&mut self, descriptor: &MessageDescriptor, node: &Node<'_>) -> Vec<u8> {
        let Some(members) = node.as_object() else {
            self.problem(node.at, format!("an Any is an object with \"@type\", and this is {}", node.describe()));
            return Vec::new();
        };
        if members.is_empty() {
            return Vec::new();
        }
        let types: Vec<_> = members.iter().filter(|member| member.key == "@type").collect();
        let [Some(type_url)] = types.iter().map(|member| member.value.as_text()).collect::<Vec<_>>()[..] else {
            self.problem(node.at, "an Any says in one \"@type\" what it holds");
            return Vec::new();
        };
        let name = type_name(type_url);
        let Some(inner) = descriptor.parent_pool().get_message_by_name(name) else {
            self.problem(node.at, format!("the type {:?} is not in the schema set", shown(name)));
            return Vec::new();
        };
        let value = self.any_value(&inner, members, node.at);
        let mut bytes = Vec::new();
        Encoded::Len(type_url.as_bytes().to_vec()).write(1, &mut bytes);
        if !value.is_empty() {
            Encoded::Len(value).write(2, &mut bytes);
        }
        bytes
    }

    fn any_value(&mut self, descriptor: &MessageDescriptor, members: &[Member<'_>], at: usize) -> Vec<u8> {
        let others = members.iter().filter(|member| member.key != "@type");
        if WellKnown::of(descriptor).is_none() {
            let others: Vec<Member<'_>> = others.cloned().collect();
            return self.fields(descriptor, &others, at, None);
        }
        match others.collect::<Vec<_>>()[..] {
            [value] if value.key == "value" => self.message(descriptor, &value.value, None),
            _ => {
                let name = descriptor.full_name();
                self.problem(at, format!("an Any that holds {name} has \"@type\" and \"value\" and no more"));
                Vec::new()
            }
        }
    }
}
