//! While the database cannot be written, deliveries are held: never lost, never given back to the queue.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use amqp_message::field::FieldValue;
use dead_letter_office::{
    clock::Clock,
    config::QueueType,
    domain::{filter::LetterFilter, history::Event},
};
use sqlx::{Connection, Executor};

use super::{
    desk::{AppState, MAIN, PATIENCE, TestDatabase, broker, open_database, with_queues},
    line::{Heard, Line},
    service::{DEAD_LETTERS, OBITUARIES, confirming_channel, flood, texts},
};
use crate::support::{process::wait_until, rabbit::Rabbit};

const FLOOD: usize = 300;

/// Another program that has the database to itself.
pub enum Lock {
    Sqlite(sqlx::SqliteConnection),
    Postgres(sqlx::PgConnection),
}

impl Lock {
    pub async fn on(database: &TestDatabase) -> Self {
        if database.url.starts_with("sqlite:") {
            let mut connection = sqlx::SqliteConnection::connect(&database.url).await.unwrap();
            connection.execute("BEGIN EXCLUSIVE").await.unwrap();
            return Self::Sqlite(connection);
        }
        let mut connection = sqlx::PgConnection::connect(&database.url).await.unwrap();
        connection.execute("BEGIN").await.unwrap();
        connection.execute("LOCK TABLE letters IN EXCLUSIVE MODE").await.unwrap();
        Self::Postgres(connection)
    }

    pub async fn lift(self) {
        match self {
            Self::Sqlite(mut connection) => drop(connection.execute("ROLLBACK").await.unwrap()),
            Self::Postgres(mut connection) => drop(connection.execute("ROLLBACK").await.unwrap()),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_are_held_until_the_database_can_be_written_again() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for database in TestDatabase::both() {
        let vhost = rabbit.vhost();
        let server = AppState::open(&database, with_queues(QueueType::Quorum, &vhost)).await;
        let lock = Lock::on(&database).await;
        flood(&confirming_channel(&vhost).await, DEAD_LETTERS, 0..FLOOD).await;
        wait_until("the board to say so", PATIENCE, async || server.health(MAIN).holding.is_some()).await;
        assert!(server.health(MAIN).consuming.is_connected());
        assert_eq!((vhost.depth(DEAD_LETTERS).await, server.count().await), (0, 0));

        lock.lift().await;
        server.await_letters(FLOOD as u64).await;
        assert_eq!(server.bodies().await, texts(0..FLOOD));
        wait_until("the board to be fine", PATIENCE, async || server.health(MAIN).holding.is_none()).await;
        for message in server.messages().await {
            let returns = message.headers.get("x-delivery-count").and_then(FieldValue::as_i64).unwrap_or(0);
            assert_eq!(returns, 0, "some went back to the queue meanwhile");
        }
        server.close().await;
        assert_eq!(vhost.depth(DEAD_LETTERS).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_consumed_before_the_database_takes_a_write() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    // Declares the queues.
    AppState::open(&database, broker(vhost.amqp_url())).await.close().await;
    flood(&confirming_channel(&vhost).await, DEAD_LETTERS, 0..FLOOD).await;
    let store = open_database(&database.url).await;
    let lock = Lock::on(&database).await;
    let server = AppState::on(store, Clock::system(), [(MAIN, broker(vhost.amqp_url()))]);
    wait_until("the board to say so", PATIENCE, async || server.health(MAIN).holding.is_some()).await;
    assert_eq!(vhost.depth(DEAD_LETTERS).await, FLOOD as u32);
    lock.lift().await;
    server.await_letters(FLOOD as u64).await;
}

/// The line is cut at dlo's first commit of a letter. It is there once, and nothing claims that it came twice.
async fn check_cut_commit(cut: Heard) {
    let Some(rabbit) = Rabbit::shared() else { return };
    let Some(database) = TestDatabase::postgres() else { return };
    let vhost = rabbit.vhost();
    let was_cut = Arc::new(AtomicBool::new(false));
    let cut_once = Arc::clone(&was_cut);
    let line = Line::tapped(&database.url, move || {
        let cut_once = Arc::clone(&cut_once);
        let mut storing = false;
        Box::new(move |said| {
            storing |= contains(said, "INSERT INTO pending_acks");
            let commit = storing && contains(said, "COMMIT") && !cut_once.swap(true, Ordering::SeqCst);
            if commit { cut } else { Heard::Nothing }
        })
    })
    .await;
    let server = AppState::begin(&line.url(), Clock::system(), [(MAIN, broker(vhost.amqp_url()))]).await;
    server.await_work().await;
    flood(&confirming_channel(&vhost).await, DEAD_LETTERS, 0..1).await;
    wait_until("the commit to be cut", PATIENCE, async || was_cut.load(Ordering::SeqCst)).await;
    let id = server.await_letter().await.summary.id;
    let (store, metrics) = (Arc::clone(&server.store), server.metrics.clone());
    // What is in its hands is stored and acknowledged then.
    server.close().await;
    let history = store.history(id).await.unwrap();
    assert_eq!(history.iter().map(|entry| entry.event).collect::<Vec<_>>(), [Event::Received]);
    assert_eq!(store.count(&LetterFilter::default()).await.unwrap(), 1);
    let received = r#"dlo_letters_received_total{broker="main",queue="unknown"} 1"#;
    assert!(metrics.encode().contains(received), "{}", metrics.encode());
    assert_eq!(vhost.depth(DEAD_LETTERS).await, 0);
}

/// The commit is done and its answer is lost: dlo cannot know.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_is_lost_stores_nothing_twice() {
    check_cut_commit(Heard::CutAfterThis).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_never_arrives_is_done_at_the_second_try() {
    check_cut_commit(Heard::CutBeforeThis).await;
}

/// The database is out of reach for one server, and then the broker too: another server gets what the first one held.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_server_was_given_meanwhile_is_stored_once() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let Some(database) = TestDatabase::postgres() else { return };
    let vhost = rabbit.vhost();
    let away = Arc::new(AtomicBool::new(false));
    let is_away = Arc::clone(&away);
    let line = Line::tapped(&database.url, move || {
        let is_away = Arc::clone(&is_away);
        Box::new(move |_| if is_away.load(Ordering::SeqCst) { Heard::CutBeforeThis } else { Heard::Nothing })
    })
    .await;
    let server = AppState::begin(&line.url(), Clock::system(), [(MAIN, broker(vhost.amqp_url()))]).await;
    server.await_work().await;
    away.store(true, Ordering::SeqCst);
    let channel = confirming_channel(&vhost).await;
    for queue in [DEAD_LETTERS, OBITUARIES] {
        flood(&channel, queue, 0..FLOOD).await;
    }
    wait_until("both queues to be held", PATIENCE, async || {
        vhost.depth(DEAD_LETTERS).await + vhost.depth(OBITUARIES).await == 0 && server.health(MAIN).holding.is_some()
    })
    .await;
    vhost.close_connections().await;

    let other = AppState::open(&database, broker(vhost.amqp_url())).await;
    other.await_letters(2 * FLOOD as u64).await;
    away.store(false, Ordering::SeqCst);
    server.await_work().await;
    wait_until("the board to be fine", PATIENCE, async || server.health(MAIN).holding.is_none()).await;
    server.close().await;
    assert_eq!(other.count().await, 2 * FLOOD as u64);
}

fn contains(said: &[u8], words: &str) -> bool {
    said.windows(words.len()).any(|window| window == words.as_bytes())
}
