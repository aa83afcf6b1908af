//! Hiding fields of a message that is written as JSON.

use prost_reflect::{FieldDescriptor, MessageDescriptor};

use super::{
    declaration::Declaration,
    mask::{MASK, Masks},
};
use crate::json::{Kind, Member, Node};

impl Masks {
    /// Replaces the hidden values of a message of this type that is written as JSON, and says whether there were any. What
    /// is no field of the type stays as it is.
    pub fn hide_in_json(&self, message: &MessageDescriptor, node: &mut Node<'_>) -> bool {
        self.hide_members(message, node, "")
    }

    fn hide_members(&self, message: &MessageDescriptor, node: &mut Node<'_>, path: &str) -> bool {
        match &mut node.kind {
            Kind::Array(nodes) => each(nodes, |node| self.hide_members(message, node, path)),
            Kind::Object(members) => {
                let inner = any_type(message, members);
                let message = inner.as_ref().unwrap_or(message);
                each(members, |member| match field_of(message, &member.key) {
                    Some(field) => self.hide_field(&field, member, path),
                    None => false,
                })
            }
            _ => false,
        }
    }

    fn hide_field(&self, field: &FieldDescriptor, member: &mut Member<'_>, path: &str) -> bool {
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{}", field.name());
        if self.hide(&Declaration::Field(field.clone()), &path) {
            let is_open = member.value.kind != Kind::Null && member.value.as_text() != Some(MASK);
            if is_open {
                member.value = Node::text(MASK);
            }
            return is_open;
        }
        let kind = field.kind();
        let Some(message) = kind.as_message() else { return false };
        if !message.is_map_entry() {
            return self.hide_members(message, &mut member.value, &path);
        }
        let value = message.map_entry_value_field().kind();
        match (value.as_message(), &mut member.value.kind) {
            (Some(message), Kind::Object(entries)) => {
                each(entries, |entry| self.hide_members(message, &mut entry.value, &path))
            }
            _ => false,
        }
    }
}

/// Whether it is true of any; all are gone through.
fn each<T>(items: &mut [T], hide: impl Fn(&mut T) -> bool) -> bool {
    items.iter_mut().map(hide).filter(|hides| *hides).count() > 0
}

/// The type that is packed in an `Any`.
fn any_type(message: &MessageDescriptor, members: &[Member<'_>]) -> Option<MessageDescriptor> {
    if message.full_name() != "google.protobuf.Any" {
        return None;
    }
    let url = members.iter().find(|member| member.key == "@type")?.value.as_text()?;
    message.parent_pool().get_message_by_name(url.rsplit('/').next()?)
}

/// By its name in the schema or in JSON, however a library writes small and large letters.
fn field_of(message: &MessageDescriptor, key: &str) -> Option<FieldDescriptor> {
    let plain = |name: &str| name.replace('_', "").to_lowercase();
    let key = plain(key);
    message.fields().find(|field| plain(field.name()) == key || plain(field.json_name()) == key)
}
