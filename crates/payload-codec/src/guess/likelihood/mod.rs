//! How likely a body is, given its type: the natural logarithm of the probability that such a message is written so.
//!
//! It knows types and values, and neither addresses nor history. Every value has a code length in nats, so that a string,
//! bytes, a message and a list compete in the same unit.

mod number;
mod presence;
mod text;
mod value;
mod well_known;

pub(super) use presence::{Numbers, Presence};
pub(super) use text::Expectations;

use super::{
    schema::{Message, Schema},
    sheet::Sheet,
};

/// A type that cannot have written this.
pub(super) const IMPOSSIBLE: f64 = f64::NEG_INFINITY;

/// A field the type does not declare; that there may be some is what lets producers and consumers change apart.
const UNKNOWN_FIELD: f64 = 3.9;
/// One more element of a list.
const ANOTHER_ELEMENT: f64 = 0.6;
/// A field that should be there once. Parsers take the last.
const ANOTHER_VALUE: f64 = 6.0;
/// Serializers write the fields by their numbers.
pub(super) const OUT_OF_ORDER: f64 = 1.5;

/// Messages that nest deeper are no longer looked into; prost reads 100, but nobody writes them.
const MAX_DEPTH: u32 = 32;

/// The tables of a set of types, to score bodies with.
pub(super) struct Likelihood<'s> {
    pub schema: &'s Schema,
    pub texts: &'s Expectations,
    pub presence: &'s Presence,
}

impl Likelihood<'_> {
    /// The log likelihood of a message within the body.
    pub fn message(&self, sheet: &mut Sheet, id: u32, span: u32, depth: u32) -> f64 {
        let class = self.schema.classes[id as usize];
        if let Some(score) = sheet.score(class, span) {
            return score;
        }
        if depth > MAX_DEPTH {
            return IMPOSSIBLE;
        }
        let message = self.schema.message(self.schema.exemplar_of(id));
        let score = match message.well_known {
            Some(which) => self.well_known(which, sheet, span, depth),
            None => self.fields(sheet, message, class, span, depth),
        };
        sheet.keep_score(class, span, score);
        score
    }

    fn fields(&self, sheet: &mut Sheet, message: &Message, class: u32, span: u32, depth: u32) -> f64 {
        let super::sheet::Span { tokens, numbers } = sheet.span(span).clone();
        let mut log = 0.0;
        let mut previous = 0;
        let mut seen = Seen::default();
        for at in tokens {
            let number = sheet.token(at).number;
            if number < previous {
                log -= OUT_OF_ORDER;
            }
            previous = number;
            let again = seen.again(number);
            log += match message.field(number) {
                None => -unknown(number, message.last_number()) - sheet.opaque(at),
                Some(field) => {
                    self.value(sheet, field, at, depth) - if again { another(field.is_repeated) } else { 0.0 }
                }
            };
            if log == IMPOSSIBLE {
                return log;
            }
        }
        log + self.presence.log_probability(class, message, Numbers { below_64: numbers, from_64: &seen.others })
    }
}

/// What a field costs that the type does not declare, besides its value. A newer producer adds numbers at the end.
pub(super) fn unknown(number: u32, last: u32) -> f64 {
    UNKNOWN_FIELD
        + match number.checked_sub(last) {
            Some(1..=3) => 0.6,
            Some(_) => 1.8,
            None => 2.8,
        }
}

/// What a field costs that was there before.
pub(super) fn another(is_repeated: bool) -> f64 {
    if is_repeated { ANOTHER_ELEMENT } else { ANOTHER_VALUE }
}

/// The field numbers that were there.
#[derive(Default)]
struct Seen {
    low: u64,
    others: Vec<u32>,
}

impl Seen {
    /// Whether it was there before.
    fn again(&mut self, number: u32) -> bool {
        match 1_u64.checked_shl(number) {
            Some(bit) => {
                let again = self.low & bit != 0;
                self.low |= bit;
                again
            }
            None if self.others.contains(&number) => true,
            None => {
                self.others.push(number);
                false
            }
        }
    }
}

#[cfg(test)]
mod tests;
