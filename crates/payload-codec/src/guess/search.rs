//! Scores all types a body may be of.

use std::{borrow::Cow, ops::Range};

use super::{
    bits::{Bits, ByUnknown},
    columns::{Columns, Dense, Layouts, UNDECLARED},
    likelihood::{IMPOSSIBLE, Likelihood, Numbers, another, unknown},
    schema::Field,
    sheet::{Inner, Sheet, WHOLE},
};
use crate::wire::{
    Value,
    packed::{self, Width},
};

/// With so many different numbers a type that lacks two of them may still fit best.
const MANY_NUMBERS: usize = 4;
/// With so few types left one can afford to look at those that lack more.
const FEW_CLASSES: usize = 20;

/// What is worse than the best by so many nats is not worth mentioning: ten thousand of them have no weight.
pub(super) const HOPELESS: f64 = 20.0;

/// A field number of the body.
struct Number<'a> {
    number: u32,
    layouts: Layouts,
    column: Option<Cow<'a, Dense>>,
    values: Values<'a>,
}

/// The values of a field number.
struct Values<'a> {
    /// The tokens, as a range of the tokens in order of their numbers.
    tokens: Range<usize>,
    signatures: &'a [Field],
    /// The log likelihood by signature; not a number if not yet known.
    scores: Vec<f64>,
    /// What they cost as those of an unknown field.
    opaque: Option<f64>,
    /// The classes that cannot have written the first of them, if it is a message.
    not_within: Option<Bits>,
}

/// The log likelihoods of the classes that can have written the body, those in `always` and all that are not hopeless.
pub(super) fn search(likelihood: &Likelihood, columns: &Columns, sheet: &mut Sheet, always: &[u32]) -> Vec<(u32, f64)> {
    let mut tokens: Vec<usize> = sheet.span(WHOLE).tokens.clone().collect();
    if !tokens.is_sorted_by_key(|&at| sheet.token(at).number) {
        tokens.sort_by_key(|&at| sheet.token(at).number);
    }
    let mut numbers = numbers(likelihood, columns, sheet, &tokens);
    let mut classes = feasible(columns, &numbers);
    let mut always_bits = Bits::none_like(&classes);
    always.iter().for_each(|&class| always_bits.set(class));
    classes.add(&always_bits);
    let from_64: Vec<u32> = numbers.iter().map(|number| number.number).filter(|number| *number >= 64).collect();
    let below_64 = sheet.span(WHOLE).numbers;
    // Messages within the message take the longest: what the other fields rule out need not be looked at.
    numbers.sort_by_key(|number| number.layouts.has(Layouts::MESSAGE));
    let messages = numbers.iter().position(|number| number.layouts.has(Layouts::MESSAGE)).unwrap_or(numbers.len());
    let (numbers, messages) = numbers.split_at_mut(messages);
    let mut search = Search { likelihood, columns, sheet, tokens: &tokens, always: always_bits };
    let mut scored = search.presence(&classes, Numbers { below_64, from_64: &from_64 });
    numbers.iter_mut().for_each(|number| search.add(number, &mut scored));
    search.finish(messages, &mut scored);
    scored
}

struct Search<'l, 's, 'b> {
    likelihood: &'l Likelihood<'l>,
    columns: &'l Columns,
    sheet: &'s mut Sheet<'b>,
    tokens: &'s [usize],
    /// The classes to score however hopeless.
    always: Bits,
}

