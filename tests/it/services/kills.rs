//! The real program, killed at every step: what it had begun is done again, and nothing is lost.
//!
//! Needs the feature `crash-points`, as in `make test`.

use dead_letter_office::{
    clock::Clock,
    config::QueueType,
    domain::{
        history::Event,
        letter::{LetterId, Status},
    },
};
use futures_util::StreamExt;
use lapin::{
    message::Delivery,
    options::BasicConsumeOptions,
    types::{AMQPValue, FieldTable},
};

use super::{
    desk::{AppState, PATIENCE, TestDatabase, with_queues},
    program::Program,
    service::{DEAD_LETTERS, Service, confirming_channel, flood, texts},
};
use crate::support::{
    process::wait_until,
    rabbit::{Rabbit, Vhost},
    soak,
};

/// Looks into a database that others write to.
async fn look_into(database: &TestDatabase) -> AppState {
    AppState::begin(&database.url, Clock::system(), []).await
}

/// A virtual host with dlo's queues in it, and a message for each of `0..flood` in the dead letter queue.
async fn flooded(rabbit: &Rabbit, database: &TestDatabase, queue_type: QueueType, messages: usize) -> Vhost {
    let vhost = rabbit.vhost();
    AppState::open(database, with_queues(queue_type, &vhost)).await.close().await;
    flood(&confirming_channel(&vhost).await, DEAD_LETTERS, 0..messages).await;
    vhost
}

