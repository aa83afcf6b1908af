//! Telling the other processes on the same Postgres what has changed, and hearing it from them, without waiting for
//! anybody's next look at the database.
//!
//! A notice says that there is something, never what. What is lost, as behind a connection pooler that does not pass
//! LISTEN on, is found later: every worker looks by itself, too.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    change_feed::{ChangeFeed, Changes},
    wakeup::Wakeup,
    worker::{Next, Worker},
};
use crate::store::{Announcements, Store, StoreError};

/// What happens within so long is one notice.
const PACE: Duration = Duration::from_millis(20);
/// Nothing is lost by looking seldom: each change calls the worker.
const SELDOM: Duration = Duration::from_secs(60);

#[derive(Serialize, Deserialize)]
struct Notice {
    /// The process that sends it: it hears itself, too.
    from: Uuid,
    changes: Changes,
}

/// Announces what this process does.
pub struct Announcer {
    store: Arc<Store>,
    process: Uuid,
    own: watch::Receiver<Changes>,
    told: Changes,
}

/// Hears what other processes do.
pub struct Listener {
    store: Arc<Store>,
    process: Uuid,
    feed: ChangeFeed,
    /// Notified for each notice: there may be retries that are due, or notifications to be sent.
    wakeups: Vec<Wakeup>,
    /// `None` until it listens.
    notices: Option<Announcements>,
}

/// Both, where the database can carry notices.
pub fn between(store: &Arc<Store>, feed: &ChangeFeed, wakeups: Vec<Wakeup>) -> Option<(Announcer, Listener)> {
    if !store.can_announce() {
        return None;
    }
    let (process, store) = (Uuid::new_v4(), Arc::clone(store));
    let own = feed.subscribe_to_own();
    let announcer = Announcer { store: Arc::clone(&store), process, own, told: Changes::default() };
    Some((announcer, Listener { store, process, feed: feed.clone(), wakeups, notices: None }))
}

impl Worker for Announcer {
    const NAME: &'static str = "telling other processes";
    type Error = StoreError;

    fn every(&self) -> Duration {
        SELDOM
    }

    async fn round(&mut self, _stop: &CancellationToken) -> Result<Next, StoreError> {
        let own = *self.own.borrow_and_update();
        let changes = own.since(self.told);
        if changes != Changes::default()
            && let Ok(notice) = serde_json::to_string(&Notice { from: self.process, changes })
        {
            self.store.announce(&notice).await?;
        }
        self.told = own;
        Ok(Next::Later)
    }

    async fn called(&mut self) {
        // An error means that nobody is left who could change anything.
        if self.own.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(PACE).await;
    }
}

impl Listener {
    fn heard(&self, notice: &str) {
        // Of a newer version something may be said that this one does not know.
        let notice = serde_json::from_str(notice).unwrap_or(Notice { from: Uuid::nil(), changes: SOMETHING });
        if notice.from != self.process {
            self.pass_on(notice.changes);
        }
    }

    fn pass_on(&self, changes: Changes) {
        self.feed.heard(changes);
        self.wakeups.iter().for_each(Wakeup::notify);
    }
}

/// Nobody knows what; everybody looks.
const SOMETHING: Changes = Changes { received: 0, changed: 1, settings: 1 };

impl Worker for Listener {
    const NAME: &'static str = "hearing other processes";
    type Error = StoreError;

    fn every(&self) -> Duration {
        Duration::ZERO
    }

    /// Begins to listen, or waits for one notice.
    async fn round(&mut self, stop: &CancellationToken) -> Result<Next, StoreError> {
        if let Some(mut notices) = self.notices.take() {
            let Some(notice) = stop.run_until_cancelled(notices.next()).await else { return Ok(Next::Now) };
            match notice? {
                Some(notice) => self.heard(&notice),
                None => self.pass_on(SOMETHING),
            }
            self.notices = Some(notices);
        } else if let Some(notices) = stop.run_until_cancelled(self.store.listen()).await {
            self.notices = Some(notices?);
            // What was said before is not heard any more.
            self.pass_on(SOMETHING);
        }
        Ok(Next::Now)
    }
}
