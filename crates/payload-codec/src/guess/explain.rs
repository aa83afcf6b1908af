//! Finds the reasons for a candidate, once it is known to be one.

use super::{
    answer::{Guess, Hints},
    evidence::{Declaration, Evidence, FieldName},
    index::TypeIndex,
    likelihood::unknown,
    schema::{Field, Habit, Kind, Message},
    sheet::{Inner, Sheet, WHOLE},
};
use crate::wire::Value;

/// A log ratio from which on the look of a text is worth a word.
const TELLING_LOOK: f64 = 1.2;
/// A difference between two log likelihoods that is worth a word.
const TELLING_DIFFERENCE: f64 = 1.0;
/// The most reasons of one kind.
const MAX_OF_A_KIND: usize = 3;
/// How deep unknown fields are looked for, and how many messages.
const MAX_DEPTH: u32 = 8;
const MAX_MESSAGES: usize = 64;

impl TypeIndex {
    /// What speaks for each candidate of a guess of this body and against it, the most telling first. None of types that
    /// are no longer uploaded.
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
}

/// Explains candidates of one body.
pub(super) struct Explainer<'i, 's, 'b> {
    index: &'i TypeIndex,
    sheet: &'s mut Sheet<'b>,
    /// The distinct field numbers of the body and the first token of each, in order.
    numbers: Vec<(u32, usize)>,
}

/// How many fields a type does not declare.
pub(super) struct Unknown {
    pub numbers: Vec<u32>,
    pub within: usize,
}

impl Unknown {
    pub fn is_none(&self) -> bool {
        self.numbers.is_empty() && self.within == 0
    }
}

impl<'i, 's, 'b> Explainer<'i, 's, 'b> {
    pub fn new(index: &'i TypeIndex, sheet: &'s mut Sheet<'b>) -> Self {
        let tokens = sheet.span(WHOLE).tokens.clone();
        let mut numbers: Vec<_> = tokens.map(|at| (sheet.token(at).number, at)).collect();
        numbers.sort_unstable();
        numbers.dedup_by_key(|number| number.0);
        Self { index, sheet, numbers }
    }

    /// The reasons for and against a type, the most telling first. `likeliest` is the type to tell it from, if it is another.
    pub fn explain(&mut self, id: u32, likeliest: Option<u32>, hints: &Hints) -> Vec<Evidence> {
        let message = self.index.schema.message(id);
        let mut evidence = self.hinted(message, hints);
        evidence.extend(self.looks(message));
        evidence.extend(self.unknown_evidence(id));
        evidence.extend(self.undeclared_numbers(message));
        evidence.extend(self.missing(message));
        evidence.push(self.present(message));
        evidence
            .extend(likeliest.map(|other| self.apart(message, self.index.schema.message(other))).unwrap_or_default());
        evidence
    }

    /// The fields the type does not declare.
    pub fn unknown(&mut self, id: u32) -> Unknown {
        let message = self.index.schema.message(id);
        let numbers = self.numbers.iter().map(|number| number.0).filter(|&n| message.field(n).is_none()).collect();
        let mut left = MAX_MESSAGES;
        let within = self.unknown_within(id, WHOLE, 0, &mut left);
        Unknown { numbers, within }
    }

    fn unknown_within(&mut self, id: u32, span: u32, depth: u32, left: &mut usize) -> usize {
        let message = self.index.schema.message(id);
        if depth > MAX_DEPTH || *left == 0 || message.well_known.is_some() {
            return 0;
        }
        *left -= 1;
        let mut count = 0;
        for at in self.sheet.span(span).tokens.clone() {
            let field = message.field(self.sheet.token(at).number);
            match field.map(Field::message) {
                None => count += usize::from(depth > 0),
                Some(None) => {}
                Some(Some(inner)) => {
                    if let Inner::Span(span) = self.sheet.inner(at) {
                        count += self.unknown_within(inner, span, depth + 1, left);
                    }
                }
            }
        }
        count
    }

    fn hinted(&self, message: &Message, hints: &Hints) -> Vec<Evidence> {
        let name = message.descriptor.full_name();
        let times: u64 =
            hints.confirmed.iter().filter(|(confirmed, _)| *confirmed == name).map(|(_, times)| times).sum();
        let confirmed = (times > 0).then_some(Evidence::Confirmed { times });
        let words =
            if hints.address.is_empty() { vec![] } else { self.index.members.shared_words(hints.address, name) };
        let shared = (!words.is_empty()).then_some(Evidence::SharedWords(words));
        confirmed.into_iter().chain(shared).collect()
    }

