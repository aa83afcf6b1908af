//! A message to JSON.

use base64::{Engine, prelude::BASE64_STANDARD};
use prost_reflect::Kind;

use super::{
    declaration::Declaration,
    mask::{MASK, Masks},
    model::{Content, Entry, Form, Known, Message, Raw, Value},
    notes::Path,
    raw_json,
    settle::key_text,
    well_known::WellKnown,
};
use crate::{
    escape,
    json::{self, Member, Node},
};

/// A message as JSON, with what was hidden in it.
pub(super) struct Rendered<'t> {
    pub node: Node<'t>,
    /// In the order of the numbers in the marks, which count from 1.
    pub hidden: Vec<Hidden<'t>>,
}

/// A hidden value.
pub(super) struct Hidden<'t> {
    /// Where it was, without indexes and keys. It can go back to no other place.
    pub path: String,
    /// Its bytes with their tags.
    pub wire: Vec<&'t [u8]>,
}

pub(super) fn render<'t>(message: &'t Message<'_>, masks: Option<&Masks>) -> Rendered<'t> {
    let mut renderer = Renderer { masks, path: Path::default(), hidden: Vec::new() };
    let node = renderer.message(message);
    Rendered { node, hidden: renderer.hidden }
}

struct Renderer<'m, 't> {
    masks: Option<&'m Masks>,
    /// Names only.
    path: Path,
    hidden: Vec<Hidden<'t>>,
}

impl<'t> Renderer<'_, 't> {
    fn message(&mut self, message: &'t Message<'_>) -> Node<'t> {
        match &message.form {
            Form::Text(text) => Node::text(text.as_str()),
            Form::Wrapped => self.wrapped(message),
            Form::Free => self.free(message),
            Form::Any { type_url, message } => self.any(type_url, message),
            Form::Fields => {
                let fields = self.fields(message);
                match WellKnown::of(&message.descriptor) {
                    Some(_) => Node::pair("#message", Node::object(fields)),
                    None => Node::object(fields),
                }
            }
        }
    }

    /// One member for each entry, and one more for the rest.
    fn fields(&mut self, message: &'t Message<'_>) -> Vec<Member<'t>> {
        let mut members: Vec<_> = message.entries.iter().map(|entry| self.entry(message, entry)).collect();
        if message.is_cut {
            members.push(Member::new("#truncated", Node::number(message.rest.len())));
        } else if !message.rest.is_empty() {
            let is_hidden = self.masks.is_some_and(|masks| masks.hide_within(&message.descriptor));
            let mark = self.path.enter("#rest");
            let rest = match is_hidden {
                true => self.hide(vec![message.rest]),
                false => Node::text(BASE64_STANDARD.encode(message.rest)),
            };
            self.path.leave(mark);
            members.push(Member::new("#rest", rest));
        }
        members
    }

    fn entry(&mut self, message: &'t Message<'_>, entry: &'t Entry<'_>) -> Member<'t> {
        match &entry.content {
            Content::Known(declaration, known) => {
                let mark = self.path.enter(&declaration.name());
                let value = match self.hides(declaration) || self.hides_raw(declaration, known) {
                    true => self.hide(entry.wire.clone()),
                    false => self.known(declaration, known),
                };
                self.path.leave(mark);
                Member::new(declaration.key(), value)
            }
            Content::Unknown(number, values) => self.unknown(message, *number, values, entry),
        }
    }

    /// A declared field that could not be read as declared is hidden like the field itself; one that is not declared,
    /// where the message may hold hidden ones.
    fn unknown(
        &mut self,
        message: &Message<'_>,
        number: u32,
        values: &'t [Raw<'t>],
        entry: &'t Entry<'_>,
    ) -> Member<'t> {
        let is_hidden = match Declaration::by_number(&message.descriptor, number) {
            Some(declaration) => {
                let mark = self.path.enter(&declaration.name());
                let is_hidden = self.hides(&declaration) || self.hides_within(&declaration);
                self.path.leave(mark);
                is_hidden
            }
            // It may be a hidden field of a newer version, or the type is the wrong one.
            None => self.masks.is_some_and(|masks| masks.hide_within(&message.descriptor)),
        };
        if !is_hidden {
            return raw_json::member(number, values.iter());
        }
        let key = format!("#{number}");
        let mark = self.path.enter(&key);
        let value = self.hide(entry.wire.clone());
        self.path.leave(mark);
        Member::new(key, value)
    }

    fn hides(&self, declaration: &Declaration) -> bool {
        self.masks.is_some_and(|masks| masks.hide(declaration, &self.path.text))
    }

    fn hides_within(&self, declaration: &Declaration) -> bool {
        let kind = declaration.kind();
        self.masks.zip(kind.as_message()).is_some_and(|(masks, message)| masks.hide_within(message))
    }

    /// Messages that were nested too deeply to be read may hold what is to be hidden.
    fn hides_raw(&self, declaration: &Declaration, known: &Known<'_>) -> bool {
        let has_raw = match known {
            Known::One(value) => matches!(value, Value::Raw(_)),
            Known::List(values) => values.iter().any(|value| matches!(value, Value::Raw(_))),
            Known::Map(pairs) => pairs.iter().any(|(_, value)| matches!(value, Value::Raw(_))),
        };
        has_raw && self.hides_within(declaration)
    }

    fn hide(&mut self, wire: Vec<&'t [u8]>) -> Node<'t> {
        self.hidden.push(Hidden { path: self.path.text.clone(), wire });
        Node::text(format!("{MASK}{}", self.hidden.len()))
    }

    fn known(&mut self, declaration: &Declaration, known: &'t Known<'_>) -> Node<'t> {
        let kind = declaration.kind();
        match known {
            Known::One(value) => self.value(&kind, value),
            Known::List(values) => Node::array(values.iter().map(|value| self.value(&kind, value)).collect()),
            Known::Map(pairs) => {
                let value_kind = declaration.map_entry().map(|entry| entry.map_entry_value_field().kind());
                let value_kind = value_kind.unwrap_or(kind);
                let members =
                    pairs.iter().map(|(key, value)| Member::new(key_text(key), self.value(&value_kind, value)));
                Node::object(members.collect())
            }
        }
    }

    fn value(&mut self, kind: &Kind, value: &'t Value<'_>) -> Node<'t> {
        match value {
            Value::Message(message) => self.message(message),
            Value::Raw(Raw::Bytes(bytes)) if matches!(kind, Kind::String) => escape::escaped(bytes),
            Value::Raw(raw) => raw_json::node_in_place(raw),
            value => scalar(kind, value),
        }
    }

    fn any(&mut self, type_url: &'t str, message: &'t Message<'_>) -> Node<'t> {
        let mut members = vec![Member::new("@type", Node::text(type_url))];
        match WellKnown::of(&message.descriptor) {
            Some(_) => members.push(Member::new("value", self.message(message))),
            None => members.extend(self.fields(message)),
        }
        Node::object(members)
    }

    fn wrapped(&mut self, message: &'t Message<'_>) -> Node<'t> {
        let Some(field) = message.descriptor.get_field(1) else { return Node::null() };
        match message.one(1) {
            Some(value) => self.value(&field.kind(), value),
            None => scalar(&field.kind(), &super::scalar::default(&field.kind())),
        }
    }

    fn free(&mut self, message: &'t Message<'_>) -> Node<'t> {
        let Some(Entry { content: Content::Known(declaration, known), .. }) = message.entries.first() else {
            return match WellKnown::of(&message.descriptor) {
                Some(WellKnown::Struct) => Node::object(Vec::new()),
                _ => Node::array(Vec::new()),
            };
        };
        self.known(declaration, known)
    }
}

