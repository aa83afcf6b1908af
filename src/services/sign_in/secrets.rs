//! What somebody holds to prove who they are: nobody can guess it, and only its hash is kept.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use crate::store::SecretHash;

/// 256 random bits.
///
/// # Errors
/// When the machine has no randomness.
pub fn random() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// What is kept of it. It is random, so that a quick hash is enough.
pub fn hash(secret: &str) -> SecretHash {
    Sha256::digest(secret).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_alike() {
        let (one, other) = (random().unwrap(), random().unwrap());
        assert_eq!(one.len(), 43);
        assert!(one != other && hash(&one) != hash(&other) && hash(&one) == hash(&one));
    }
}
