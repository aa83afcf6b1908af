//! Finds types that cannot be told apart.
//!
//! Colour refinement: every type starts with the same colour, and in each round takes a new one made of its fields and of
//! the colours of the messages within them. Types that still have the same colour after some rounds agree that deep.

use std::hash::{Hash, Hasher};

use xxhash_rust::xxh3::Xxh3Default;

use super::{Field, Kind, Message, Schema};

/// How deep two types must agree to count as one.
const ROUNDS: usize = 8;

/// What is looked at.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Sight {
    /// What the wire format shows, whatever the fields are called.
    Wire,
    /// All that a body's likelihood depends on.
    Scored,
}

/// A colour for each message.
pub(super) fn refine(schema: &Schema, sight: Sight) -> Vec<u64> {
    let enums = enum_colours(schema);
    let mut colours = vec![0; schema.messages.len()];
    for _ in 0..ROUNDS {
        colours = schema.messages.iter().map(|message| colour(message, sight, &enums, &colours)).collect();
    }
    colours
}

/// A colour for each enum.
pub(super) fn enum_colours(schema: &Schema) -> Vec<u64> {
    schema.enums.iter().map(|declared| hash(&declared.numbers)).collect()
}

/// A field's own part: what its value's likelihood depends on, and no more.
pub(super) fn signature(field: &Field, enums: &[u64], messages: &[u64]) -> u64 {
    match field.kind {
        Kind::Enum(id) => hash(&(1, field.is_repeated, field.is_implicit, enums[id as usize])),
        Kind::Message(id) => hash(&(2, field.is_repeated, messages[id as usize])),
        Kind::Group(id) => hash(&(3, field.is_repeated, messages[id as usize])),
        kind => hash(&(4, field.is_repeated, field.is_implicit, kind)),
    }
}

fn colour(message: &Message, sight: Sight, enums: &[u64], messages: &[u64]) -> u64 {
    if let Some(well_known) = message.well_known {
        return hash(&well_known);
    }
    let mut hasher = Xxh3Default::new();
    for field in &message.fields {
        (field.number, field.oneof, field.is_required).hash(&mut hasher);
        match sight {
            Sight::Scored => (field.habit, signature(field, enums, messages)).hash(&mut hasher),
            Sight::Wire => {
                let kind = (std::mem::discriminant(&field.kind), field.is_repeated, field.is_implicit);
                (kind, within(field, enums, messages)).hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}

fn within(field: &Field, enums: &[u64], messages: &[u64]) -> u64 {
    match field.kind {
        Kind::Enum(id) => enums[id as usize],
        Kind::Message(id) | Kind::Group(id) => messages[id as usize],
        _ => 0,
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = Xxh3Default::new();
    value.hash(&mut hasher);
    hasher.finish()
}
