//! Which values are hidden.

use std::collections::{BTreeSet, HashMap, HashSet};

use prost_reflect::{DescriptorPool, MessageDescriptor};
use wildmatch::WildMatch;

use super::declaration::Declaration;
use crate::wire::{self, Value};

/// What a mark begins with. The number behind it says which of the hidden values it stands for, so that it finds its
/// value again wherever an edit has moved it to.
pub const MASK: &str = "•••";

/// Hides the fields that a schema marks with `debug_redact`, and those that patterns name.
///
/// Where a message cannot be read, its bytes are hidden as well if they could hold such a field, and so is an unknown field.
pub struct Masks {
    redacted: HashSet<String>,
    /// Messages that hold a redacted field, at any depth.
    redacted_within: HashSet<String>,
    /// Messages that hold a field that is redacted or may be meant by a pattern, at any depth.
    hidden_within: HashSet<String>,
    patterns: Vec<WildMatch>,
}

impl Masks {
    /// Masks for messages of `pool`.
    ///
    /// A pattern, with `*` and `?`, is matched, in any case, with a field's name (`email`), its full name in the schema
    /// (`acme.members.v1.Member.email`), and its path in the message, without indexes and keys (`before.email`).
    pub fn new(pool: &DescriptorPool, patterns: &[String]) -> Self {
        let redacted = redacted(pool);
        let redacted_within = holders(pool, |declaration| redacted.contains(declaration.full_name()));
        let last_name =
            |pattern: &String| WildMatch::new_case_insensitive(pattern.rsplit('.').next().unwrap_or_default());
        let last_names: Vec<WildMatch> = patterns.iter().map(last_name).collect();
        let may_be_hidden = |declaration: &Declaration| {
            let name = declaration.name();
            redacted.contains(declaration.full_name()) || last_names.iter().any(|pattern| pattern.matches(&name))
        };
        let hidden_within = if patterns.is_empty() { redacted_within.clone() } else { holders(pool, may_be_hidden) };
        let patterns = patterns.iter().map(|pattern| WildMatch::new_case_insensitive(pattern)).collect();
        Self { redacted, redacted_within, hidden_within, patterns }
    }

    /// Whether the field is hidden. `path` leads to it, as in [`Masks::new`].
    pub(super) fn hide(&self, declaration: &Declaration, path: &str) -> bool {
        let full_name = declaration.full_name();
        let name = declaration.name();
        self.redacted.contains(full_name)
            || self.patterns.iter().any(|it| it.matches(&name) || it.matches(full_name) || it.matches(path))
    }

    /// Whether any message of the schema has a field that it marks.
    pub fn redact_any(&self) -> bool {
        !self.redacted.is_empty()
    }

    /// Whether a field in such a message, at any depth, is hidden or may be.
    pub fn may_hide_within(&self, message: &MessageDescriptor) -> bool {
        self.hidden_within.contains(message.full_name())
    }

    /// The hidden fields of such a message, by the numbers that lead to them; `None` where there is no end of them. Two
    /// types with the same ones hide the same bytes.
    pub fn hidden_numbers(&self, message: &MessageDescriptor) -> Option<BTreeSet<Vec<u32>>> {
        let mut found = BTreeSet::new();
        let mut way = Way { types: vec![message.full_name().to_owned()], ..Way::default() };
        self.add_hidden(message, &mut way, &mut found).then_some(found)
    }

    fn add_hidden(&self, message: &MessageDescriptor, way: &mut Way, found: &mut BTreeSet<Vec<u32>>) -> bool {
        /// A type with more hidden fields is compared with no other.
        const MOST: usize = 1_000;
        let fields = message.fields().map(Declaration::Field).chain(message.extensions().map(Declaration::Extension));
        for declaration in fields {
            way.numbers.push(declaration.number());
            way.names.push(declaration.name().to_string());
            let inner = declaration.kind().as_message().cloned().filter(|inner| self.may_hide_within(inner));
            if self.hide(&declaration, &way.names.join(".")) {
                found.insert(way.numbers.clone());
            } else if let Some(inner) = inner {
                if found.len() > MOST || way.types.iter().any(|name| name == inner.full_name()) {
                    return false;
                }
                way.types.push(inner.full_name().to_owned());
                if !self.add_hidden(&inner, way, found) {
                    return false;
                }
                way.types.pop();
            }
            way.numbers.pop();
            way.names.pop();
        }
        true
    }

