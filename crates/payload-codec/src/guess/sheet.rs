//! A body laid out as fields, read only as deep as somebody asks.

use std::{collections::HashMap, ops::Range};

use super::{look::Look, spread::Spread};
use crate::wire::{Field, Malformed, Value, cost, fields};

/// The most fields that are kept in all.
const MAX_TOKENS: usize = 20_000;
/// The most fields that are kept of one message.
const MAX_TOKENS_PER_SPAN: usize = 1024;
/// Of a list that is longer this many elements are kept: what they tell, the others would only repeat.
const MAX_RUN: usize = 32;
/// The most bytes that are looked at, those counted again that are looked at again.
const MAX_BYTES: usize = 8 << 20;
/// How often the bytes of a value are looked at to find out its likeliest reading, roughly.
const OPAQUE_READINGS: usize = 4;
/// The most fields that are priced, those counted again that are priced as another type's.
const MAX_STEPS: usize = 400_000;

/// A body and what has been found out about it.
pub struct Sheet<'a> {
    tokens: Vec<Token<'a>>,
    spans: Vec<Span>,
    /// Log likelihoods by class and span.
    scores: HashMap<u64, f64, Spread>,
    bytes_left: usize,
    steps_left: usize,
    /// A limit was met: what is known rests on a part of the body.
    pub is_partial: bool,
}

/// A field of the body.
#[derive(Clone, Copy)]
pub struct Token<'a> {
    pub number: u32,
    pub value: Value<'a>,
    inner: Inner,
    text: Known<Option<Text>>,
    opaque: Known<f64>,
}

/// What is not yet known is found out when it is asked for.
#[derive(Clone, Copy)]
enum Known<T> {
    NotYet,
    Yes(T),
}

/// A length-delimited value read as a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Inner {
    Unread,
    /// It is none.
    No,
    /// Its fields are those of the span of this number.
    Span(u32),
}

/// A length-delimited value read as text.
#[derive(Clone, Copy)]
pub struct Text {
    pub look: Look,
    pub nats: f64,
}

/// The fields of one message within the body.
#[derive(Clone)]
pub struct Span {
    pub tokens: Range<usize>,
    /// Bit `n` is set if there is a field of number `n` below 64.
    pub numbers: u64,
}

/// The body itself.
pub const WHOLE: u32 = 0;

impl<'a> Sheet<'a> {
    pub fn new(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut sheet = Self {
            tokens: Vec::new(),
            spans: Vec::new(),
            scores: HashMap::default(),
            bytes_left: MAX_BYTES,
            steps_left: MAX_STEPS,
            is_partial: false,
        };
        sheet.read(body)?;
        Ok(sheet)
    }

    pub fn span(&self, id: u32) -> &Span {
        &self.spans[id as usize]
    }

    pub fn token(&self, at: usize) -> &Token<'a> {
        &self.tokens[at]
    }

    /// The token's value as a message. `Unread` if there is no time left to find out.
    pub fn inner(&mut self, at: usize) -> Inner {
        let token = self.tokens[at];
        if token.inner != Inner::Unread {
            return token.inner;
        }
        let inner = match token.value {
            Value::Len(span) | Value::Group(span) if self.spend(span.len()) => {
                self.read(span).map_or(Inner::No, Inner::Span)
            }
            Value::Len(_) | Value::Group(_) => Inner::Unread,
            _ => Inner::No,
        };
        self.tokens[at].inner = inner;
        inner
    }

    /// The token's value as text, if it is UTF-8. If there is no time left to find out, it is text of no known form.
    pub fn text(&mut self, at: usize) -> Option<Text> {
        let token = self.tokens[at];
        if let Known::Yes(text) = token.text {
            return text;
        }
        let text = match token.value {
            Value::Len(span) if self.spend(span.len()) => text(span),
            Value::Len(span) => Some(Text { look: Look::Other, nats: cost::bytes(span) }),
            _ => None,
        };
        self.tokens[at].text = Known::Yes(text);
        text
    }

    /// What the token's value costs without a descriptor.
    pub fn opaque(&mut self, at: usize) -> f64 {
        let token = self.tokens[at];
        if let Known::Yes(nats) = token.opaque {
            return nats;
        }
        let nats = match token.value {
            Value::Len(span) if !self.spend(span.len().saturating_mul(OPAQUE_READINGS)) => cost::bytes(span),
            value => cost::value(&value),
        };
        self.tokens[at].opaque = Known::Yes(nats);
        nats
    }

    /// What the body costs without a descriptor; of a part of the body if only that was looked at.
    pub fn opaque_whole(&mut self) -> f64 {
        let mut previous = 0;
        let mut nats = 1.0;
        for at in self.span(WHOLE).tokens.clone() {
            let token = *self.token(at);
            nats += cost::tag(token.number, previous, matches!(token.value, Value::Group(_))) + self.opaque(at);
            previous = token.number;
        }
        nats
    }

    /// Takes note of a little work; false if there was too much already.
    pub fn step(&mut self) -> bool {
        self.is_partial |= self.steps_left == 0;
        let may = self.steps_left > 0;
        self.steps_left = self.steps_left.saturating_sub(1);
        may
    }

    pub fn score(&self, class: u32, span: u32) -> Option<f64> {
        self.scores.get(&key(class, span)).copied()
    }

    pub fn keep_score(&mut self, class: u32, span: u32, score: f64) {
        self.scores.insert(key(class, span), score);
    }

    fn spend(&mut self, bytes: usize) -> bool {
        let left = self.bytes_left.checked_sub(bytes);
        self.is_partial |= left.is_none();
        self.bytes_left = left.unwrap_or_default();
        left.is_some()
    }

    /// Reads a span to its end, whatever is kept of it.
    fn read(&mut self, bytes: &'a [u8]) -> Result<u32, Malformed> {
        let start = self.tokens.len();
        let room = MAX_TOKENS_PER_SPAN.min(MAX_TOKENS.saturating_sub(start));
        let mut numbers = 0;
        let mut run = (0, 0);
        for field in fields(bytes) {
            let field = field.inspect_err(|_| self.tokens.truncate(start))?;
            run = if run.0 == field.number { (field.number, run.1 + 1) } else { (field.number, 1) };
            if run.1 > MAX_RUN || self.tokens.len() - start >= room {
                self.is_partial = true;
                continue;
            }
            numbers |= 1_u64.checked_shl(field.number).unwrap_or_default();
            self.tokens.push(Token::new(&field));
        }
        self.spans.push(Span { tokens: start..self.tokens.len(), numbers });
        Ok(self.spans.len() as u32 - 1)
    }
}

impl<'a> Token<'a> {
    fn new(field: &Field<'a>) -> Self {
        let &Field { number, value, .. } = field;
        Self { number, value, inner: Inner::Unread, text: Known::NotYet, opaque: Known::NotYet }
    }
}

fn key(class: u32, span: u32) -> u64 {
    u64::from(class) << 32 | u64::from(span)
}

fn text(span: &[u8]) -> Option<Text> {
    let text = std::str::from_utf8(span).ok()?;
    Some(Text { look: Look::of(text), nats: cost::text(span)? })
}
