//! Hiding fields of payloads that no schema describes, by their names.

use std::borrow::Cow;

use base64::{Engine, prelude::BASE64_STANDARD};
use payload_codec::{
    json::{Kind, Member, Node},
    message::MASK,
};
use wildmatch::WildMatch;

use super::inner_text::{LEVELS, inner, may_have_fields};

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

/// What a class of Java has written by itself. Maps write a key, then its value, and so on.
pub(super) const WRITTEN: &str = "#data";

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

    /// Replaces the values of matching members, at any depth, and texts that hold such members, and says whether there were
    /// any. A path has no indexes. What is hidden already keeps its mark. Keys that are bytes have the names that these spell.
    pub fn hide(&self, node: &mut Node<'_>) -> bool {
        self.hide_within(node, LEVELS)
    }

    /// The same, where texts within texts are read so many times.
    pub(super) fn hide_within(&self, node: &mut Node<'_>, levels: usize) -> bool {
        !self.is_empty() && self.hide_in(node, &mut Place { path: String::new(), is_whole: levels == LEVELS, levels })
    }

    fn hide_in(&self, node: &mut Node<'_>, place: &mut Place) -> bool {
        let mut hides = false;
        match &mut node.kind {
            Kind::Array(nodes) => {
                for node in nodes {
                    hides |= self.hide_in(node, place);
                }
            }
            Kind::Object(members) => {
                for member in members {
                    hides |= self.hide_member(member, place);
                }
            }
            Kind::Text(text) => {
                if self.are_within(text, place.levels) {
                    *text = Cow::Borrowed(MASK);
                    hides = true;
                }
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) => {}
        }
        hides
    }

    fn hide_member(&self, member: &mut Member<'_>, place: &mut Place) -> bool {
        // A message of a type has a number behind it.
        if is_mark(&member.value) {
            return false;
        }
        let name = spelled_key(&member.key);
        let outer = place.enter(name.as_deref().unwrap_or(&member.key));
        let is_hidden = place.path.len() > LONGEST_PATH
            || self.hides_member(&member.key, &place.path, !place.is_whole)
            || name.is_some_and(|name| self.hides_member(&name, &place.path, !place.is_whole));
        let hides = if is_hidden {
            member.value = Node::text(MASK);
            true
        } else if member.key == WRITTEN
            && let Kind::Array(nodes) = &mut member.value.kind
        {
            self.hide_in_written(nodes, place)
        } else {
            self.hide_in(&mut member.value, place)
        };
        place.path.truncate(outer);
        hides
    }

    /// Where its paths begin is not known, as the names of a map are among its values.
    fn hide_in_written(&self, nodes: &mut [Node<'_>], place: &mut Place) -> bool {
        let was_whole = place.is_whole;
        place.is_whole = false;
        let (mut hides, mut is_hidden) = (false, false);
        for node in nodes {
            let is_next_hidden = text_of(node).is_some_and(|name| self.hides_member(&name, &name, true));
            if is_hidden {
                *node = Node::text(MASK);
                hides = true;
            } else {
                hides |= self.hide_in(node, place);
            }
            is_hidden = is_next_hidden;
        }
        place.is_whole = was_whole;
        hides
    }

    /// Of what stands in a text, nobody knows where its paths begin, so that the last name of one decides.
    fn hides_member(&self, key: &str, path: &str, is_in_text: bool) -> bool {
        let is_last = || self.last.iter().any(|pattern| pattern.matches(key));
        self.all.iter().any(|pattern| pattern.matches(key) || pattern.matches(path)) || is_in_text && is_last()
    }

    /// Whether a text holds a hidden field, or looks so and cannot be read.
    fn are_within(&self, text: &str, levels: usize) -> bool {
        // With a backslash any name can be written otherwise.
        if !text.contains('\\') && !self.are_in_text(text) {
            return false;
        }
        match inner(text, levels) {
            Some((mut node, levels)) => self.hide_within(&mut node, levels),
            None => self.may_be_within(text),
        }
    }

    /// Whether a text that could not be read may hold a hidden field.
    pub(super) fn may_be_within(&self, text: &str) -> bool {
        self.are_in_text(text) && (may_have_fields(text) || text.lines().any(|line| self.begin(line)))
    }

    /// `card: 4711`, `- "card" = 4711`
    fn begin(&self, line: &str) -> bool {
        let is_around = |c: char| c.is_whitespace() || matches!(c, '-' | '"' | '\'');
        let key = line.split_once([':', '=']).map(|(key, _)| key.trim_matches(is_around));
        key.is_some_and(|key| self.hides_member(key, key, true))
    }
}

/// What stands deeper is hidden: nobody has named it, and to compare each of thousands of such paths takes minutes.
const LONGEST_PATH: usize = 4096;

/// Where something is that may be hidden.
struct Place {
    path: String,
    /// Whether the path begins where the payload does.
    is_whole: bool,
    /// How often texts in it are read.
    levels: usize,
}

impl Place {
    /// One name deeper. The answer is how long the path was.
    fn enter(&mut self, name: &str) -> usize {
        let outer = self.path.len();
        if outer > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        outer
    }
}

