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
/// In so long one failure is forgotten: what people mistype in an office must not add up.
const ONE_FORGOTTEN_IN: Duration = Duration::from_secs(2 * 60);
/// Accounts and addresses that are remembered; the one that tried longest ago makes room.
const MOST: usize = 10_000;

#[derive(Default)]
pub struct Throttle {
    /// By the hash of the name: names may be long.
    accounts: Mutex<HashMap<u64, Attempts>>,
    /// From where an account was used, and when last: whoever tries it from elsewhere does not keep its owner out.
    homes: Mutex<HashMap<u64, Timestamp>>,
    addresses: Mutex<HashMap<IpAddr, Attempts>>,
}

#[derive(Clone, Copy)]
struct Attempts {
    failed: u32,
    last: Timestamp,
    /// Since when none was forgotten.
    since: Timestamp,
}

impl Attempts {
    const fn none(now: Timestamp) -> Self {
        Self { failed: 0, last: now, since: now }
    }

    /// Without those that are forgotten by now.
    fn at(self, now: Timestamp) -> Self {
        let forgotten = now.since(self.since).as_secs() / ONE_FORGOTTEN_IN.as_secs();
        let failed = u64::from(self.failed).saturating_sub(forgotten) as u32;
        Self { failed, since: self.since.plus(ONE_FORGOTTEN_IN.saturating_mul(forgotten as u32)), ..self }
    }
}

impl Throttle {
    /// Begins an attempt, which counts as failed until it has [succeeded](Self::succeeded) or is
    /// [taken back](Self::take_back): many at once are counted, too. Without an account only the address counts.
    ///
    /// # Errors
    /// How long to wait before the next.
    pub fn begin(&self, account: Option<&str>, address: IpAddr, now: Timestamp) -> Result<(), Duration> {
        let (account, address) = (account.map(|account| self.key(account, address)), network(address));
        let (mut accounts, mut addresses) = (lock(&self.accounts), lock(&self.addresses));
        let wait = self::wait(&addresses, &address, now, FREE_BY_ADDRESS, LONGEST_BY_ADDRESS);
        let of_account =
            account.map(|account| self::wait(&accounts, &account, now, FREE_BY_ACCOUNT, LONGEST_BY_ACCOUNT));
        let wait = wait.max(of_account.unwrap_or_default());
        if !wait.is_zero() {
            return Err(wait);
        }
        if let Some(account) = account {
            count(&mut accounts, account, now);
        }
        count(&mut addresses, address, now);
        Ok(())
    }

    pub fn succeeded(&self, account: Option<&str>, address: IpAddr, now: Timestamp) {
        if let Some(account) = account {
            let key = self.key(account, address);
            lock(&self.accounts).remove(&key);
            self.used_from(account, address, now);
        }
        self.take_back(None, address);
    }

    /// Somebody uses an account there: attempts from there are counted for themselves.
    pub fn used_from(&self, account: &str, address: IpAddr, now: Timestamp) {
        let mut homes = lock(&self.homes);
        if homes.len() >= MOST && !homes.contains_key(&home(account, address)) {
            let oldest = homes.iter().min_by_key(|(_, last)| **last).map(|(home, _)| *home);
            oldest.map(|oldest| homes.remove(&oldest));
        }
        homes.insert(home(account, address), now);
    }

    /// What attempts on an account from an address are counted under.
    fn key(&self, account: &str, address: IpAddr) -> u64 {
        let home = home(account, address);
        if lock(&self.homes).contains_key(&home) { home } else { xxh3_64(account.as_bytes()) }
    }

    /// It came to nothing that is told by the name or the password.
    pub fn take_back(&self, account: Option<&str>, address: IpAddr) {
        if let Some(account) = account {
            let key = self.key(account, address);
            uncount(&mut lock(&self.accounts), &key);
        }
        uncount(&mut lock(&self.addresses), &network(address));
    }
}

fn uncount<K: Hash + Eq>(all: &mut HashMap<K, Attempts>, key: &K) {
    if let Some(attempts) = all.get_mut(key) {
        attempts.failed = attempts.failed.saturating_sub(1);
    }
}

fn home(account: &str, address: IpAddr) -> u64 {
    xxh3_64(format!("{} {account}", network(address)).as_bytes())
}

/// Whoever has one address of IPv6 has 64 bits of them.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

fn wait<K: Hash + Eq>(all: &HashMap<K, Attempts>, key: &K, now: Timestamp, free: u32, longest: Duration) -> Duration {
    let Some(Attempts { failed, last, .. }) = all.get(key).map(|attempts| attempts.at(now)) else {
        return Duration::ZERO;
    };
    if failed < free {
        return Duration::ZERO;
    }
    let pause = Duration::from_secs(2_u64.saturating_pow(failed - free)).min(longest);
    pause.saturating_sub(now.since(last))
}

