//! Guesses several bodies of one address together.
//!
//! An address carries few types. So each body's prior counts the others as messages of the types they are believed to be,
//! which changes what is believed of them, and so on for some rounds.

use super::{
    alone::SHOWN,
    answer::{Guess, Hints},
    index::TypeIndex,
    posterior::Ranked,
    prior::{History, Prior},
    search::search,
    sheet::Sheet,
};

/// The most bodies that are evidence for each other.
const MAX_BODIES: usize = 32;
/// By then next to nothing changes.
const ROUNDS: usize = 6;
/// What a body that is only believed to be of a type counts, next to one that was confirmed.
const TRUST: f64 = 0.1;
/// How many types a body is believed to be of, at most.
const MAX_BELIEFS: usize = 64;

impl TypeIndex {
    /// The types several bodies of one address may be of: each is evidence for the others, as if it were confirmed as far
    /// as it is believed. The guesses come in the order of the bodies.
    pub fn guess_jointly(&self, bodies: &[&[u8]], hints: &Hints) -> Vec<Guess> {
        bodies.chunks(MAX_BODIES).flat_map(|bodies| guess(self, bodies, hints)).collect()
    }
}

/// A body that is well-formed.
struct Reading<'b> {
    sheet: Sheet<'b>,
    /// Log likelihoods by class.
    scored: Vec<(u32, f64)>,
    opaque: f64,
    /// What it may be, and how likely.
    beliefs: Vec<(u32, f64)>,
}

fn guess(index: &TypeIndex, bodies: &[&[u8]], hints: &Hints) -> Vec<Guess> {
    let confirmed = History::confirmed(&index.schema, hints.confirmed);
    let alone = index.members.prior(&index.schema, hints.address, &confirmed);
    let mut readings: Vec<Option<Reading>> = bodies.iter().map(|body| Reading::new(index, body, &alone)).collect();
    for _ in 0..ROUNDS {
        for at in 0..readings.len() {
            let prior = prior_of(index, &readings, at, hints, &confirmed);
            if let Some(reading) = &mut readings[at] {
                reading.believe(index, &prior);
            }
        }
    }
    let mut guesses = Vec::with_capacity(readings.len());
    for at in 0..readings.len() {
        let prior = prior_of(index, &readings, at, hints, &confirmed);
        let guess = readings[at].as_mut().map(|reading| reading.answer(index, &prior, &alone, hints));
        guesses.push(guess.unwrap_or_default());
    }
    guesses
}

/// The prior of one body, by what is believed of all others.
fn prior_of(index: &TypeIndex, readings: &[Option<Reading>], at: usize, hints: &Hints, confirmed: &History) -> Prior {
    let mut history = confirmed.clone();
    let others = readings.iter().enumerate().filter(|(other, _)| *other != at);
    for &(id, belief) in others.filter_map(|(_, reading)| reading.as_ref()).flat_map(|reading| &reading.beliefs) {
        history.add(id, belief * TRUST);
    }
    index.members.prior(&index.schema, hints.address, &history)
}

impl<'b> Reading<'b> {
    fn new(index: &TypeIndex, body: &'b [u8], prior: &Prior) -> Option<Self> {
        let mut sheet = Sheet::new(body).ok()?;
        let scored = search(&index.likelihood(), &index.columns, &mut sheet, &prior.classes());
        let opaque = sheet.opaque_whole();
        let mut reading = Self { sheet, scored, opaque, beliefs: Vec::new() };
        reading.believe(index, prior);
        Some(reading)
    }

    fn rank(&self, index: &TypeIndex, prior: &Prior, most: usize) -> Ranked {
        Ranked::new(&index.members, prior, &self.scored, self.opaque, most)
    }

    fn believe(&mut self, index: &TypeIndex, prior: &Prior) {
        self.beliefs.clear();
        for placed in self.rank(index, prior, MAX_BELIEFS).best {
            let each = placed.confidence / placed.types.len() as f64;
            self.beliefs.extend(placed.types.iter().map(|&id| (id, each)));
        }
    }

    /// The guess by a prior that counts the other bodies.
    fn answer(&mut self, index: &TypeIndex, prior: &Prior, alone: &Prior, hints: &Hints) -> Guess {
        let ranked = self.rank(index, prior, SHOWN);
        let mut guess = index.answer(&mut self.sheet, &ranked, hints);
        // Bodies of one wrong type assure each other of it: only what a body says by itself may name its type.
        let alone = self.rank(index, alone, SHOWN);
        let first = |ranked: &Ranked| ranked.best.first().map(|placed| placed.types.clone());
        guess.is_strong &= first(&alone) == first(&ranked) && index.is_strong(&mut self.sheet, &alone, hints);
        guess
    }
}