/// 64 bits are strings, as the mapping has it: most readers of JSON would round them.
fn scalar<'t>(kind: &Kind, value: &Value<'t>) -> Node<'t> {
    match (value, kind) {
        (Value::Bool(yes), _) => json::Kind::Bool(*yes).into(),
        (Value::Int(number), Kind::Int64 | Kind::Sint64 | Kind::Sfixed64) => Node::text(number.to_string()),
        (Value::Int(number), _) => Node::number(number),
        (Value::Uint(number), Kind::Uint64 | Kind::Fixed64) => Node::text(number.to_string()),
        (Value::Uint(number), _) => Node::number(number),
        (Value::Float(number), _) if number.is_finite() => Node::number(shortest(f64::from(*number).abs(), number)),
        (Value::Double(number), _) if number.is_finite() => Node::number(shortest(number.abs(), number)),
        (Value::Float(number), _) => not_finite((*number).into()),
        (Value::Double(number), _) => not_finite(*number),
        (Value::Text(text), _) => Node::text(*text),
        (Value::Bytes(bytes), _) => Node::text(BASE64_STANDARD.encode(bytes)),
        (Value::Enum(number), Kind::Enum(descriptor)) => enum_value(descriptor, *number),
        (Value::Enum(number), _) => Node::number(number),
        (Value::Message(_) | Value::Raw(_), _) => Node::null(),
    }
}

fn shortest(size: f64, number: &(impl std::fmt::Display + std::fmt::LowerExp)) -> String {
    match size == 0.0 || (1e-6..1e16).contains(&size) {
        true => number.to_string(),
        false => format!("{number:e}"),
    }
}

fn not_finite<'t>(number: f64) -> Node<'t> {
    Node::text(match number {
        number if number.is_nan() => "NaN",
        number if number > 0.0 => "Infinity",
        _ => "-Infinity",
    })
}

fn enum_value<'t>(descriptor: &prost_reflect::EnumDescriptor, number: i32) -> Node<'t> {
    match descriptor.get_value(number) {
        Some(_) if descriptor.full_name() == "google.protobuf.NullValue" => Node::null(),
        Some(value) => Node::text(value.name().to_owned()),
        None => Node::number(number),
    }
}