    /// Whether the schema marks a field in such a message, at any depth.
    pub fn redact_within(&self, message: &MessageDescriptor) -> bool {
        self.redacted_within.contains(message.full_name())
    }

    /// Whether bytes that should be such a message, but cannot be read, are hidden.
    pub(super) fn hide_within(&self, message: &MessageDescriptor) -> bool {
        !self.patterns.is_empty() || self.redact_within(message)
    }
}

/// The full names of all fields and extensions with `debug_redact`.
///
/// That option is read from the bytes of the descriptors, because `prost_types` does not know it, and because
/// `FieldDescriptor::options` panics where a schema set comes with a descriptor.proto that contradicts its options.
fn redacted(pool: &DescriptorPool) -> HashSet<String> {
    let mut found = HashSet::new();
    for file in pool.files() {
        let bytes = file.encode_to_vec();
        let package = file.package_name().to_owned();
        for (number, span) in spans(&bytes) {
            match number {
                4 => in_message(span, &package, &mut found, 0),
                7 => in_field(span, &package, &mut found),
                _ => {}
            }
        }
    }
    found
}

/// A `DescriptorProto`. The pool has been built from it, which ends at 100 levels; this ends there as well.
fn in_message(message: &[u8], scope: &str, found: &mut HashSet<String>, depth: usize) {
    let name = spans(message).find(|(number, _)| *number == 1).map(|(_, name)| String::from_utf8_lossy(name));
    let scope = qualified(scope, &name.unwrap_or_default());
    for (number, span) in spans(message) {
        match number {
            2 | 6 => in_field(span, &scope, found),
            3 if depth < 100 => in_message(span, &scope, found, depth.saturating_add(1)),
            _ => {}
        }
    }
}

/// A `FieldDescriptorProto`: its options are number 8, and `debug_redact` is number 16 of those.
fn in_field(field: &[u8], scope: &str, found: &mut HashSet<String>) {
    let options = spans(field).filter(|(number, _)| *number == 8).flat_map(|(_, options)| wire::fields(options));
    let redact = options.map_while(Result::ok).filter(|option| option.number == 16).last();
    if redact.is_some_and(|option| matches!(option.value, Value::Varint(1..)))
        && let Some((_, name)) = spans(field).find(|(number, _)| *number == 1)
    {
        found.insert(qualified(scope, &String::from_utf8_lossy(name)));
    }
}

fn spans(message: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    wire::fields(message).map_while(Result::ok).filter_map(|field| match field.value {
        Value::Len(span) => Some((field.number, span)),
        _ => None,
    })
}

fn qualified(scope: &str, name: &str) -> String {
    if scope.is_empty() { name.to_owned() } else { format!("{scope}.{name}") }
}

/// The way from a message to a field in it.
#[derive(Default)]
struct Way {
    numbers: Vec<u32>,
    names: Vec<String>,
    types: Vec<String>,
}

/// The messages through which such a field can be reached.
fn holders(pool: &DescriptorPool, is_hidden: impl Fn(&Declaration) -> bool) -> HashSet<String> {
    let mut users: HashMap<String, Vec<String>> = HashMap::new();
    let mut to_visit = Vec::new();
    for message in pool.all_messages() {
        let fields = message.fields().map(Declaration::Field);
        for declaration in fields.chain(message.extensions().map(Declaration::Extension)) {
            if is_hidden(&declaration) {
                to_visit.push(message.full_name().to_owned());
            }
            if let Some(inner) = declaration.kind().as_message() {
                users.entry(inner.full_name().to_owned()).or_default().push(message.full_name().to_owned());
            }
        }
    }
    let mut holders = HashSet::new();
    while let Some(name) = to_visit.pop() {
        to_visit.extend(users.remove(&name).unwrap_or_default());
        holders.insert(name);
    }
    holders
}
