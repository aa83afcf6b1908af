//! Retries into a queue are paused and resumed, with a real RabbitMQ.

use axum::http::Method;
use dead_letter_office::domain::letter::Status;
use serde_json::json;

use super::{
    answer::Look,
    dead::dead_in,
    desk::Desk,
    form::submit,
    queue_page::both,
    run::{PATIENCE, Program, Running, serve},
    service::Service,
};
use crate::support::{postgres::Postgres, process::wait_until, rabbit::Rabbit, rabbit::Vhost};

fn program(vhost: &Vhost, database: &str) -> Program {
    serve()
        .set("DLO_BROKERS__MAIN__URL", &vhost.amqp_url())
        .set("DLO_DATABASE__URL", database)
        .set("DLO_RETRY__DELAYS", "100ms")
}

async fn open(vhost: &Vhost, database: &str) -> Running {
    let server = program(vhost, database).open().await;
    server.await_ready().await;
    server
}

/// Held through a restart and by each of two servers; then sent, once.
async fn held_until_it_is_resumed(vhost: &Vhost, database: &str, is_shared: bool) {
    let (work, probe) = (Service::start(vhost, "work").await, Service::start(vhost, "probe").await);
    let mut server = open(vhost, database).await;
    let path = "/api/v1/queues/main/work";
    work.fail("{\"n\": 1}").await;
    assert_eq!(work.work().await, "{\"n\": 1}", "it is not paused yet");
    server.await_none("status=scheduled").await;
    let paused = server.post(&format!("{path}/pause"), &json!({"note": "deploy"})).await;
    assert_eq!(paused.status(), 200);
    work.fail("{\"n\": 2}").await;
    server.await_letters("status=scheduled&queue=work", 1).await;
    let other = if is_shared { Some(open(vhost, database).await) } else { None };
    // What failed later comes back earlier, so the first one was looked at and held.
    probe.fail("{\"n\": 3}").await;
    assert_eq!(probe.work().await, "{\"n\": 3}");
    server.stop().await;
    drop(server);
    let server = open(vhost, database).await;
    probe.fail("{\"n\": 4}").await;
    assert_eq!(probe.work().await, "{\"n\": 4}");
    let queue = server.json(path).await;
    assert_eq!(
        (&queue["pause"]["note"], &queue["scheduled"], &queue["depth"]),
        (&json!("deploy"), &json!(1), &json!(null))
    );
    assert_eq!(vhost.depth("work").await, 0, "nothing was sent into it");
    assert_eq!(server.post(&format!("{path}/resume"), &json!({})).await.status(), 200);
    assert_eq!(work.work().await, "{\"n\": 2}");
    wait_until("nothing to be scheduled", PATIENCE, async || server.json(path).await["scheduled"] == 0).await;
    probe.fail("{\"n\": 5}").await;
    assert_eq!(probe.work().await, "{\"n\": 5}");
    assert_eq!(vhost.depth("work").await, 0, "it was sent once");
    drop(other);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_due_is_held_through_a_restart_and_sent_once() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", directory.path().join("dlo.db").display());
    held_until_it_is_resumed(&rabbit.vhost(), &url, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_server_holds_what_one_was_told_to_hold() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let Some(postgres) = Postgres::shared() else { return };
    held_until_it_is_resumed(&rabbit.vhost(), &postgres.database().url, true).await;
}

/// Has messages wait in RabbitMQ, and returns once they do: until its delay queue has settled a message waits in the database.
async fn wait_in_rabbitmq(server: &Running, work: &Service<'_>) {
    let policy = json!({"queues": "*", "delays": ["1s", "1s"], "via": "broker", "jitter": 0});
    assert_eq!(server.post("/api/v1/policies", &policy).await.status(), 201);
    let letters = async || server.json("/api/v1/letters?status=all").await["items"].as_array().unwrap().len();
    let mut known = letters().await;
    for n in 0.. {
        let body = format!("{{\"first\": {n}}}");
        work.fail(&body).await;
        assert_eq!(work.work().await, body, "it is not paused yet");
        match letters().await {
            same if same == known => return,
            more => known = more,
        }
    }
}

/// What fails once the queue is paused does not go to RabbitMQ.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_would_wait_in_rabbitmq_is_held_in_the_database() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let directory = tempfile::tempdir().unwrap();
    let server = open(&vhost, &format!("sqlite://{}", directory.path().join("dlo.db").display())).await;
    let (work, probe) = (Service::start(&vhost, "work").await, Service::start(&vhost, "probe").await);
    wait_in_rabbitmq(&server, &work).await;
    let path = "/api/v1/queues/main/work";
    assert_eq!(server.post(&format!("{path}/pause"), &json!({})).await.status(), 200);
    work.fail("{\"n\": 1}").await;
    server.await_letters("status=scheduled&queue=work", 1).await;
    // What failed later and waits as long is back, through RabbitMQ.
    probe.fail("{\"n\": 2}").await;
    assert_eq!(probe.work().await, "{\"n\": 2}");
    server.await_letters("status=scheduled", 1).await;
    assert_eq!(vhost.depth("work").await, 0, "nothing was sent into it");
    assert_eq!(server.post(&format!("{path}/resume"), &json!({})).await.status(), 200);
    assert_eq!(work.work().await, "{\"n\": 1}");
    // Its failures are counted on, in the database from now on.
    work.fail("{\"n\": 3}").await;
    assert_eq!(work.work().await, "{\"n\": 3}");
}

