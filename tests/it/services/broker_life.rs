//! Brokers that go and come back, and what happens to the letters meanwhile.

use std::{ops::Range, sync::Arc, time::Duration};

use dead_letter_office::{
    clock::Clock,
    config::{BrokerConfig, QueueType},
    domain::{
        broker::ConnectionState,
        letter::Status,
        policy::{Delays, Policy, Via},
    },
    services::intake::IntakeSource,
};
use failure_conventions::dlo_queues;
use reqwest::Method;
use serde_json::json;
use tokio::task::JoinSet;

use super::{
    database_outage::Lock,
    desk::{AppState, MAIN, PATIENCE, TestDatabase, broker, open_database, with_queues},
    line::Line,
    service::{
        DEAD_LETTERS, OBITUARIES, Service, confirming_channel, flood, flood_with_ids, persistent, publish, texts,
    },
};
use crate::support::{
    delay_queues,
    process::wait_until,
    rabbit::{Rabbit, Vhost},
    soak,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_connections_lose_nothing_and_double_nothing() {
    let flood_size = soak(800, 3_000);
    let Some(rabbit) = Rabbit::shared() else { return };
    for (queue_type, database) in TestDatabase::spread([QueueType::Classic, QueueType::Quorum]) {
        let vhost = rabbit.vhost();
        let line = Line::to(&vhost.amqp_url()).await;
        let config = BrokerConfig { queue_type, ..broker(line.url()) };
        let server = AppState::open(&database, config).await;
        let channel = confirming_channel(&vhost).await;
        let cut_at_times = async {
            for stored in (0..flood_size as u64).step_by(250) {
                wait_until("some more letters", PATIENCE, async || server.count().await > stored).await;
                line.cut();
            }
        };
        tokio::join!(flood(&channel, DEAD_LETTERS, 0..flood_size), cut_at_times);
        server.await_letters(flood_size as u64).await;
        // What is still on its way would be a second letter.
        server.await_work().await;
        let is_drained = async || tokio::task::block_in_place(|| vhost.is_drained());
        wait_until("all to be acknowledged", PATIENCE, is_drained).await;
        server.close().await;
        assert_eq!(vhost.depth(DEAD_LETTERS).await, 0);
        let server = AppState::begin(&database.url, Clock::system(), []).await;
        assert_eq!(server.bodies().await, texts(0..flood_size));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_closed_by_an_operator_is_made_again() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = AppState::open(&database, broker(vhost.amqp_url())).await;
    // They may be made again before whoever closes them hears that they are closed.
    let (board, mut changes) = (server.board.clone(), server.board.changes());
    let mut looking = JoinSet::new();
    looking.spawn(async move {
        loop {
            let health = board.all().into_iter().find(|health| health.name == MAIN).unwrap();
            if let ConnectionState::Lost { why, .. } = health.consuming {
                return why;
            }
            changes.changed().await.unwrap();
        }
    });
    vhost.close_connections().await;
    let why = tokio::time::timeout(PATIENCE, looking.join_next()).await.expect("it is seen that they are lost");
    let why = why.unwrap().unwrap();
    assert!(why.contains("closed by a test"), "{why}");
    server.await_work().await;
    Service::start(&vhost, "orders").await.fail("body").await;
    server.await_letter().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleted_queues_are_declared_again() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for queue_type in [QueueType::Quorum, QueueType::Classic] {
        let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
        let server = AppState::open(&database, with_queues(queue_type, &vhost)).await;
        let orders = Service::start(&vhost, "orders").await;
        vhost.manage(Method::DELETE, &["exchanges", vhost.name(), "dlx"], None).await;
        for (n, queue) in [DEAD_LETTERS, OBITUARIES].into_iter().enumerate() {
            let before = server.health(MAIN).consuming;
            vhost.delete_queue(queue).await;
            let again = async || {
                let now = server.health(MAIN).consuming;
                now.is_connected() && now != before
            };
            wait_until("the server to consume again", PATIENCE, again).await;
            orders.fail(queue).await;
            server.await_letters(n as u64 + 1).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_is_not_there_holds_up_no_other() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let nowhere = broker("amqp://guest:guest@127.0.0.1:1/%2f".to_owned());
    let brokers = [("gone", nowhere), (MAIN, broker(vhost.amqp_url()))];
    let server = AppState::begin(&database.url, Clock::system(), brokers).await;
    let at_work = async || server.health(MAIN).consuming.is_connected();
    wait_until("the server to be at work", PATIENCE, at_work).await;
    let orders = Service::start(&vhost, "orders").await;
    orders.fail("body").await;
    let id = server.await_letter().await.summary.id;
    server.retry(&[id]).await;
    orders.work().await;
    server.await_status(id, Status::Retried).await;
    let is_lost = |state: &ConnectionState| matches!(state, ConnectionState::Lost { .. });
    let both_are = async || {
        let gone = server.health("gone");
        is_lost(&gone.consuming) && is_lost(&gone.publishing)
    };
    wait_until("the other broker to be lost", PATIENCE, both_are).await;
}

/// Each vhost of a node that is killed has a broker of its own in dlo; another node goes on all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_killed_in_the_middle_of_a_batch_loses_nothing() {
    let each = soak(600, 4_000);
    let Some(mut doomed) = Rabbit::doomed().await else { return };
    let Some(calm) = Rabbit::shared() else { return };
    let database = TestDatabase::sqlite();
    let (quorum, classic, calm) = (doomed.vhost(), doomed.vhost(), calm.vhost());
    let brokers = || {
        [
            ("quorum", with_queues(QueueType::Quorum, &quorum)),
            ("classic", with_queues(QueueType::Classic, &classic)),
            ("calm", broker(calm.amqp_url())),
        ]
    };
    let server = AppState::begin(&database.url, Clock::system(), brokers()).await;
    server.await_work().await;
    // An orderly restart first: RabbitMQ 3.10 loses quorum queues that are only just declared when it is killed.
    doomed.stop().await;
    doomed.start().await;
    server.await_work().await;
    let orders = Service::start(&calm, "orders").await;
    let (to_quorum, to_classic) = (confirming_channel(&quorum).await, confirming_channel(&classic).await);
    let (with_ids, without, of_classic) = (0..each, each..2 * each, 2 * each..3 * each);
    let flood_all = async |half: fn(&Range<usize>) -> Range<usize>| {
        tokio::join!(
            flood_with_ids(&to_quorum, DEAD_LETTERS, half(&with_ids)),
            flood(&to_quorum, DEAD_LETTERS, half(&without)),
            flood(&to_classic, DEAD_LETTERS, half(&of_classic)),
        );
    };
    flood_all(|range| range.start..range.start.midpoint(range.end)).await;
    wait_until("some letters", PATIENCE, async || server.count().await > each as u64 / 3).await;
    // What is delivered from here on is not stored when it is killed.
    let lock = Lock::on(&database).await;
    flood_all(|range| range.start.midpoint(range.end)..range.end).await;
    doomed.kill();
    lock.lift().await;
    let lost = async || !server.health("quorum").consuming.is_connected();
    wait_until("the board to say so", PATIENCE, lost).await;
    orders.fail("meanwhile").await;

    doomed.start().await;
    server.await_work().await;
    let emptied = async || quorum.depth(DEAD_LETTERS).await + classic.depth(DEAD_LETTERS).await == 0;
    wait_until("the queues to be empty", PATIENCE, emptied).await;
    // In order, so that all that was delivered is stored.
    server.close().await;
    for vhost in [&quorum, &classic] {
        assert_eq!(vhost.depth(DEAD_LETTERS).await, 0);
    }

    // And once more, with a server that opens while the broker is down.
    let channel = confirming_channel(&classic).await;
    publish(&channel, DEAD_LETTERS, persistent(), b"overnight").await;
    doomed.stop().await;
    let server = AppState::begin(&database.url, Clock::system(), brokers()).await;
    wait_until("the board to say so", PATIENCE, async || server.health("classic").consuming.trouble().is_some()).await;
    orders.fail("in the night").await;
    wait_until("both from the calm broker", PATIENCE, async || server.count_from("calm").await == 2).await;
    doomed.start().await;
    server.await_work().await;
    wait_until("the queues to be empty", PATIENCE, emptied).await;
    server.close().await;

    let server = AppState::begin(&database.url, Clock::system(), []).await;
    let mut expected = texts(0..3 * each);
    expected.extend(["meanwhile", "overnight", "in the night"].map(str::to_owned));
    expected.sort();
    let mut bodies = server.bodies().await;
    // RabbitMQ has seen acknowledgements before they are on disk, and forgets these when it is killed. What it delivers again
    // is known by its id, as far as it marks it as redelivered; classic queues forget that, too.
    let known = texts(with_ids);
    assert_eq!(bodies.iter().filter(|body| known.binary_search(body).is_ok()).count(), each, "each with an id once");
    bodies.dedup();
    assert_eq!(bodies, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn works_over_tls_with_an_authority_of_ones_own() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let trusting = BrokerConfig { ca_file: rabbit.ca_file().to_owned(), ..broker(vhost.amqps_url()) };
    let brokers = [(MAIN, trusting), ("distrustful", broker(vhost.amqps_url()))];
    let server = AppState::begin(&database.url, Clock::system(), brokers).await;
    let at_work = async || server.health(MAIN).consuming.is_connected();
    wait_until("the server to be at work", PATIENCE, at_work).await;
    let orders = Service::start(&vhost, "orders").await;
    orders.fail("body").await;
    let id = server.await_letter().await.summary.id;
    server.retry(&[id]).await;
    orders.work().await;
    let refused = async || {
        let state = server.health("distrustful").consuming;
        state.trouble().is_some_and(|why| why.contains("certificate"))
    };
    wait_until("the certificate to be refused", PATIENCE, refused).await;
}

fn reader_of(vhost: &Vhost) -> String {
    vhost.name().replace(|letter: char| !letter.is_ascii_alphanumeric(), "-")
}

/// A user who may take in and nothing else, until it is given the right to write to the default exchange.
async fn reader(vhost: &Vhost) -> String {
    let name = reader_of(vhost);
    vhost.manage(Method::PUT, &["users", &name], Some(&json!({"password": "hunter2", "tags": ""}))).await;
    allow(vhost, "^dlo\\.").await;
    vhost.amqp_url().replace("guest:guest@", &format!("{name}:hunter2@"))
}

async fn allow(vhost: &Vhost, write: &str) {
    let rights = json!({"configure": ".*", "write": write, "read": ".*"});
    let name = reader_of(vhost);
    vhost.manage(Method::PUT, &["permissions", vhost.name(), &name], Some(&rights)).await;
}

/// That the user may not publish says nothing about the messages.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_may_not_publish_is_told_of_and_no_letter_is_given_up() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for via in [Via::Database, Via::Broker] {
        let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
        let (store, config) = (open_database(&database.url).await, broker(reader(&vhost).await));
        let server = AppState::with_policies(store, Clock::system(), [(MAIN, config)], vec![after_a_millisecond(via)]);
        server.await_work().await;
        let orders = Service::start(&vhost, "orders").await;
        for body in texts(0..30) {
            orders.fail(&body).await;
        }
        await_refusal(&server).await;
        server.await_letters(30).await;
        assert_eq!(server.count_of(Status::Open).await, 0, "{via}: none is given up");
        allow(&vhost, ".*").await;
        assert_eq!(sorted(orders.work_on(30).await), sorted(texts(0..30)), "{via}");
    }
}

/// Nothing of it is in the database, where whoever keeps the publishing connection would find out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waited_in_a_broker_whose_user_may_not_publish_waits_on() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let (store, orders) = (open_database(&database.url).await, Service::start(&vhost, "orders").await);
    // It declares what dead letters go to.
    let first = AppState::on(Arc::clone(&store), Clock::system(), [(MAIN, broker(vhost.amqp_url()))]);
    first.await_work().await;
    first.close().await;
    let policies = vec![after_a_millisecond(Via::Broker)];
    let sender = AppState::with_policies(Arc::clone(&store), Clock::system(), [], policies);
    delay_queues::declare(vhost.amqp_url(), "orders", [Duration::from_millis(1)], sender.clock.now()).await;
    sender.attend(vec![IntakeSource::DeadLetters(sender.policies.clone())], MAIN, broker(vhost.amqp_url()));
    for body in texts(0..30) {
        orders.fail(&body).await;
    }
    let has_left = async || delay_queues::messages_in(&vhost, dlo_queues::DUE).await == 30;
    wait_until("all to be due", PATIENCE, has_left).await;
    sender.close().await;
    let server = AppState::on(store, Clock::system(), [(MAIN, broker(reader(&vhost).await))]);
    await_refusal(&server).await;
    allow(&vhost, ".*").await;
    assert_eq!(sorted(orders.work_on(30).await), sorted(texts(0..30)));
    assert_eq!(server.count().await, 0);
}

fn after_a_millisecond(via: Via) -> Policy {
    Policy {
        queues: Policy::EVERY_QUEUE.to_owned(),
        reason: None,
        delays: Delays::Listed(vec![Duration::from_millis(1)]),
        jitter: 0.0,
        via,
        keep_routing_key: false,
    }
}

/// Waits until it is told that nothing can be published.
async fn await_refusal(server: &AppState) {
    let is_refused = async || {
        let state = server.health(MAIN).publishing;
        matches!(&state, ConnectionState::Refused { why, .. } if why.contains("default exchange"))
    };
    wait_until("the refusal to be told", PATIENCE, is_refused).await;
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort_unstable();
    texts
}
