//! Who tries too often waits.
//!
//! Attempts are counted by account and by address, whether or not there is such an account. Each process counts for itself.

use std::{
    collections::HashMap,
    hash::Hash,
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use amqp_message::time::Timestamp;
use xxhash_rust::xxh3::xxh3_64;

/// Failures after which an account waits: somebody who mistypes is not held up.
const FREE_BY_ACCOUNT: u32 = 5;
/// The same for an address, behind which there may be an office.
const FREE_BY_ADDRESS: u32 = 20;
/// The longest wait of an account. It is short: anybody can have somebody else wait.
const LONGEST_BY_ACCOUNT: Duration = Duration::from_secs(60);
const LONGEST_BY_ADDRESS: Duration = Duration::from_secs(15 * 60);
/// After so long without an attempt all is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60 * 60);
/// Accounts and addresses that are remembered; the one that tried longest ago makes room.
const MOST: usize = 10_000;

#[derive(Default)]
pub struct Throttle {
    /// By the hash of the name: names may be long.
    accounts: Mutex<HashMap<u64, Attempts>>,
    addresses: Mutex<HashMap<IpAddr, Attempts>>,
}

#[derive(Clone, Copy)]
struct Attempts {
    failed: u32,
    last: Timestamp,
}

impl Throttle {
    /// Begins an attempt, which counts as failed until it has [succeeded](Self::succeeded): many at once are counted, too.
    ///
    /// # Errors
    /// How long to wait before the next.
    pub fn begin(&self, account: &str, address: IpAddr, now: Timestamp) -> Result<(), Duration> {
        let (account, address) = (key(account), network(address));
        let (mut accounts, mut addresses) = (lock(&self.accounts), lock(&self.addresses));
        let wait = wait(&accounts, &account, now, FREE_BY_ACCOUNT, LONGEST_BY_ACCOUNT);
        let wait = wait.max(self::wait(&addresses, &address, now, FREE_BY_ADDRESS, LONGEST_BY_ADDRESS));
        if !wait.is_zero() {
            return Err(wait);
        }
        count(&mut accounts, account, now);
        count(&mut addresses, address, now);
        Ok(())
    }

    pub fn succeeded(&self, account: &str, address: IpAddr) {
        lock(&self.accounts).remove(&key(account));
        if let Some(attempts) = lock(&self.addresses).get_mut(&network(address)) {
            attempts.failed = attempts.failed.saturating_sub(1);
        }
    }
}

fn key(account: &str) -> u64 {
    xxh3_64(account.as_bytes())
}

/// Whoever has one address of IPv6 has 64 bits of them.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

fn wait<K: Hash + Eq>(all: &HashMap<K, Attempts>, key: &K, now: Timestamp, free: u32, longest: Duration) -> Duration {
    let Some(Attempts { failed, last }) = all.get(key).copied() else { return Duration::ZERO };
    let since = now.since(last);
    if failed < free || since >= FORGOTTEN_AFTER {
        return Duration::ZERO;
    }
    let pause = Duration::from_secs(2_u64.saturating_pow(failed - free)).min(longest);
    pause.saturating_sub(since)
}

fn count<K: Hash + Eq + Clone>(all: &mut HashMap<K, Attempts>, key: K, now: Timestamp) {
    if all.len() >= MOST && !all.contains_key(&key) {
        all.retain(|_, attempts| now.since(attempts.last) < FORGOTTEN_AFTER);
        let oldest = all.iter().min_by_key(|(_, attempts)| attempts.last).map(|(key, _)| key.clone());
        if let Some(oldest) = oldest.filter(|_| all.len() >= MOST) {
            all.remove(&oldest);
        }
    }
    let attempts = all.entry(key).or_insert(Attempts { failed: 0, last: now });
    if now.since(attempts.last) >= FORGOTTEN_AFTER {
        attempts.failed = 0;
    }
    *attempts = Attempts { failed: attempts.failed.saturating_add(1), last: now };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: &str = "192.0.2.1";

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_seconds(1_000_000 + seconds)
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_account_waits_longer_and_longer_from_wherever_it_is_tried() {
        let throttle = Throttle::default();
        let begin = |from: &str, seconds| throttle.begin("ada", address(from), at(seconds));
        for n in 0..5 {
            assert_eq!(begin(&format!("192.0.2.{n}"), 0), Ok(()));
        }
        assert_eq!(begin("198.51.100.1", 0), Err(Duration::from_secs(1)));
        assert_eq!(begin("198.51.100.1", 1), Ok(()));
        assert_eq!(begin("198.51.100.1", 1), Err(Duration::from_secs(2)), "what waits is no attempt");
        let mut now = 3;
        for _ in 0..10 {
            assert_eq!(begin("198.51.100.1", now), Ok(()));
            now += 60;
        }
        assert_eq!(begin("198.51.100.1", now - 59), Err(Duration::from_secs(59)));
        assert_eq!(throttle.begin("bob", address(HOME), at(0)), Ok(()));
    }

    #[test]
    fn who_succeeds_is_forgiven() {
        let throttle = Throttle::default();
        for _ in 0..100 {
            assert_eq!(throttle.begin("ada", address(HOME), at(0)), Ok(()));
            throttle.succeeded("ada", address(HOME));
        }
    }

    #[test]
    fn an_address_waits_whatever_it_tries() {
        let throttle = Throttle::default();
        let begin = |n: u32, from: &str| throttle.begin(&format!("user {n}"), address(from), at(0));
        for n in 0..20 {
            assert_eq!(begin(n, "2001:db8::1"), Ok(()));
        }
        assert_eq!(begin(20, "2001:db8::ffff"), Err(Duration::from_secs(1)), "the network counts");
        assert_eq!(begin(20, "2001:db8:0:1::1"), Ok(()));
        let forgotten = FORGOTTEN_AFTER.as_secs();
        assert_eq!(throttle.begin("user", address("2001:db8::1"), at(forgotten)), Ok(()));
    }

    #[test]
    fn it_remembers_only_so_many() {
        let throttle = Throttle::default();
        for n in 0..MOST as u32 + 50 {
            let from = IpAddr::from(std::net::Ipv4Addr::from_bits(n));
            assert_eq!(throttle.begin(&format!("user {n}"), from, at(u64::from(n))), Ok(()));
        }
        assert!(lock(&throttle.accounts).len() <= MOST && lock(&throttle.addresses).len() <= MOST);
    }
}
