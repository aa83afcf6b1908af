//! What the schema says about a field number.

use std::borrow::Cow;

use prost_reflect::{
    Cardinality, EnumDescriptor, ExtensionDescriptor, FieldDescriptor, Kind, MessageDescriptor, OneofDescriptor,
};

use crate::{
    schema::is_closed,
    wire::{Width, WireType},
};

/// A field of a message, or an extension of it that the pool knows.
#[derive(Clone, Debug, PartialEq)]
pub enum Declaration {
    Field(FieldDescriptor),
    Extension(ExtensionDescriptor),
}

impl Declaration {
    /// What `message` declares as `number`.
    pub fn by_number(message: &MessageDescriptor, number: u32) -> Option<Self> {
        if let Some(field) = message.get_field(number) {
            return Some(Self::Field(field));
        }
        let may_be_extended = message.extension_ranges().any(|range| range.contains(&number));
        may_be_extended.then(|| message.get_extension(number).map(Self::Extension))?
    }

    /// What a key of JSON means in `message`: the name for JSON, the name in the schema, or `[name.of.an.extension]`.
    pub fn by_key(message: &MessageDescriptor, key: &str) -> Option<Self> {
        if key.starts_with('[') {
            return message.get_extension_by_json_name(key).map(Self::Extension);
        }
        if is_reserved(key) {
            return None;
        }
        message.get_field_by_json_name(key).or_else(|| message.get_field_by_name(key)).map(Self::Field)
    }

    /// The key in JSON.
    pub fn key(&self) -> Cow<'_, str> {
        match self {
            Self::Field(field) if is_reserved(field.json_name()) => Cow::Borrowed(field.name()),
            Self::Field(field) => Cow::Borrowed(field.json_name()),
            Self::Extension(extension) => Cow::Owned(format!("[{}]", extension.full_name())),
        }
    }

    /// The name in the schema, or `[name.of.an.extension]`.
    pub fn name(&self) -> Cow<'_, str> {
        match self {
            Self::Field(field) => Cow::Borrowed(field.name()),
            Self::Extension(extension) => Cow::Owned(format!("[{}]", extension.full_name())),
        }
    }

    pub fn full_name(&self) -> &str {
        match self {
            Self::Field(field) => field.full_name(),
            Self::Extension(extension) => extension.full_name(),
        }
    }

    pub fn number(&self) -> u32 {
        match self {
            Self::Field(field) => field.number(),
            Self::Extension(extension) => extension.number(),
        }
    }

    pub fn kind(&self) -> Kind {
        match self {
            Self::Field(field) => field.kind(),
            Self::Extension(extension) => extension.kind(),
        }
    }

    pub fn is_list(&self) -> bool {
        let cardinality = match self {
            Self::Field(field) => field.cardinality(),
            Self::Extension(extension) => extension.cardinality(),
        };
        cardinality == Cardinality::Repeated && self.map_entry().is_none()
    }

    pub fn is_packed(&self) -> bool {
        match self {
            Self::Field(field) => field.is_packed(),
            Self::Extension(extension) => extension.is_packed(),
        }
    }

    pub fn is_group(&self) -> bool {
        match self {
            Self::Field(field) => field.is_group(),
            Self::Extension(extension) => extension.is_group(),
        }
    }

    /// The type of the entries, if this is a map. Extensions are none.
    pub fn map_entry(&self) -> Option<MessageDescriptor> {
        match self {
            Self::Field(field) if field.is_map() => field.kind().as_message().filter(|it| is_pair(it)).cloned(),
            _ => None,
        }
    }

    /// The oneof this is a member of; not the one that stands for `optional`.
    pub fn oneof(&self) -> Option<OneofDescriptor> {
        match self {
            Self::Field(field) => field.containing_oneof().filter(|oneof| !oneof.is_synthetic()),
            Self::Extension(_) => None,
        }
    }

    /// How a single value is laid out.
    pub fn wire_type(&self) -> WireType {
        if self.is_group() { WireType::Group } else { wire_type(&self.kind()) }
    }
}

/// How a value of this kind is laid out, unless it is a group.
pub(super) fn wire_type(kind: &Kind) -> WireType {
    match kind {
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => WireType::Fixed64,
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => WireType::Fixed32,
        Kind::String | Kind::Bytes | Kind::Message(_) => WireType::Len,
        _ => WireType::Varint,
    }
}

/// How wide the elements are, if a list of this kind may be packed.
pub(super) fn packed_width(kind: &Kind) -> Option<Width> {
    match wire_type(kind) {
        WireType::Varint => Some(Width::Varint),
        WireType::Fixed32 => Some(Width::Fixed32),
        WireType::Fixed64 => Some(Width::Fixed64),
        WireType::Len | WireType::Group => None,
    }
}

/// The name of a kind in a schema.
pub(super) fn kind_name(kind: &Kind) -> &str {
    match kind {
        Kind::Double => "double",
        Kind::Float => "float",
        Kind::Int32 => "int32",
        Kind::Int64 => "int64",
        Kind::Uint32 => "uint32",
        Kind::Uint64 => "uint64",
        Kind::Sint32 => "sint32",
        Kind::Sint64 => "sint64",
        Kind::Fixed32 => "fixed32",
        Kind::Fixed64 => "fixed64",
        Kind::Sfixed32 => "sfixed32",
        Kind::Sfixed64 => "sfixed64",
        Kind::Bool => "bool",
        Kind::String => "string",
        Kind::Bytes => "bytes",
        Kind::Message(message) => message.full_name(),
        Kind::Enum(descriptor) => descriptor.full_name(),
    }
}

/// Whether an enum has that number; one that is open has all.
pub(super) fn has_value(descriptor: &EnumDescriptor, number: i32) -> bool {
    descriptor.get_value(number).is_some() || !is_closed(descriptor)
}

/// Whether a type that is declared as a map's entry has what the accessors of `prost_reflect` count on.
fn is_pair(entry: &MessageDescriptor) -> bool {
    let key = entry.get_field(1).map(|key| key.kind());
    let is_key =
        !matches!(key, None | Some(Kind::Message(_) | Kind::Enum(_) | Kind::Bytes | Kind::Float | Kind::Double));
    is_key && entry.get_field(2).is_some()
}

/// `json_name` may be any string, but these characters begin keys that mean something else.
fn is_reserved(key: &str) -> bool {
    key.starts_with(['#', '@', '['])
}
