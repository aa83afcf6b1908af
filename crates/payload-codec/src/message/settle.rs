//! The second look at a message, once all of it is there: what is missing, and which form it takes in JSON.

use std::collections::HashMap;

use prost_reflect::{Cardinality, MessageDescriptor};

use super::{
    model::{Content, Form, Known, Message, Value},
    read::Reader,
    well_known::{self, WellKnown},
};

/// Finishes `message` and all that is in it. `depth` counts the messages around it; reading has bounded it.
pub(super) fn settle(reader: &mut Reader<'_>, message: &mut Message<'_>, depth: usize) {
    message.entries.retain(|entry| !entry.wire.is_empty());
    message.slots.clear();
    for entry in &mut message.entries {
        if let Content::Known(declaration, known) = &mut entry.content {
            let mark = reader.notes.path.enter(&declaration.name());
            settle_known(reader, known, depth);
            reader.notes.path.leave(mark);
        }
    }
    note_missing(reader, message);
    if let Some(well_known) = WellKnown::of(&message.descriptor) {
        match form(reader, message, well_known, depth) {
            Ok(form) => message.form = form,
            Err(reason) => reader.notes.note(format!("{reason}; its fields are shown")),
        }
    }
}

fn settle_known(reader: &mut Reader<'_>, known: &mut Known<'_>, depth: usize) {
    match known {
        Known::One(value) => settle_value(reader, value, depth),
        Known::List(values) => {
            for (i, value) in values.iter_mut().enumerate() {
                let mark = reader.notes.path.enter_index(i);
                settle_value(reader, value, depth);
                reader.notes.path.leave(mark);
            }
        }
        Known::Map(pairs) => {
            keep_last(reader, pairs);
            // Not by their keys, for those may have to be hidden.
            for (i, (_, value)) in pairs.iter_mut().enumerate() {
                let mark = reader.notes.path.enter_index(i);
                settle_value(reader, value, depth);
                reader.notes.path.leave(mark);
            }
        }
    }
}

fn settle_value(reader: &mut Reader<'_>, value: &mut Value<'_>, depth: usize) {
    if let Value::Message(message) = value {
        settle(reader, message, depth.saturating_add(1));
    }
}

/// Of entries with the same key the last one counts.
fn keep_last(reader: &mut Reader<'_>, pairs: &mut Vec<(Value<'_>, Value<'_>)>) {
    let last: HashMap<String, usize> = pairs.iter().enumerate().map(|(i, (key, _))| (key_text(key), i)).collect();
    if last.len() == pairs.len() {
        return;
    }
    reader.notes.note("a key is there more than once; its last value counts");
    let mut i = 0;
    pairs.retain(|(key, _)| {
        let is_last = last.get(&key_text(key)) == Some(&i);
        i = i.saturating_add(1);
        is_last
    });
}

/// The key of a map as JSON writes it.
pub(super) fn key_text(key: &Value<'_>) -> String {
    match key {
        Value::Bool(yes) => yes.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Text(text) => (*text).to_owned(),
        _ => String::new(),
    }
}

fn note_missing(reader: &mut Reader<'_>, message: &Message<'_>) {
    // In the rest of a message that could not be read may be what seems to be missing.
    if !message.rest.is_empty() {
        return;
    }
    for name in missing(&message.descriptor, |number| message.known(number).is_some()) {
        reader.notes.note(format!("the required field {name} is missing"));
    }
}

/// The names of the required fields that are not there.
pub(super) fn missing(descriptor: &MessageDescriptor, is_there: impl Fn(u32) -> bool) -> Vec<String> {
    let required = descriptor.fields().filter(|field| field.cardinality() == Cardinality::Required);
    required.filter(|field| !is_there(field.number())).map(|field| field.name().to_owned()).collect()
}

fn form<'a>(
    reader: &mut Reader<'_>,
    message: &Message<'a>,
    well_known: WellKnown,
    depth: usize,
) -> Result<Form<'a>, String> {
    if !message.rest.is_empty() {
        return Ok(Form::Fields);
    }
    if message.entries.iter().any(|entry| matches!(entry.content, Content::Unknown(..))) {
        return Err(format!("a {} has no fields but those of its type", message.descriptor.name()));
    }
    match well_known {
        WellKnown::Any => any(reader, message, depth),
        other => well_known::form(other, message),
    }
}

fn any<'a>(reader: &mut Reader<'_>, message: &Message<'a>, depth: usize) -> Result<Form<'a>, String> {
    let (type_url, value) = match (message.one(1), message.one(2)) {
        (Some(Value::Text(type_url)), None) => (*type_url, &[][..]),
        (Some(Value::Text(type_url)), Some(Value::Bytes(value))) => (*type_url, *value),
        _ => return Err("this Any does not say what it holds".to_owned()),
    };
    let name = well_known::type_name(type_url);
    let pool = message.descriptor.parent_pool();
    let descriptor = pool.get_message_by_name(name).ok_or_else(|| format!("{name:?} is not in the schema set"))?;
    let inner_depth = depth.saturating_add(1);
    if inner_depth >= reader.limits.depth {
        return Err(format!("messages nest deeper than {} levels", reader.limits.depth));
    }
    let mut inner = Message::new(descriptor);
    reader.message(&mut inner, value, inner_depth);
    settle(reader, &mut inner, inner_depth);
    Ok(Form::Any { type_url, message: Box::new(inner) })
}