/// A text, the name of a constant of Java, or what bytes spell.
pub(super) fn text_of<'n>(node: &'n Node<'_>) -> Option<Cow<'n, str>> {
    if let Some(text) = node.as_text() {
        return Some(Cow::Borrowed(text));
    }
    let last = node.as_object()?.last()?;
    match (&*last.key, last.value.as_text()?) {
        ("#enum", constant) => Some(Cow::Borrowed(constant)),
        ("#base64", base64) => spelled(base64).map(Cow::Owned),
        _ => None,
    }
}

/// The name that a key of bytes spells: as a key they are the text of their JSON.
fn spelled_key(key: &str) -> Option<String> {
    spelled(key.strip_prefix(r##"{ "#base64": ""##)?.strip_suffix(r#"" }"#)?)
}

fn spelled(base64: &str) -> Option<String> {
    String::from_utf8(BASE64_STANDARD.decode(base64).ok()?).ok()
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

#[cfg(test)]
mod tests {
    use payload_codec::json;

    use super::*;

    #[test]
    fn what_stands_below_a_name_without_end_is_hidden() {
        let names = Names::new(&["pin".to_owned()]);
        for (length, hides) in [(LONGEST_PATH - 2, false), (LONGEST_PATH, true)] {
            let text = format!(r#"{{"{}":{{"a":1}}}}"#, "x".repeat(length));
            assert_eq!(names.hide(&mut json::read(&text, 10, 100).unwrap()), hides, "{length}");
        }
    }

    #[test]
    fn a_name_is_hidden_in_any_case() {
        let names = Names::new(&["*password*".to_owned(), "a.Pin".to_owned()]);
        let mut node = json::read(r#"{"PASSWORD2": "x", "A": {"PIN": 1, "pins": 2}}"#, 100, 10).unwrap();
        assert!(names.hide(&mut node));
        let shown: String = node.to_string().split_whitespace().collect();
        assert_eq!(shown, r#"{"PASSWORD2":"•••","A":{"PIN":"•••","pins":2}}"#);
    }

    #[test]
    fn texts_that_hold_hidden_fields_are_hidden() {
        fn check(text: &str, is_hidden: bool) {
            let names = Names::new(&["order.card".to_owned()]);
            let mut node = Node::pair("data", Node::array(vec![Node::text(text)]));
            assert_eq!(names.hide(&mut node), is_hidden, "{text}");
            let expected = if is_hidden { MASK } else { text };
            assert_eq!(node, Node::pair("data", Node::array(vec![Node::text(expected)])));
        }
        let job = r#"O:3:"Pay":2:{s:2:"id";i:7;s:7:"#.to_owned() + "\"\0*\0card\";s:4:\"4711\";}";
        let in_text = Node::text(r#"{"card": 1}"#).to_string();
        for hidden in [
            r#"{"card": "4711"}"#,
            r#"[{"\u0063ard": "4711"}]"#,
            &in_text,
            &format!("{{\"inner\": {in_text}}}"),
            &job,
            "name: Zoe\ncard: 4711\n",
            "a: 1\n- \"card\": 4711",
            r#"{"card": "47"#,
            "{'card': '4711'}",
            "n=1&card=4711",
            "<order>\n<card>4711</card>\n</order>",
        ] {
            check(hidden, true);
        }
        for shown in [
            "pay by card",
            r#"{"by": "card"}"#,
            r#"O:3:"Pay":1:{s:2:"by";s:4:"card";}"#,
            "cardY2FyZA9mMzU2YTE5MmI3OTEzYjA0Yw==",
            "pay: by card, please",
            "Traceback:\n  File \"card.py\", line 1\n    charge(card)\nValueError: no",
            r"App\Jobs\Charge",
        ] {
            check(shown, false);
        }
    }

    /// A value of a map may be called as one of its keys is, and a key may be a constant.
    #[test]
    fn what_follows_a_name_in_a_map_of_java_is_hidden() {
        let names = Names::new(&["order.email".to_owned()]);
        let of = |values: &str| format!(r##"{{"order": {{"#data": ["by", "email", {values}, ["email", "z"]]}}}}"##);
        let open = of(r##""email", "x", {"#class": "Field", "#enum": "EMAIL"}, 7, "id", {"email": "y"}"##);
        let mut node = json::read(&open, 100, 10).unwrap();
        assert!(names.hide(&mut node));
        let shown = of(r##""•••", "•••", {"#class": "Field", "#enum": "EMAIL"}, "•••", "id", {"email": "•••"}"##);
        assert_eq!(node, json::read(&shown, 100, 10).unwrap());
    }

    /// Each text in a text is read once more, and strings of PHP can be nested as often as there is room.
    #[test]
    fn texts_in_texts_end() {
        let mut text = r#"a:1:{s:4:"card";i:4711;}"#.to_owned();
        for _ in 0..5_000 {
            text = format!("a:1:{{i:0;s:{}:\"{text}\";}}", text.len());
        }
        let mut node = Node::text(text);
        assert!(Names::new(&["card".to_owned()]).hide(&mut node));
        assert_eq!(node.as_text(), Some(MASK));
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
