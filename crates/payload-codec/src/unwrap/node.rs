//! A partly unwrapped body.

use std::borrow::Cow;

use super::{encoding::Encoding, evidence::Expected, kind::Kind, problem::Problem};
use crate::format::Format;

/// Nats of a format where it is seldom met, and where it is not believed unless nothing else is left.
const ODD: f64 = 4.0;
const ODDER: f64 = 9.0;
const NEVER: f64 = 1000.0;

/// A body with some encodings undone.
pub(super) struct Node<'a> {
    /// The node this was made from, and the encoding between them.
    pub origin: Option<(usize, Encoding)>,
    pub n_steps: usize,
    pub payloads: Vec<Cow<'a, [u8]>>,
    /// The code length of all encodings up to here.
    pub nats: f64,
    /// How many times shorter than the payload its compressed form was: what costs less there costs less here.
    pub scale: f64,
    /// The only formats a payload can have here, if it cannot have any.
    pub formats: Option<&'static [Format]>,
    pub expected: Cow<'a, Expected>,
    pub problems: Vec<Problem>,
}

impl<'a> Node<'a> {
    /// A body as it came.
    pub fn root(body: &'a [u8], expected: Expected) -> Self {
        Self {
            origin: None,
            n_steps: 0,
            payloads: vec![Cow::Borrowed(body)],
            nats: 0.0,
            scale: 1.0,
            formats: None,
            expected: Cow::Owned(expected),
            problems: Vec::new(),
        }
    }

    /// The kind of the encoding that was undone last.
    pub fn last_kind(&self) -> Option<Kind> {
        self.origin.as_ref().map(|(_, encoding)| encoding.kind())
    }

    pub fn is_empty(&self) -> bool {
        self.payloads.iter().all(|payload| payload.is_empty())
    }

    /// Nats for a format that is seldom met in the encoding around it, unless that is declared.
    pub fn odd(&self, format: Format) -> f64 {
        if self.last_kind().is_some_and(|kind| self.expected.declares(kind)) {
            return 0.0;
        }
        match (self.last_kind(), format) {
            // Of the formats only protobuf has a value of no bytes. An empty body, though, rather is no value at all.
            (Some(_), Format::Text | Format::Binary) if self.is_empty() => ODD,
            // A string of JSON is JSON, unless something better is in it.
            (Some(Kind::JsonString), Format::Text) => NEVER,
            // Without a format to be seen in them, digits are a random token or a word, and raw deflate is noise.
            (Some(Kind::Base64 | Kind::Hex | Kind::RawDeflate), Format::Binary) => NEVER,
            (Some(Kind::Base64 | Kind::Hex), Format::Text) => ODDER,
            _ => 0.0,
        }
    }
}