/// What is due in RabbitMQ while no server runs, and its queue is paused, waits on there.
async fn put_back_until_it_is_resumed(vhost: &Vhost, database: &str) {
    let (work, probe) = (Service::start(vhost, "work").await, Service::start(vhost, "probe").await);
    let mut server = open(vhost, database).await;
    wait_in_rabbitmq(&server, &work).await;
    loop {
        work.fail("{\"n\": 1}").await;
        wait_until("it to be taken in", PATIENCE, async || vhost.depth("dlo.dead-letters").await == 0).await;
        server.stop().await;
        let depth = async |queues: &[&str]| {
            let depths = queues.iter().map(async |queue| vhost.depth(queue).await);
            futures_util::future::join_all(depths).await.into_iter().sum::<u32>()
        };
        let is_there = async || depth(&["dlo.due", "dlo.dead-letters", "work"]).await > 0;
        wait_until("it to be due", PATIENCE, is_there).await;
        if depth(&["dlo.dead-letters", "work"]).await == 0 {
            break;
        }
        // It was quicker than the end of the server, or slower.
        server = open(vhost, database).await;
        assert_eq!(work.work().await, "{\"n\": 1}");
    }
    let path = "/api/v1/queues/main/work";
    let mut pages = program(vhost, database).with("--roles=web").open().await;
    assert_eq!(pages.post(&format!("{path}/pause"), &json!({})).await.status(), 200);
    pages.stop().await;
    let server = open(vhost, database).await;
    wait_until("it to be taken up", PATIENCE, async || vhost.depth("dlo.due").await == 0).await;
    for body in ["{\"n\": 2}", "{\"n\": 3}"] {
        probe.fail(body).await;
        assert_eq!(probe.work().await, body);
    }
    assert_eq!(vhost.depth("work").await, 0, "nothing was sent into it");
    // It waits in RabbitMQ; what was sent into the other queue is noted as sent only after it was there.
    server.await_none("status=scheduled").await;
    assert_eq!(server.post(&format!("{path}/resume"), &json!({})).await.status(), 200);
    assert_eq!(work.work().await, "{\"n\": 1}");
    assert_eq!(vhost.depth("work").await, 0, "it was sent once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_in_rabbitmq_already_is_put_back_until_its_queue_is_resumed() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", directory.path().join("dlo.db").display());
    put_back_until_it_is_resumed(&rabbit.vhost(), &url).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_in_rabbitmq_already_is_put_back_beside_postgres_too() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let Some(postgres) = Postgres::shared() else { return };
    put_back_until_it_is_resumed(&rabbit.vhost(), &postgres.database().url).await;
}

