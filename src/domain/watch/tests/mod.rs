//! What is reported over time, first in stories and then at random.

mod broker;
mod queues;
mod random;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use ConcernKind::{Growing, IntakeLags, NoConsumers, RetrierLags, RetriesOverdue, Unreachable};
use amqp_message::{glob::Globs, time::Timestamp};

use super::*;
use crate::domain::queue_level::{QueueLevel, QueueState};

const BEGIN: u64 = 1_000_000_000;
const DEAD_LETTERS: &str = "dlo.dead-letters";
const OBITUARIES: &str = "dlo.obituaries";

fn settings() -> Settings {
    let minutes = |n: u64| Duration::from_secs(60 * n);
    Settings {
        interval: Duration::from_secs(30),
        no_consumers_for: minutes(15),
        growing_for: minutes(10),
        lags_for: minutes(5),
        queues: Globs::new(&["texts.*".to_owned(), "dlo.*".to_owned()]),
        vhost: "/".to_owned(),
        dead_letter_exchange: "dlx".to_owned(),
        dead_letter_queue: DEAD_LETTERS.to_owned(),
        obituary_queue: OBITUARIES.to_owned(),
    }
}

fn level(name: &str, consumers: Option<u64>) -> QueueLevel {
    QueueLevel { name: name.to_owned(), consumers, state: Some(QueueState::Running), ..QueueLevel::default() }
}

/// A broker that is looked at, and what was reported of it, each with the seconds since the beginning.
struct Story {
    settings: Settings,
    watch: BrokerWatch,
    now: u64,
    /// How many seconds a look takes.
    looking: u64,
    told: Vec<(u64, Change)>,
}

impl Story {
    fn new() -> Self {
        Self { settings: settings(), watch: BrokerWatch::default(), now: 0, looking: 0, told: Vec::new() }
    }

    fn poll(&mut self, queues: Option<&[QueueLevel]>, overdue: Option<Duration>) {
        let at = Timestamp::from_seconds(BEGIN + self.now);
        let begun = at.minus(Duration::from_secs(self.looking));
        let poll = Poll { begun, at, queues, feeds: None, is_consuming: true, overdue };
        let changes = self.watch.observe(&self.settings, &poll);
        self.told.extend(changes.into_iter().map(|change| (self.now, change)));
    }

    /// Looks every half minute for so many minutes.
    fn minutes(&mut self, minutes: u64, queues: Option<&[QueueLevel]>) {
        for _ in 0..minutes * 2 {
            self.poll(queues, Some(Duration::ZERO));
            self.now += 30;
        }
    }

    fn consumers(&mut self, minutes: u64, consumers: Option<u64>) {
        self.minutes(minutes, Some(&[level("texts.persist", consumers)]));
    }

    /// One look that finds so many consumers.
    fn glimpse(&mut self, consumers: Option<u64>) {
        self.poll(Some(&[level("texts.persist", consumers)]), None);
        self.now += 30;
    }

    /// At which minute what was raised (`true`) or cleared.
    fn check(&self, expected: &[(u64, bool, ConcernKind)]) {
        let told: Vec<_> = self
            .told
            .iter()
            .map(|(seconds, change)| (seconds / 60, matches!(change, Change::Raised(_)), change.concern().kind()))
            .collect();
        assert_eq!(told, expected, "{:?}", self.told);
    }
}
