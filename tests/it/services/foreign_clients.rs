//! Services with other clients than ours: all they do is reject. They are in `tests/rig/clients`.

use std::{process::Command, time::Duration};

use amqp_message::death::Reason;
use dead_letter_office::{
    clock::Clock,
    domain::{
        letter::Status,
        policy::{Delays, Policy, Via},
    },
};
use lapin::BasicProperties;
use serde_json::{Value, json};

use super::{
    desk::{AppState, MAIN, PATIENCE, TestDatabase, broker, open_database},
    service::Service,
};
use crate::support::{
    clients,
    process::{Leash, Leashed, wait_until},
    rabbit::{Rabbit, Vhost},
};

/// A client succeeds a message when it has failed so often, which is how often dlo sends it back.
const HEALS: usize = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pika_sees_how_often_a_message_failed() {
    check(clients::pika).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn amqplib_sees_how_often_a_message_failed() {
    check(clients::amqplib).await;
}

async fn check(client: impl Fn() -> Option<Command>) {
    let Some(rabbit) = Rabbit::shared() else { return };
    for via in [Via::Database, Via::Broker] {
        let Some(command) = client() else { return };
        check_via(via, rabbit.vhost(), command).await;
    }
}

async fn check_via(via: Via, vhost: Vhost, command: Command) {
    let database = TestDatabase::sqlite();
    let server = server(&database, &vhost, via).await;
    let orders = Service::start(&vhost, "orders").await;
    for body in ["heals", "never"] {
        orders.receive(BasicProperties::default(), body.as_bytes()).await;
    }
    let client = run(command, &vhost);
    let expected = deliveries();
    wait_until("the client to see all", PATIENCE, async || told(&client).len() >= expected.len()).await;
    assert_eq!(told(&client), expected, "{via}");
    server.await_count(Status::Open, 1).await;
    let open = server.letters().await.into_iter().find(|letter| letter.status == Status::Open).unwrap();
    assert_eq!((open.attempts, open.queue.as_deref(), open.reason), (3, Some("orders"), Reason::Rejected));
    assert_eq!(server.letter(open.id).await.message.body, b"never");
}

async fn server(database: &TestDatabase, vhost: &Vhost, via: Via) -> AppState {
    let policy = Policy {
        queues: Policy::EVERY_QUEUE.to_owned(),
        reason: None,
        delays: Delays::Listed(vec![Duration::from_millis(100); HEALS]),
        jitter: 0.0,
        via,
        keep_routing_key: false,
    };
    let brokers = [(MAIN, broker(vhost.amqp_url()))];
    let server = AppState::with_policies(open_database(&database.url).await, Clock::system(), brokers, vec![policy]);
    server.await_work().await;
    server
}

fn run(mut command: Command, vhost: &Vhost) -> Leashed {
    command.args([&vhost.amqp_url(), "orders", &HEALS.to_string()]);
    Leash::on(command).spawn()
}

/// What the client is given of each message: nothing of ours first, and then strings.
fn deliveries() -> Vec<String> {
    let attempts = [Value::Null, json!("1"), json!("2")];
    let of = |body: &str| attempts.clone().map(|attempts| json!({"body": body, "attempts": attempts}).to_string());
    [of("heals"), of("never")].concat()
}

/// What the client has told, message by message.
fn told(client: &Leashed) -> Vec<String> {
    let lines = client.lines();
    let mut told: Vec<Value> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    // Stable, so that the deliveries of one message stay in order.
    told.sort_by_key(|delivery| delivery["body"].to_string());
    told.iter().map(Value::to_string).collect()
}
