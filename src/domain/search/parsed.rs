//! A search that was read: its parts as people see them, and as conditions.

use amqp_message::time::Timestamp;
use search_language::{Kind, Mistake, Node, Value};

use super::{
    Condition, Search,
    fields::LANGUAGE,
    read::{condition, time},
};
use crate::domain::when::When;

/// A comparison of numbers asks the index for about 70 runs of them. More than these keep a database busy for seconds.
const MOST_LEXEMES: usize = 2_000;

/// A search that says something possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    text: String,
    root: Node,
}

/// One of the parts that all have to hold, as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub text: String,
    pub is_negated: bool,
    /// The search without it.
    pub without: String,
}

impl Parsed {
    /// # Errors
    /// All that is wrong with it.
    pub fn read(text: &str) -> Result<Self, Vec<Mistake>> {
        let root = LANGUAGE.parse(text)?;
        let mut mistakes = Vec::new();
        let meant = condition(&root, Timestamp::default(), &mut |node, why| {
            mistakes.push(Mistake::at(text, node.span.clone(), why));
        });
        if meant.n_lexemes() > MOST_LEXEMES {
            mistakes.push(Mistake::at(text, 0..text.len(), "it compares too many numbers at once"));
        }
        if mistakes.is_empty() { Ok(Self { text: text.to_owned(), root }) } else { Err(mistakes) }
    }

    pub fn parts(&self) -> Vec<Part> {
        let text = |node: &Node| self.text.get(node.span.clone()).unwrap_or_default();
        let part = |node: &Node| {
            let others = self.root.parts().iter().filter(|other| other.span != node.span);
            Part {
                text: text(node).to_owned(),
                is_negated: matches!(node.kind, Kind::Not(_)),
                without: others.map(text).collect::<Vec<_>>().join(" "),
            }
        };
        self.root.parts().iter().map(part).collect()
    }

    /// Whether it asks something of that field, as `payload.total`.
    pub fn asks_for(&self, field: &str) -> bool {
        let mut asks = false;
        visit(&self.root, &mut |_, asked, _| asks |= asked.is_some_and(|asked| asked.eq_ignore_ascii_case(field)));
        asks
    }

    /// The search for those for which this holds as well.
    pub fn and(&self, term: &str) -> String {
        match self.root.kind {
            Kind::Any(_) => format!("({}) {term}", self.text),
            _ => format!("{} {term}", self.text).trim().to_owned(),
        }
    }

    /// What is wrong with it for who sees no payloads: it must not be asked what is in them.
    pub fn mistakes_without_payloads(&self) -> Vec<Mistake> {
        const WITHHELD: &str = "payloads are withheld from you, so their fields cannot be searched";
        let mut found = Vec::new();
        visit(&self.root, &mut |node, field, _| {
            if field.is_some_and(|field| field.starts_with("payload.")) {
                found.push(Mistake::at(&self.text, node.span.clone(), WITHHELD));
            }
        });
        found
    }

    /// The same where there is no index of words and fields.
    pub fn mistakes_without_index(&self) -> Vec<Mistake> {
        const SWITCHED_OFF: &str =
            "words and fields are not indexed here: search.enabled is false in the configuration";
        let mut found = Vec::new();
        visit(&self.root, &mut |node, field, _| {
            let is_indexed = field.is_none_or(|field| matches!(field, "error" | "stack") || field.contains('.'));
            if is_indexed {
                found.push(Mistake::at(&self.text, node.span.clone(), SWITCHED_OFF));
            }
        });
        found
    }

    /// Whether it says itself which statuses it is about, or which letters.
    pub fn names_status(&self) -> bool {
        let mut names = false;
        visit(&self.root, &mut |_, field, _| names |= matches!(field, Some("status" | "id")));
        names
    }

    /// The parts that all have to hold.
    pub(in crate::domain) fn conditions(&self, now: Timestamp) -> Vec<(Node, Condition)> {
        let condition = |node: &Node| (node.clone(), condition(node, now, &mut |_, _| {}));
        self.root.parts().iter().map(condition).collect()
    }

    /// All of it, as a condition.
    pub(super) fn whole(&self) -> Search {
        let now = Timestamp::default();
        search(self.conditions(now), now)
    }
}

/// Some of the parts of a search, as one.
pub(in crate::domain) fn search(parts: Vec<(Node, Condition)>, now: Timestamp) -> Search {
    let (mut nodes, conditions): (Vec<Node>, Vec<Condition>) = parts.into_iter().unzip();
    nodes.iter_mut().for_each(|node| hold_times(node, now));
    let text = Node { kind: Kind::All(nodes), span: 0..0 }.to_string();
    Search { text, condition: Condition::All(conditions) }
}

/// Tells of every term with its field and values.
fn visit<'n>(node: &'n Node, see: &mut impl FnMut(&'n Node, Option<&'n str>, &'n [Value])) {
    match &node.kind {
        Kind::All(parts) | Kind::Any(parts) => parts.iter().for_each(|part| visit(part, see)),
        Kind::Not(part) => visit(part, see),
        Kind::Term(term) => see(node, term.field.as_deref(), &term.values),
    }
}

/// Writes times so that they stay.
fn hold_times(node: &mut Node, now: Timestamp) {
    match &mut node.kind {
        Kind::All(parts) | Kind::Any(parts) => parts.iter_mut().for_each(|part| hold_times(part, now)),
        Kind::Not(part) => hold_times(part, now),
        Kind::Term(term) if matches!(term.field.as_deref(), Some("since" | "until")) => {
            for value in &mut term.values {
                if let Ok(at) = time(value, now) {
                    value.text = When::At(at).to_string();
                }
            }
        }
        Kind::Term(_) => {}
    }
}
