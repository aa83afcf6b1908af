//! What is asked of the index, in the words of each database.
//!
//! SQLite has FTS5, Postgres a `tsvector` with a GIN index. Both find words and what words begin with, words next to each
//! other, in parts of a text, together and without each other, which is what the language needs. Trigrams would find parts
//! of words, and take several times the room; Postgres' own dictionaries would find forms of words, of one language.
//! Words are cut by the domain, the same for both.

use std::{cmp::Reverse, collections::HashMap};

use super::fragment::Fragment;
use crate::{
    domain::search::{Area, Condition, Lexeme, Words, document::Document},
    store::db::Either,
};

/// Which database is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    pub(crate) const fn of<S, P>(either: &Either<S, P>) -> Self {
        match either {
            Either::Sqlite(_) => Self::Sqlite,
            Either::Postgres(_) => Self::Postgres,
        }
    }
}

/// What is asked of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expression {
    /// Words in these parts.
    Words(Words, Vec<Area>),
    Lexeme(Lexeme),
    All(Vec<Self>),
    Any(Vec<Self>),
    Without(Box<Self>, Box<Self>),
}

impl Expression {
    /// The same as a condition, where that asks for nothing but what is in the index, and denies nothing.
    pub(super) fn of(condition: &Condition) -> Option<Self> {
        let all = |parts: &[Condition]| -> Option<Vec<Self>> {
            Some(parts.iter().map(Self::of).collect::<Option<_>>()?).filter(|parts: &Vec<_>| !parts.is_empty())
        };
        match condition {
            Condition::All(parts) => all(parts).map(Self::All),
            Condition::Any(parts) => all(parts).map(Self::Any),
            Condition::Words(words) => Some(Self::words(words, &Area::ALL)),
            Condition::Value { lexemes, .. } if !lexemes.is_empty() => {
                Some(Self::Any(lexemes.iter().cloned().map(Self::Lexeme).collect()))
            }
            _ => None,
        }
    }

    /// Words, where they are asked for and among these parts.
    pub(super) fn words(words: &Words, among: &[Area]) -> Self {
        let areas = among.iter().filter(|area| words.area.is_none_or(|asked| asked == **area));
        Self::Words(words.clone(), areas.copied().collect())
    }

    pub(super) fn text(&self, dialect: Dialect) -> String {
        let (and, or, not) = match dialect {
            Dialect::Sqlite => (" AND ", " OR ", " NOT "),
            Dialect::Postgres => (" & ", " | ", " & !"),
        };
        let joined = |parts: &[Self], between: &str| {
            let mut parts: Vec<&Self> = parts.iter().collect();
            parts.sort_by_cached_key(|part| Reverse(part.entries()));
            let parts: Vec<_> = parts.iter().map(|part| part.text(dialect)).collect();
            format!("({})", parts.join(between))
        };
        match (self, dialect) {
            (Self::All(parts), _) => joined(parts, and),
            (Self::Any(parts), _) => joined(parts, or),
            (Self::Without(one, other), _) => format!("({}{not}{})", one.text(dialect), other.text(dialect)),
            (Self::Words(words, areas), Dialect::Sqlite) => {
                let columns: Vec<_> = areas.iter().map(|area| column(*area)).collect();
                let star = if words.is_begun { " *" } else { "" };
                format!("({{{}}} : \"{}\"{star})", columns.join(" "), words.words.join(" "))
            }
            (Self::Words(words, areas), Dialect::Postgres) => phrase(words, areas),
            (Self::Lexeme(Lexeme::Whole(text)), Dialect::Sqlite) => format!("(terms : \"{text}\")"),
            (Self::Lexeme(Lexeme::Begun(text)), Dialect::Sqlite) => format!("(terms : \"{text}\" *)"),
            (Self::Lexeme(Lexeme::Whole(text)), Dialect::Postgres) => format!("'{text}'"),
            (Self::Lexeme(Lexeme::Begun(text)), Dialect::Postgres) => format!("'{text}':*"),
        }
    }
}

impl Expression {
    /// The condition on rows of the index: `search_words` of SQLite, `x` of Postgres.
    pub(super) fn in_index(&self, dialect: Dialect) -> Fragment {
        match dialect {
            Dialect::Sqlite => Fragment::of("search_words MATCH ").text(self.text(dialect)),
            Dialect::Postgres => Fragment::of("x.words @@ CAST(").text(self.text(dialect)).sql(" AS tsquery)"),
        }
    }

