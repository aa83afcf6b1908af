//! Telling those who watch that something has changed.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::worker::{Next, Worker};
use crate::{
    domain::letter::{Importance, Status},
    store::{Store, StoreError},
};

/// How soon the work of other processes on the same SQLite database is noticed.
const POLL: Duration = Duration::from_millis(700);
/// The same on Postgres, where other processes are heard at once, see [`super::processes`]; for where they cannot be.
const FALLBACK: Duration = Duration::from_secs(5);

/// What happened since the start; the numbers only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Letters that came in or failed again.
    pub received: u64,
    /// Letters that were moved or marked.
    pub changed: u64,
    /// Policies, rules, mappings and schemas that were changed.
    pub settings: u64,
}

impl Changes {
    /// What happened after `earlier`.
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            received: self.received.saturating_sub(earlier.received),
            changed: self.changed.saturating_sub(earlier.changed),
            settings: self.settings.saturating_sub(earlier.settings),
        }
    }

    const fn add(&mut self, more: Self) {
        self.received = self.received.saturating_add(more.received);
        self.changed = self.changed.saturating_add(more.changed);
        self.settings = self.settings.saturating_add(more.settings);
    }
}

#[derive(Clone, Debug, Default)]
pub struct ChangeFeed {
    /// What is known here, whoever did it.
    known: watch::Sender<Changes>,
    /// What this process did.
    own: watch::Sender<Changes>,
}

impl ChangeFeed {
    pub fn subscribe(&self) -> watch::Receiver<Changes> {
        self.known.subscribe()
    }

    /// How many hear of it.
    pub fn listeners(&self) -> u32 {
        self.known.receiver_count().try_into().unwrap_or(u32::MAX)
    }

    /// Without what was [heard](Self::heard) of other processes.
    pub fn subscribe_to_own(&self) -> watch::Receiver<Changes> {
        self.own.subscribe()
    }

    pub fn received(&self, letters: u64) {
        self.announce(Changes { received: letters, ..Changes::default() });
    }

    pub fn changed(&self, letters: u64) {
        self.announce(Changes { changed: letters, ..Changes::default() });
    }

    /// A policy, a rule, a mapping or a schema was changed.
    pub fn settings_changed(&self) {
        self.announce(Changes { settings: 1, ..Changes::default() });
    }

    /// Another process did that.
    pub fn heard(&self, changes: Changes) {
        if changes != Changes::default() {
            self.known.send_modify(|known| known.add(changes));
        }
    }

    fn announce(&self, changes: Changes) {
        if changes != Changes::default() {
            self.known.send_modify(|known| known.add(changes));
            self.own.send_modify(|own| own.add(changes));
        }
    }
}

/// Notices what other processes do to the same database, by the counts that are kept, as long as somebody watches.
pub struct DatabaseWatch {
    store: Arc<Store>,
    feed: ChangeFeed,
    /// When it was looked last; that stays while nobody watches, so that a page which was made meanwhile misses nothing.
    seen: Option<Vec<(Status, Importance, u64)>>,
    known: Changes,
    /// Nobody watched since.
    was_idle: bool,
    /// This process has changed something since, and others may have, too: that is told as soon as it is quiet here, since
    /// until then each change here shows theirs as well.
    is_unsure: bool,
}

impl DatabaseWatch {
    pub fn new(store: Arc<Store>, feed: ChangeFeed) -> Self {
        Self { store, feed, seen: None, known: Changes::default(), was_idle: false, is_unsure: false }
    }
}

impl Worker for DatabaseWatch {
    const NAME: &'static str = "watching the database";
    type Error = StoreError;

    fn every(&self) -> Duration {
        if self.store.can_announce() { FALLBACK } else { POLL }
    }

    async fn round(&mut self, _stop: &CancellationToken) -> Result<Next, StoreError> {
        if self.feed.known.receiver_count() == 0 && self.seen.is_some() {
            self.was_idle = true;
            return Ok(Next::Later);
        }
        let sums = self.store.sums().await?;
        let known = *self.feed.known.borrow();
        let is_quiet_here = self.was_idle || known == self.known;
        let more = self.seen.as_ref().filter(|before| **before != sums).map(|before| {
            let letters = |sums: &[(_, _, u64)]| sums.iter().map(|(.., count)| count).sum::<u64>();
            letters(&sums).saturating_sub(letters(before))
        });
        match more {
            Some(received) if is_quiet_here => self.feed.heard(Changes { received, changed: 1, settings: 0 }),
            None if is_quiet_here && self.is_unsure => self.feed.heard(Changes { changed: 1, ..Changes::default() }),
            _ => {}
        }
        // Where others are heard at once, they need not be looked for among what was done here.
        self.is_unsure = more.is_some() && !is_quiet_here && !self.store.can_announce();
        self.seen = Some(sums);
        self.known = *self.feed.known.borrow();
        self.was_idle = false;
        Ok(Next::Later)
    }
}