impl Search<'_, '_, '_> {
    /// How likely it is that just these fields are there.
    fn presence(&self, classes: &Bits, numbers: Numbers) -> Vec<(u32, f64)> {
        let Likelihood { schema, presence, .. } = self.likelihood;
        let mut scored = Vec::with_capacity(classes.count());
        let mut last = (None, 0.0);
        classes.iter().for_each(|class| {
            // Classes of one shape stand together.
            let shape = numbers.from_64.is_empty().then(|| presence.shape(class));
            if shape.is_none() || last.0 != shape {
                let message = schema.message(schema.exemplars[class as usize]);
                last = (shape, presence.log_probability(class, message, numbers));
            }
            scored.push((class, last.1));
        });
        scored
    }

    /// Adds how likely the values of a number are.
    fn add(&mut self, number: &mut Number, scored: &mut [(u32, f64)]) {
        let Number { number, column, values, .. } = number;
        let Some(column) = column.as_deref() else {
            scored.iter_mut().for_each(|(class, log)| *log += self.unknown(*number, values, *class));
            return;
        };
        for (class, log) in scored {
            *log += match column.signatures[*class as usize] {
                UNDECLARED => self.unknown(*number, values, *class),
                signature => self.declared(values, signature),
            };
        }
    }

    /// Adds how likely the values of the last numbers are, as far as there is still hope: no term is positive. With one of
    /// the best found first the others are soon given up.
    fn finish(&mut self, numbers: &mut [Number], scored: &mut Vec<(u32, f64)>) {
        let first = scored.iter().max_by(|a, b| a.1.total_cmp(&b.1)).copied();
        let mut best = first.map_or(IMPOSSIBLE, |(class, log)| self.rest(class, log, numbers, IMPOSSIBLE));
        let mut floor = best - HOPELESS;
        for (class, log) in &mut *scored {
            let floor_here = if self.always.has(*class) { IMPOSSIBLE } else { floor };
            *log = self.rest(*class, *log, numbers, floor_here);
            if *log > best {
                (best, floor) = (*log, *log - HOPELESS);
            }
        }
        scored.retain(|&(class, log)| log > floor || log > IMPOSSIBLE && self.always.has(class));
    }

    /// The log likelihood with that of the last numbers, or [`IMPOSSIBLE`] if it is not above the floor.
    fn rest(&mut self, class: u32, mut log: f64, numbers: &mut [Number], floor: f64) -> f64 {
        for number in numbers {
            if log <= floor {
                return IMPOSSIBLE;
            }
            log += self.of(number, class);
        }
        log
    }

    /// The log likelihood of a number's values in a class.
    fn of(&mut self, number: &mut Number, class: u32) -> f64 {
        match number.column.as_ref().map_or(UNDECLARED, |column| column.signatures[class as usize]) {
            UNDECLARED => self.unknown(number.number, &mut number.values, class),
            signature => self.declared(&mut number.values, signature),
        }
    }

    /// Of a number the class does not declare.
    fn unknown(&mut self, number: u32, values: &mut Values, class: u32) -> f64 {
        let tokens = &self.tokens[values.tokens.clone()];
        let opaque = *values.opaque.get_or_insert_with(|| tokens.iter().map(|&at| self.sheet.opaque(at)).sum());
        -opaque - unknown(number, self.likelihood.presence.last_number(class)) * tokens.len() as f64
    }

    /// In a field of this signature.
    fn declared(&mut self, values: &mut Values, signature: u32) -> f64 {
        let known = values.scores[signature as usize];
        if !known.is_nan() {
            return known;
        }
        let score = self.score(values, &values.signatures[signature as usize]);
        values.scores[signature as usize] = score;
        score
    }

    fn score(&mut self, values: &mut Values, field: &Field) -> f64 {
        if field.message().is_some_and(|id| self.is_not_within(values, self.likelihood.schema.classes[id as usize])) {
            return IMPOSSIBLE;
        }
        let tokens = &self.tokens[values.tokens.clone()];
        let again = another(field.is_repeated) * (tokens.len() as f64 - 1.0);
        tokens.iter().map(|&at| self.likelihood.value(self.sheet, field, at, 0)).sum::<f64>() - again
    }

    /// Whether the first value is no message of the class, by the layouts of its fields. To know it of all classes at once takes
    /// no longer than to score some.
    fn is_not_within(&mut self, values: &mut Values, class: u32) -> bool {
        let first = self.tokens[values.tokens.start];
        let classes = values.not_within.get_or_insert_with(|| self.not_within(first));
        classes.has(class)
    }

    fn not_within(&mut self, at: usize) -> Bits {
        let mut classes = Bits::none_like(&self.columns.candidates);
        let Inner::Span(span) = self.sheet.inner(at) else { return classes };
        for at in self.sheet.span(span).tokens.clone() {
            if let Some(column) = self.columns.get(self.sheet.token(at).number) {
                column.add_not_writable_as(layouts(self.sheet, at), &mut classes);
            }
        }
        classes
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
                last.values.tokens.end = place + 1;
                last.layouts = last.layouts.common(layouts);
            }
            _ => {
                let column = columns.get(number);
                let signatures = column.map(|column| column.signatures.as_slice()).unwrap_or_default();
                numbers.push(Number {
                    number,
                    layouts,
                    column: column.map(|column| column.dense(likelihood.schema.exemplars.len())),
                    values: Values {
                        tokens: place..place + 1,
                        signatures,
                        scores: vec![f64::NAN; signatures.len()],
                        opaque: None,
                        not_within: None,
                    },
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

/// The classes that lack none of the numbers or few; they declare the others so that the values fit.
fn feasible(columns: &Columns, numbers: &[Number]) -> Bits {
    let mut by_unknown = ByUnknown::new(&columns.candidates);
    for number in numbers {
        match &number.column {
            None => by_unknown.shift(),
            Some(column) => by_unknown.restrict(&column.declared, &column.writable_as(number.layouts)),
        }
    }
    let [mut classes, one, two] = by_unknown.sets;
    let fitting = classes.count();
    if numbers.len() > 1 || fitting < FEW_CLASSES {
        classes.add(&one);
    }
    if numbers.len() >= MANY_NUMBERS || classes.count() < FEW_CLASSES {
        classes.add(&two);
    }
    if classes.is_empty() { columns.candidates.clone() } else { classes }
}
