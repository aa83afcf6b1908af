//! The queues that dlo declares, and the rights it takes to declare and use them.

use dead_letter_office::{
    clock::Clock,
    config::BrokerConfig,
    domain::{broker::ConnectionState, letter::Status},
    rabbitmq::ConsumingSession,
};
use lapin::BasicProperties;
use reqwest::Method;
use serde_json::json;

use super::{
    desk::{AppState, MAIN, PATIENCE, TestDatabase, broker},
    service::{DEAD_LETTERS, OBITUARIES, Service, confirming_channel, publish},
};
use crate::support::{
    process::{wait_for, wait_until},
    rabbit::{Rabbit, Vhost},
};

/// RabbitMQ 4 drops a message from a quorum queue after twenty returns, unless the queue says otherwise.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_consumer_gives_back_again_and_again_is_kept() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    AppState::open(&database, broker(vhost.amqp_url())).await.close().await;
    for queue in [DEAD_LETTERS, OBITUARIES] {
        let reader = Service::at(&vhost, queue).await;
        reader.receive(BasicProperties::default(), b"body").await;
        for _ in 0..25 {
            reader.give_back().await;
        }
    }
    let server = AppState::open(&database, broker(vhost.amqp_url())).await;
    server.await_letters(2).await;
}

/// An exchange that a team had already, of that type.
async fn declare_exchange(vhost: &Vhost, kind: &str) {
    let body = json!({"type": kind, "durable": true});
    vhost.manage(Method::PUT, &["exchanges", vhost.name(), "dlx"], Some(&body)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_comes_by_an_exchange_of_another_type_too() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for kind in ["topic", "headers"] {
        let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
        declare_exchange(&vhost, kind).await;
        let server = AppState::open(&database, broker(vhost.amqp_url())).await;
        Service::start(&vhost, "orders.new").await.fail(kind).await;
        assert_eq!(server.await_letters(1).await[0].queue.as_deref(), Some("orders.new"), "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exchange_that_would_lose_dead_letters_is_refused() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    declare_exchange(&vhost, "direct").await;
    let server = AppState::begin(&database.url, Clock::system(), [(MAIN, broker(vhost.amqp_url()))]).await;
    let why = wait_for("the refusal", PATIENCE, async || match server.health(MAIN).consuming {
        ConnectionState::Refused { why, .. } => Some(why),
        _ => None,
    })
    .await;
    assert!(why.contains("the exchange dlx is of type direct"), "{why}");
    let checked = ConsumingSession::check(MAIN, &broker(vhost.amqp_url())).await.unwrap_err().to_string();
    assert_eq!(checked, why);
    let bound = BrokerConfig { declare: false, ..broker(vhost.amqp_url()) };
    ConsumingSession::check(MAIN, &bound).await.expect("a team may have bound the queue by its own keys");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_exchange_is_declared_again() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = AppState::open(&database, broker(vhost.amqp_url())).await;
    let orders = Service::start(&vhost, "orders").await;
    vhost.manage(Method::DELETE, &["exchanges", vhost.name(), "dlx"], None).await;
    // What is rejected before it is there again is lost: that is RabbitMQ's way.
    wait_until("a dead letter", PATIENCE, async || {
        orders.fail("rejected").await;
        server.count().await > 0
    })
    .await;
}

/// A user who has only the rights that `docs/guide/rabbitmq.md` asks for.
async fn clerk(vhost: &Vhost) -> String {
    let name = format!("clerk-of-{}", vhost.name().replace('/', "-"));
    let user = json!({"password": "secret", "tags": ""});
    vhost.manage(Method::PUT, &["users", &name], Some(&user)).await;
    let rights = json!({
        "configure": "^(dlx|dlo\\.dead-letters|dlo\\.obituaries)$",
        "read": "^(dlx|dlo\\.dead-letters|dlo\\.obituaries)$",
        "write": "^(dlo\\.dead-letters|amq\\.default)$",
    });
    vhost.manage(Method::PUT, &["permissions", vhost.name(), &name], Some(&rights)).await;
    vhost.amqp_url().replace("guest:guest", &format!("{name}:secret"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rights_that_the_docs_name_are_enough() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let url = clerk(&vhost).await;
    // Once where nothing is declared yet, once where all is.
    AppState::open(&database, broker(url.clone())).await.close().await;
    let server = AppState::open(&database, broker(url)).await;
    let orders = Service::start(&vhost, "orders").await;
    orders.fail("rejected").await;
    publish(&confirming_channel(&vhost).await, OBITUARIES, BasicProperties::default(), b"obituary").await;
    server.await_letters(2).await;
    let id = server.letters().await.iter().find(|letter| letter.queue.is_some()).unwrap().id;
    server.retry(&[id]).await;
    orders.work().await;
    server.await_status(id, Status::Retried).await;
}
