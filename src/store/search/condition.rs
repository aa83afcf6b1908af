//! A search as a condition on letters `l`: the one place where it becomes SQL.

use std::collections::HashMap;

use search_language::Comparison;

use super::{
    expression::{Dialect, Expression},
    fragment::Fragment,
};
use crate::{
    domain::{
        filter::Names,
        group::GroupId,
        search::{Area, Condition, Words},
    },
    store::{
        counts::facets::{FacetKey, SeenFacet},
        db::id_list::numbers,
    },
};

/// What conditions are built with.
pub(super) struct Builder<'a> {
    pub(super) dialect: Dialect,
    /// Those that letters can be in.
    pub(super) facets: &'a [SeenFacet],
    /// Those whose payloads may be looked into; all, if it is not said.
    pub(super) payloads: Option<Vec<i64>>,
    /// The groups that named ones have become part of.
    pub(super) roots: HashMap<GroupId, GroupId>,
}

impl Builder<'_> {
    pub(super) fn all(&self, conditions: &[&Condition]) -> Fragment {
        let parts = conditions.iter().map(|condition| self.condition(condition)).collect();
        Fragment::joined(parts, " AND ", "TRUE")
    }

    pub(super) fn condition(&self, condition: &Condition) -> Fragment {
        if self.payloads.is_none()
            && let Some(expression) = Expression::of(condition)
        {
            return self.probe(&expression);
        }
        let each = |parts: &[Condition]| parts.iter().map(|part| self.condition(part)).collect();
        match condition {
            Condition::All(parts) => Fragment::joined(each(parts), " AND ", "TRUE"),
            Condition::Any(parts) => Fragment::joined(each(parts), " OR ", "FALSE"),
            Condition::Not(part) => Fragment::of("NOT ").then(Fragment::joined(vec![self.condition(part)], "", "")),
            Condition::Words(words) => self.words(words),
            Condition::Value { of_payload, .. } => match Expression::of(condition) {
                Some(expression) if *of_payload => self.in_payload(&expression),
                Some(expression) => self.probe(&expression),
                None => Fragment::of("FALSE"),
            },
            Condition::Status(all) => self.facets(|key| all.contains(&key.status)),
            Condition::Importance(all) => self.facets(|key| all.contains(&key.importance)),
            Condition::Reason(all) => self.facets(|key| all.contains(&key.reason)),
            Condition::Broker(all) => self.facets(|key| all.contains(&key.broker)),
            Condition::Queue(names) => {
                let names = names.matcher();
                self.facets(|key| names.matches(&key.queue))
            }
            Condition::Type(names) => self.types(names),
            Condition::Group(all) => {
                let root = |id| self.roots.get(id).unwrap_or(id).as_uuid();
                let ids = all.iter().map(|id| Fragment::of("l.group_id = ").id(root(id))).collect();
                Fragment::of("(l.group_id IS NOT NULL AND ").then(Fragment::joined(ids, " OR ", "FALSE")).sql(")")
            }
            Condition::Id(all) => {
                let ids = all.iter().map(|id| Fragment::of("l.id = ").id(id.as_uuid())).collect();
                Fragment::joined(ids, " OR ", "FALSE")
            }
            Condition::Received(comparison, at) => compared("l.received_at", *comparison, at.as_micros()),
            Condition::Attempts(comparison, than) => compared("l.attempts", *comparison, *than),
            Condition::Size(comparison, than) => compared("l.size", *comparison, *than),
        }
    }

    /// Words, of payloads only where these may be looked into.
    fn words(&self, words: &Words) -> Fragment {
        const OPEN: [Area; 3] = [Area::Error, Area::Stack, Area::Headers];
        let open = Expression::words(words, &OPEN);
        let elsewhere = self.probe(&open);
        if words.area.is_some() {
            return elsewhere;
        }
        let anywhere = self.in_payload(&Expression::words(words, &Area::ALL));
        Fragment::joined(vec![anywhere, elsewhere], " OR ", "FALSE")
    }

    fn in_payload(&self, expression: &Expression) -> Fragment {
        match &self.payloads {
            None => self.probe(expression),
            Some(facets) if facets.is_empty() => Fragment::of("FALSE"),
            Some(facets) => {
                let theirs = format!("(l.facet_id IN {} AND ", numbers(facets.iter().copied()));
                Fragment::of(theirs).then(self.probe(expression)).sql(")")
            }
        }
    }

    /// Whether the index says so of the letter. What is not indexed yet has no words: never "unknown".
    fn probe(&self, expression: &Expression) -> Fragment {
        let text = expression.text(self.dialect);
        match self.dialect {
            // The rows that match are listed once, and each letter is looked up among them.
            Dialect::Sqlite => {
                const SEQ: &str = "CASE WHEN (SELECT x.seq FROM search_index x WHERE x.letter_id = l.id) IN
                    (SELECT rowid FROM search_words WHERE search_words MATCH ";
                Fragment::of(SEQ).text(text).rows().sql(") THEN TRUE ELSE FALSE END")
            }
            Dialect::Postgres => {
                const THERE: &str =
                    "EXISTS (SELECT 1 FROM search_index x WHERE x.letter_id = l.id AND x.words @@ CAST(";
                Fragment::of(THERE).text(text).sql(" AS tsquery))")
            }
        }
    }

    fn facets(&self, fits: impl Fn(&FacetKey) -> bool) -> Fragment {
        let ids: Vec<i64> = self.facets.iter().filter(|(_, key, _)| fits(key)).map(|(id, ..)| id.0).collect();
        if ids.is_empty() {
            Fragment::of("FALSE")
        } else {
            Fragment::of(format!("l.facet_id IN {}", numbers(ids.into_iter())))
        }
    }

    fn types(&self, names: &Names) -> Fragment {
        let exact = names.exact.iter().map(|name| Fragment::of("l.message_type = ").text(name));
        let globs = names.globs.iter().map(|glob| match self.dialect {
            Dialect::Sqlite => Fragment::of("l.message_type GLOB ").text(glob.replace('[', "[[]")),
            Dialect::Postgres => Fragment::of("l.message_type LIKE ").text(like(glob)),
        });
        let all = Fragment::joined(exact.chain(globs).collect(), " OR ", "FALSE");
        Fragment::of("(l.message_type IS NOT NULL AND ").then(all).sql(")")
    }
}

/// A pattern in the words of `LIKE`.
fn like(glob: &str) -> String {
    let mut like = String::with_capacity(glob.len());
    for c in glob.chars() {
        match c {
            '*' => like.push('%'),
            '?' => like.push('_'),
            '%' | '_' | '\\' => like.extend(['\\', c]),
            c => like.push(c),
        }
    }
    like
}

fn compared(column: &str, comparison: Comparison, than: i64) -> Fragment {
    let sign = if comparison == Comparison::Is { "=" } else { comparison.as_str() };
    Fragment::of(format!("{column} {sign} ")).number(than)
}
