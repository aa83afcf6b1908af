//! Guesses one body.

use super::{
    answer::{Guess, Hints},
    explain::Explainer,
    index::TypeIndex,
    posterior::Ranked,
    prior::History,
    search::search,
    sheet::Sheet,
};

/// How many candidates are shown.
pub(super) const SHOWN: usize = 8;
/// How sure a strong guess is at least.
const STRONG_CONFIDENCE: f64 = 0.95;
/// How much better a strong guess reads the body than nothing does, in nats.
const STRONG_EVIDENCE: f64 = 12.0;

impl TypeIndex {
    /// The types a body may be of. Of whatever bytes, in bounded time.
    pub fn guess(&self, body: &[u8], hints: &Hints) -> Guess {
        let Ok(mut sheet) = Sheet::new(body) else { return Guess::default() };
        let prior = self.members.prior(&self.schema, hints.address, &History::confirmed(&self.schema, hints.confirmed));
        let scored = search(&self.likelihood(), &self.columns, &mut sheet, &prior.classes());
        let ranked = Ranked::new(&self.members, &prior, &scored, sheet.opaque_whole(), SHOWN);
        self.answer(&mut sheet, &ranked, hints)
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
}
