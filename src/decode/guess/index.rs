//! The index of all uploaded types.

use prost_reflect::DescriptorPool;

use super::{
    Candidate, Guess, Hints, TypeName,
    columns::Columns,
    evidence::Evidence,
    explain::Explainer,
    joint,
    likelihood::{Declared, Expectations, Likelihood, Presence},
    posterior::{Placed, Ranked},
    prior::{History, Members},
    schema::{Schema, signatures},
    search::search,
    sheet::{Sheet, WHOLE},
};
use crate::decode::wire::{Value, cost};

/// How many candidates are shown.
pub(super) const SHOWN: usize = 8;
/// How sure a strong guess is at least.
const STRONG_CONFIDENCE: f64 = 0.95;
/// How much better a strong guess reads the body than nothing does, in nats.
const STRONG_EVIDENCE: f64 = 12.0;

/// All types of the uploaded sets, laid out to be guessed from. Build it once for each state of the sets and share it.
pub struct TypeIndex {
    pub(super) schema: Schema,
    pub(super) members: Members,
    declared: Vec<Declared>,
    texts: Expectations,
    presence: Presence,
    pub(super) columns: Columns,
}

impl TypeIndex {
    /// Indexes the types of several sets.
    ///
    /// A type that several sets have with the same wire format is one. Sets that disagree about a type have one each, told
    /// apart by the place of their pool.
    pub fn new(pools: &[DescriptorPool]) -> Self {
        let schema = Schema::new(pools);
        let declared = schema.exemplars.iter().map(|&id| Declared::new(schema.message(id))).collect();
        let columns = Columns::new(&schema, signatures(&schema));
        let members = Members::new(&schema);
        Self { declared, texts: Expectations::new(), presence: Presence::new(), columns, members, schema }
    }

    /// How many types a body may be of.
    pub fn len(&self) -> usize {
        self.members.count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The types a body may be of. Of whatever bytes, in bounded time.
    pub fn guess(&self, body: &[u8], hints: &Hints) -> Guess {
        let Ok(mut sheet) = Sheet::new(body) else { return Guess::default() };
        let prior = self.members.prior(&self.schema, hints.address, &History::confirmed(&self.schema, hints.confirmed));
        let scored = search(&self.likelihood(), &self.columns, &mut sheet, &prior.classes());
        let ranked = Ranked::new(&self.members, &prior, &scored, opaque(&mut sheet), SHOWN);
        self.answer(&mut sheet, ranked, hints)
    }

    /// The types several bodies of one address may be of: each is evidence for the others, as if it were confirmed as far
    /// as it is believed. The guesses come in the order of the bodies.
    pub fn guess_jointly(&self, bodies: &[&[u8]], hints: &Hints) -> Vec<Guess> {
        bodies.chunks(joint::MAX_BODIES).flat_map(|bodies| joint::guess(self, bodies, hints)).collect()
    }

    pub(super) fn answer(&self, sheet: &mut Sheet, ranked: Ranked, hints: &Hints) -> Guess {
        let likeliest = ranked.best.first().and_then(|first| first.types.first()).copied();
        let mut explainer = Explainer::new(self, sheet);
        let is_strong = is_strong(&ranked, &mut explainer, |id| self.is_confirmed(id, hints));
        let candidates = ranked.best.iter().enumerate().map(|(place, placed)| {
            let id = placed.types.first().copied().unwrap_or_default();
            let evidence = explainer.explain(id, likeliest.filter(|_| place > 0), hints);
            self.candidate(placed, evidence)
        });
        let candidates = candidates.collect();
        Guess { candidates, others: ranked.others, evidence: ranked.evidence, is_strong, is_partial: sheet.is_partial }
    }

    fn is_confirmed(&self, id: u32, hints: &Hints) -> bool {
        let full_name = self.schema.message(id).descriptor.full_name();
        hints.confirmed.iter().any(|&(name, times)| times > 0 && name == full_name)
    }

    fn candidate(&self, placed: &Placed, evidence: Vec<Evidence>) -> Candidate {
        let mut names = placed.types.iter().map(|&id| {
            let message = self.schema.message(id);
            TypeName { full_name: message.descriptor.full_name().to_owned(), pool: message.pool }
        });
        let name = names.next().unwrap_or_else(|| TypeName { full_name: String::new(), pool: 0 });
        Candidate { name, also: names.collect(), confidence: placed.confidence, evidence }
    }

    pub(super) fn likelihood(&self) -> Likelihood<'_> {
        Likelihood { schema: &self.schema, declared: &self.declared, texts: &self.texts, presence: &self.presence }
    }
}

/// What the body costs without a descriptor; of a part of the body if only that was looked at.
pub(super) fn opaque(sheet: &mut Sheet) -> f64 {
    let mut previous = 0;
    let mut nats = 1.0;
    for at in sheet.span(WHOLE).tokens.clone() {
        let token = *sheet.token(at);
        nats += cost::tag(token.number, previous, matches!(token.value, Value::Group(_))) + sheet.opaque(at);
        previous = token.number;
    }
    nats
}

/// Whether the likeliest type may be named.
///
/// A type that was never uploaded is mostly taken for one that lacks some of its fields. So there may be none unknown, unless
/// people have seen this type here before: producers do change before their consumers.
fn is_strong(ranked: &Ranked, explainer: &mut Explainer, is_confirmed: impl Fn(u32) -> bool) -> bool {
    let Some(first) = ranked.best.first() else { return false };
    let [id] = first.types[..] else { return false };
    first.confidence >= STRONG_CONFIDENCE
        && ranked.evidence >= STRONG_EVIDENCE
        && (is_confirmed(id) || explainer.unknown(id).is_none())
}
