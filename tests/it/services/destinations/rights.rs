//! What a user must be allowed for every way.

use amqp_message::time::Timestamp;
use dead_letter_office::{
    config::{BrokerConfig, values::Secret},
    rabbitmq::{DelayQueueState, PublishOutcome, names},
};
use reqwest::Method;
use serde_json::json;

use super::{Sender, Taken, error, every_way_to, orders, why};
use crate::{
    services::{
        desk::broker,
        service::{DEAD_LETTERS, OBITUARIES, Service},
    },
    support::rabbit::{Rabbit, Vhost},
};

/// A user who has the rights that `broker::ways` names, for the targets in `targets`.
async fn clerk(vhost: &Vhost, targets: &str) -> BrokerConfig {
    let name = format!("sender-of-{}", vhost.name().replace('/', "-"));
    let user = json!({"password": "secret", "tags": ""});
    vhost.manage(Method::PUT, &["users", &name], Some(&user)).await;
    let ours = r"^dlo\.(to|due|delay)";
    // Those of dlo itself are there, too.
    let rights = json!({
        "configure": format!(r"{ours}|^dlo\.(dead-letters|obituaries)$"),
        "read": format!(r"{ours}|^dlo\.(dead-letters|obituaries)$"),
        "write": format!(r"{ours}|^(amq\.default|{targets})$"),
    });
    vhost.manage(Method::PUT, &["permissions", vhost.name(), &name], Some(&rights)).await;
    let url = Secret::new(vhost.amqp_url().replace("guest:guest", &format!("{name}:secret")));
    BrokerConfig { url, declare: false, ..broker(vhost.amqp_url()) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rights_that_are_named_are_enough() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    for queue in [DEAD_LETTERS, OBITUARIES] {
        vhost.declare_queue(queue, json!({})).await;
    }
    let service = Service::start(&vhost, "orders").await;
    Service::start(&vhost, "invoices").await;
    let mut sender = Sender::known_as(clerk(&vhost, "orders").await).await;
    for destination in every_way_to("orders") {
        sender.deliver(&destination, "body").await;
        service.work().await;
        if let Some(name) = names::delay_queue(&destination) {
            assert_eq!(sender.session.delete_delay_queue(&name, Timestamp::MAX).await, DelayQueueState::Gone);
        }
    }
    // Where one is missing, a person is told which.
    let mut obituaries = Taken::from(&vhost, OBITUARIES).await;
    for destination in every_way_to("invoices").iter().filter(|destination| destination.routing_key.is_some()) {
        let outcome = sender.send(destination, "body").await;
        let why = if destination.wait.is_none() { why(outcome) } else { error(&obituaries.next().await) };
        assert!(why.contains("ACCESS_REFUSED"), "{destination:?}: {why}");
    }
    assert_eq!(sender.send(&orders(), "body").await, PublishOutcome::Confirmed);
    service.work().await;
}
