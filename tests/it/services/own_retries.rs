//! A framework that retries by itself and dead-letters each try as well, as Symfony Messenger does where its queue has a
//! dead-letter exchange.

use std::time::Duration;

use dead_letter_office::{
    clock::Clock,
    config::QueueType,
    domain::{
        letter::{LetterSummary, Status},
        policy::{Delays, Policy, Via},
    },
};
use futures_util::future::join_all;
use lapin::{
    BasicProperties,
    types::{AMQPValue, FieldTable, LongString},
};

use super::{
    desk::{AppState, MAIN, PATIENCE, TestDatabase, open_database, with_queues},
    service::Service,
};
use crate::support::{
    process::wait_until,
    rabbit::{Rabbit, Vhost},
};

const ORDER: &str = r#"{"order":1090,"total":12.5}"#;
const OTHER: &str = r#"{"order":1091,"total":99.5}"#;
const STAMP: &str = r"X-Message-Stamp-Symfony\Component\Messenger\Stamp\RedeliveryStamp";
/// Longer than any test.
const DELAY: Duration = Duration::from_secs(3_600);

/// A message as Messenger publishes it, first or for one of its retries.
fn properties(retry: u64) -> BasicProperties {
    typed("OrderPlaced", retry)
}

fn typed(class: &str, retry: u64) -> BasicProperties {
    let text = |text: &str| AMQPValue::LongString(LongString::from(text));
    let mut headers = FieldTable::default();
    headers.insert("type".into(), text(class));
    if retry > 0 {
        let stamps: Vec<_> = (1..=retry).map(|n| format!(r#"{{"retryCount":{n}}}"#)).collect();
        headers.insert(STAMP.into(), text(&format!("[{}]", stamps.join(","))));
    }
    BasicProperties::default().with_headers(headers)
}

/// Its handler fails, and the message is rejected.
async fn fail(messages: &Service<'_>, body: &str, retry: u64) {
    messages.receive(properties(retry), body.as_bytes()).await;
    messages.reject().await;
}

async fn server(database: &TestDatabase, vhost: &Vhost, via: Via, clock: Clock) -> AppState {
    let policy = Policy {
        queues: Policy::EVERY_QUEUE.to_owned(),
        reason: None,
        delays: Delays::Listed(vec![DELAY; 2]),
        jitter: 0.0,
        via,
        keep_routing_key: false,
    };
    let brokers = [(MAIN, with_queues(QueueType::Classic, vhost))];
    let server = AppState::with_policies(open_database(&database.url).await, clock, brokers, vec![policy]);
    server.await_work().await;
    server
}

/// A server and a service, for each database and each place to wait.
async fn everywhere<F: Future<Output = ()>>(check: impl Fn(Vhost, TestDatabase, Via) -> F) {
    let Some(rabbit) = Rabbit::shared() else { return };
    let spread = TestDatabase::spread([Via::Broker, Via::Database]).into_iter();
    join_all(spread.map(|(via, database)| check(rabbit.vhost(), database, via))).await;
}

async fn with_status(server: &AppState, status: Status) -> Vec<LetterSummary> {
    server.letters().await.into_iter().filter(|letter| letter.status == status).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_tries_are_one_letter_that_is_not_retried_beside_them() {
    everywhere(async |vhost, database, via| {
        let server = server(&database, &vhost, via, Clock::system()).await;
        let messages = Service::start(&vhost, "messages").await;
        fail(&messages, ORDER, 0).await;
        fail(&messages, ORDER, 1).await;
        server.await_count(Status::Open, 1).await;
        fail(&messages, ORDER, 2).await;
        // It is dead-lettered after that one, and needs attention at once.
        fail(&messages, OTHER, 0).await;
        server.await_count(Status::Open, 2).await;
        let open = with_status(&server, Status::Open).await;
        assert_eq!(server.count().await, 2, "{via}: {open:?}");
        let mut attempts: Vec<u64> = open.iter().map(|letter| letter.attempts).collect();
        attempts.sort_unstable();
        assert_eq!(attempts, [1, 3], "{via}");
        for letter in open {
            let remarks = server.letter(letter.id).await.remarks;
            assert!(matches!(&*remarks, [remark] if remark.contains("max_retries: 0")), "{via}: {remarks:?}");
        }
        assert!(!messages.is_waiting().await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_equal_messages_stay_two() {
    everywhere(async |vhost, database, via| {
        let server = server(&database, &vhost, via, Clock::system()).await;
        let messages = Service::start(&vhost, "messages").await;
        fail(&messages, ORDER, 0).await;
        fail(&messages, ORDER, 0).await;
        // Both come in by themselves, however many come in with the others.
        for seen in 1..3 {
            fail(&messages, ORDER, 1).await;
            let is_seen = async || server.count_of(Status::Open).await >= seen;
            wait_until("the copy to come in", PATIENCE, is_seen).await;
        }
        fail(&messages, ORDER, 2).await;
        fail(&messages, ORDER, 2).await;
        fail(&messages, OTHER, 2).await;
        server.await_count(Status::Open, 3).await;
        assert_eq!(server.count().await, 3, "{via}");
    })
    .await;
}

/// All that failed while no server was there comes together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_messages_of_the_same_content_and_of_two_types_stay_two() {
    everywhere(async |vhost, database, via| {
        server(&database, &vhost, via, Clock::system()).await.close().await;
        let messages = Service::start(&vhost, "messages").await;
        for (class, retry) in [("SendWelcome", 0), ("CreateProfile", 0), ("CreateProfile", 1)] {
            messages.receive(typed(class, retry), ORDER.as_bytes()).await;
            messages.reject().await;
        }
        let server = server(&database, &vhost, via, Clock::system()).await;
        server.await_letters(2).await;
        let messages = server.messages().await;
        let mut classes: Vec<_> = messages.iter().filter_map(|message| message.headers.get_str("type")).collect();
        classes.sort_unstable();
        assert_eq!(classes, ["CreateProfile", "SendWelcome"], "{via}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_scheduled_before_that_was_known_is_not_sent() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for database in TestDatabase::both() {
        let (vhost, clock) = (rabbit.vhost(), Clock::manual(Clock::system().now()));
        let server = server(&database, &vhost, Via::Database, clock).await;
        let messages = Service::start(&vhost, "messages").await;
        // The framework's own retry of this one succeeds, which nobody sees.
        fail(&messages, ORDER, 0).await;
        fail(&messages, OTHER, 0).await;
        server.await_count(Status::Scheduled, 2).await;
        fail(&messages, OTHER, 1).await;
        server.await_count(Status::Open, 1).await;
        server.advance(DELAY);
        server.await_count(Status::Open, 2).await;
        let problems: Vec<_> = server.letters().await.into_iter().filter_map(|letter| letter.problem).collect();
        assert!(matches!(&*problems, [problem] if problem.contains("processed twice")), "{problems:?}");
        assert!(!messages.is_waiting().await);
        // By hand it goes out.
        let letter = server.letters().await.into_iter().find(|letter| letter.problem.is_some()).unwrap();
        server.retry(&[letter.id]).await;
        assert_eq!(messages.work().await.data, ORDER.as_bytes());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stamp_that_anybody_may_write_holds_only_its_own_message() {
    everywhere(async |vhost, database, via| {
        let server = server(&database, &vhost, via, Clock::system()).await;
        let messages = Service::start(&vhost, "messages").await;
        // No try before it was ever seen.
        fail(&messages, ORDER, 1).await;
        server.await_count(Status::Open, 1).await;
        fail(&messages, OTHER, 0).await;
        // The first of a new delay waits in the database everywhere.
        server.await_letters(2).await;
        let statuses: Vec<Status> = server.letters().await.iter().map(|letter| letter.status).collect();
        assert_eq!(statuses, [Status::Open, Status::Scheduled], "{via}");
    })
    .await;
}