fn count<K: Hash + Eq + Clone>(all: &mut HashMap<K, Attempts>, key: K, now: Timestamp) {
    if all.len() >= MOST && !all.contains_key(&key) {
        all.retain(|_, attempts| attempts.at(now).failed > 0);
        let oldest = all.iter().min_by_key(|(_, attempts)| attempts.last).map(|(key, _)| key.clone());
        if let Some(oldest) = oldest.filter(|_| all.len() >= MOST) {
            all.remove(&oldest);
        }
    }
    let attempts = all.entry(key).or_insert(Attempts::none(now));
    let before = attempts.at(now);
    *attempts = Attempts { failed: before.failed.saturating_add(1), last: now, ..before };
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
        let begin = |from: &str, seconds| throttle.begin(Some("ada"), address(from), at(seconds));
        for n in 0..5 {
            assert_eq!(begin(&format!("192.0.2.{n}"), 0), Ok(()));
        }
        assert_eq!(begin("198.51.100.1", 0), Err(Duration::from_secs(1)));
        assert_eq!(begin("198.51.100.1", 1), Ok(()));
        assert_eq!(begin("198.51.100.1", 1), Err(Duration::from_secs(2)), "what waits is no attempt");
        assert_eq!(begin("198.51.100.1", 3), Ok(()));
        assert_eq!(begin("198.51.100.1", 3), Err(Duration::from_secs(4)));
        assert_eq!(throttle.begin(Some("bob"), address(HOME), at(0)), Ok(()));
    }

    /// How many attempts somebody gets through in a day who tries whenever they may.
    fn in_a_day(mut begin: impl FnMut(u64) -> Result<(), Duration>) -> usize {
        let (mut now, mut through) = (0, 0);
        while now < 24 * 60 * 60 {
            match begin(now) {
                Ok(()) => through += 1,
                Err(wait) => now += wait.as_secs().max(1),
            }
        }
        through
    }

    #[test]
    fn whoever_goes_on_gets_no_further() {
        let throttle = Throttle::default();
        let mut n = 0;
        let account = in_a_day(|now| {
            n += 1;
            throttle.begin(Some("ada"), std::net::Ipv4Addr::from_bits(n).into(), at(now))
        });
        assert!((1_000..2_000).contains(&account), "{account} of an account");
        let throttle = Throttle::default();
        let address = in_a_day(|now| throttle.begin(None, address(HOME), at(now)));
        assert!((500..1_000).contains(&address), "{address} from an address");
    }

    #[test]
    fn what_an_office_mistypes_does_not_add_up() {
        let throttle = Throttle::default();
        for n in 0..1_000 {
            assert_eq!(throttle.begin(Some(&format!("user {n}")), address(HOME), at(n * 120)), Ok(()));
        }
    }

    #[test]
    fn who_succeeds_is_forgiven_and_an_outage_is_nobodys_fault() {
        let throttle = Throttle::default();
        for n in 0..100 {
            let account = (n % 3 > 0).then_some("ada");
            assert_eq!(throttle.begin(account, address(HOME), at(0)), Ok(()));
            if n % 2 > 0 {
                throttle.succeeded(account, address(HOME), at(0));
            } else {
                throttle.take_back(account, address(HOME));
            }
        }
    }

    #[test]
    fn nobody_keeps_somebody_out_where_they_were_before() {
        let throttle = Throttle::default();
        let begin = |from: &str| throttle.begin(Some("ada"), address(from), at(0));
        assert_eq!(begin(HOME), Ok(()));
        throttle.succeeded(Some("ada"), address(HOME), at(0));
        let tries = |from: &str| (0..100).take_while(|_| begin(from).is_ok()).count();
        assert_eq!((tries("198.51.100.1"), tries("198.51.100.2")), (5, 0), "all others together");
        assert_eq!(tries(HOME), 5, "and those from there for themselves");
    }

    #[test]
    fn an_address_waits_whatever_it_tries() {
        let throttle = Throttle::default();
        let begin = |n: u32, from: &str| throttle.begin(Some(&format!("user {n}")), address(from), at(0));
        for n in 0..20 {
            assert_eq!(begin(n, "2001:db8::1"), Ok(()));
        }
        assert_eq!(begin(20, "2001:db8::ffff"), Err(Duration::from_secs(1)), "the network counts");
        assert_eq!(begin(20, "2001:db8:0:1::1"), Ok(()));
        assert_eq!(throttle.begin(Some("user"), address("2001:db8::1"), at(60 * 60)), Ok(()));
    }

    #[test]
    fn it_remembers_only_so_many() {
        let throttle = Throttle::default();
        for n in 0..MOST as u32 + 50 {
            let from = IpAddr::from(std::net::Ipv4Addr::from_bits(n));
            assert_eq!(throttle.begin(Some(&format!("user {n}")), from, at(0)), Ok(()));
        }
        assert!(lock(&throttle.accounts).len() <= MOST && lock(&throttle.addresses).len() <= MOST);
    }
}
