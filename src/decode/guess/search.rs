//! Scores all types a body may be of.

use std::{borrow::Cow, ops::Range};

use super::{
    bits::{Bits, ByUnknown},
    columns::{Columns, Dense, Layouts, UNDECLARED},
    likelihood::{IMPOSSIBLE, Likelihood, another, unknown},
    schema::Field,
    sheet::{Inner, Sheet, WHOLE},
};
use crate::decode::wire::{
    Value,
    packed::{self, Width},
};

/// With so many different numbers a type that lacks two of them may still fit best.
const MANY_NUMBERS: usize = 4;
/// With so few types left one can afford to look at those that lack more.
const FEW_CLASSES: usize = 20;

/// What is worse than the best by so many nats is not worth mentioning: ten thousand of them have no weight.
const HOPELESS: f64 = 20.0;

/// A field number of the body.
struct Number<'a> {
    number: u32,
    /// Its tokens, as a range of the tokens in order of their numbers.
    tokens: Range<usize>,
    layouts: Layouts,
    column: Option<Cow<'a, Dense>>,
    /// The log likelihood of its values by signature; not a number if not yet known.
    scores: Vec<f64>,
    signatures: &'a [Field],
    /// What its values cost as those of an unknown field.
    opaque: Option<f64>,
}

/// The log likelihoods of the classes that can have written the body. Those in `always` are scored in any case.
pub(super) fn search(likelihood: &Likelihood, columns: &Columns, sheet: &mut Sheet, always: &[u32]) -> Vec<(u32, f64)> {
    let mut tokens: Vec<usize> = sheet.span(WHOLE).tokens.clone().collect();
    if !tokens.is_sorted_by_key(|&at| sheet.token(at).number) {
        tokens.sort_by_key(|&at| sheet.token(at).number);
    }
    let mut numbers = numbers(likelihood, columns, sheet, &tokens);
    let [likely, mut unlikely] = feasible(columns, &numbers);
    always.iter().filter(|&&class| !likely.has(class)).for_each(|&class| unlikely.set(class));
    let others: Vec<u32> = numbers.iter().map(|number| number.number).filter(|number| *number >= 64).collect();
    let mut search = Search { likelihood, sheet, tokens: &tokens, others, best: IMPOSSIBLE };
    // Messages within the message take the longest: what the other fields rule out need not be looked at.
    numbers.sort_by_key(|number| number.layouts.has(Layouts::MESSAGE));
    let mut scored = Vec::with_capacity(likely.count() + unlikely.count());
    // With the best found early the others are soon given up.
    for class in likely.iter().chain(unlikely.iter()) {
        let floor = if always.contains(&class) { IMPOSSIBLE } else { search.best - HOPELESS };
        let score = search.score(class, &mut numbers, floor);
        search.best = search.best.max(score);
        if score > floor {
            scored.push((class, score));
        }
    }
    scored
}

struct Search<'l, 's, 'b> {
    likelihood: &'l Likelihood<'l>,
    sheet: &'s mut Sheet<'b>,
    tokens: &'s [usize],
    /// The field numbers from 64 on.
    others: Vec<u32>,
    /// The best score so far.
    best: f64,
}

impl Search<'_, '_, '_> {
    /// The log likelihood of a class, or [`IMPOSSIBLE`] if it is not above the floor: no term is positive.
    fn score(&mut self, class: u32, numbers: &mut [Number], floor: f64) -> f64 {
        let declared = &self.likelihood.declared[class as usize];
        let mut log = 0.0;
        for number in numbers {
            let signature = number.column.as_ref().map_or(UNDECLARED, |column| column.signatures[class as usize]);
            log += match number.scores.get(signature as usize) {
                None => {
                    -self.opaque(number) - unknown(number.number, declared.last_number) * number.tokens.len() as f64
                }
                Some(score) if score.is_nan() => self.values(number, signature as usize),
                Some(score) => *score,
            };
            if log <= floor {
                return IMPOSSIBLE;
            }
        }
        let message = self.likelihood.schema.message(self.likelihood.schema.exemplars[class as usize]);
        let numbers = self.sheet.span(WHOLE).numbers;
        log + self.likelihood.presence.log_probability(message, declared, numbers, &self.others)
    }

    /// All values of a number in a field of this signature.
    fn values(&mut self, number: &mut Number, signature: usize) -> f64 {
        let field = &number.signatures[signature];
        let mut score = -another(field.is_repeated) * (number.tokens.len() as f64 - 1.0);
        for &at in &self.tokens[number.tokens.clone()] {
            score += self.likelihood.value(self.sheet, field, at, 0);
        }
        number.scores[signature] = score;
        score
    }

    fn opaque(&mut self, number: &mut Number) -> f64 {
        let tokens = &self.tokens[number.tokens.clone()];
        *number.opaque.get_or_insert_with(|| tokens.iter().map(|&at| self.sheet.opaque(at)).sum())
    }
}

fn numbers<'a>(
    likelihood: &Likelihood<'a>,
    columns: &'a Columns,
    sheet: &mut Sheet,
    tokens: &[usize],
) -> Vec<Number<'a>> {
    let mut numbers: Vec<Number> = Vec::new();
    for (place, &at) in tokens.iter().enumerate() {
        let (number, layouts) = (sheet.token(at).number, layouts(sheet, at));
        match numbers.last_mut() {
            Some(last) if last.number == number => {
                last.tokens.end = place + 1;
                last.layouts = last.layouts.common(layouts);
            }
            _ => {
                let column = columns.get(number);
                numbers.push(Number {
                    number,
                    tokens: place..place + 1,
                    layouts,
                    column: column.map(|column| column.dense(likelihood.schema.exemplars.len())),
                    scores: vec![f64::NAN; column.map_or(0, |column| column.signatures.len())],
                    signatures: column.map(|column| column.signatures.as_slice()).unwrap_or_default(),
                    opaque: None,
                });
            }
        }
    }
    numbers
}

/// The ways in which this value may have been written.
fn layouts(sheet: &mut Sheet, at: usize) -> Layouts {
    let value = sheet.token(at).value;
    let mut layouts = Layouts::of_wire_type(value.wire_type());
    let Value::Len(span) = value else { return layouts };
    if sheet.text(at).is_some() {
        layouts = layouts.or(Layouts::TEXT);
    }
    if sheet.inner(at) != Inner::No {
        layouts = layouts.or(Layouts::MESSAGE);
    }
    for width in [Width::Varint, Width::Fixed32, Width::Fixed64] {
        if packed::fits(span, width) {
            layouts = layouts.or(Layouts::of_list(width));
        }
    }
    layouts
}

/// The classes that lack none of the numbers, and those that lack few; they declare the others so that the values fit.
fn feasible(columns: &Columns, numbers: &[Number]) -> [Bits; 2] {
    let mut by_unknown = ByUnknown::new(&columns.candidates);
    for number in numbers {
        match &number.column {
            None => by_unknown.shift(),
            Some(column) => by_unknown.restrict(&column.declared, &column.writable_as(number.layouts)),
        }
    }
    let [none, one, two] = by_unknown.sets;
    let mut unlikely = Bits::none_like(&none);
    if numbers.len() > 1 || none.count() < FEW_CLASSES {
        unlikely.add(&one);
    }
    if numbers.len() >= MANY_NUMBERS || none.count() + unlikely.count() < FEW_CLASSES {
        unlikely.add(&two);
    }
    if none.count() + unlikely.count() == 0 { [columns.candidates.clone(), unlikely] } else { [none, unlikely] }
}
