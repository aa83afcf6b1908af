//! The types of all uploaded sets, boiled down to what their wire format and their names say.
//!
//! Everything is an index into a table here; the descriptors are kept only for the names of fields.

mod field;
mod message;
mod twins;

pub(super) use field::{Field, Habit, Kind};
pub(super) use message::{Message, WellKnown};

use std::collections::HashMap;

use prost_reflect::{DescriptorPool, EnumDescriptor, MessageDescriptor};

/// All types of all pools.
pub(super) struct Schema {
    pub messages: Vec<Message>,
    pub enums: Vec<Enumeration>,
    /// A number for each message: equal ones give every body the same likelihood.
    pub classes: Vec<u32>,
    /// One message of each class. Classes of the same outline stand together, since bodies fit many of them or none.
    pub exemplars: Vec<u32>,
    by_name: HashMap<Box<str>, Vec<u32>>,
}

/// The numbers an enum declares.
pub(super) struct Enumeration {
    /// Ascending.
    numbers: Vec<i32>,
    /// There are no gaps between them.
    is_dense: bool,
    first: i64,
    last: i64,
    /// The logarithm of how many there are besides zero, or of one.
    pub log_choices: f64,
}

impl Enumeration {
    pub fn new(mut numbers: Vec<i32>) -> Self {
        numbers.sort_unstable();
        numbers.dedup();
        // Of an enum without numbers none lies between one and zero.
        let [first, last] = [numbers.first().map_or(1, |&n| n.into()), numbers.last().map_or(0, |&n| n.into())];
        let choices = numbers.iter().filter(|&&number| number != 0).count().max(1);
        let is_dense = last - first + 1 == numbers.len() as i64;
        Self { is_dense, first, last, log_choices: (choices as f64).ln(), numbers }
    }

    pub fn declares(&self, number: i64) -> bool {
        let is_within = (self.first..=self.last).contains(&number);
        is_within && (self.is_dense || self.numbers.binary_search_by_key(&number, |&n| n.into()).is_ok())
    }
}

/// Gives fields the same number that give every value the same likelihood.
pub(super) fn signatures(schema: &Schema) -> impl Fn(&Field) -> u64 {
    let enums = twins::enum_colours(schema);
    let messages: Vec<u64> = schema.classes.iter().map(|&class| class.into()).collect();
    move |field| twins::signature(field, &enums, &messages)
}

/// Where the descriptors of one pool went.
struct Places<'a> {
    messages: HashMap<&'a str, u32>,
    enums: HashMap<&'a str, u32>,
}

impl Schema {
    pub fn new(pools: &[DescriptorPool]) -> Self {
        let mut schema = Self::empty();
        for (pool, descriptors) in pools.iter().enumerate() {
            schema.add(pool, descriptors);
        }
        schema.count_references();
        schema.find_twins(pools.len() > 1);
        for (id, message) in (0..).zip(&schema.messages) {
            schema.by_name.entry(message.descriptor.full_name().into()).or_default().push(id);
        }
        schema
    }

    /// The types of this full name, one for each shape it has in the pools.
    pub fn named(&self, full_name: &str) -> &[u32] {
        self.by_name.get(full_name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The message of this number. Numbers come from the tables alone.
    pub fn message(&self, id: u32) -> &Message {
        &self.messages[id as usize]
    }

    /// The message all of the same class are scored as.
    pub fn exemplar_of(&self, id: u32) -> u32 {
        self.exemplars[self.classes[id as usize] as usize]
    }

    fn empty() -> Self {
        Self {
            messages: Vec::new(),
            enums: Vec::new(),
            classes: Vec::new(),
            exemplars: Vec::new(),
            by_name: HashMap::new(),
        }
    }

    fn add(&mut self, pool: usize, descriptors: &DescriptorPool) {
        let messages: Vec<MessageDescriptor> = descriptors.all_messages().collect();
        let enums: Vec<EnumDescriptor> = descriptors.all_enums().collect();
        let places = Places {
            messages: (self.messages.len() as u32..).zip(&messages).map(|(id, m)| (m.full_name(), id)).collect(),
            enums: (self.enums.len() as u32..).zip(&enums).map(|(id, e)| (e.full_name(), id)).collect(),
        };
        self.enums.extend(enums.iter().map(enumeration));
        self.messages.extend(messages.iter().map(|descriptor| message::read(descriptor, pool, &places)));
    }

    /// A type that others contain is seldom sent by itself.
    fn count_references(&mut self) {
        for id in 0..self.messages.len() {
            let contained: Vec<_> = self.messages[id].fields.iter().filter_map(Field::message).collect();
            for other in contained.into_iter().filter(|&other| other as usize != id) {
                self.messages[other as usize].is_contained = true;
            }
        }
    }

    fn find_twins(&mut self, several_pools: bool) {
        if several_pools {
            self.drop_repeated();
        }
        let colours = twins::refine(self, twins::Sight::Scored);
        let mut exemplars: HashMap<u64, u32> = HashMap::new();
        for (id, &colour) in (0..).zip(&colours) {
            exemplars.entry(colour).or_insert(id);
        }
        let mut order: Vec<u32> = exemplars.values().copied().collect();
        order.sort_by_cached_key(|&id| (self.message(id).outline(), id));
        self.exemplars = order;
        let classes: HashMap<u32, u32> = self.exemplars.iter().copied().zip(0..).collect();
        self.classes = colours.iter().map(|colour| classes[&exemplars[colour]]).collect();
    }

    /// Of types of the same name and the same wire format only the first stays a candidate.
    fn drop_repeated(&mut self) {
        let shapes = twins::refine(self, twins::Sight::Wire);
        let mut first = std::collections::HashSet::new();
        let named = self.messages.iter().map(|message| message.descriptor.full_name());
        let repeated: Vec<bool> = named.zip(shapes).map(|named| !first.insert(named)).collect();
        for (message, repeated) in self.messages.iter_mut().zip(repeated) {
            message.is_candidate &= !repeated;
        }
    }
}

fn enumeration(descriptor: &EnumDescriptor) -> Enumeration {
    Enumeration::new(descriptor.values().map(|value| value.number()).collect())
}

#[cfg(test)]
mod tests;
