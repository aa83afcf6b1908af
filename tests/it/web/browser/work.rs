//! A person at work, with a real RabbitMQ behind dlo.

use dead_letter_office::domain::letter::Status;

use super::{
    super::{run::serve, service::Service},
    scene::Scene,
};
use crate::support::{browser::Browser, rabbit::Rabbit, rabbit::Vhost};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_died_is_found_and_decided_on() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let Some(browser) = Browser::start().await else { return };
    let vhost = rabbit.vhost();
    let server = serve().set("DLO_BROKERS__MAIN__URL", &vhost.amqp_url()).open().await;
    server.await_ready().await;
    let scene = Scene::at(browser, server).await;
    the_first_letter_shows_where_there_was_none(&scene, &vhost).await;
    news_are_announced_and_move_no_row_until_asked(&scene, &vhost).await;
    retry_sends_it_back_to_its_queue(&scene, &vhost).await;
    a_retry_waits_as_chosen_and_can_be_cancelled(&scene, &vhost).await;
    a_retry_that_fails_says_why(&scene, &vhost).await;
    scene.check_quiet().await;
}

async fn status(scene: &Scene, queue: &str, status: Status) {
    scene.server.await_letters(&format!("queue={queue}&status={status}"), 1).await;
}

async fn the_first_letter_shows_where_there_was_none(scene: &Scene, vhost: &Vhost) {
    scene.open("/letters").await;
    scene.reads("main", "No dead letters yet.").await;
    Service::start(vhost, "first").await.fail("{}").await;
    scene.reads("#news", "1 new dead letter").await;
    scene.reads("#side .text-count", "1").await;
    scene.click("#news a").await;
    scene.reads(".list-row", "first").await;
}

async fn news_are_announced_and_move_no_row_until_asked(scene: &Scene, vhost: &Vhost) {
    let service = Service::start(vhost, "news").await;
    service.fail("{\"n\": 1}").await;
    status(scene, "news", Status::Open).await;
    scene.open("/letters?queue=news").await;
    service.fail("{\"n\": 2}").await;
    service.fail("{\"n\": 3}").await;
    scene.reads("#news", "2 new dead letters").await;
    assert_eq!(scene.count(".list-row").await, 1, "no row has moved");
    scene.click("#news a").await;
    scene.counts(".list-row", 3).await;
    scene.is_at("/letters?queue=news").await;
    scene.sees("!document.querySelector('#news a')").await;
}

async fn retry_sends_it_back_to_its_queue(scene: &Scene, vhost: &Vhost) {
    let service = Service::start(vhost, "again").await;
    service.fail("{\"order\": 42}").await;
    status(scene, "again", Status::Open).await;
    scene.open("/letters?queue=again").await;
    scene.click(".list-row > a").await;
    scene.reads("#payload", "42").await;
    scene.click("#pane button[data-key=r]").await;
    scene.reads(".toast-box", "1 dead letter").await;
    assert_eq!(service.work().await, "{\"order\": 42}");
    status(scene, "again", Status::Retried).await;
    scene.open("/letters?queue=again&status=retried").await;
    scene.click(".list-row > a").await;
    scene.reads("#pane", "Retried").await;
}

async fn a_retry_waits_as_chosen_and_can_be_cancelled(scene: &Scene, vhost: &Vhost) {
    Service::start(vhost, "later").await.fail("{}").await;
    status(scene, "later", Status::Open).await;
    scene.open("/letters?queue=later").await;
    scene.click(".list-row > a").await;
    scene.click("#pane .btn-combo summary.btn-primary").await;
    scene.click("#pane .delay-choice label:has([value='1h'])").await;
    scene.click("#pane .menu-box[open] button[value=retry]").await;
    scene.reads(".toast-box", "in 1 h").await;
    status(scene, "later", Status::Scheduled).await;
    scene.reads("#pane", "retry due in").await;
    scene.click("#pane button[value=reopen]").await;
    status(scene, "later", Status::Open).await;
    scene.reads("#pane .mark-state", "open").await;
}

async fn a_retry_that_fails_says_why(scene: &Scene, vhost: &Vhost) {
    Service::start(vhost, "gone").await.fail("{}").await;
    status(scene, "gone", Status::Open).await;
    vhost.delete_queue("gone").await;
    scene.open("/letters?queue=gone").await;
    scene.click(".list-row > a").await;
    scene.click("#pane button[data-key=r]").await;
    scene.reads(".toast-box", "1 dead letter").await;
    scene.server.await_problem("queue=gone").await;
    scene.open("/letters?queue=gone").await;
    scene.reads(".list-row .row-why", "last retry").await;
}
