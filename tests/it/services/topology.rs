//! The queues that dlo declares, and the rights it takes to declare and use them.

use dead_letter_office::domain::letter::Status;
use lapin::BasicProperties;
use reqwest::Method;
use serde_json::json;

use super::{
    desk::{AppState, TestDatabase, broker},
    service::{DEAD_LETTERS, OBITUARIES, Service, confirming_channel, publish},
};
use crate::support::rabbit::{Rabbit, Vhost};

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
