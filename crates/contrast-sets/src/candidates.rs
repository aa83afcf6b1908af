//! The conditions that are tried.

use std::collections::{BTreeMap, HashMap};

use crate::{
    document::{Document, Fact},
    document_set::DocumentSet,
};

/// What holds for an attribute of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// It is not there.
    Missing,
    /// It is there and says nothing: null, an empty text, list or object.
    Empty,
    /// One of its values is this.
    Is(Fact),
    /// It is there.
    Present,
    /// One of its measures is so great, or greater.
    AtLeast(Measure, f64),
    /// One of its measures is so small, or smaller.
    AtMost(Measure, f64),
}

/// What is measured of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Measure {
    /// Its number.
    Value,
    /// How many items a list has.
    Items,
    /// How many characters a text has.
    Length,
}

impl Measure {
    const ALL: [Self; 3] = [Self::Value, Self::Items, Self::Length];

    fn of(self, fact: &Fact) -> Option<f64> {
        match (self, fact) {
            (Self::Value, fact) => fact.number(),
            (Self::Items, Fact::Items(items)) => Some(*items as f64),
            (Self::Length, Fact::Text(text)) => Some(text.chars().count() as f64),
            (Self::Length, Fact::Long(characters)) => Some(*characters as f64),
            (Self::Items | Self::Length, _) => None,
        }
    }
}

impl Condition {
    /// The simpler one is told where two hold for the same documents.
    pub(crate) const fn complexity(&self) -> u8 {
        match self {
            Self::Missing | Self::Empty => 0,
            Self::Is(_) | Self::Present => 1,
            Self::AtLeast(measure, _) | Self::AtMost(measure, _) => 2 + *measure as u8,
        }
    }
}

/// A condition, and the documents for which it holds.
pub struct Candidate<'a> {
    pub attribute: &'a str,
    pub condition: Condition,
    pub holds: DocumentSet,
    /// For so many documents of the other sample nobody knows whether it holds, as they were cut.
    pub unknown: usize,
}

/// What all documents say of one attribute, with the number of each.
type Column<'a> = Vec<(usize, &'a Fact)>;
type Held = (Condition, DocumentSet);

/// The measures of an attribute are cut in so many parts.
const PARTS: usize = 16;

/// All conditions that hold for some of the documents, the first `here` of which are the sample that is told apart.
pub fn candidates<'a>(documents: &[&'a Document], here: usize) -> Vec<Candidate<'a>> {
    let mut columns: BTreeMap<&str, Column<'_>> = BTreeMap::new();
    for (number, document) in documents.iter().enumerate() {
        for (attribute, facts) in &document.facts {
            columns.entry(attribute).or_default().extend(facts.iter().map(|fact| (number, fact)));
        }
    }
    let of_column = |(attribute, column): (&'a str, Column<'a>)| {
        let (held, unknown) = conditions(&column, documents, here);
        held.into_iter().map(move |(condition, holds)| Candidate { attribute, condition, holds, unknown })
    };
    columns.into_iter().flat_map(of_column).collect()
}

/// The conditions of one attribute, and of how many others nobody knows what they say of it.
fn conditions(column: &Column<'_>, documents: &[&Document], here: usize) -> (Vec<Held>, usize) {
    let n = documents.len();
    let present = set(n, column.iter().map(|(document, _)| *document));
    let lacks = (0..n).zip(documents).filter(|(number, _)| !present.contains(*number));
    let (unknown, lacks): (Vec<_>, Vec<_>) = lacks.partition(|(_, document)| document.is_cut);
    let missing = set(n, lacks.into_iter().map(|(number, _)| number));
    let empty = set(n, column.iter().filter(|(_, fact)| fact.is_empty()).map(|(document, _)| *document));
    let mut all = vec![(Condition::Missing, missing), (Condition::Empty, empty), (Condition::Present, present)];
    all.extend(values(column, n));
    all.extend(Measure::ALL.into_iter().flat_map(|measure| cuts(column, n, measure)));
    all.retain(|(_, holds)| holds.count() > 0);
    (all, unknown.into_iter().filter(|(number, _)| *number >= here).count())
}

/// Every value that more than one document has.
fn values(column: &Column<'_>, documents: usize) -> Vec<Held> {
    let mut by_value: HashMap<String, (&Fact, Vec<usize>)> = HashMap::new();
    for (document, fact) in column {
        if let Some(name) = name(fact) {
            by_value.entry(name).or_insert_with(|| (fact, Vec::new())).1.push(*document);
        }
    }
    let mut values: Vec<_> = by_value.into_iter().filter(|(_, (_, holders))| holders.len() > 1).collect();
    values.sort_by(|(a, _), (b, _)| a.cmp(b));
    values.into_iter().map(|(_, (fact, holders))| (Condition::Is(fact.clone()), set(documents, holders))).collect()
}

/// Tells values apart; none where a fact is not compared.
fn name(fact: &Fact) -> Option<String> {
    match fact {
        Fact::Bool(is) => Some(format!("b{is}")),
        Fact::Number(number) if number.is_finite() => Some(format!("n{number}")),
        Fact::Text(text) if !text.is_empty() => Some(format!("t{text}")),
        // Nothing is what `Empty` tells, and how many there are is measured.
        Fact::Null | Fact::Hidden | Fact::Items(_) | Fact::Object | Fact::Number(_) | Fact::Text(_) | Fact::Long(_) => {
            None
        }
    }
}

/// The documents on both sides of some places among the measures of their facts.
fn cuts(column: &Column<'_>, documents: usize, measure: Measure) -> Vec<Held> {
    let measured = column.iter().filter_map(|(document, fact)| Some((measure.of(fact)?, *document)));
    let mut measured: Vec<(f64, usize)> = measured.collect();
    measured.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let at_quantile = |n: usize| measured.get(measured.len() * n / PARTS).map(|(value, _)| *value);
    let mut places: Vec<f64> = (1..PARTS).filter_map(at_quantile).collect();
    places.dedup();
    let on_both_sides = |place: f64| {
        let (lower, upper) = measured.split_at(measured.partition_point(|(value, _)| *value < place));
        let side = |side: &[(f64, usize)]| set(documents, side.iter().map(|(_, document)| *document));
        // What cuts nothing off says nothing.
        let (greatest, _) = lower.last()?;
        Some([(Condition::AtLeast(measure, place), side(upper)), (Condition::AtMost(measure, *greatest), side(lower))])
    };
    places.into_iter().filter_map(on_both_sides).flatten().collect()
}

fn set(documents: usize, members: impl IntoIterator<Item = usize>) -> DocumentSet {
    let mut set = DocumentSet::empty(documents);
    members.into_iter().for_each(|document| set.insert(document));
    set
}
