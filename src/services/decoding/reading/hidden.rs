//! What is hidden in a payload, and what else in it quotes that.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet},
};

use payload_codec::{
    json::{Kind, Node},
    message::MASK,
};

use super::{
    hiding::{Names, WRITTEN, text_of},
    inner_text::{LEVELS, inner},
};
use crate::domain::disclosure::HiddenValues;

/// What is in a payload where `shown` has a mark.
pub(super) struct Hidden<'n> {
    names: &'n Names,
    values: Vec<String>,
    /// Texts that could not be read.
    unread: String,
    /// Whether some of it is no field of the type.
    is_raw: bool,
}

impl<'n> Hidden<'n> {
    /// What is in `open` where `shown` has a mark.
    pub fn found(names: &'n Names, open: &Node<'_>, shown: &Node<'_>) -> Self {
        let mut found = Self { names, values: Vec::new(), unread: String::new(), is_raw: false };
        found.compare(open, shown, LEVELS);
        found
    }

    /// Whether this is one of the values.
    pub fn has(&self, value: &str) -> bool {
        self.values.iter().any(|one| one == value)
    }

    /// Puts marks where `shown` quotes what is hidden, and says whether it did.
    pub fn scrub(&self, shown: &mut Node<'_>) -> bool {
        Copies::of(&self.values).take_out_of(shown)
    }

    /// For other texts. What a type does not describe stands in base64, so of that all of the `payload` is looked through.
    pub fn into_values(self, payload: &[u8]) -> HiddenValues {
        let values = HiddenValues::new(self.values).and(HiddenValues::salvaged(self.unread.as_bytes()));
        if self.is_raw { values.and(HiddenValues::salvaged(payload)) } else { values }
    }

    fn compare(&mut self, open: &Node<'_>, shown: &Node<'_>, levels: usize) {
        match (&open.kind, &shown.kind) {
            (Kind::Array(open), Kind::Array(shown)) => {
                open.iter().zip(shown).for_each(|(open, shown)| self.compare(open, shown, levels));
            }
            (Kind::Object(open), Kind::Object(shown)) => {
                for (open, shown) in open.iter().zip(shown) {
                    self.is_raw |= open.key.starts_with('#') && open.key != WRITTEN && open.value != shown.value;
                    self.compare(&open.value, &shown.value, levels);
                }
            }
            _ if open == shown => {}
            _ => self.collect(open, levels),
        }
    }

    fn collect(&mut self, node: &Node<'_>, levels: usize) {
        match &node.kind {
            Kind::Number(digits) => self.values.push(digits.to_string()),
            Kind::Text(text) => {
                self.values.push(text.to_string());
                self.collect_within(text, levels);
            }
            Kind::Array(nodes) => nodes.iter().for_each(|node| self.collect(node, levels)),
            Kind::Object(members) => {
                // Elsewhere bytes may be quoted as the text that they spell.
                self.values.extend(text_of(node).map(Cow::into_owned));
                members.iter().for_each(|member| self.collect(&member.value, levels));
            }
            Kind::Null | Kind::Bool(_) => {}
        }
    }

    /// Of a text that is hidden for some of its fields only these, as its other values may stand anywhere.
    fn collect_within(&mut self, text: &str, levels: usize) {
        match inner(text, levels) {
            Some((open, levels)) => {
                let mut shown = open.clone();
                match self.names.hide_within(&mut shown, levels) {
                    true => self.compare(&open, &shown, levels),
                    false => self.collect(&open, levels),
                }
            }
            None if self.names.may_be_within(text) => {
                self.unread.push_str(text);
                self.unread.push('\n');
            }
            None => {}
        }
    }
}

/// Characters that a value has at least of which copies are looked for.
const SHORTEST: usize = 4;

/// Finds copies of values. There may be very many of them, and of texts.
struct Copies<'v> {
    values: HashSet<&'v str>,
    /// In bytes, the longest first: one may hold another.
    lengths: Vec<usize>,
    /// How they begin: most texts have none of that.
    starts: HashSet<[u8; SHORTEST]>,
    /// Bytes that may still be compared.
    left: usize,
}

impl<'v> Copies<'v> {
    fn of(values: &'v [String]) -> Self {
        /// Some tenths of a second.
        const MOST: usize = 1 << 28;
        let is_long = |value: &&str| value.chars().count() >= SHORTEST;
        let values: HashSet<&str> = values.iter().map(String::as_str).filter(is_long).collect();
        let lengths: BTreeSet<usize> = values.iter().map(|value| value.len()).collect();
        let starts = values.iter().filter_map(|value| value.as_bytes().first_chunk::<SHORTEST>().copied()).collect();
        Self { values, lengths: lengths.into_iter().rev().collect(), starts, left: MOST }
    }

