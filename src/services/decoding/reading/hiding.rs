//! Hiding fields of payloads that no schema describes, by their names.

use payload_codec::{
    json::{Kind, Node},
    message::MASK,
};
use wildmatch::WildMatch;

use crate::domain::disclosure::HiddenValues;

/// Patterns of names and paths of fields, in any case, with `*` and `?`.
pub(crate) struct Names {
    all: Vec<WildMatch>,
    /// The last names of the paths.
    last: Vec<WildMatch>,
    /// What these have beside wildcards, in small letters.
    literals: Vec<Vec<String>>,
}

/// Fields that hold the arguments of a call.
const ARGUMENTS: [&str; 4] = ["args", "kwargs", "data", "command"];

impl Names {
    pub fn new(patterns: &[String]) -> Self {
        let last = |pattern: &String| WildMatch::new_case_insensitive(pattern.rsplit('.').next().unwrap_or_default());
        Self {
            all: patterns.iter().map(|pattern| WildMatch::new_case_insensitive(pattern)).collect(),
            last: patterns.iter().map(last).collect(),
            literals: patterns.iter().map(|pattern| literals(pattern)).collect(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a title of a call, like `pay(card="4711", {"pin": 1})`, may say what is hidden. It has no paths, so that the
    /// last name of one decides.
    pub fn are_in_title(&self, title: &str) -> bool {
        let Some((_, arguments)) = title.split_once('(').filter(|(_, arguments)| *arguments != ")") else {
            return false;
        };
        let is_hidden = |name: &str| self.last.iter().any(|pattern| pattern.matches(name));
        let is_shown = |value: &str| !value.starts_with(&format!("\"{MASK}"));
        let named = |separator: &'static str, before: &'static [char]| {
            arguments.match_indices(separator).any(move |(at, _)| {
                let (name, value) = arguments.split_at(at);
                let name = name.rsplit(before).next().unwrap_or_default();
                is_hidden(name) && is_shown(value.trim_start_matches(separator))
            })
        };
        ARGUMENTS.iter().any(|name| is_hidden(name)) || named("=", &[' ', ',', '(']) || named("\": ", &['"'])
    }

    /// Whether a text that could not be read names a hidden field. A path is known by its last name.
    pub fn are_in_text(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.literals.iter().any(|parts| {
            let mut rest = text.as_str();
            parts.iter().all(|part| rest.split_once(part.as_str()).map(|(_, behind)| rest = behind).is_some())
        })
    }

    /// Replaces the values of matching members, at any depth, and says whether there were any. A path has no indexes.
    /// What is hidden already keeps its mark.
    pub fn hide(&self, node: &mut Node<'_>) -> bool {
        !self.is_empty() && self.hide_in(node, &mut String::new())
    }

    fn hide_in(&self, node: &mut Node<'_>, path: &mut String) -> bool {
        let mut hides = false;
        match &mut node.kind {
            Kind::Array(nodes) => {
                for node in nodes {
                    hides |= self.hide_in(node, path);
                }
            }
            Kind::Object(members) => {
                for member in members {
                    let outer = path.len();
                    if outer > 0 {
                        path.push('.');
                    }
                    path.push_str(&member.key);
                    if is_mark(&member.value) {
                        // A message of a type has a number behind it.
                    } else if self.all.iter().any(|pattern| pattern.matches(&member.key) || pattern.matches(path)) {
                        member.value = Node::text(MASK);
                        hides = true;
                    } else {
                        hides |= self.hide_in(&mut member.value, path);
                    }
                    path.truncate(outer);
                }
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => {}
        }
        hides
    }
}

fn literals(pattern: &str) -> Vec<String> {
    let last = pattern.rsplit('.').next().unwrap_or_default().to_lowercase();
    last.split(['*', '?']).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// `•••4`: the mark of a hidden value of a message, with its number.
fn is_mark(node: &Node<'_>) -> bool {
    let number = node.as_text().and_then(|text| text.strip_prefix(MASK));
    number.is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
}

/// What is in `open` where `shown` has a mark. What a type does not describe stands there in base64, so of that all of the
/// `payload` is looked through.
pub(crate) fn hidden_values(open: &Node<'_>, shown: &Node<'_>, payload: &[u8]) -> HiddenValues {
    let mut found = Hidden::default();
    compare(open, shown, &mut found);
    let values = HiddenValues::new(found.values);
    if found.is_raw { values.and(HiddenValues::salvaged(payload)) } else { values }
}

#[derive(Default)]
struct Hidden {
    values: Vec<String>,
    /// Whether some of it is no field of the type.
    is_raw: bool,
}

fn compare(open: &Node<'_>, shown: &Node<'_>, found: &mut Hidden) {
    match (&open.kind, &shown.kind) {
        (Kind::Array(open), Kind::Array(shown)) => {
            open.iter().zip(shown).for_each(|(open, shown)| compare(open, shown, found));
        }
        (Kind::Object(open), Kind::Object(shown)) => {
            for (open, shown) in open.iter().zip(shown) {
                found.is_raw |= open.key.starts_with('#') && open.value != shown.value;
                compare(&open.value, &shown.value, found);
            }
        }
        _ if open == shown => {}
        _ => collect(open, &mut found.values),
    }
}

fn collect(node: &Node<'_>, found: &mut Vec<String>) {
    match &node.kind {
        Kind::Text(text) | Kind::Number(text) => found.push(text.to_string()),
        Kind::Array(nodes) => nodes.iter().for_each(|node| collect(node, found)),
        Kind::Object(members) => members.iter().for_each(|member| collect(&member.value, found)),
        Kind::Null | Kind::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use payload_codec::json;

    use super::*;

    #[test]
    fn a_name_is_hidden_in_any_case() {
        let names = Names::new(&["*password*".to_owned(), "a.Pin".to_owned()]);
        let mut node = json::read(r#"{"PASSWORD2": "x", "A": {"PIN": 1, "pins": 2}}"#, 100, 10).unwrap();
        assert!(names.hide(&mut node));
        let shown: String = node.to_string().split_whitespace().collect();
        assert_eq!(shown, r#"{"PASSWORD2":"•••","A":{"PIN":"•••","pins":2}}"#);
    }

    #[test]
    fn a_title_may_say_what_is_hidden() {
        fn check(patterns: &[&str], title: &str, expected: bool) {
            let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
            assert_eq!(Names::new(&patterns).are_in_title(title), expected, "{patterns:?} {title}");
        }
        check(&[], r#"pay(card="4711")"#, false);
        check(&["card"], r#"pay(card="4711")"#, true);
        check(&["card"], r#"pay(1, card="4711")"#, true);
        check(&["kwargs.card"], r#"pay(1, card="4711")"#, true);
        check(&["ca*"], r#"pay({"n": 1, "card": "47…)"#, true);
        check(&["card"], r#"pay(card="•••")"#, false);
        check(&["card"], r#"pay({"card": "•••"}, n=1)"#, false);
        check(&["card"], r#"pay("•••", card="•••", {"card": 1})"#, true);
        check(&["card"], "pay(n=1)", false);
        check(&["*password*"], r#"pay(newPASSWORD="4711")"#, true);
        check(&["args"], "pay(4711)", true);
        check(&["args"], "pay()", false);
        check(&["*"], "pay", false);
    }
}
