//! The index of all uploaded types.

use prost_reflect::DescriptorPool;

use super::{
    Candidate, Guess, Hints, TypeName,
    columns::Columns,
    evidence::Evidence,
    explain::Explainer,
    joint,
    likelihood::{Expectations, Likelihood, Presence},
    posterior::{Placed, Ranked},
    prior::{History, Members},
    schema::{Schema, signatures},
    search::search,
    sheet::{Sheet, WHOLE},
};
use crate::wire::{Value, cost};

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
        let presence = Presence::new(schema.exemplars.iter().map(|&id| schema.message(id)));
        let columns = Columns::new(&schema, signatures(&schema));
        let members = Members::new(&schema);
        Self { texts: Expectations::new(), presence, columns, members, schema }
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
        self.answer(&mut sheet, &ranked, hints)
    }

    /// The types several bodies of one address may be of: each is evidence for the others, as if it were confirmed as far
    /// as it is believed. The guesses come in the order of the bodies.
    pub fn guess_jointly(&self, bodies: &[&[u8]], hints: &Hints) -> Vec<Guess> {
        bodies.chunks(joint::MAX_BODIES).flat_map(|bodies| joint::guess(self, bodies, hints)).collect()
    }

    /// What speaks for each candidate of a guess of this body and against it, the most telling first. None of types that are no
    /// longer uploaded.
    pub fn explain(&self, body: &[u8], hints: &Hints, guess: &Guess) -> Vec<Vec<Evidence>> {
        let Ok(mut sheet) = Sheet::new(body) else { return Vec::new() };
        let mut explainer = Explainer::new(self, &mut sheet);
        let ids = guess.candidates.iter().map(|candidate| self.id(&candidate.name));
        let ids: Vec<Option<u32>> = ids.collect();
        let likeliest = ids.first().copied().flatten();
        let explain = |(place, id): (usize, &Option<u32>)| {
            id.map(|id| explainer.explain(id, likeliest.filter(|_| place > 0), hints)).unwrap_or_default()
        };
        ids.iter().enumerate().map(explain).collect()
    }

    pub(super) fn answer(&self, sheet: &mut Sheet, ranked: &Ranked, hints: &Hints) -> Guess {
        let is_strong = self.is_strong(sheet, ranked, hints);
        let candidates = ranked.best.iter().map(|placed| self.candidate(placed)).collect();
        Guess { candidates, others: ranked.others, evidence: ranked.evidence, is_strong, is_partial: sheet.is_partial }
    }

    /// Whether the likeliest type may be named.
    ///
    /// A type that was never uploaded is mostly taken for one that lacks some of its fields. So there may be none unknown,
    /// unless people have seen this type here before: producers do change before their consumers.
    pub(super) fn is_strong(&self, sheet: &mut Sheet, ranked: &Ranked, hints: &Hints) -> bool {
        let Some(first) = ranked.best.first() else { return false };
        let [id] = first.types[..] else { return false };
        first.confidence >= STRONG_CONFIDENCE
            && ranked.evidence >= STRONG_EVIDENCE
            && (self.is_confirmed(id, hints) || Explainer::new(self, sheet).unknown(id).is_none())
    }

    fn id(&self, name: &TypeName) -> Option<u32> {
        let named = self.schema.named(&name.full_name);
        named.iter().copied().find(|&id| self.schema.message(id).pool == name.pool)
    }

    fn is_confirmed(&self, id: u32, hints: &Hints) -> bool {
        let full_name = self.schema.message(id).descriptor.full_name();
        hints.confirmed.iter().any(|&(name, times)| times > 0 && name == full_name)
    }

    fn candidate(&self, placed: &Placed) -> Candidate {
        let mut names = placed.types.iter().map(|&id| {
            let message = self.schema.message(id);
            TypeName { full_name: message.descriptor.full_name().to_owned(), pool: message.pool }
        });
        let name = names.next().unwrap_or_else(|| TypeName { full_name: String::new(), pool: 0 });
        Candidate { name, also: names.collect(), confidence: placed.confidence }
    }

    pub(super) fn likelihood(&self) -> Likelihood<'_> {
        Likelihood { schema: &self.schema, texts: &self.texts, presence: &self.presence }
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
