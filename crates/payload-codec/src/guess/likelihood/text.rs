//! How much sooner a text of some look is met in a field of some name.

use super::super::{
    look::Look::{self, *},
    names::TextMeaning,
};

/// What a name promises does not always hold.
const PROMISE_KEPT: f64 = 0.78;

/// Log ratios: how much likelier a look is in a field of that meaning than in any field of text.
pub struct Expectations {
    log_ratios: Vec<f64>,
}

/// How often each look is met in all fields of text, roughly; those not listed once in a hundred.
const COMMON: &[(Look, f64)] = &[
    (Sentence, 0.16),
    (Slug, 0.14),
    (Word, 0.12),
    (Integer, 0.06),
    (Uuid, 0.06),
    (Identifier, 0.06),
    (Url, 0.05),
    (Hex, 0.05),
    (Resource, 0.05),
    (Constant, 0.04),
    (Base64, 0.03),
    (Person, 0.03),
    (Email, 0.02),
    (Date, 0.02),
    (Bech32, 0.01),
    (Empty, 0.005),
];
const UNCOMMON: f64 = 0.01;

/// Looks that mostly stand where the name says so.
const SPECIFIC: &[Look] = &[
    Email,
    Phone,
    Url,
    Ip,
    TwoCapitals,
    ThreeCapitals,
    Locale,
    TimeZone,
    Mime,
    Version,
    Date,
    Path,
    Json,
    Region,
    Decimal,
];

impl Expectations {
    pub fn new() -> Self {
        let base = base_rates();
        let mut log_ratios = vec![0.0; TextMeaning::COUNT * Look::COUNT];
        for (meaning, row) in log_ratios.chunks_mut(Look::COUNT).enumerate() {
            for (look, log_ratio) in row.iter_mut().enumerate() {
                *log_ratio = log_ratio_of(meaning, look, base[look]).clamp(-2.5, 4.0);
            }
        }
        Self { log_ratios }
    }

    /// Positive if the look is what the name lets one expect.
    pub fn log_ratio(&self, meaning: TextMeaning, look: Look) -> f64 {
        self.log_ratios[meaning as usize * Look::COUNT + look as usize]
    }
}

fn base_rates() -> [f64; Look::COUNT] {
    let mut rates = [UNCOMMON; Look::COUNT];
    for &(look, rate) in COMMON {
        rates[look as usize] = rate;
    }
    let sum: f64 = rates.iter().sum();
    rates.map(|rate| rate / sum)
}

fn log_ratio_of(meaning: usize, look: usize, base: f64) -> f64 {
    if meaning == TextMeaning::Any as usize {
        let is_specific = SPECIFIC.iter().any(|&specific| specific as usize == look);
        return f64::ln(if is_specific { 0.45 } else { 1.1 });
    }
    let promised = PROMISES.iter().find(|(of, _)| *of as usize == meaning);
    let looks = promised.map(|(_, looks)| *looks).unwrap_or_default();
    let expected = looks.iter().find(|(of, _)| *of as usize == look).map_or(0.0, |(_, share)| *share);
    ((PROMISE_KEPT * expected + (1.0 - PROMISE_KEPT) * base) / base).ln()
}

/// What a name promises, and in what shares.
const PROMISES: &[(TextMeaning, &[(Look, f64)])] = &[
    (TextMeaning::Email, &[(Email, 1.0)]),
    (TextMeaning::Phone, &[(Phone, 0.9), (Integer, 0.1)]),
    (TextMeaning::Url, &[(Url, 0.9), (Path, 0.05), (Host, 0.05)]),
    (TextMeaning::Uuid, &[(Uuid, 1.0)]),
    (TextMeaning::Ip, &[(Ip, 0.8), (Host, 0.2)]),
    (TextMeaning::Address, &[(Ip, 0.25), (Sentence, 0.3), (Hex, 0.15), (Bech32, 0.2), (Host, 0.1)]),
    (TextMeaning::Host, &[(Host, 0.8), (Slug, 0.2)]),
    (TextMeaning::Country, &[(TwoCapitals, 0.8), (ThreeCapitals, 0.05), (Capitalized, 0.15)]),
    (TextMeaning::Currency, &[(ThreeCapitals, 0.8), (Word, 0.2)]),
    (TextMeaning::Locale, &[(Locale, 0.9), (Capitalized, 0.1)]),
    (TextMeaning::TimeZone, &[(TimeZone, 0.9), (ThreeCapitals, 0.1)]),
    (TextMeaning::Region, &[(Region, 0.6), (Slug, 0.3), (Locale, 0.1)]),
    (TextMeaning::Hash, &[(Hex, 0.85), (Base64, 0.15)]),
    (TextMeaning::Token, &[(Base64, 0.75), (Hex, 0.1), (Uuid, 0.15)]),
    (TextMeaning::Mime, &[(Mime, 1.0)]),
    (TextMeaning::Version, &[(Version, 0.85), (Integer, 0.15)]),
    (TextMeaning::Date, &[(Date, 0.95), (Integer, 0.05)]),
    (TextMeaning::Amount, &[(Integer, 0.5), (Decimal, 0.5)]),
    (TextMeaning::Json, &[(Json, 0.9), (Sentence, 0.1)]),
    (TextMeaning::Prose, &[(Sentence, 0.85), (Word, 0.05), (Capitalized, 0.05), (Person, 0.05)]),
    (TextMeaning::Person, &[(Person, 0.35), (Capitalized, 0.2), (Slug, 0.15), (Email, 0.15), (Word, 0.15)]),
    (TextMeaning::Path, &[(Path, 0.85), (Resource, 0.1), (Identifier, 0.05)]),
    (TextMeaning::Resource, &[(Resource, 0.85), (Slug, 0.15)]),
    (TextMeaning::Type, &[(Word, 0.5), (Constant, 0.35), (ThreeCapitals, 0.08), (Capitalized, 0.07)]),
    (TextMeaning::Id, &[(Identifier, 0.25), (Uuid, 0.22), (Integer, 0.2), (Hex, 0.18), (Slug, 0.1), (Word, 0.05)]),
    (TextMeaning::Name, &[(Slug, 0.5), (Word, 0.35), (Identifier, 0.08), (Sentence, 0.07)]),
    (TextMeaning::Filter, &[(Sentence, 0.9), (Identifier, 0.1)]),
    (TextMeaning::UserAgent, &[(Sentence, 0.7), (Other, 0.3)]),
];
