//! A field as a guess sees it.

use prost_reflect::{Cardinality, ExtensionDescriptor, FieldDescriptor, Kind as Declared};

use super::{
    super::names::{NumberMeaning, TextMeaning, words},
    Places,
};
use crate::wire::{Width, WireType};

/// A declared field or a known extension.
#[derive(Debug, Clone)]
pub struct Field {
    pub number: u32,
    pub kind: Kind,
    pub is_repeated: bool,
    pub is_required: bool,
    /// A serializer leaves it out when it is zero or empty.
    pub is_implicit: bool,
    /// The number of its oneof's first field, if that has others, else zero.
    pub oneof: u32,
    pub habit: Habit,
}

/// The type of a field; of messages and enums with their place in the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Double(NumberMeaning),
    Float(NumberMeaning),
    Int32(NumberMeaning),
    Int64(NumberMeaning),
    Uint32(NumberMeaning),
    Uint64(NumberMeaning),
    Sint32(NumberMeaning),
    Sint64(NumberMeaning),
    Fixed32(NumberMeaning),
    Fixed64(NumberMeaning),
    Sfixed32(NumberMeaning),
    Sfixed64(NumberMeaning),
    Bool,
    String(TextMeaning),
    Bytes,
    Enum(u32),
    Message(u32),
    Group(u32),
}

/// How often such a field is there. Fields of one habit count together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Habit {
    Scalar,
    Message,
    Repeated,
    Bool,
    /// What a message is known by: nearly always there.
    Key,
    /// Deprecated, or an extension: seldom there.
    Rare,
    /// Required, or of a oneof, and so no habit.
    Ruled,
}

impl Kind {
    /// How one value of it is written.
    pub fn wire_type(self) -> WireType {
        match self {
            Self::Double(_) | Self::Fixed64(_) | Self::Sfixed64(_) => WireType::Fixed64,
            Self::Float(_) | Self::Fixed32(_) | Self::Sfixed32(_) => WireType::Fixed32,
            Self::String(_) | Self::Bytes | Self::Message(_) => WireType::Len,
            Self::Group(_) => WireType::Group,
            _ => WireType::Varint,
        }
    }

    /// As it is written in a `.proto` file.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Double(_) => "double",
            Self::Float(_) => "float",
            Self::Int32(_) => "int32",
            Self::Int64(_) => "int64",
            Self::Uint32(_) => "uint32",
            Self::Uint64(_) => "uint64",
            Self::Sint32(_) => "sint32",
            Self::Sint64(_) => "sint64",
            Self::Fixed32(_) => "fixed32",
            Self::Fixed64(_) => "fixed64",
            Self::Sfixed32(_) => "sfixed32",
            Self::Sfixed64(_) => "sfixed64",
            Self::Bool => "bool",
            Self::String(_) => "string",
            Self::Bytes => "bytes",
            Self::Enum(_) => "enum",
            Self::Message(_) => "message",
            Self::Group(_) => "group",
        }
    }

    /// How its elements are written in a packed list, if they can be.
    pub fn packed_width(self) -> Option<Width> {
        match self.wire_type() {
            WireType::Varint => Some(Width::Varint),
            WireType::Fixed32 => Some(Width::Fixed32),
            WireType::Fixed64 => Some(Width::Fixed64),
            WireType::Len | WireType::Group => None,
        }
    }
}

impl Field {
    /// The message it holds, if it holds one.
    pub fn message(&self) -> Option<u32> {
        match self.kind {
            Kind::Message(id) | Kind::Group(id) => Some(id),
            _ => None,
        }
    }
}

/// Names that a message is known by, if they stand first.
const KEYS: &[&str] = &["id", "uuid", "name", "key"];
const LAST_KEY_NUMBER: u32 = 3;

pub(super) fn read(field: &FieldDescriptor, places: &Places) -> Field {
    let is_repeated = field.cardinality() == Cardinality::Repeated;
    let words = words(field.name());
    let kind = kind(&field.kind(), field.is_group(), &words, field.parent_message().package_name(), places);
    let oneof = field.containing_oneof().filter(|oneof| oneof.fields().len() > 1);
    let is_required = field.cardinality() == Cardinality::Required;
    Field {
        number: field.number(),
        kind,
        is_repeated,
        is_required,
        is_implicit: !is_repeated && !field.supports_presence(),
        oneof: oneof.as_ref().and_then(|oneof| oneof.fields().map(|f| f.number()).min()).unwrap_or_default(),
        habit: match () {
            () if is_required || oneof.is_some() => Habit::Ruled,
            () if is_deprecated(field) => Habit::Rare,
            () => habit(kind, is_repeated, &words, field.number()),
        },
    }
}

pub(super) fn read_extension(field: &ExtensionDescriptor, places: &Places) -> Field {
    Field {
        number: field.number(),
        kind: kind(&field.kind(), field.is_group(), &words(field.name()), "", places),
        is_repeated: field.cardinality() == Cardinality::Repeated,
        is_required: false,
        is_implicit: false,
        oneof: 0,
        habit: Habit::Rare,
    }
}

fn is_deprecated(field: &FieldDescriptor) -> bool {
    field.field_descriptor_proto().options.as_ref().is_some_and(|options| options.deprecated())
}

fn habit(kind: Kind, is_repeated: bool, words: &[String], number: u32) -> Habit {
    let is_key = || words.last().is_some_and(|last| KEYS.contains(&last.as_str()));
    match kind {
        _ if is_repeated => Habit::Repeated,
        Kind::Message(_) | Kind::Group(_) => Habit::Message,
        Kind::Bool => Habit::Bool,
        _ if number <= LAST_KEY_NUMBER && is_key() => Habit::Key,
        _ => Habit::Scalar,
    }
}

fn kind(declared: &Declared, is_group: bool, words: &[String], package: &str, places: &Places) -> Kind {
    let number = || NumberMeaning::of(words);
    match declared {
        Declared::Double => Kind::Double(number()),
        Declared::Float => Kind::Float(number()),
        Declared::Int32 => Kind::Int32(number()),
        Declared::Int64 => Kind::Int64(number()),
        Declared::Uint32 => Kind::Uint32(number()),
        Declared::Uint64 => Kind::Uint64(number()),
        Declared::Sint32 => Kind::Sint32(number()),
        Declared::Sint64 => Kind::Sint64(number()),
        Declared::Fixed32 => Kind::Fixed32(number()),
        Declared::Fixed64 => Kind::Fixed64(number()),
        Declared::Sfixed32 => Kind::Sfixed32(number()),
        Declared::Sfixed64 => Kind::Sfixed64(number()),
        Declared::Bool => Kind::Bool,
        Declared::String => Kind::String(TextMeaning::of(words, package)),
        Declared::Bytes => Kind::Bytes,
        Declared::Enum(descriptor) => Kind::Enum(place(&places.enums, descriptor.full_name())),
        Declared::Message(descriptor) if is_group => Kind::Group(place(&places.messages, descriptor.full_name())),
        Declared::Message(descriptor) => Kind::Message(place(&places.messages, descriptor.full_name())),
    }
}

/// A pool holds whatever its fields refer to.
fn place(places: &std::collections::HashMap<&str, u32>, name: &str) -> u32 {
    places.get(name).copied().unwrap_or_default()
}
