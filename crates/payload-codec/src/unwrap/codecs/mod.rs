//! The single encodings: one file knows how one is undone and put on again, and what it costs to say.
//!
//! A codec reads a body to a [`Decoded`], with its own type for the manner in which the body was written, and writes a
//! payload in such a manner. It knows of no other codec than those it is made of.

pub mod any;
pub mod base64;
pub mod cloud_event;
pub mod compression;
pub mod confluent;
pub mod data_uri;
pub mod easynetq;
pub mod grpc;
pub mod hex;
pub mod hole;
pub mod json_member;
pub mod json_object;
pub mod json_string;
pub mod length;

use super::evidence::Expected;
use crate::format::Format;

/// A body with one encoding undone.
pub(super) struct Decoded<M> {
    /// How the encoding was written: what it takes to write it again.
    pub manner: M,
    /// One payload, or several in a row.
    pub payloads: Vec<Vec<u8>>,
    /// The code length of the encoding itself.
    pub nats: f64,
    /// Nothing else can be meant: a checksum fits, or the envelope names itself.
    pub is_certain: bool,
    /// Its manner cannot be repeated exactly.
    pub is_irregular: bool,
    /// The only formats a payload may have in this encoding, if it does not take any.
    pub formats: Option<&'static [Format]>,
    /// What the encoding says about the payload.
    pub expected: Option<Expected>,
}

impl<M> Decoded<M> {
    fn new(manner: M, payload: Vec<u8>, nats: f64) -> Self {
        let payloads = vec![payload];
        Self { manner, payloads, nats, is_certain: false, is_irregular: false, formats: None, expected: None }
    }

    fn several(manner: M, payloads: &[&[u8]], nats: f64) -> Self {
        let payloads = payloads.iter().map(|payload| payload.to_vec()).collect();
        Self { payloads, ..Self::new(manner, Vec::new(), nats) }
    }

    fn certain(self) -> Self {
        Self { is_certain: true, ..self }
    }

    fn holding(self, formats: &'static [Format]) -> Self {
        Self { formats: Some(formats), ..self }
    }

    /// The same, with the manner in another form.
    pub fn map<N>(self, form: impl FnOnce(M) -> N) -> Decoded<N> {
        let Self { manner, payloads, nats, is_certain, is_irregular, formats, expected } = self;
        Decoded { manner: form(manner), payloads, nats, is_certain, is_irregular, formats, expected }
    }
}
