//! A message type as a guess sees it.

use prost_reflect::MessageDescriptor;

use super::{Field, Places, field};

/// A message type of one of the pools.
pub struct Message {
    pub descriptor: MessageDescriptor,
    /// The pool it is from, by its place among those given.
    pub pool: usize,
    /// By number, ascending; known extensions are among them.
    pub fields: Vec<Field>,
    pub well_known: Option<WellKnown>,
    /// It may be what a body holds.
    pub is_candidate: bool,
    /// Other messages have a field of it.
    pub is_contained: bool,
}

/// Types whose values have a form of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WellKnown {
    Timestamp,
    Duration,
    Any,
}

impl Message {
    /// The field of this number.
    pub fn field(&self, number: u32) -> Option<&Field> {
        // Most messages number their fields from one on without a gap.
        match self.fields.get(number.wrapping_sub(1) as usize) {
            Some(field) if field.number == number => Some(field),
            _ => {
                let at = self.fields.binary_search_by_key(&number, |field| field.number).ok()?;
                self.fields.get(at)
            }
        }
    }

    /// How many fields it has; of each the number and what it has to do with others being there.
    pub fn outline(&self) -> impl Ord + use<> {
        let fields = self.fields.iter().map(|field| (field.number, field.habit, field.oneof, field.is_required));
        (self.fields.len(), fields.collect::<Vec<_>>())
    }

    pub fn last_number(&self) -> u32 {
        self.fields.last().map_or(0, |field| field.number)
    }
}

pub(super) fn read(descriptor: &MessageDescriptor, pool: usize, places: &Places) -> Message {
    let mut fields: Vec<Field> = descriptor.fields().map(|field| field::read(&field, places)).collect();
    fields.extend(descriptor.extensions().map(|extension| field::read_extension(&extension, places)));
    fields.sort_unstable_by_key(|field| field.number);
    Message {
        well_known: well_known(descriptor.full_name()),
        is_candidate: is_candidate(descriptor),
        is_contained: false,
        descriptor: descriptor.clone(),
        pool,
        fields,
    }
}

/// Nobody sends a map's entry by itself, nor Google's own helpers without something around them.
fn is_candidate(descriptor: &MessageDescriptor) -> bool {
    !descriptor.is_map_entry() && !descriptor.full_name().starts_with("google.protobuf.")
}

fn well_known(full_name: &str) -> Option<WellKnown> {
    match full_name {
        "google.protobuf.Timestamp" => Some(WellKnown::Timestamp),
        "google.protobuf.Duration" => Some(WellKnown::Duration),
        "google.protobuf.Any" => Some(WellKnown::Any),
        _ => None,
    }
}
