//! How likely a type is before the body is looked at: by its place in the set, by the address, by history.

use std::collections::HashMap;

use super::{
    names::words,
    schema::{Message, Schema},
    spread::Spread,
};

/// How likely it is, without history, that no uploaded type is the right one.
const NOT_UPLOADED: f64 = 0.1;
/// How many confirmed messages what is believed without history counts as.
const STRENGTH: f64 = 1.0;
/// How far a word that address and type share is believed. Names lie: less than fully.
const WORD_WEIGHT: f64 = 0.7;
/// A word that more than one of this many types have says nothing.
const COMMON_WORD: usize = 4;

/// The types of each class, those equally likely together, and the words of their names.
pub(super) struct Members {
    /// Those of one class lie together, for they are all looked at in each guess.
    groups: Vec<Group>,
    /// Where the groups of each class begin, and at last where all end.
    starts: Vec<u32>,
    /// Of each type, candidate or not; not normalized.
    weights: Vec<f64>,
    /// The sum of all candidates' weights.
    weight: f64,
    count: usize,
    by_word: HashMap<String, Vec<u32>>,
}

/// Types of one class that are equally likely beforehand.
pub(super) struct Group {
    /// Of each, not normalized.
    pub weight: f64,
    pub types: Vec<u32>,
}

/// The prior of one guess.
pub(super) struct Prior {
    /// What to add to the logarithm of a weight to make it a probability.
    pub log_scale: f64,
    /// The groups of the classes the hints speak of.
    hinted: HashMap<u32, Vec<Group>, Spread>,
    /// The log probability that the type was never uploaded.
    pub log_not_uploaded: f64,
}

/// How many messages of an address are of which type. They need not be whole: a type that is only believed counts in part.
#[derive(Clone, Default)]
pub(super) struct History {
    by_type: HashMap<u32, f64>,
    total: f64,
}

impl History {
    /// Of what people confirmed. Types that are no longer uploaded count, too.
    pub fn confirmed(schema: &Schema, confirmed: &[(&str, u64)]) -> Self {
        let mut history = Self::default();
        for &(name, times) in confirmed {
            history.total += times as f64;
            for &id in schema.named(name) {
                *history.by_type.entry(id).or_default() += times as f64;
            }
        }
        history
    }

    pub fn add(&mut self, id: u32, messages: f64) {
        self.total += messages;
        *self.by_type.entry(id).or_default() += messages;
    }
}

impl Prior {
    /// The classes the hints speak of.
    pub fn classes(&self) -> Vec<u32> {
        self.hinted.keys().copied().collect()
    }
}

impl Members {
    pub fn new(schema: &Schema) -> Self {
        let mut members = Self {
            groups: Vec::new(),
            starts: vec![0],
            weights: Vec::new(),
            weight: 0.0,
            count: 0,
            by_word: HashMap::new(),
        };
        members.weights = schema.messages.iter().map(|message| log_weight(message).exp()).collect();
        let mut by_class: Vec<Vec<Group>> = schema.exemplars.iter().map(|_| Vec::new()).collect();
        for (id, message) in (0..).zip(&schema.messages).filter(|(_, message)| message.is_candidate) {
            let weight = members.weights[id as usize];
            members.weight += weight;
            members.count += 1;
            insert(&mut by_class[schema.classes[id as usize] as usize], weight, id);
            for word in distinct_words(message.descriptor.full_name()) {
                members.by_word.entry(word).or_default().push(id);
            }
        }
        for groups in by_class {
            members.groups.extend(groups);
            members.starts.push(members.groups.len() as u32);
        }
        members
    }

    /// How many types may be a body's.
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn prior(&self, schema: &Schema, address: &[&str], history: &History) -> Prior {
        let mut weights = self.by_address(address);
        let changed: f64 = weights.iter().map(|(&id, weight)| weight - self.weights[id as usize]).sum();
        let log_known = (1.0 - NOT_UPLOADED).ln() - (self.weight + changed).ln();
        let log_share = (STRENGTH / (STRENGTH + history.total)).ln();
        for (&id, &messages) in &history.by_type {
            let weight = weights.entry(id).or_insert(self.weights[id as usize]);
            *weight += messages / STRENGTH * (-log_known).exp();
        }
        let hinted = self.regrouped(schema, &weights);
        Prior { log_scale: log_known + log_share, hinted, log_not_uploaded: NOT_UPLOADED.ln() + log_share }
    }

