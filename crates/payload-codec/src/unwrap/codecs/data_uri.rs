//! Data URIs (RFC 2397) in base64.

use super::{super::evidence::Expected, Decoded, base64::Base64};

/// What ends the part before the base64.
const BASE64: &str = ";base64,";

/// A data URI around base64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataUri {
    /// All before the base64: `data:application/x-protobuf;base64,`.
    pub head: String,
    /// How the rest is written.
    pub base64: Base64,
}

impl DataUri {
    pub(in super::super) fn encode(&self, payload: &[u8]) -> String {
        format!("{}{}", self.head, self.base64.encode(payload))
    }
}

pub(in super::super) fn decode(body: &[u8]) -> Option<Decoded<DataUri>> {
    if !body.get(..5)?.eq_ignore_ascii_case(b"data:") {
        return None;
    }
    let text = std::str::from_utf8(body).ok()?;
    let at = text.find(BASE64)? + BASE64.len();
    let (head, digits) = text.split_at_checked(at)?;
    let media_type = head.get(5..head.len() - BASE64.len())?;
    let (base64, payload) = if digits.is_empty() { Default::default() } else { Base64::decode(digits)? };
    let uri = DataUri { head: head.to_owned(), base64 };
    if uri.encode(&payload) != text {
        return None;
    }
    let expected = Some(Expected::of_properties(Some(media_type), None));
    Some(Decoded { expected, ..Decoded::new(uri, payload, 0.0).certain() })
}
