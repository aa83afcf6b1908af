//! Values of JSON as declared fields.

use prost_reflect::Kind;

use super::{
    Encoder, scalar,
    twin::{FieldTwin, Twin},
};
use crate::{
    json::{self, Node},
    message::{
        declaration::{Declaration, kind_name, wire_type},
        encoded::Encoded,
        raw_json,
        well_known::WellKnown,
    },
    wire::WireType,
};

/// The type of a single value.
pub(super) struct Type {
    pub kind: Kind,
    pub is_group: bool,
}

impl Type {
    fn wire_type(&self) -> WireType {
        if self.is_group { WireType::Group } else { wire_type(&self.kind) }
    }
}

impl Encoder<'_> {
    /// A field with its tags.
    pub(super) fn field(&mut self, declaration: &Declaration, node: &Node<'_>, twin: Option<FieldTwin<'_>>) -> Vec<u8> {
        // A text that looks like a mark is one only where it was not before.
        let unchanged = twin.and_then(|twin| twin.unchanged(node));
        if let Some(bytes) = unchanged.or_else(|| self.unhidden(node)) {
            return bytes;
        }
        if let Some(entry) = declaration.map_entry() {
            return self.map(declaration.number(), &entry, node);
        }
        let of = Type { kind: declaration.kind(), is_group: declaration.is_group() };
        if declaration.is_list() {
            return self.list(declaration, &of, node, twin);
        }
        let mut bytes = Vec::new();
        if let Some(encoded) = self.value(&of, node, twin.and_then(FieldTwin::message)) {
            encoded.write(declaration.number(), &mut bytes);
        }
        bytes
    }

    /// Null stands for a field that is not there, unless null is a value of its type.
    pub(super) fn is_absent(&self, declaration: &Declaration, node: &Node<'_>) -> bool {
        node.kind == json::Kind::Null && (declaration.is_list() || !holds_null(&declaration.kind()))
    }

    /// A value without its tag; `None` after a problem.
    pub(super) fn value(&mut self, of: &Type, node: &Node<'_>, twin: Option<Twin<'_>>) -> Option<Encoded> {
        if let Some(raw) = self.raw_value(of, node) {
            return raw;
        }
        let Kind::Message(descriptor) = &of.kind else {
            if self.refuses_mark(node) {
                return None;
            }
            return self.noted(node.at, scalar::encode(&of.kind, node));
        };
        let bytes = self.message(descriptor, node, twin);
        Some(if of.is_group { Encoded::Group(bytes) } else { Encoded::Len(bytes) })
    }

    /// `{"#varint": …}` and the like; `None` if the value is none of them.
    fn raw_value(&mut self, of: &Type, node: &Node<'_>) -> Option<Option<Encoded>> {
        let member = node.as_pair().filter(|member| member.key.starts_with('#'))?;
        let encoded = match &*member.key {
            "#group" => Encoded::Group(self.group(&member.value)),
            _ => match raw_json::read(member)? {
                Ok(encoded) => encoded,
                Err(reason) => {
                    self.problem(member.value.at, reason);
                    return Some(None);
                }
            },
        };
        if encoded.wire_type() == of.wire_type() {
            return Some(Some(encoded));
        }
        let (found, expected, kind) = (encoded.wire_type(), of.wire_type(), kind_name(&of.kind));
        self.problem(node.at, format!("{kind} has wire type {expected:?}, not {found:?}"));
        Some(None)
    }
}

/// Whether null is one of the values.
pub(super) fn holds_null(kind: &Kind) -> bool {
    match kind {
        Kind::Message(descriptor) => WellKnown::of(descriptor) == Some(WellKnown::Value),
        Kind::Enum(descriptor) => descriptor.full_name() == "google.protobuf.NullValue",
        _ => false,
    }
}
