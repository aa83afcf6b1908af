//! A place in a JSON text where the payload stands: everything around it is kept as it was written.

use super::{super::escaping::Escaping, base64::Base64};

/// What was around the payload, byte for byte, and how the payload itself is written there.
#[derive(Clone, Debug, PartialEq)]
pub struct Hole {
    /// The JSON text before the value.
    pub before: String,
    /// The JSON text after the value.
    pub after: String,
    /// How the payload is written as the value.
    pub filling: Filling,
}

/// How a payload is written into JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum Filling {
    /// As a value of its own: the payload is JSON.
    Value,
    /// As a string: the payload is text.
    Text(Escaping),
    /// As a string of base64.
    Base64(Base64, Escaping),
}

/// The payload does not fit into the hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Unfit {
    NotJson,
    NotText,
}

impl Hole {
    pub(in super::super) fn encode(&self, payload: &[u8]) -> Result<String, Unfit> {
        let text = std::str::from_utf8(payload).map_err(|_| Unfit::NotText);
        let filled = match &self.filling {
            Filling::Value => {
                let text = text.map_err(|_| Unfit::NotJson)?;
                serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(|_| Unfit::NotJson)?;
                text.to_owned()
            }
            Filling::Text(escaping) => escaping.write_string(text?),
            Filling::Base64(base64, escaping) => escaping.write_string(&base64.encode(payload)),
        };
        Ok(format!("{}{filled}{}", self.before, self.after))
    }

    /// Whether `payload`, which was read out of `body`, would be written in another manner than it is there.
    pub(super) fn is_irregular(&self, payload: &[u8], body: &[u8]) -> bool {
        self.encode(payload).is_ok_and(|written| written.as_bytes() != body)
    }
}
