//! `dlo demo`: that its world fails in the ways it is meant to show.

use serde_json::Value;

use super::super::run::{PATIENCE, dlo};
use crate::support::{process::wait_for, rabbit::Rabbit};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_letters_say_what_is_in_them() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let demo = dlo(&["demo"]).set("DLO_WEB__LISTEN", "127.0.0.1:0").set("DLO_BROKERS__MAIN__URL", &vhost.amqp_url());
    let mut demo = demo.open().await;
    for (queue, type_source, message_type) in [
        ("billing.invoices", "header", "acme.orders.v1.OrderPlaced"),
        ("media.thumbnails", "detected", "acme.images.v1.ImageUploaded"),
    ] {
        let named = |letter: &Value| letter["type_source"] == type_source && letter["message_type"] == message_type;
        let look = async || {
            let letters = demo.json(&format!("/api/v1/letters?queue={queue}")).await;
            letters["items"].as_array().unwrap().iter().find(|letter| named(letter)).cloned()
        };
        wait_for(&format!("a dead letter of {queue} with its type"), PATIENCE, look).await;
    }
    assert!(demo.stop().await.success());
}
