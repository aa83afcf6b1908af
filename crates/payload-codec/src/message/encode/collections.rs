//! Arrays of JSON as lists, objects as maps.

use std::collections::HashSet;

use prost_reflect::MessageDescriptor;

use super::{
    Encoder,
    fields::{Type, holds_null},
    message::shown,
    scalar,
    twin::{ElementTwin, FieldTwin},
};
use crate::{
    json::{Kind, Member, Node},
    message::{
        declaration::{Declaration, packed_width},
        encoded::Encoded,
    },
};

impl Encoder<'_> {
    pub(super) fn list(
        &mut self,
        declaration: &Declaration,
        of: &Type,
        node: &Node<'_>,
        twin: Option<FieldTwin<'_>>,
    ) -> Vec<u8> {
        let Kind::Array(nodes) = &node.kind else {
            self.problem(node.at, format!("this field is a list, and this is {}", node.describe()));
            return Vec::new();
        };
        let is_packed = declaration.is_packed() && packed_width(&of.kind).is_some();
        let mut bytes = Vec::new();
        for (i, element) in nodes.iter().enumerate() {
            if self.is_full() {
                break;
            }
            let mark = self.path.enter_index(i);
            let twin = twin.and_then(|twin| twin.element(i)).filter(|_| !is_packed);
            self.element(declaration, of, element, twin, is_packed, &mut bytes);
            self.path.leave(mark);
        }
        if !is_packed || bytes.is_empty() {
            return bytes;
        }
        let mut field = Vec::new();
        Encoded::Len(bytes).write(declaration.number(), &mut field);
        field
    }

    fn element(
        &mut self,
        declaration: &Declaration,
        of: &Type,
        node: &Node<'_>,
        twin: Option<ElementTwin<'_>>,
        is_packed: bool,
        to: &mut Vec<u8>,
    ) {
        if let Some(wire) = twin.and_then(|twin| twin.unchanged(node)) {
            to.extend_from_slice(wire);
            return;
        }
        if self.refuses_null(of, node) {
            return;
        }
        match self.value(of, node, twin.and_then(ElementTwin::message)) {
            Some(encoded) if is_packed => encoded.write_value(to),
            Some(encoded) => encoded.write(declaration.number(), to),
            None => {}
        }
    }

    /// A field without a value can be left out, but an element cannot.
    fn refuses_null(&mut self, of: &Type, node: &Node<'_>) -> bool {
        let is_refused = node.kind == Kind::Null && !holds_null(&of.kind);
        if is_refused {
            self.problem(node.at, "null is no value; leave it out");
        }
        is_refused
    }

    pub(super) fn map(&mut self, number: u32, entry: &MessageDescriptor, node: &Node<'_>) -> Vec<u8> {
        let Kind::Object(members) = &node.kind else {
            self.problem(node.at, format!("this field is a map, so an object, and this is {}", node.describe()));
            return Vec::new();
        };
        let (mut bytes, mut seen) = (Vec::new(), HashSet::new());
        for member in members {
            if self.is_full() {
                break;
            }
            let mark = self.path.enter_key(&shown(&member.key));
            if let Some(entry) = self.entry(entry, member, &mut seen) {
                Encoded::Len(entry).write(number, &mut bytes);
            }
            self.path.leave(mark);
        }
        bytes
    }

    fn entry(
        &mut self,
        descriptor: &MessageDescriptor,
        member: &Member<'_>,
        seen: &mut HashSet<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        let key = scalar::map_key(&descriptor.map_entry_key_field().kind(), &member.key);
        let key = self.noted(member.at, key);
        let of = Type { kind: descriptor.map_entry_value_field().kind(), is_group: false };
        let value = if self.refuses_null(&of, &member.value) { None } else { self.value(&of, &member.value, None) };
        let mut entry = Vec::new();
        key?.write(1, &mut entry);
        if !seen.insert(entry.clone()) {
            self.problem(member.at, "this key is here twice");
        }
        value?.write(2, &mut entry);
        Some(entry)
    }
}
