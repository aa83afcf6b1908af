//! What was known of the letters of a group when it was snoozed until something about them changes.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::Hash,
};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::domain::letter::Importance;

/// A name with more values than this has another one in nearly each message: a new one says nothing.
const FEW: usize = 10;
/// So many names are kept: whoever sends messages chooses them.
const NAMES: usize = 50;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// The most important of its open letters, or of those from before where none was open.
    pub importance: Option<Importance>,
    /// Where its messages came from; `None` where nobody has looked yet.
    pub traits: Option<Traits>,
}

/// Where messages come from, by what tells that: each name with the values it has. Of these only hashes are kept: they may be
/// hidden.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Traits(BTreeMap<String, BTreeSet<u64>>);

impl Traits {
    pub fn add(&mut self, name: String, value: &str) {
        if self.0.len() >= NAMES && !self.0.contains_key(&name) {
            return;
        }
        let values = self.0.entry(name).or_default();
        if values.len() <= FEW {
            let mut hash = Xxh3::new();
            value.hash(&mut hash);
            values.insert(hash.digest());
        }
    }

    /// The first name with a value that is not among these.
    pub fn new_in<'a>(&self, now: &'a Self) -> Option<&'a str> {
        let is_new = |name: &str, values: &BTreeSet<u64>| match self.0.get(name) {
            Some(known) => known.len() <= FEW && !values.is_subset(known),
            None => self.0.len() < NAMES,
        };
        now.0.iter().find(|(name, values)| is_new(name, values)).map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traits(name: &str, values: impl IntoIterator<Item = usize>) -> Traits {
        let mut traits = Traits::default();
        values.into_iter().for_each(|value| traits.add(name.to_owned(), &value.to_string()));
        traits
    }

    #[test]
    fn a_value_is_new_where_there_are_few() {
        let check = |known: usize, now: usize, expected: Option<&str>| {
            let (known, now) = (traits("a", 0..known), traits("a", [now]));
            assert_eq!(known.new_in(&now), expected, "{known:?} {now:?}");
        };
        check(1, 0, None);
        check(1, 1, Some("a"));
        check(FEW, FEW, Some("a"));
        check(FEW + 1, 999, None);
        check(999, 998, None);
        assert_eq!(traits("b", [1]).new_in(&traits("a", [1])), Some("a"), "a name that is new");
    }

    #[test]
    fn nobody_makes_it_grow_without_end() {
        let mut many = Traits::default();
        for n in 0..999 {
            many.add(n.to_string(), "x");
            (0..99).for_each(|value: usize| many.add("0".to_owned(), &value.to_string()));
        }
        assert_eq!((many.0.len(), many.0["0"].len()), (NAMES, FEW + 1));
        assert_eq!(many.new_in(&traits("a", [1])), None, "it may be one that was left out");
        let read: Traits = serde_json::from_str(&serde_json::to_string(&many).unwrap()).unwrap();
        assert_eq!(read, many);
    }
}
