//! Random sequences of faults, each from a seed.

use std::{fmt, ops::RangeInclusive, time::Duration};

use dead_letter_office::domain::policy::Via;
use fastrand::Rng;

use crate::support::{seed, soak};

/// What happens to a server, or to what it depends on. Of several at once they begin in this order, and end in it: what
/// others need comes before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// There is no room where the database is.
    FullDisk,
    KillDatabase,
    /// Postgres is killed, and its standby takes over.
    FailOver,
    KillBroker,
    /// The broker is short of memory: it takes nothing from those that publish.
    Alarm,
    /// The same for its disk.
    DiskAlarm,
    CutDatabase,
    SlowDatabase,
    SilentDatabase,
    CutBroker,
    SlowBroker,
    SilentBroker,
    /// The clock of all servers jumps ahead, and after a while back.
    ClockAhead,
    /// It jumps back, and after a while ahead.
    ClockBehind,
    /// SIGKILL, and a new server in its place.
    KillServer,
    /// The same with SIGTERM.
    StopServer,
}

/// What there is to do something to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    Sqlite,
    Postgres,
    /// With a standby, and on a disk that is never full.
    PostgresPair,
}

impl Setting {
    fn faults(self) -> Vec<Fault> {
        let databases: &[Fault] = match self {
            Self::Sqlite => &[Fault::FullDisk],
            Self::Postgres => &[Fault::FullDisk, Fault::KillDatabase],
            Self::PostgresPair => &[Fault::FailOver, Fault::KillDatabase],
        };
        let lines: &[Fault] = if self == Self::Sqlite { &[] } else { &Fault::ON_POSTGRES };
        [databases, lines, &Fault::EVERYWHERE].concat()
    }
}

impl Fault {
    const EVERYWHERE: [Self; 10] = [
        Self::KillBroker,
        Self::Alarm,
        Self::DiskAlarm,
        Self::CutBroker,
        Self::SlowBroker,
        Self::SilentBroker,
        Self::ClockAhead,
        Self::ClockBehind,
        Self::KillServer,
        Self::StopServer,
    ];
    const ON_POSTGRES: [Self; 3] = [Self::CutDatabase, Self::SlowDatabase, Self::SilentDatabase];

    /// Whether a message under way may go twice because of it. After an orderly stop, or when answers are only late, none
    /// may.
    pub const fn may_double(self) -> bool {
        !matches!(self, Self::StopServer | Self::SlowBroker | Self::SlowDatabase | Self::FullDisk)
    }

    /// Over as soon as it begins.
    pub const fn is_instant(self) -> bool {
        matches!(self, Self::CutBroker | Self::CutDatabase | Self::KillBroker | Self::FailOver)
    }

    pub const fn is_alarm(self) -> bool {
        matches!(self, Self::Alarm | Self::DiskAlarm)
    }

    pub const fn is_of_clock(self) -> bool {
        matches!(self, Self::ClockAhead | Self::ClockBehind)
    }

    /// Whether both can be at once: the same is not done twice to the same.
    fn goes_with(self, other: Self) -> bool {
        let to = |fault| match fault {
            Self::KillDatabase | Self::FailOver => 0,
            Self::KillBroker | Self::Alarm | Self::DiskAlarm => 1,
            Self::CutDatabase | Self::SlowDatabase | Self::SilentDatabase => 2,
            Self::CutBroker | Self::SlowBroker | Self::SilentBroker => 3,
            Self::ClockAhead | Self::ClockBehind => 4,
            Self::KillServer | Self::StopServer => 5,
            Self::FullDisk => 6,
        };
        to(self) != to(other)
    }
}

/// What is done to whom, and what there is to do it to.
pub struct Plan {
    pub seed: u64,
    pub setting: Setting,
    pub via: Via,
    /// How many servers share the database.
    pub servers: usize,
    /// One fault or two at once, and how many messages are published before they begin.
    pub faults: Vec<(Vec<Fault>, usize)>,
    /// For whatever is chosen on the way.
    pub rng: Rng,
}

/// Messages that come while one fault is on and before the next.
pub const MESSAGES: usize = 60;

impl Plan {
    /// `DLO_TEST_SEED` has the plan made again that a failed test named.
    pub fn new(setting: Setting, via: Option<Via>, servers: RangeInclusive<usize>, in_short: u64) -> Self {
        let seed = seed(in_short);
        let mut rng = Rng::with_seed(seed);
        let via = via.unwrap_or_else(|| if rng.bool() { Via::Database } else { Via::Broker });
        let faults = (0..soak(3, 60)).map(|_| (at_once(&setting.faults(), &mut rng), rng.usize(1..MESSAGES / 2)));
        let faults = faults.collect();
        Self { seed, setting, via, servers: rng.usize(servers), faults, rng }
    }

    /// Just these faults, one after the other.
    pub fn of(setting: Setting, via: Via, faults: &[Fault]) -> Self {
        let faults = faults.iter().map(|fault| (vec![*fault], MESSAGES / 3)).collect();
        let seed = seed(1);
        Self { seed, setting, via, servers: 1, faults, rng: Rng::with_seed(seed) }
    }

    pub fn has(&self, fault: Fault) -> bool {
        self.faults.iter().any(|(at_once, _)| at_once.contains(&fault))
    }

    /// How far a clock jumps.
    pub fn jump(&mut self) -> Duration {
        Duration::from_secs(self.rng.u64(60..36 * 3_600))
    }

    /// A delay of a slow connection.
    pub fn lateness(&mut self) -> Duration {
        Duration::from_millis(self.rng.u64(5..100))
    }
}

fn at_once(kinds: &[Fault], rng: &mut Rng) -> Vec<Fault> {
    let mut faults = vec![kinds[rng.usize(..kinds.len())]];
    let second = kinds[rng.usize(..kinds.len())];
    if rng.u8(..3) == 0 && second.goes_with(faults[0]) {
        faults.push(second);
    }
    faults.sort_unstable();
    faults
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, setting, via, servers, faults, .. } = self;
        write!(f, "DLO_TEST_SEED={seed}: {setting:?}, {servers} servers, waiting via {}, {faults:?}", via.as_str())
    }
}
