//! JSON merge patches, RFC 7396.
//!
//! Libraries for these work on `serde_json::Value`, which changes the digits of large and of decimal numbers also where
//! the patch says nothing of them.

use std::collections::{HashMap, HashSet};

use super::{Kind, Member, Node};

impl<'a> Node<'a> {
    /// This with a merge patch applied: members of objects are replaced one by one, `null` takes one away, and all else
    /// is replaced as a whole. What the patch does not name stays as it is, in its place.
    #[must_use]
    pub fn merged(self, patch: &Self) -> Self {
        let Kind::Object(changes) = &patch.kind else { return patch.clone() };
        let members = match self.kind {
            Kind::Object(members) => members,
            _ => Vec::new(),
        };
        let changed: HashSet<&str> = changes.iter().map(|change| &*change.key).collect();
        let mut left: HashMap<&str, &Self> = changes.iter().map(|change| (&*change.key, &change.value)).collect();
        let mut merged = Vec::with_capacity(members.len());
        for member in members {
            match left.remove(&*member.key) {
                Some(change) if change.kind == Kind::Null => {}
                Some(change) => merged.push(Member { value: member.value.merged(change), ..member }),
                // Of a name that stands there twice readers take one or the other: the changed one is the only one left.
                None if changed.contains(&*member.key) => {}
                None => merged.push(member),
            }
        }
        let added = changes.iter().filter_map(|change| left.remove(&*change.key).map(|value| (&change.key, value)));
        let added = added.filter(|(_, value)| value.kind != Kind::Null);
        merged.extend(added.map(|(key, value)| Member::new(key.clone(), Self::null().merged(value))));
        Self::object(merged)
    }

    /// The first member whose name stands in its object twice, so that nobody can say which of them is meant.
    pub fn double_key(&self) -> Option<&Member<'a>> {
        match &self.kind {
            Kind::Array(nodes) => nodes.iter().find_map(Self::double_key),
            Kind::Object(members) => {
                let mut known = HashSet::new();
                members.iter().find_map(|member| {
                    if known.insert(&*member.key) { member.value.double_key() } else { Some(member) }
                })
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;

    fn check(target: &str, patch: &str, expected: &str) {
        let [target, patch] = [target, patch].map(|text| read(text, 1_000, 100).unwrap());
        assert_eq!(target.merged(&patch).compact(), expected);
    }

    /// Those of RFC 7396, appendix A.
    #[test]
    fn merges_as_the_rfc_says() {
        check(r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#);
        check(r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#);
        check(r#"{"a":"b"}"#, r#"{"a":null}"#, "{}");
        check(r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#);
        check(r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#);
        check(r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#);
        check(r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#);
        check(r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#);
        check(r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#);
        check(r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#);
        check(r#"{"a":"foo"}"#, "null", "null");
        check(r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#);
        check(r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#);
        check("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#);
        check("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#);
    }

    #[test]
    fn keeps_digits_and_places_and_leaves_no_double_key() {
        check(
            r#"{"n":1.10,"big":12345678901234567890123,"z":1}"#,
            r#"{"n":2.50}"#,
            r#"{"n":2.50,"big":12345678901234567890123,"z":1}"#,
        );
        check(r#"{"a":1,"b":2,"a":3}"#, r#"{"a":4}"#, r#"{"a":4,"b":2}"#);
        check(r#"{"a":1,"b":2,"a":3}"#, r#"{"b":4}"#, r#"{"a":1,"b":4,"a":3}"#);
    }

    #[test]
    fn finds_what_is_named_twice() {
        let double = |text| read(text, 1_000, 100).unwrap().double_key().map(|member| member.at);
        assert_eq!(double(r#"{"a":1,"b":{"a":1}}"#), None);
        assert_eq!(double(r#"{"a":1,"b":[{"c":1,"c":2}]}"#), Some(19));
    }
}
