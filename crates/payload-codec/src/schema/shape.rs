//! What a type looks like on the wire and by name, to tell whether two sets mean the same by it.

use prost_reflect::{Cardinality, FieldDescriptor, Kind, MessageDescriptor};

/// Whether all of these describe a type alike, so that either reads what the other has written: the names of the types of
/// its fields count, not what is in those. Enums count as the numbers they are. None and one agree.
pub fn agree(messages: impl IntoIterator<Item = MessageDescriptor>) -> bool {
    let mut shapes = messages.into_iter().map(|message| fields(&message));
    shapes.next().is_none_or(|first| shapes.all(|other| first == other))
}

/// In what `other` differs, one clause a field: `field 3 is int64 phone there, string phone here`.
pub fn differences(message: &MessageDescriptor, other: &MessageDescriptor) -> Vec<String> {
    let (here, there) = (fields(message), fields(other));
    let mut numbers: Vec<u32> = here.iter().chain(&there).map(|field| field.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let differs = |number| match (at(&here, number), at(&there, number)) {
        (Some(here), Some(there)) if here.shape != there.shape => {
            Some(format!("field {number} is {} there, {} here", there.declared, here.declared))
        }
        (Some(here), None) => Some(format!("field {number}, {} here, is not there", here.declared)),
        (None, Some(there)) => Some(format!("field {number}, {} there, is not here", there.declared)),
        _ => None,
    };
    numbers.into_iter().filter_map(differs).collect()
}

struct Shape {
    number: u32,
    /// `string phone`
    declared: String,
    /// The same in the terms of the wire.
    shape: String,
}

impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        (self.number, &self.shape) == (other.number, &other.shape)
    }
}

/// By number.
fn fields(message: &MessageDescriptor) -> Vec<Shape> {
    let shape = |field: FieldDescriptor| {
        let declared = format!("{} {}", type_of(&field), field.name());
        let shape = match field.kind() {
            Kind::Enum(kind) => declared.replacen(kind.full_name(), "int32", 1),
            _ => declared.clone(),
        };
        Shape { number: field.number(), declared, shape }
    };
    let mut fields: Vec<Shape> = message.fields().map(shape).collect();
    fields.sort_unstable_by_key(|field| field.number);
    fields
}

fn at(fields: &[Shape], number: u32) -> Option<&Shape> {
    fields.binary_search_by_key(&number, |field| field.number).ok().and_then(|at| fields.get(at))
}

/// As a source would write it: `repeated string`, `map<string, acme.A>`.
pub fn type_of(field: &FieldDescriptor) -> String {
    if let (true, Kind::Message(entry)) = (field.is_map(), field.kind()) {
        let part = |number| entry.get_field(number).map(|field| kind_of(&field.kind())).unwrap_or_default();
        return format!("map<{}, {}>", part(1), part(2));
    }
    let kind = kind_of(&field.kind());
    let group = if field.is_group() { "group " } else { "" };
    match field.cardinality() {
        Cardinality::Repeated => format!("repeated {group}{kind}"),
        Cardinality::Required => format!("required {group}{kind}"),
        Cardinality::Optional => format!("{group}{kind}"),
    }
}

fn kind_of(kind: &Kind) -> String {
    match kind {
        Kind::Message(message) => message.full_name().to_owned(),
        Kind::Enum(declared) => declared.full_name().to_owned(),
        Kind::Double => "double".to_owned(),
        Kind::Float => "float".to_owned(),
        Kind::Int32 => "int32".to_owned(),
        Kind::Int64 => "int64".to_owned(),
        Kind::Uint32 => "uint32".to_owned(),
        Kind::Uint64 => "uint64".to_owned(),
        Kind::Sint32 => "sint32".to_owned(),
        Kind::Sint64 => "sint64".to_owned(),
        Kind::Fixed32 => "fixed32".to_owned(),
        Kind::Fixed64 => "fixed64".to_owned(),
        Kind::Sfixed32 => "sfixed32".to_owned(),
        Kind::Sfixed64 => "sfixed64".to_owned(),
        Kind::Bool => "bool".to_owned(),
        Kind::String => "string".to_owned(),
        Kind::Bytes => "bytes".to_owned(),
    }
}
