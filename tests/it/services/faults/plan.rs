//! Random sequences of faults, each from a seed.

use std::{fmt, ops::RangeInclusive, time::Duration};

use dead_letter_office::domain::policy::Via;
use fastrand::Rng;

use crate::support::{seed, soak};

/// What happens to a server, or to what it depends on. It is over before the next begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// SIGKILL, and a new server in its place.
    KillServer,
    /// The same with SIGTERM.
    StopServer,
    KillBroker,
    /// The broker takes nothing from those that publish.
    Alarm,
    CutBroker,
    SlowBroker,
    SilentBroker,
    KillDatabase,
    CutDatabase,
    SlowDatabase,
    SilentDatabase,
}

impl Fault {
    const EVERYWHERE: [Self; 7] = [
        Self::KillServer,
        Self::StopServer,
        Self::KillBroker,
        Self::Alarm,
        Self::CutBroker,
        Self::SlowBroker,
        Self::SilentBroker,
    ];
    const ON_POSTGRES: [Self; 4] = [Self::KillDatabase, Self::CutDatabase, Self::SlowDatabase, Self::SilentDatabase];

    /// Whether a message under way may go twice because of it. After an orderly stop, or when answers are only late, none
    /// may.
    pub const fn may_double(self) -> bool {
        !matches!(self, Self::StopServer | Self::SlowBroker | Self::SlowDatabase)
    }
}

/// What is done to whom, and what there is to do it to.
pub struct Plan {
    pub seed: u64,
    pub via: Via,
    /// How many servers share the database.
    pub servers: usize,
    /// The fault, and how many messages are published before it begins.
    pub faults: Vec<(Fault, usize)>,
    /// For whatever is chosen on the way.
    pub rng: Rng,
}

/// Messages that come while one fault is on and before the next.
pub const MESSAGES: usize = 60;

impl Plan {
    /// `DLO_TEST_SEED` has the plan made again that a failed test named.
    pub fn new(on_postgres: bool, via: Option<Via>, servers: RangeInclusive<usize>) -> Self {
        let seed = seed();
        let mut rng = Rng::with_seed(seed);
        let via = via.unwrap_or_else(|| if rng.bool() { Via::Database } else { Via::Broker });
        let mut kinds = Fault::EVERYWHERE.to_vec();
        if on_postgres {
            kinds.extend(Fault::ON_POSTGRES);
        }
        let n_faults = soak(6, 60);
        let faults = (0..n_faults).map(|_| (kinds[rng.usize(..kinds.len())], rng.usize(1..MESSAGES / 2))).collect();
        Self { seed, via, servers: rng.usize(servers), faults, rng }
    }

    /// A delay of a slow connection.
    pub fn lateness(&mut self) -> Duration {
        Duration::from_millis(self.rng.u64(5..100))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, via, servers, faults, .. } = self;
        write!(f, "DLO_TEST_SEED={seed}: {servers} servers, waiting via {}, {faults:?}", via.as_str())
    }
}
