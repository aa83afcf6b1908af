//! A routing key that is kept, and who gets to see the message.

use amqp_message::{
    field::{FieldTable, FieldValue},
    message::Message,
};
use lapin::{
    ExchangeKind,
    options::{ExchangeDeclareOptions, ExchangeDeleteOptions, QueueBindOptions},
    types,
};
use serde_json::json;

use super::{Sender, every_way_to, orders};
use crate::{
    services::service::{OBITUARIES, Service},
    support::rabbit::{Rabbit, Vhost},
};

/// An exchange as services have it, from which both queues get what is published with that key.
async fn bind_both(vhost: &Vhost, queues: [&str; 2]) {
    let channel = vhost.channel().await;
    let (options, none) = (ExchangeDeclareOptions::default(), types::FieldTable::default());
    channel.exchange_declare("shop".into(), ExchangeKind::Topic, options, none).await.unwrap();
    for queue in queues {
        let (options, none) = (QueueBindOptions::default(), types::FieldTable::default());
        channel.queue_bind(queue.into(), "shop".into(), "order.placed".into(), options, none).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_one_queue_is_reached_and_sees_its_name_or_the_key() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let service = Service::start(&vhost, "orders").await;
    vhost.declare_queue("invoices", json!({})).await;
    bind_both(&vhost, ["orders", "invoices"]).await;
    let mut sender = Sender::at(&vhost).await;
    for destination in every_way_to("orders") {
        sender.deliver(&destination, "body").await;
        let came = service.work().await;
        assert_eq!(came.data, b"body");
        assert_eq!(came.routing_key.as_str(), destination.routing_key.as_deref().unwrap_or("orders"));
        assert_eq!((vhost.depth("orders").await, vhost.depth("invoices").await), (0, 0), "{destination:?}");
    }
    assert_eq!(vhost.depth(OBITUARIES).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_gets_a_carbon_copy() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let service = Service::start(&vhost, "orders").await;
    let mut sender = Sender::at(&vhost).await;
    let mut headers = FieldTable::default();
    for (name, queue) in [("CC", "copy"), ("BCC", "blind")] {
        vhost.declare_queue(queue, json!({})).await;
        headers.set(name, FieldValue::Array(vec![FieldValue::string(queue)]));
    }
    let message = Message { headers, ..Message::default() };
    for destination in every_way_to("orders") {
        sender.send_message(&destination, &message).await;
        service.work().await;
        let depths = [vhost.depth("orders").await, vhost.depth("copy").await, vhost.depth("blind").await];
        assert_eq!(depths, [0, 0, 0], "{destination:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_leave_no_room_for_ours() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let mut sender = Sender::at(&vhost).await;
    let queues = ["1", "2"].map(|last| format!("{}{last}", "ö".repeat(127)));
    for queue in &queues {
        vhost.declare_queue(queue, json!({})).await;
    }
    for queue in &queues {
        let service = Service::at(&vhost, queue).await;
        for destination in every_way_to(queue) {
            sender.deliver(&destination, queue).await;
            let came = service.work().await;
            assert_eq!(came.data, queue.as_bytes());
            assert_eq!(came.routing_key.as_str(), destination.routing_key.as_deref().unwrap_or(queue));
        }
    }
    assert_eq!([vhost.depth(&queues[0]).await, vhost.depth(&queues[1]).await], [0, 0]);
}

/// A publish to an exchange that does not exist closes the channel.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exchange_deleted_by_somebody_is_declared_again() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let service = Service::start(&vhost, "orders").await;
    let mut sender = Sender::at(&vhost).await;
    let keyed = orders().with_key("order.placed");
    sender.deliver(&keyed, "before").await;
    service.work().await;
    let options = ExchangeDeleteOptions::default();
    vhost.channel().await.exchange_delete("dlo.to.orders".into(), options).await.unwrap();
    sender.deliver(&keyed, "after").await;
    assert_eq!(service.work().await.data, b"after");
}
