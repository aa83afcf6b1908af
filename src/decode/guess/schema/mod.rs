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
    /// One message of each class.
    pub exemplars: Vec<u32>,
    by_name: HashMap<Box<str>, Vec<u32>>,
}

/// The numbers an enum declares, ascending.
pub(super) struct Enumeration {
    pub numbers: Vec<i32>,
}

impl Enumeration {
    pub fn declares(&self, number: i64) -> bool {
        i32::try_from(number).is_ok_and(|number| self.numbers.binary_search(&number).is_ok())
    }

    /// How many numbers it declares besides zero, at least one.
    pub fn choices(&self) -> usize {
        (self.numbers.len() - usize::from(self.declares(0))).max(1)
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
        let mut classes = HashMap::new();
        for (id, colour) in (0..).zip(colours) {
            let class = *classes.entry(colour).or_insert_with(|| {
                self.exemplars.push(id);
                self.exemplars.len() as u32 - 1
            });
            self.classes.push(class);
        }
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
    let mut numbers: Vec<i32> = descriptor.values().map(|value| value.number()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    Enumeration { numbers }
}

#[cfg(test)]
mod tests;
