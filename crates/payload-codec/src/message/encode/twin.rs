//! What the edited JSON was before, so that what was not touched keeps its bytes.

use std::collections::HashMap;

use crate::{
    json::{Kind, Member, Node},
    message::model::{Content, Entry, Form, Known, Message, Value},
};

/// A message of the original and the JSON it was shown as.
#[derive(Clone, Copy)]
pub(super) struct Twin<'t> {
    pub message: &'t Message<'t>,
    pub node: &'t Node<'t>,
}

/// A field of the original and the JSON it was shown as.
#[derive(Clone, Copy)]
pub(super) struct FieldTwin<'t> {
    entry: &'t Entry<'t>,
    node: &'t Node<'t>,
}

impl<'t> Twin<'t> {
    /// Its fields by their keys. Entries and members correspond one by one.
    pub fn fields(self) -> HashMap<&'t str, FieldTwin<'t>> {
        let members: &[Member<'_>] = match self.message.form {
            Form::Fields => self.node.as_object().unwrap_or_default(),
            _ => &[],
        };
        let entries = self.message.entries.iter().zip(members);
        entries.map(|(entry, member)| (&*member.key, FieldTwin { entry, node: &member.value })).collect()
    }
}

impl<'t> FieldTwin<'t> {
    /// The bytes of a field that has not been changed, with their tags.
    pub fn unchanged(self, node: &Node<'_>) -> Option<Vec<u8>> {
        (self.node == node).then(|| self.entry.wire.concat())
    }

    /// The message in a field that is not repeated.
    pub fn message(self) -> Option<Twin<'t>> {
        match &self.entry.content {
            Content::Known(_, Known::One(Value::Message(message))) => Some(Twin { message, node: self.node }),
            _ => None,
        }
    }

    /// The element of a list that stood there, with its bytes.
    pub fn element(self, index: usize) -> Option<ElementTwin<'t>> {
        let (Content::Known(_, Known::List(values)), Kind::Array(nodes)) = (&self.entry.content, &self.node.kind)
        else {
            return None;
        };
        if values.len() != self.entry.wire.len() {
            // Packed.
            return None;
        }
        let (value, node, wire) = (values.get(index)?, nodes.get(index)?, self.entry.wire.get(index)?);
        Some(ElementTwin { value, node, wire })
    }
}

#[derive(Clone, Copy)]
pub(super) struct ElementTwin<'t> {
    value: &'t Value<'t>,
    node: &'t Node<'t>,
    wire: &'t [u8],
}

impl<'t> ElementTwin<'t> {
    pub fn unchanged(self, node: &Node<'_>) -> Option<&'t [u8]> {
        (self.node == node).then_some(self.wire)
    }

    pub fn message(self) -> Option<Twin<'t>> {
        match self.value {
            Value::Message(message) => Some(Twin { message, node: self.node }),
            _ => None,
        }
    }
}
