//! Signatures of webhooks, as Standard Webhooks has them
//! (<https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>).

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

const PREFIX: &str = "whsec_";
/// Bytes of a key, by the specification.
const LENGTHS: std::ops::RangeInclusive<usize> = 24..=64;

/// The key that a webhook's receiver shares with us.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey(Vec<u8>);

/// Why a text is no key. It never shows the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SigningKeyError {
    #[error("it takes {PREFIX} and 24 to 64 random bytes in base64, as from: echo {PREFIX}$(openssl rand -base64 32)")]
    Form,
    #[error("it holds {0} bytes and takes 24 to 64, as from: echo {PREFIX}$(openssl rand -base64 32)")]
    Length(usize),
}

impl SigningKey {
    /// # Errors
    /// When it is not `whsec_` followed by 24 to 64 bytes in base64.
    pub fn parse(text: &str) -> Result<Self, SigningKeyError> {
        let encoded = text.trim().strip_prefix(PREFIX).ok_or(SigningKeyError::Form)?;
        let key = STANDARD.decode(encoded).map_err(|_| SigningKeyError::Form)?;
        if LENGTHS.contains(&key.len()) { Ok(Self(key)) } else { Err(SigningKeyError::Length(key.len())) }
    }

    /// The value of `webhook-signature`. Neither `id` nor `seconds` can hold a full stop, so the parts stay apart.
    pub(super) fn sign(&self, id: uuid::Uuid, seconds: u64, body: &[u8]) -> String {
        self.sign_parts(&message_id(id), seconds, body)
    }

    fn sign_parts(&self, id: &str, seconds: u64, body: &[u8]) -> String {
        // HMAC takes keys of any length; the error exists for other kinds of MACs.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return String::new() };
        mac.update(format!("{id}.{seconds}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }

    /// As it is configured.
    pub(super) fn encoded(&self) -> String {
        STANDARD.encode(&self.0)
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(…)")
    }
}

/// The value of `webhook-id`.
pub(super) fn message_id(id: uuid::Uuid) -> String {
    format!("msg_{}", id.simple())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

    #[test]
    fn signs_as_the_reference_libraries_do() {
        let body = br#"{"email":"test@example.com","username":"test_user"}"#;
        let signature =
            SigningKey::parse(KEY).unwrap().sign_parts("msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", 1_649_367_553, body);
        assert_eq!(signature, "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=");
    }

    #[test]
    fn keys_are_checked_and_never_shown() {
        fn check(text: &str, expected: SigningKeyError) {
            assert_eq!(SigningKey::parse(text), Err(expected), "{text:?}");
        }
        check("", SigningKeyError::Form);
        check("C2FVsBQIhrscChlQIMV+b5sSYspob7oD", SigningKeyError::Form);
        check("whsec_not base64", SigningKeyError::Form);
        check("whsec_aHVudGVyMg==", SigningKeyError::Length(7));
        check(&format!("whsec_{}", STANDARD.encode([0; 65])), SigningKeyError::Length(65));
        assert!(SigningKey::parse(&format!(" {KEY}\n")).is_ok());
        assert_eq!(format!("{:?}", SigningKey::parse(KEY).unwrap()), "SigningKey(…)");
    }

    #[test]
    fn ids_hold_no_full_stop() {
        assert_eq!(message_id(uuid::Uuid::nil()), "msg_00000000000000000000000000000000");
    }
}