/// With classic queues; with quorum queues each place is where a policy retries (`retry_kills`, in
/// `make test-long`). In `make soak` with both.
async fn check_intake_dies_at(place: &str) {
    let Some(rabbit) = Rabbit::shared() else { return };
    // More than two batches.
    let (flood, batch_size) = soak((250, 100), (2_000, 500));
    for queue_type in soak(vec![QueueType::Classic], vec![QueueType::Quorum, QueueType::Classic]) {
        let database = TestDatabase::sqlite();
        let vhost = flooded(rabbit, &database, queue_type, flood).await;
        let program = Program { batch_size, ..Program::new(&database, &vhost, queue_type) };
        program.die_at(place, 2).await;
        let server = look_into(&database).await;
        assert!(server.count().await < flood as u64, "it died too late to tell anything");
        program.finish("all letters", async || server.count().await >= flood as u64).await;
        assert_eq!(server.bodies().await, texts(0..flood), "{place}, {queue_type:?}");
        assert_eq!(vhost.depth(DEAD_LETTERS).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dying_before_the_commit_loses_and_doubles_nothing() {
    check_intake_dies_at("delivered").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dying_after_the_commit_loses_and_doubles_nothing() {
    check_intake_dies_at("committed").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dying_after_the_acknowledgement_loses_and_doubles_nothing() {
    check_intake_dies_at("acknowledged").await;
}

/// What is known of a retry that was cut short at some place.
struct CutShort {
    place: &'static str,
    may_go_twice: bool,
}

/// On that database; on the other one each place is where a policy retries (`retry_kills`, in `make test-long`). In
/// `make soak` on both.
async fn check_retry_dies_at(cut: CutShort, database: TestDatabase) {
    let Some(rabbit) = Rabbit::shared() else { return };
    let n_letters = soak(50, 1_500);
    for database in database.or_both() {
        let queue_type = QueueType::Quorum;
        let vhost = flooded(rabbit, &database, queue_type, n_letters).await;
        let orders = Service::start(&vhost, "orders").await;
        let program = Program::new(&database, &vhost, queue_type);
        let server = look_into(&database).await;
        program.finish("all letters", async || server.count().await == n_letters as u64).await;
        let ids: Vec<LetterId> = server.letters().await.iter().map(|letter| letter.id).collect();
        server.retry_to("orders", &ids).await;

        program.die_at(cut.place, 1).await;
        database.let_leases_end().await;
        let are_retried = async || server.count_of(Status::Retried).await == ids.len() as u64;
        program.finish("all retries", are_retried).await;

        let mut arrived = orders.work_on(vhost.depth("orders").await as usize).await;
        arrived.sort();
        let twice = arrived.len() - n_letters;
        assert!(cut.may_go_twice || twice == 0, "{twice} went twice");
        arrived.dedup();
        assert_eq!(arrived, texts(0..n_letters));
        let mut told_so = 0;
        for id in ids {
            let history = server.history(id).await;
            let retried: Vec<_> = history.iter().filter(|entry| entry.event == Event::Retried).collect();
            assert_eq!(retried.len(), 1);
            told_so += usize::from(retried[0].detail.contains("may have been sent twice"));
        }
        assert!(told_so >= twice, "{twice} went twice and {told_so} say that they may have");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_cut_short_before_publishing_goes_once() {
    // Each database has its own way to tell whose claims are void.
    for database in TestDatabase::both() {
        check_retry_dies_at(CutShort { place: "claimed", may_go_twice: false }, database).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_cut_short_before_its_confirm_goes_at_least_once() {
    check_retry_dies_at(CutShort { place: "published", may_go_twice: true }, TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_cut_short_before_its_mark_goes_at_least_once() {
    check_retry_dies_at(CutShort { place: "confirmed", may_go_twice: true }, TestDatabase::postgres_or_sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_cut_short_after_its_mark_is_over() {
    check_retry_dies_at(CutShort { place: "marked", may_go_twice: true }, TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_kills_lose_and_double_nothing() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (portion, batch_size, kills) = soak((150, 50, 2), (700, 500, 8));
    for queue_type in [QueueType::Quorum, QueueType::Classic] {
        let database = TestDatabase::sqlite();
        let vhost = flooded(rabbit, &database, queue_type, portion).await;
        let channel = confirming_channel(&vhost).await;
        let program = Program { batch_size, ..Program::new(&database, &vhost, queue_type) };
        let server = look_into(&database).await;
        for kill in 1..=kills {
            let mut running = program.run();
            let enough = (kill * portion - portion / 2) as u64;
            wait_until("some more letters", PATIENCE, async || server.count().await >= enough).await;
            running.kill();
            // Each finds something to do, however much there was done before the last one died.
            flood(&channel, DEAD_LETTERS, kill * portion..(kill + 1) * portion).await;
        }
        let all = (kills + 1) * portion;
        program.finish("all letters", async || server.count().await >= all as u64).await;
        assert_eq!(server.bodies().await, texts(0..all));
        assert_eq!(vhost.depth(DEAD_LETTERS).await, 0);
    }
}

/// RabbitMQ 4 drops a message from a quorum queue after twenty returns, and each of these deaths is one. In `make test` most
/// are of a consumer that is sooner started.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dying_again_and_again_before_the_first_commit_eats_no_message() {
    const FLOOD: usize = 100;
    let Some(rabbit) = Rabbit::shared() else { return };
    let (database, queue_type) = (TestDatabase::sqlite(), QueueType::Quorum);
    let vhost = flooded(rabbit, &database, queue_type, FLOOD).await;
    let program = Program::new(&database, &vhost, queue_type);
    let (deaths, of_others) = soak((2, 23), (25, 0));
    for _ in 0..deaths {
        program.die_at("delivered", 1).await;
    }
    for before in 0..of_others {
        assert!(take_and_go(&vhost, FLOOD).await >= before, "each is one more return of each");
    }
    let server = look_into(&database).await;
    assert_eq!(server.count().await, 0);
    program.finish("all letters", async || server.count().await >= FLOOD as u64).await;
    assert_eq!(server.bodies().await, texts(0..FLOOD));
}

/// A consumer is given so many dead letters and goes with its connection, which gives all of them back to the queue. The answer
/// is how often each was given back before, at least.
async fn take_and_go(vhost: &Vhost, messages: usize) -> i64 {
    let connection = vhost.connect().await;
    let channel = connection.create_channel().await.unwrap();
    let options = BasicConsumeOptions::default();
    let consumer = channel.basic_consume(DEAD_LETTERS.into(), "".into(), options, FieldTable::default()).await.unwrap();
    let given = tokio::time::timeout(PATIENCE, consumer.take(messages).collect::<Vec<_>>()).await;
    let returns = |given: lapin::Result<Delivery>| {
        let headers = given.unwrap().properties.headers().clone().unwrap_or_default();
        // RabbitMQ 4 leaves it out at first.
        headers.inner().get("x-delivery-count").and_then(AMQPValue::as_long_long_int).unwrap_or_default()
    };
    let least = given.expect("all are delivered").into_iter().map(returns).min();
    connection.close(200, "gone".into()).await.unwrap();
    least.unwrap_or_default()
}
