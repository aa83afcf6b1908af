//! A broker in alarm takes nothing and says nothing: whatever is published hangs.

use dead_letter_office::domain::{broker::ConnectionState, history::Event, letter::Status};
use lapin::BasicProperties;

use super::{
    desk::{AppState, MAIN, PATIENCE, TestDatabase, broker},
    service::Service,
};
use crate::support::{process::wait_until, rabbit::Rabbit};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retries_wait_for_the_end_of_an_alarm() {
    let Some(mut rabbit) = Rabbit::doomed().await else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = AppState::open(&database, broker(vhost.amqp_url())).await;
    let orders = Service::start(&vhost, "orders").await;
    for body in ["first", "second"] {
        orders.fail(body).await;
    }
    let letters = server.await_letters(2).await;
    let failing = Service::start(&vhost, "failing").await;
    failing.receive(BasicProperties::default(), b"third").await;

    rabbit.memory_alarm(true);
    server.retry(&[letters[0].id]).await;
    let is_blocked = async || matches!(server.health(MAIN).publishing, ConnectionState::Blocked { .. });
    wait_until("the board to say that the broker is blocked", PATIENCE, is_blocked).await;
    server.retry(&[letters[1].id]).await;
    // Taking letters in goes on.
    failing.reject().await;
    server.await_letters(3).await;
    assert!(server.health(MAIN).consuming.is_connected());
    for letter in &letters {
        server.await_status(letter.id, Status::Scheduled).await;
        assert_eq!(server.events(letter.id).await, [Event::Received, Event::RetryScheduled]);
    }

    rabbit.memory_alarm(false);
    for letter in &letters {
        server.await_status(letter.id, Status::Retried).await;
        let last = server.history(letter.id).await.pop().unwrap();
        assert_eq!(&*last.detail, "to orders");
    }
    assert_eq!(orders.work_on(2).await, ["first", "second"]);
    let is_connected = async || server.health(MAIN).publishing.is_connected();
    wait_until("the board to be fine again", PATIENCE, is_connected).await;
    assert_eq!(vhost.depth("orders").await, 0);
}
