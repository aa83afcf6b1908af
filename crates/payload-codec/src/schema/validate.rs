//! What a descriptor has to keep to that nobody else checks: `prost-reflect` panics, or never ends, without it.

use super::{
    editions::is_map_entry,
    limits::{FULL_NAME_BYTES, NAME_BYTES},
    options::{self, number},
    problem::SchemaProblem,
    raw::{RawEnum, RawField, RawFile, RawMessage, kind, label},
};

/// Puts right what can be, and says why the file cannot be used otherwise.
pub fn validate(file: &mut RawFile) -> Result<(), SchemaProblem> {
    let package = file.package.get_or_insert_default();
    if package.len() > NAME_BYTES || !(package.is_empty() || package.split('.').all(is_identifier)) {
        return Err(broken(format!("{:?} is no name of a package.", shortened(package))));
    }
    // Not needed: whatever a file uses is imported directly, see `complete`. Cycles of them never end in prost-reflect.
    file.public_dependency.clear();
    for extension in &mut file.extension {
        field(extension, 0)?;
    }
    let scope = package.len();
    for message in &mut file.message_type {
        self::message(message, scope)?;
    }
    file.enum_type.iter().try_for_each(declared_enum)?;
    for service in &file.service {
        name(service.name.as_deref())?;
        for method in &service.method {
            name(method.name.as_deref())?;
            reference(method.input_type.as_deref())?;
            reference(method.output_type.as_deref())?;
        }
    }
    Ok(())
}

/// `scope` is the length of the name it stands in.
fn message(message: &mut RawMessage, scope: usize) -> Result<(), SchemaProblem> {
    name(message.name.as_deref())?;
    let length = scope + 1 + message.name.as_ref().map_or(0, String::len);
    if length > FULL_NAME_BYTES {
        return Err(broken(format!("The full name of a message is longer than {FULL_NAME_BYTES} bytes.")));
    }
    let n_oneofs = message.oneof_decl.len();
    for oneof in &message.oneof_decl {
        name(oneof.name.as_deref())?;
    }
    for each in message.field.iter_mut().chain(&mut message.extension) {
        field(each, n_oneofs)?;
    }
    if is_map_entry(message) && !has_key_and_value(message) {
        options::set_varint(&mut message.options, number::MESSAGE_MAP_ENTRY, 0);
    }
    message.enum_type.iter().try_for_each(declared_enum)?;
    message.nested_type.iter_mut().try_for_each(|nested| self::message(nested, length))
}

/// <https://protobuf.dev/programming-guides/proto3/#maps>: a key of 1 that is no float, bytes or message, a value of 2.
fn has_key_and_value(message: &RawMessage) -> bool {
    const DOUBLE: i32 = 1;
    const FLOAT: i32 = 2;
    let single = |number| {
        let mut fields = message.field.iter().filter(move |field| field.number == Some(number));
        fields.next().filter(|field| !field.is_repeated() && field.oneof_index.is_none())
    };
    let is_key = |field: &RawField| {
        let other = matches!(field.kind, Some(DOUBLE | FLOAT | kind::BYTES | kind::ENUM) | None);
        !other && !field.is_message()
    };
    single(1).is_some_and(is_key) && single(2).is_some()
}

fn field(field: &mut RawField, n_oneofs: usize) -> Result<(), SchemaProblem> {
    name(field.name.as_deref())?;
    reference(field.type_name.as_deref())?;
    reference(field.extendee.as_deref())?;
    let shown = field.name.as_deref().unwrap_or_default();
    if field.kind.is_some_and(|kind| !kind::ALL.contains(&kind)) {
        return Err(broken(format!("The field {shown} is of a type that is not known.")));
    }
    let named = field.kind.is_none_or(|kind| kind == kind::ENUM || kind == kind::MESSAGE || kind == kind::GROUP);
    if named && field.type_name.as_deref().is_none_or(str::is_empty) {
        return Err(broken(format!("The field {shown} has no type.")));
    }
    if !named {
        field.type_name = None;
    }
    let index = field.oneof_index.map(usize::try_from);
    if index.is_some_and(|index| index.is_err() || index.is_ok_and(|index| index >= n_oneofs)) {
        return Err(broken(format!("The field {shown} belongs to a oneof that is not there.")));
    }
    match field.label.get_or_insert(label::OPTIONAL) {
        label::OPTIONAL..=label::REPEATED => Ok(()),
        _ => Err(broken(format!("The field {shown} has a label that is not known."))),
    }
}

fn declared_enum(declared: &RawEnum) -> Result<(), SchemaProblem> {
    name(declared.name.as_deref())?;
    declared.value.iter().try_for_each(|value| name(value.name.as_deref()))
}

fn name(name: Option<&str>) -> Result<(), SchemaProblem> {
    let name = name.unwrap_or_default();
    if name.len() <= NAME_BYTES && is_identifier(name) {
        return Ok(());
    }
    Err(broken(format!("{:?} is no name; one is a letter, then letters, digits and underscores.", shortened(name))))
}

/// A name of a type, relative or with a leading dot.
fn reference(name: Option<&str>) -> Result<(), SchemaProblem> {
    let Some(name) = name else { return Ok(()) };
    let parts = name.strip_prefix('.').unwrap_or(name);
    if name.is_empty() || (name.len() <= FULL_NAME_BYTES && parts.split('.').all(is_identifier)) {
        return Ok(());
    }
    Err(broken(format!("{:?} is no name of a type.", shortened(name))))
}

pub fn is_identifier(name: &str) -> bool {
    let is_first = |c: &u8| c.is_ascii_alphabetic() || *c == b'_';
    name.as_bytes().first().is_some_and(is_first) && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
}

fn shortened(name: &str) -> String {
    name.chars().take(60).collect()
}

fn broken(what: String) -> SchemaProblem {
    SchemaProblem::new(
        what,
        "The set is damaged, or made by a program with a mistake in it; build it with protoc or buf.",
    )
}
