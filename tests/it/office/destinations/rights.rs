//! What a user must be allowed for every way.

use reqwest::Method;
use serde_json::json;

use super::{Sender, every_way_to, orders, why};
use crate::{
    office::service::{OBITUARIES, Service},
    support::rabbit::{Rabbit, Vhost},
};

/// A user who has the rights that `broker::ways` names, for the targets in `targets`.
async fn clerk(vhost: &Vhost, targets: &str) -> String {
    let name = format!("sender-of-{}", vhost.name().replace('/', "-"));
    let user = json!({"password": "secret", "tags": ""});
    vhost.manage(Method::PUT, &["users", &name], Some(&user)).await;
    let ours = r"^dlo\.(to|back|astray|delay)";
    let rights = json!({
        "configure": ours,
        "read": ours,
        "write": format!(r"{ours}|^(dlo\.obituaries|amq\.default|{targets})$"),
    });
    vhost.manage(Method::PUT, &["permissions", vhost.name(), &name], Some(&rights)).await;
    vhost.amqp_url().replace("guest:guest", &format!("{name}:secret"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rights_that_are_named_are_enough() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    vhost.declare_queue(OBITUARIES, json!({})).await;
    let service = Service::start(&vhost, "orders").await;
    Service::start(&vhost, "invoices").await;
    let mut sender = Sender::known_as(clerk(&vhost, "orders").await).await;
    for destination in every_way_to("orders") {
        sender.deliver(&destination, "body").await;
        service.work().await;
    }
    // Where one is missing, a person is told which.
    for destination in &every_way_to("invoices")[1..] {
        assert!(why(sender.send(destination, "body").await).contains("ACCESS_REFUSED"), "{destination:?}");
    }
    sender.deliver(&orders(), "body").await;
    service.work().await;
}