    /// The same for where the index is sure to be used. Postgres is asked for one lexeme after the other: of a hundred in
    /// one question, which a comparison is, it holds each row that it finds against all.
    pub(super) fn in_index_one_by_one(&self, dialect: Dialect) -> Fragment {
        match (dialect, self.alternatives()) {
            // By a subquery, as for each that it sees the planner takes its time.
            (Dialect::Postgres, Some(lexemes)) => {
                let lexemes: Vec<String> = lexemes.iter().map(|lexeme| lexeme.text(dialect)).collect();
                Fragment::of("x.words @@ ANY(CAST((SELECT CAST(string_to_array(")
                    .text(lexemes.join("\n"))
                    .sql(", chr(10)) AS TSQUERY[])) AS TSQUERY[]))")
            }
            _ => self.in_index(dialect),
        }
    }

    /// The lexemes of which it asks for any, where there are several and it asks for nothing else.
    fn alternatives(&self) -> Option<&[Self]> {
        match self {
            Self::All(parts) => match &**parts {
                [part] => part.alternatives(),
                _ => None,
            },
            Self::Any(parts) if parts.len() > 1 => {
                parts.iter().all(|part| matches!(part, Self::Lexeme(_))).then_some(parts)
            }
            _ => None,
        }
    }

    /// Entries of its parser's stack that SQLite takes for it, beside a few for a word; there are 100. Before the first part
    /// stands a bracket, before all others a bracket, what came before, and how they are joined: with the deepest part first
    /// no search of 100 terms and 20 brackets takes more than 60.
    fn entries(&self) -> usize {
        let mut parts: Vec<usize> = match self {
            Self::Words(..) | Self::Lexeme(_) => return 0,
            Self::All(parts) | Self::Any(parts) => parts.iter().map(Self::entries).collect(),
            Self::Without(one, other) => vec![one.entries(), other.entries()],
        };
        parts.sort_unstable_by_key(|entries| Reverse(*entries));
        parts.iter().enumerate().map(|(n, entries)| entries + if n == 0 { 1 } else { 3 }).max().unwrap_or_default()
    }
}

const fn column(area: Area) -> &'static str {
    match area {
        Area::Error => "error",
        Area::Stack => "stack",
        Area::Headers => "headers",
        Area::Payload => "payload",
    }
}

const fn weight(area: Area) -> char {
    match area {
        Area::Error => 'A',
        Area::Stack => 'B',
        Area::Headers => 'C',
        Area::Payload => 'D',
    }
}

/// Postgres keeps so many places of a lexeme. Of a word that stands more often each further run of places is a lexeme of its
/// own: the word, [`RUN`] and a number.
const PLACES: usize = 255;
/// Stands in no word.
const RUN: char = '\u{1}';

/// `(('no':A | 'no\u{1}':*A) <-> 'rate':*A)`
///
/// In all parts is not said: no lexeme of a value begins as a word does, and for a weight Postgres reads what it has found.
fn phrase(words: &Words, areas: &[Area]) -> String {
    let is_anywhere = areas.len() == Area::ALL.len();
    let weights: String = areas.iter().filter(|_| !is_anywhere).map(|area| weight(*area)).collect();
    let last = words.words.len().saturating_sub(1);
    let begun = |word: &str| format!("'{word}':*{weights}");
    let whole = |word: &str| if is_anywhere { format!("'{word}'") } else { format!("'{word}':{weights}") };
    let word = |(n, word): (usize, &String)| {
        if words.is_begun && n == last {
            begun(word)
        } else if last == 0 && is_anywhere {
            // It is among its first places.
            whole(word)
        } else {
            format!("({} | {})", whole(word), begun(&format!("{word}{RUN}")))
        }
    };
    format!("({})", words.words.iter().enumerate().map(word).collect::<Vec<_>>().join(" <-> "))
}

/// A document as a `tsvector`.
pub(super) fn vector(document: &Document) -> String {
    /// Postgres knows no later place of a word.
    const LAST: usize = 16_383;
    let (mut text, mut at) = (String::new(), 0_usize);
    let mut places: HashMap<&str, usize> = HashMap::new();
    for area in Area::ALL {
        // The last word of one part does not stand beside the first of the next.
        at += 1;
        for word in document.words(area) {
            at += 1;
            let place = places.entry(word).or_default();
            let run = *place / PLACES;
            *place += 1;
            let run = if run == 0 { String::new() } else { format!("{RUN}{run}") };
            text.push_str(&format!("'{word}{run}':{}{} ", at.min(LAST), weight(area)));
        }
    }
    for lexeme in document.lexemes() {
        text.push_str(&format!("'{lexeme}' "));
    }
    text
}
