//! A payload as values that know which of its bytes they are.

use std::{borrow::Cow, ops::Range};

/// A value, and where it stands in the payload.
#[derive(Debug)]
pub(super) struct Item<'a> {
    /// All of it.
    pub span: Range<usize>,
    /// How many of its bytes come before its content.
    pub n_head: usize,
    pub kind: Kind<'a>,
}

/// What the two formats have between them.
#[derive(Debug)]
pub(super) enum Kind<'a> {
    Null,
    Bool(bool),
    Int(i128),
    Float(Float),
    Text(Cow<'a, str>),
    /// A string of MessagePack that is not UTF-8.
    NotText(&'a [u8]),
    Bytes(Cow<'a, [u8]>),
    Array(Vec<Item<'a>>),
    Map(Vec<(Item<'a>, Item<'a>)>),
    /// Of MessagePack.
    Ext(i8, &'a [u8]),
    /// Of CBOR.
    Tag(u64, Box<Item<'a>>),
    /// Of CBOR, and none that has a word in JSON.
    Simple(u8),
}

/// A floating-point number of a width.
#[derive(Clone, Copy, Debug)]
pub(super) enum Float {
    /// Of 16 bits, which only CBOR has.
    Half(f64),
    Single(f32),
    Double(f64),
}

impl Float {
    /// By its shortest digits where it is a single: what JSON shows of it.
    pub fn shown(self) -> f64 {
        match self {
            Self::Half(number) | Self::Double(number) => number,
            Self::Single(number) => shortest(number),
        }
    }
}

/// The double that has the shortest digits of a single.
pub(super) fn shortest(number: f32) -> f64 {
    format!("{number:?}").parse().unwrap_or_else(|_| number.into())
}

/// The single whose shortest digits, or exact value, this number is.
pub(super) fn as_single(number: f64) -> Option<f32> {
    let single = number as f32;
    let fits = single.is_finite() && (f64::from(single) == number || shortest(single) == number);
    fits.then_some(single)
}

/// Reads bytes one after another.
pub(super) struct Bytes<'a> {
    pub body: &'a [u8],
    pub at: usize,
    /// Values that may still be read.
    pub n_left: usize,
    /// Keys around what is read.
    in_keys: usize,
}

/// Keys in keys. One that is no text is shown as text, in which that of a key in it is quoted once more and so twice as long.
const MAX_IN_KEYS: usize = 4;

/// Why reading ended.
pub(super) enum Stop {
    TooMuch,
    Malformed(String),
}

impl<'a> Bytes<'a> {
    pub fn new(body: &'a [u8], max_values: usize) -> Self {
        Self { body, at: 0, n_left: max_values, in_keys: 0 }
    }

    pub fn take(&mut self, n_bytes: usize) -> Result<&'a [u8], Stop> {
        let end = self.at.checked_add(n_bytes);
        let taken = end.and_then(|end| self.body.get(self.at..end));
        let taken = taken.ok_or_else(|| malformed("it ends in the middle of a value"))?;
        self.at = self.at.saturating_add(n_bytes);
        Ok(taken)
    }

    pub fn byte(&mut self) -> Result<u8, Stop> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }

    /// A big-endian number.
    pub fn number(&mut self, n_bytes: usize) -> Result<u64, Stop> {
        Ok(self.take(n_bytes)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    pub fn len(&mut self, n_bytes: usize) -> Result<usize, Stop> {
        usize::try_from(self.number(n_bytes)?).map_err(|_| Stop::TooMuch)
    }

    /// Reads a key.
    pub fn key(&mut self, read: impl FnOnce(&mut Self) -> Result<Item<'a>, Stop>) -> Result<Item<'a>, Stop> {
        if self.in_keys >= MAX_IN_KEYS {
            return Err(Stop::TooMuch);
        }
        self.in_keys = self.in_keys.saturating_add(1);
        let key = read(self);
        self.in_keys = self.in_keys.saturating_sub(1);
        key
    }

    /// One more value is read.
    pub fn count(&mut self) -> Result<(), Stop> {
        self.n_left = self.n_left.checked_sub(1).ok_or(Stop::TooMuch)?;
        Ok(())
    }

    /// So many values are to follow. That many bytes must follow at least, or there is no need to try.
    pub fn expect(&self, n_values: usize) -> Result<(), Stop> {
        if self.body.len().saturating_sub(self.at) < n_values {
            return Err(malformed("it ends in the middle of a list or a map"));
        }
        if self.n_left < n_values { Err(Stop::TooMuch) } else { Ok(()) }
    }
}

pub(super) fn malformed(why: &str) -> Stop {
    Stop::Malformed(why.to_owned())
}