#[tokio::test]
async fn the_switch_says_who_and_why_and_is_in_the_activity() {
    for (desk, _kept) in both().await {
        let id = desk.fails(dead_in("orders, v2"), 1).await;
        let address = "/queues/main/orders%2C%20v2";
        let page = desk.page(address).await;
        assert_eq!(page.count("option[value=consumers]"), 0, "nobody could say when it has one");
        let set = [("until", "resumed"), ("note", "<b>deploy</b>")];
        submit(&desk, &format!("{address}/pause"), &set).await.expect(303);
        let page = desk.page(address).await;
        assert_eq!(page.words(".queue-badge"), "paused");
        let panel = page.words("section[aria-labelledby=pause-title]");
        assert!(panel.contains("Paused by local") && panel.contains("<b>deploy</b>"), "{panel}");
        let next = page.words("section[aria-labelledby=next-title]");
        assert!(next.contains("Nothing is retried into this queue until somebody resumes it"), "{next}");
        assert!(desk.page("/scheduled").await.words(".row-when").starts_with("paused"));
        assert!(desk.page("/queues").await.words("tbody th").contains("orders, v2 paused"));
        desk.receive(dead_in("orders, v2")).await;
        assert!(desk.page("/").await.words("td:has([title^=Retries])").contains("orders, v2 paused"));
        let activity = desk.page("/activity?area=queues").await;
        assert!(activity.words("main").contains("paused retries into orders, v2"), "{}", activity.words("main"));
        let filter = json!({"filter": {"queue": "orders, v2"}, "action": "retry"});
        desk.post("/api/v1/actions/preview", &filter).await.expect(200);
        assert_eq!(desk.status(id).await, Status::Scheduled);
        submit(&desk, &format!("{address}/resume"), &[]).await.expect(303);
        let page = desk.page(address).await;
        assert_eq!(page.count(".queue-badge"), 0);
        assert!(desk.page("/activity?area=queues").await.words("main").contains("resumed retries into"));
    }
}

#[tokio::test]
async fn what_cannot_be_is_refused() {
    let desk = Desk::open().await;
    desk.receive(dead_in("orders")).await;
    let path = "/api/v1/queues/main/orders/pause";
    desk.call(Method::POST, path, &json!({"until_consumers": true})).await.expect(422);
    desk.call(Method::POST, path, &json!({"note": "x".repeat(8_001)})).await.expect(422);
    desk.call(Method::POST, path, &json!({"note": "x".repeat(8_000)})).await.expect(200);
    desk.call(Method::POST, path, &json!({"until": "later"})).await.expect(422);
    desk.call(Method::POST, "/api/v1/queues/main/none/pause", &json!({})).await.expect(404);
    desk.call(Method::POST, "/api/v1/queues/main/orders/resume", &json!({})).await.expect(200);
}

/// Who retries a letter is told before that it will wait.
#[tokio::test]
async fn the_page_of_a_letter_says_that_its_queue_is_paused() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_in("orders").body("x")).await;
    let other = desk.receive(dead_in("texts").body("y")).await;
    assert_eq!(desk.page(&format!("/letters/{id}")).await.count("[data-pause]"), 0);
    desk.post("/api/v1/queues/main/orders/pause", &json!({})).await.expect(200);
    let page = desk.page(&format!("/letters/{id}")).await;
    assert!(page.words("[data-pause]").ends_with("a retry waits until somebody resumes them."));
    assert_eq!(page.one("[data-pause] a").attr("href"), Some("/queues/main/orders"));
    assert_eq!(desk.page(&format!("/letters/{other}")).await.count("[data-pause]"), 0);
}