    /// Puts marks in place of copies, and says whether there were any. A number is one as a whole; keys stay.
    fn take_out_of(&mut self, node: &mut Node<'_>) -> bool {
        let mut has_some = false;
        match &mut node.kind {
            Kind::Array(nodes) => nodes.iter_mut().for_each(|node| has_some |= self.take_out_of(node)),
            Kind::Object(members) => members.iter_mut().for_each(|it| has_some |= self.take_out_of(&mut it.value)),
            Kind::Text(text) => {
                if let Some(scrubbed) = self.scrubbed(text) {
                    *text = Cow::Owned(scrubbed);
                    has_some = true;
                }
            }
            Kind::Number(digits) => {
                has_some = self.scrubbed(digits).is_some_and(|scrubbed| scrubbed == MASK);
                if has_some {
                    node.kind = Kind::Text(Cow::Borrowed(MASK));
                }
            }
            Kind::Null | Kind::Bool(_) => {}
        }
        has_some
    }

    /// The text without them, if it has any. One that would take too long to search is taken for one.
    fn scrubbed(&mut self, text: &str) -> Option<String> {
        let begins = |part: &[u8]| part.first_chunk::<SHORTEST>().is_some_and(|start| self.starts.contains(start));
        if !text.as_bytes().windows(SHORTEST).any(begins) {
            return None;
        }
        let (mut scrubbed, mut rest) = (String::new(), text);
        while let Some(c) = rest.chars().next() {
            let copy = self.copy_at_start(rest);
            if self.left == 0 {
                return Some(MASK.to_owned());
            }
            match copy {
                Some(_) => scrubbed.push_str(MASK),
                None => scrubbed.push(c),
            }
            rest = rest.get(copy.unwrap_or(c.len_utf8())..).unwrap_or_default();
        }
        (scrubbed != text).then_some(scrubbed)
    }

    /// How long the copy is with which a text begins.
    fn copy_at_start(&mut self, text: &str) -> Option<usize> {
        self.starts.get(text.as_bytes().first_chunk::<SHORTEST>()?)?;
        let mut lengths = self.lengths.iter().copied();
        lengths.find(|length| {
            self.left = self.left.saturating_sub(text.len().min(*length));
            text.get(..*length).is_some_and(|part| self.values.contains(part))
        })
    }
}

#[cfg(test)]
mod tests {
    use payload_codec::json;

    use super::*;

    fn check(open: &str, expected: &str, quoted: &str, scrubbed: &str) {
        let names = Names::new(&["card".to_owned()]);
        let open = json::read(open, 1_000_000, 100).unwrap();
        let mut shown = open.clone();
        assert!(names.hide(&mut shown));
        let hidden = Hidden::found(&names, &open, &shown);
        hidden.scrub(&mut shown);
        assert_eq!(shown, json::read(expected, 1_000_000, 100).unwrap(), "{open}");
        assert_eq!(hidden.into_values(b"").scrub(quoted), scrubbed, "{open}");
    }

    #[test]
    fn what_quotes_a_hidden_value_does_so_no_more() {
        check(
            r#"{"card": 471108, "to": ["x 471108", 471108, 4711080, 4711], "471108": "4711"}"#,
            r#"{"card": "•••", "to": ["x •••", "•••", 4711080, 4711], "471108": "4711"}"#,
            "no 471108",
            "no •••",
        );
        check(
            r#"{"card": ["4711-08", "4711"], "to": "4711-08 4711"}"#,
            r#"{"card": "•••", "to": "••• •••"}"#,
            "4711-08",
            "•••",
        );
        check(r#"{"card": "abc", "to": "abc"}"#, r#"{"card": "•••", "to": "abc"}"#, "abc", "abc");
    }

    #[test]
    fn values_in_texts_are_known() {
        check(
            r#"{"class": "Charge", "data": "O:6:\"Charge\":2:{s:4:\"card\";s:7:\"4711-08\";s:2:\"by\";s:4:\"visa\";}"}"#,
            r#"{"class": "Charge", "data": "•••"}"#,
            "Charge by visa: no 4711-08",
            "Charge by visa: no •••",
        );
        check(r#"{"data": "{\"card\": \"4711"}"#, r#"{"data": "•••"}"#, "no 4711", "no •••");
        check(r#"{"card": "{\"number\": \"4711-08\"}"}"#, r#"{"card": "•••"}"#, "no 4711-08", "no •••");
    }

    /// All begin alike, and each is as long as no other.
    #[test]
    fn what_would_take_too_long_to_search_is_hidden() {
        let values: Vec<String> = (4..3_000).map(|length| "4".repeat(length)).collect();
        let mut copies = Copies::of(&values);
        let mut node = Node::array(vec![Node::text("444"), Node::text("x".to_owned() + &"4 44".repeat(100_000))]);
        assert!(!copies.take_out_of(&mut node), "there is none in it");
        copies.left = 1_000;
        node = Node::array(vec![Node::text("x".to_owned() + &"4444y".repeat(1_000)), Node::text("555")]);
        assert!(copies.take_out_of(&mut node));
        assert_eq!(node, Node::array(vec![Node::text(MASK), Node::text("555")]));
    }
}
