//! Processes on one database, and what they hear of each other.

use std::sync::Arc;

use dead_letter_office::{
    services::{
        change_feed::{ChangeFeed, Changes, DatabaseWatch},
        health::WorkerReport,
        processes,
        wakeup::Wakeup,
        worker::{self, Worker},
    },
    store::Store,
};
use sqlx::{Connection, Executor, PgConnection};
use tokio::{sync::watch, task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;

use super::desk::{TestDatabase, open_database};
use crate::{
    store::{database, make::an_arrival},
    support::PATIENCE,
};

struct Process {
    feed: ChangeFeed,
    known: watch::Receiver<Changes>,
    wakeup: Wakeup,
    _workers: JoinSet<()>,
}

impl Process {
    /// Listens once this returns.
    async fn begin(store: &Arc<Store>) -> Self {
        let (feed, wakeup, mut workers) = (ChangeFeed::default(), Wakeup::default(), JoinSet::new());
        let known = feed.subscribe();
        let (announcer, listener) = processes::between(store, &feed, vec![wakeup.clone()]).expect("it is Postgres");
        workers.spawn(worker::run(announcer, CancellationToken::new(), WorkerReport::default()));
        workers.spawn(worker::run(listener, CancellationToken::new(), WorkerReport::default()));
        let mut process = Self { feed, known, wakeup, _workers: workers };
        process.knows(Changes { settings: 1, changed: 1, received: 0 }).await;
        process.is_woken().await;
        process
    }

    async fn knows(&mut self, expected: Changes) {
        let known = timeout(PATIENCE, self.known.wait_for(|known| *known == expected)).await;
        assert!(known.is_ok(), "it knows {:?}, not {expected:?}", *self.feed.subscribe().borrow());
    }

    async fn is_woken(&self) {
        timeout(PATIENCE, self.wakeup.notified()).await.expect("its workers look");
    }
}

#[tokio::test]
async fn what_one_process_does_another_hears_at_once() {
    let Some(database) = TestDatabase::postgres() else { return };
    let store = open_database(&database.url).await;
    let (mut one, mut other) = (Process::begin(&store).await, Process::begin(&store).await);
    one.feed.received(2);
    one.feed.changed(3);
    other.knows(Changes { received: 2, changed: 4, settings: 1 }).await;
    other.is_woken().await;
    other.feed.settings_changed();
    one.knows(Changes { received: 2, changed: 4, settings: 2 }).await;
    other.knows(Changes { received: 2, changed: 4, settings: 2 }).await;
}

/// Whoever was not connected cannot know what was said meanwhile.
#[tokio::test]
async fn after_a_lost_connection_everybody_looks() {
    const CUT: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'LISTEN%'";
    let Some(database) = TestDatabase::postgres() else { return };
    let store = open_database(&database.url).await;
    let mut process = Process::begin(&store).await;
    PgConnection::connect(&database.url).await.unwrap().execute(CUT).await.unwrap();
    timeout(PATIENCE, process.known.wait_for(|known| known.settings > 1)).await.expect("it looks").unwrap();
    process.is_woken().await;
    let before = *process.feed.subscribe().borrow();
    let mut another = Process::begin(&store).await;
    another.feed.changed(5);
    process.knows(Changes { changed: before.changed + 5, ..before }).await;
    another.knows(Changes { settings: 1, changed: 6, received: 0 }).await;
}

#[tokio::test]
async fn on_sqlite_there_is_nobody_to_tell() {
    let database = TestDatabase::sqlite();
    let store = open_database(&database.url).await;
    assert!(processes::between(&store, &ChangeFeed::default(), Vec::new()).is_none());
}

/// On SQLite nobody says what they have done; it must not be taken for what was done here at the same time.
#[tokio::test]
async fn what_another_process_does_meanwhile_is_told_as_soon_as_it_is_quiet_here() {
    let database = database::TestDatabase::sqlite().await;
    let feed = ChangeFeed::default();
    let known = feed.subscribe();
    let (mut watch, stop) =
        (DatabaseWatch::new(open_database(database.url()).await, feed.clone()), CancellationToken::new());
    let mut look = async || {
        watch.round(&stop).await.unwrap();
        *known.borrow()
    };
    assert_eq!(look().await, Changes::default());
    database.take_in_new(an_arrival()).await;
    feed.received(1);
    let here = look().await;
    assert_eq!(here, Changes { received: 1, ..Changes::default() });
    assert_eq!(look().await.since(here), Changes { changed: 1, ..Changes::default() }, "somebody else may have");
    let before = look().await;
    assert_eq!(look().await, before, "nothing is told twice");
    database.take_in_new(an_arrival()).await;
    assert_eq!(look().await.since(before), Changes { received: 1, changed: 1, settings: 0 });
}
