//! Passwords, by argon2id (<https://www.rfc-editor.org/rfc/rfc9106>).

use std::sync::Arc;

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash},
};
use thiserror::Error;
use tokio::{sync::Semaphore, task::spawn_blocking};

/// Characters of a password.
pub const SHORTEST: usize = 12;
/// Bytes of a password: a longer one only costs time.
const LONGEST: usize = 1024;
/// How many are computed at once: each takes a processor, and 19 MiB.
const AT_ONCE: usize = 2;
/// How many may wait for that.
const WAITING: usize = 30;
/// Stands for the password of who is not there, so that finding that out takes as long. Nobody knows one that fits.
const NOBODYS: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$ZGxvLW5vYm9keS1oZXJlLg$q0rXJYk6tYHXlZb2m4mZ0l8h3oXc0eM1n2S9rP5uVwY";

/// Why a password was not looked at, or is none.
#[derive(Debug, Error)]
pub enum PasswordError {
    #[error("too many people sign in at this moment")]
    Busy,
    #[error("{0}")]
    Unfit(String),
    #[error("the password cannot be hashed: {0}")]
    Hash(String),
}

/// Computes hashes of passwords, only a few at once.
#[derive(Clone)]
pub struct Passwords {
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    cost: Params,
}

impl Default for Passwords {
    fn default() -> Self {
        Self::costing(Params::default())
    }
}

impl Passwords {
    /// New hashes take that much; what it takes to look at one stands in the hash.
    pub fn costing(cost: Params) -> Self {
        let (running, waiting) = (Semaphore::new(AT_ONCE), Semaphore::new(AT_ONCE + WAITING));
        Self { running: Arc::new(running), waiting: Arc::new(waiting), cost }
    }

    /// Its hash, as a PHC string.
    ///
    /// # Errors
    /// When it is no password for that name.
    pub async fn hash(&self, name: &str, password: &str) -> Result<String, PasswordError> {
        check(name, password).map_err(PasswordError::Unfit)?;
        let password = password.to_owned();
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, self.cost.clone());
        self.compute(move || {
            let hash = argon2.hash_password(password.as_bytes());
            hash.map(|hash| hash.to_string()).map_err(|error| PasswordError::Hash(error.to_string()))
        })
        .await?
    }

    /// Whether it is the one that has this hash. Where there is none, that takes as long and is not so.
    pub async fn fits(&self, password: &str, hash: Option<String>) -> Result<bool, PasswordError> {
        let is_nobodys = hash.as_ref().is_none_or(String::is_empty);
        let hash = hash.filter(|hash| !hash.is_empty()).unwrap_or_else(|| NOBODYS.to_owned());
        // What is longer is nobody's.
        let end = password.floor_char_boundary(LONGEST + 1);
        let password = password[..end].to_owned();
        let fits = move || {
            let verified = |hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok();
            PasswordHash::new(&hash).is_ok_and(verified)
        };
        Ok(self.compute(fits).await? && !is_nobodys)
    }

    async fn compute<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, PasswordError> {
        let waiting = Arc::clone(&self.waiting).try_acquire_owned().map_err(|_| PasswordError::Busy)?;
        let running = Arc::clone(&self.running).acquire_owned().await.map_err(|_| PasswordError::Busy)?;
        // Held by the work itself, which goes on when nobody waits for it any more.
        let work = move || {
            let _held = (waiting, running);
            work()
        };
        spawn_blocking(work).await.map_err(|error| PasswordError::Hash(error.to_string()))
    }
}

/// What a password takes: length is what counts (<https://pages.nist.gov/800-63-4/sp800-63b.html#passwordver>).
fn check(name: &str, password: &str) -> Result<(), String> {
    let distinct = password.chars().collect::<std::collections::BTreeSet<_>>().len();
    if password.chars().count() < SHORTEST {
        Err(format!("a password has at least {SHORTEST} characters"))
    } else if password.len() > LONGEST {
        Err(format!("a password has at most {LONGEST} bytes"))
    } else if distinct < 5 || (name.chars().count() > 3 && password.to_lowercase().contains(&name.to_lowercase())) {
        Err("that password is too easy to guess: it repeats itself, or has the name in it".to_owned())
    } else if is_guessed(name, password) {
        Err("that password is too easy to guess: it is a common one, or made of common words and rows of keys"
            .to_owned())
    } else {
        Ok(())
    }
}

/// Whether it is among the first hundred million that somebody would try who knows which are common.
fn is_guessed(name: &str, password: &str) -> bool {
    // What is longer is not looked at; it costs time.
    let end = password.floor_char_boundary(100);
    zxcvbn::zxcvbn(&password[..end], &[name, "dlo", "dead letter office", "deadletteroffice", "rabbitmq"]).score()
        < zxcvbn::Score::Three
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[tokio::test]
    async fn only_the_password_itself_fits() {
        let passwords = Passwords::default();
        let hash = passwords.hash("ada", "correct horse").await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert!(passwords.fits("correct horse", Some(hash.clone())).await.unwrap());
        assert!(!passwords.fits("correct horses", Some(hash.clone())).await.unwrap());
        assert_ne!(hash, passwords.hash("ada", "correct horse").await.unwrap(), "salted");
        for nobodys in [None, Some(String::new()), Some("nonsense".to_owned())] {
            assert!(!passwords.fits("correct horse", nobodys).await.unwrap());
        }
    }

    #[tokio::test]
    async fn what_nobody_waits_for_any_more_counts_until_it_is_done() {
        let passwords = Passwords::default();
        let (begun, go_on) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
        let here = (Arc::clone(&begun), Arc::clone(&go_on));
        let work = move || (here.0.wait(), here.1.wait());
        tokio::select! {
            _ = passwords.compute(work) => unreachable!("it waits"),
            _ = spawn_blocking(move || begun.wait()) => {}
        }
        assert_eq!(passwords.running.available_permits(), AT_ONCE - 1);
        spawn_blocking(move || go_on.wait()).await.unwrap();
        let all = passwords.running.acquire_many(u32::try_from(AT_ONCE).unwrap()).await;
        assert!(all.is_ok());
    }

    #[test]
    fn for_nobody_as_much_is_computed() {
        let hash = PasswordHash::new(NOBODYS).unwrap();
        let (params, ours) = (argon2::Params::try_from(&hash).unwrap(), argon2::Params::default());
        let costs = |params: argon2::Params| (params.m_cost(), params.t_cost(), params.p_cost());
        assert_eq!(costs(params), costs(ours));
        assert_eq!(hash.algorithm.as_str(), "argon2id");
    }

    #[test]
    fn passwords_are_long_and_not_the_name() {
        assert_eq!(check("ada", "correct horse"), Ok(()));
        for bad in [
            "short",
            "aaaaaaaaaaaaaaaa",
            "moreno-moreno",
            &"x1y2z3".repeat(200),
            "password1234",
            "qwertyuiop123",
            "123456789012",
            "Passw0rd2026!",
            "deadletteroffice",
            "letmeinletmein",
        ] {
            assert!(check("Moreno", bad).is_err(), "{bad}");
        }
    }
}
