//! Many messages that are sent together.

use dead_letter_office::rabbitmq::PublishOutcome;

use super::{Sender, every_way_to, numbered, orders};
use crate::{
    services::service::{OBITUARIES, Service},
    support::rabbit::Rabbit,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_window_keeps_its_order() {
    const MANY: usize = 1_050;
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let service = Service::start(&vhost, "orders").await;
    let mut sender = Sender::at(&vhost).await;
    let window = (0..MANY).map(|n| numbered(&orders(), n)).collect();
    assert_eq!(sender.send_together(window).await, vec![PublishOutcome::Confirmed; MANY]);
    for n in 0..MANY {
        assert_eq!(service.work().await.data, n.to_string().as_bytes());
    }
}

/// One message's way is not taken for open because another's to the same queue is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_declared_again_is_found_again_by_every_way_at_once() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let mut sender = Sender::at(&vhost).await;
    let ways = every_way_to("orders");
    for _ in 0..3 {
        let service = Service::start(&vhost, "orders").await;
        let window = ways.iter().enumerate().map(|(n, way)| numbered(way, n)).collect();
        assert_eq!(sender.send_together(window).await, vec![PublishOutcome::Confirmed; ways.len()]);
        let mut arrived = service.work_on(ways.len()).await;
        arrived.sort();
        assert_eq!(arrived, ["0", "1", "2", "3"]);
        vhost.delete_queue("orders").await;
    }
    assert_eq!(vhost.depth(OBITUARIES).await, 0);
}
