//! `google.protobuf.Any`: a URL that names a type, and a message of it
//! (<https://protobuf.dev/programming-guides/proto3/#any>).
//!
//! It is undone as an encoding, because the payload is what the URL names. Only a serializer's own way of writing it
//! counts, type before value and nothing else: another is left to be shown as a message of type `Any`.

use super::Decoded;
use crate::{
    format::{Format, text},
    wire::{self, Value, varint},
};

/// Nats of the URL's usual beginning, and of another.
const USUAL: f64 = 2.0;
const OWN: f64 = 6.0;

/// What libraries put before the type's name.
const USUAL_PREFIX: &str = "type.googleapis.com/";

/// An `Any` around a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Any {
    /// `type.googleapis.com/acme.Order`
    pub type_url: String,
}

impl Any {
    /// The full name of the payload's type.
    pub fn type_name(&self) -> &str {
        self.type_url.rsplit('/').next().unwrap_or_default()
    }

    pub(in super::super) fn encode(&self, payload: &[u8]) -> Vec<u8> {
        let mut out = vec![0x0a];
        varint::write(&mut out, self.type_url.len() as u64);
        out.extend_from_slice(self.type_url.as_bytes());
        // A serializer leaves out an empty value.
        if !payload.is_empty() {
            out.push(0x12);
            varint::write(&mut out, payload.len() as u64);
            out.extend_from_slice(payload);
        }
        out
    }
}

pub(in super::super) fn decode(body: &[u8]) -> Option<Decoded<Any>> {
    if *body.first()? != 0x0a {
        return None;
    }
    let mut fields = wire::fields(body);
    let (Value::Len(url), 1) = fields.next()?.ok().map(|field| (field.value, field.number))? else { return None };
    let payload = match fields.next() {
        None => &[],
        Some(field) => match field.ok().map(|field| (field.value, field.number))? {
            (Value::Len(value), 2) if fields.next().is_none() => value,
            _ => return None,
        },
    };
    let type_url = std::str::from_utf8(url).ok().filter(|url| names_a_type(url))?;
    let any = Any { type_url: type_url.to_owned() };
    if any.encode(payload) != body || !wire::is_message(payload) {
        return None;
    }
    let prefix = if type_url.starts_with(USUAL_PREFIX) { USUAL } else { OWN };
    let nats = prefix + text::nats(any.type_name().as_bytes())?;
    Some(Decoded::new(any, payload.to_vec(), nats).holding(&[Format::Protobuf]))
}

/// Whether it ends in a slash and a full name. What stands before the slash is free, even nothing; but without the
/// usual prefix a path could be meant, unless the name has a package and begins with a capital.
fn names_a_type(url: &str) -> bool {
    let Some((prefix, name)) = url.rsplit_once('/') else { return false };
    let is_name = name.split('.').all(|part| {
        let starts_well = part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        starts_well && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    });
    let own_type = || {
        let (package, simple) = name.rsplit_once('.').unwrap_or_default();
        !package.is_empty() && simple.starts_with(|c: char| c.is_ascii_uppercase())
    };
    let is_url = prefix.bytes().all(|byte| byte.is_ascii_graphic());
    is_url && is_name && (prefix == "type.googleapis.com" || own_type())
}