    /// The groups of a class, by this prior.
    pub fn of_class<'a>(&'a self, class: u32, prior: &'a Prior) -> &'a [Group] {
        prior.hinted.get(&class).map_or_else(|| self.unhinted(class), Vec::as_slice)
    }

    fn unhinted(&self, class: u32) -> &[Group] {
        let [start, end] = [class, class + 1].map(|at| self.starts[at as usize] as usize);
        &self.groups[start..end]
    }

    /// The groups of all classes that have a type whose weight is another now.
    fn regrouped(&self, schema: &Schema, weights: &HashMap<u32, f64, Spread>) -> HashMap<u32, Vec<Group>, Spread> {
        let mut classes = HashMap::with_capacity_and_hasher(weights.len(), Spread::default());
        for id in weights.keys() {
            let class = schema.classes[*id as usize];
            classes.entry(class).or_insert_with(|| regroup(self.unhinted(class), weights));
        }
        classes
    }

    /// The words an address shares with the names of types, rarest first, and how many types have each.
    pub fn shared_words(&self, address: &[&str], full_name: &str) -> Vec<String> {
        let of_type = distinct_words(full_name);
        let mut shared: Vec<_> = address_words(address).into_iter().filter(|word| of_type.contains(word)).collect();
        shared.retain(|word| self.worth(word) > 0.0);
        shared.sort_by(|a, b| self.worth(b).total_cmp(&self.worth(a)));
        shared
    }

    fn by_address(&self, address: &[&str]) -> HashMap<u32, f64, Spread> {
        let mut weights = HashMap::default();
        for word in address_words(address) {
            let worth = self.worth(&word);
            let types = self.by_word.get(&word).filter(|_| worth > 0.0);
            for &id in types.into_iter().flatten() {
                *weights.entry(id).or_insert(self.weights[id as usize]) *= (WORD_WEIGHT * worth).exp();
            }
        }
        weights
    }

    /// The rarer a word, the more it says.
    fn worth(&self, word: &str) -> f64 {
        match self.by_word.get(word).map(Vec::len) {
            Some(types) if types * COMMON_WORD <= self.count || types == 1 => (self.count as f64 / types as f64).ln(),
            _ => 0.0,
        }
    }
}

fn regroup(groups: &[Group], weights: &HashMap<u32, f64, Spread>) -> Vec<Group> {
    let mut regrouped = Vec::new();
    for group in groups {
        for &id in &group.types {
            insert(&mut regrouped, weights.get(&id).copied().unwrap_or(group.weight), id);
        }
    }
    regrouped
}

fn insert(groups: &mut Vec<Group>, weight: f64, id: u32) {
    match groups.iter_mut().find(|group| (group.weight / weight - 1.0).abs() < 1e-9) {
        Some(group) => group.types.push(id),
        None => groups.push(Group { weight, types: vec![id] }),
    }
}

/// Words of one letter, as of `v1`, tell nothing.
fn distinct_words(name: &str) -> Vec<String> {
    let mut words = words(name);
    words.retain(|word| word.chars().nth(1).is_some());
    words.sort_unstable();
    words.dedup();
    words
}

/// The most words of an address that are looked at.
const MAX_ADDRESS_WORDS: usize = 32;

fn address_words(address: &[&str]) -> Vec<String> {
    let mut words: Vec<String> = address.iter().flat_map(|name| distinct_words(name)).collect();
    words.sort_unstable();
    words.dedup();
    words.truncate(MAX_ADDRESS_WORDS);
    words
}

/// What is sent by itself is mostly an event, and declared by itself.
fn log_weight(message: &Message) -> f64 {
    const EVENTS: &[&str] = &["Event", "Notification", "Created", "Updated", "Deleted"];
    let name = message.descriptor.name();
    let ends_with = |suffixes: &[&str]| suffixes.iter().any(|suffix| name.ends_with(suffix));
    // That something contains a nested type is no news: its parent does.
    let mut log = match message.descriptor.parent_message() {
        Some(_) => -0.8,
        None if message.is_contained => -1.2,
        None => 0.0,
    };
    if ends_with(EVENTS) {
        log += 0.5;
    }
    if name.ends_with("Options") || name.starts_with("List") && name.ends_with("Request") {
        log -= 0.3;
    }
    log
}