    fn looks(&mut self, message: &Message) -> Vec<Evidence> {
        let mut found = Vec::new();
        for &(number, at) in &self.numbers {
            let Some(Kind::String(meaning)) = message.field(number).map(|field| field.kind) else { continue };
            let Some(text) = self.sheet.text(at) else { continue };
            let ratio = self.index.likelihood().texts.log_ratio(meaning, text.look);
            if ratio.abs() >= TELLING_LOOK {
                found.push((ratio, name(message, number), text.look.in_words()));
            }
        }
        found.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
        found.truncate(MAX_OF_A_KIND);
        let evidence = found.into_iter().map(|(ratio, field, look)| match ratio > 0.0 {
            true => Evidence::Expected { field, look },
            false => Evidence::Unexpected { field, look },
        });
        evidence.collect()
    }

    fn unknown_evidence(&mut self, id: u32) -> Vec<Evidence> {
        let unknown = self.unknown(id);
        let numbers = (!unknown.numbers.is_empty()).then_some(Evidence::UnknownFields(unknown.numbers));
        let within = (unknown.within > 0).then_some(Evidence::UnknownWithin(unknown.within));
        let none = (numbers.is_none() && within.is_none()).then_some(Evidence::NoUnknownFields);
        [numbers, within, none].into_iter().flatten().collect()
    }

    fn undeclared_numbers(&self, message: &Message) -> Vec<Evidence> {
        let undeclared = self.numbers.iter().filter_map(|&(number, at)| {
            let Kind::Enum(id) = message.field(number)?.kind else { return None };
            let Value::Varint(value) = self.sheet.token(at).value else { return None };
            let value = value.cast_signed();
            let declares = self.index.schema.enums[id as usize].declares(value);
            (!declares).then(|| Evidence::UndeclaredNumber { field: name(message, number), number: value })
        });
        undeclared.take(MAX_OF_A_KIND).collect()
    }

    fn missing(&self, message: &Message) -> Vec<Evidence> {
        let needed = message.fields.iter().filter(|field| field.is_required || field.habit == Habit::Key);
        let missing = needed.filter(|field| self.numbers.binary_search_by_key(&field.number, |n| n.0).is_err());
        let evidence = missing
            .map(|field| Evidence::Missing { field: name(message, field.number), is_required: field.is_required });
        evidence.take(MAX_OF_A_KIND).collect()
    }

    fn present(&self, message: &Message) -> Evidence {
        let present = self.numbers.iter().filter(|number| message.field(number.0).is_some()).count();
        Evidence::Present { present, declared: message.fields.len() }
    }

    /// The numbers that fit two types most differently.
    fn apart(&mut self, here: &Message, likeliest: &Message) -> Vec<Evidence> {
        let mut found = Vec::new();
        for (number, at) in self.numbers.clone() {
            let difference = self.fit(here, number, at) - self.fit(likeliest, number, at);
            if difference.abs() >= TELLING_DIFFERENCE {
                found.push((difference, number));
            }
        }
        found.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
        let evidence = found.into_iter().take(MAX_OF_A_KIND).map(|(difference, number)| Evidence::Apart {
            number,
            here: self.declaration(here, number),
            likeliest: self.declaration(likeliest, number),
            is_better: difference > 0.0,
        });
        evidence.collect()
    }

    fn fit(&mut self, message: &Message, number: u32, at: usize) -> f64 {
        match message.field(number) {
            Some(field) => self.index.likelihood().value(self.sheet, field, at, 0),
            None => -unknown(number, message.last_number()) - self.sheet.opaque(at),
        }
    }

    fn declaration(&self, message: &Message, number: u32) -> Declaration {
        let field = message.field(number);
        Declaration(field.map(|field| (name(message, number).name, self.kind_in_words(field))))
    }

    fn kind_in_words(&self, field: &Field) -> String {
        let kind = match field.kind {
            Kind::Message(id) | Kind::Group(id) => self.index.schema.message(id).descriptor.name(),
            kind => kind.keyword(),
        };
        if field.is_repeated { format!("repeated {kind}") } else { kind.to_owned() }
    }
}

fn name(message: &Message, number: u32) -> FieldName {
    let field = message.descriptor.get_field(number).map(|field| field.name().to_owned());
    let extension = || message.descriptor.get_extension(number).map(|extension| extension.full_name().to_owned());
    FieldName { number, name: field.or_else(extension).unwrap_or_default() }
}
