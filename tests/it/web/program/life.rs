//! How it begins, and how it ends.

use std::net::TcpListener;

use super::super::{
    run::{dlo, serve},
    service::Service,
};
use crate::support::{postgres::Postgres, rabbit::Rabbit};

/// Needs no broker: others take in and send back.
const ONLY_WEB: &str = "--roles=web";

#[tokio::test]
async fn a_taken_port_ends_it_before_the_database_is_touched() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut server = dlo(&["serve"]).set("DLO_WEB__LISTEN", &address).start();
    assert_eq!(server.ended().await.code(), Some(1));
    server.says("dlo: web.listen: cannot listen on").await;
    server.says(&address).await;
    assert!(!server.file("dlo.db").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_that_comes_up_later_is_waited_for() {
    let Some(mut postgres) = Postgres::doomed() else { return };
    let url = postgres.database_url();
    postgres.stop();
    let start = async || {
        let server = serve().with(ONLY_WEB).set("DLO_DATABASE__URL", &url).start();
        let line = server.line("no connection to the database at ").await;
        assert!(line.contains("refused") && line.contains("it is tried again"), "{line}");
        server
    };
    let mut given_up = start().await;
    assert_eq!(given_up.stop().await.code(), Some(1), "it has not begun");
    let mut server = start().await;
    postgres.start();
    server.says("listening on").await;
    assert!(server.stop().await.success());
}

#[tokio::test]
async fn a_postgres_that_says_nothing_does_not_hold_up_the_end() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://dlo@{}/dlo", silent.local_addr().unwrap());
    let mut server = serve().with(ONLY_WEB).set("DLO_DATABASE__URL", &url).start();
    let _connection = tokio::task::spawn_blocking(move || silent.accept().unwrap()).await.unwrap();
    assert_eq!(server.stop().await.code(), Some(1));
    server.says("stopped before the database took a connection").await;
}

#[tokio::test]
async fn without_a_broker_pages_are_up_and_say_so() {
    let server = serve().set("DLO_BROKERS__MAIN__URL", "amqp://guest:guest@127.0.0.1:1").open().await;
    assert_eq!(server.get("/healthz").await.status(), 200);
    let ready = server.get("/readyz").await;
    assert_eq!(ready.status(), 503);
    assert!(ready.text().await.unwrap().contains("\"condition\":\"broker_unreachable\""));
    assert_eq!(server.get("/letters").await.status(), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_its_broker_it_is_ready_within_seconds() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let server = serve().set("DLO_BROKERS__MAIN__URL", &vhost.amqp_url()).open().await;
    server.await_ready().await;
    assert!(server.get("/metrics").await.text().await.unwrap().contains("dlo_broker_connected{broker=\"main\"} 1"));
}

#[tokio::test]
async fn a_part_of_it_does_only_its_part() {
    let server = serve().with(ONLY_WEB).set("DLO_BROKERS__MAIN__URL", "amqp://127.0.0.1:1").open().await;
    assert_eq!(server.get("/readyz").await.status(), 200, "the broker is another's");
    let page = server.get("/").await.text().await.unwrap();
    assert!(page.contains("served by another process"), "{page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_on_one_database_make_a_whole() {
    let (Some(rabbit), Some(postgres)) = (Rabbit::shared(), Postgres::shared()) else { return };
    let (vhost, database) = (rabbit.vhost(), postgres.database());
    let pages = serve().with(ONLY_WEB).set("DLO_DATABASE__URL", &database.url).open().await;
    let part = |roles| {
        dlo(&["serve", roles])
            .set("DLO_RETRY__DELAYS", "")
            .set("DLO_DATABASE__URL", &database.url)
            .set("DLO_BROKERS__MAIN__URL", &vhost.amqp_url())
    };
    let (intake, retry) = (part("--roles=intake").start(), part("--roles=retry,notify").start());
    intake.says("consuming dead letters").await;
    let orders = Service::start(&vhost, "orders").await;
    orders.fail("{\"n\": 1}").await;
    let letter = pages.await_letters("status=open", 1).await;
    let path = format!("/api/v1/letters/{}/retry", letter["id"].as_str().unwrap());
    assert_eq!(pages.post(&path, &serde_json::json!({})).await.status(), 200);
    assert_eq!(orders.work().await, "{\"n\": 1}");
    pages.await_letters("status=retried", 1).await;
    drop(retry);
}

#[tokio::test]
async fn a_sqlite_database_belongs_to_one_process() {
    let first = serve().with(ONLY_WEB).open().await;
    let database = format!("sqlite://{}", first.file("dlo.db").display());
    let second = || dlo(&["serve", "--roles=notify"]).set("DLO_DATABASE__URL", &database);
    let mut refused = second().start();
    assert_eq!(refused.ended().await.code(), Some(1));
    refused.says("another dlo uses it").await;
    assert_eq!(first.get("/readyz").await.status(), 200, "the first goes on");
    drop(first);
}

#[tokio::test]
async fn a_database_of_another_version_is_not_touched_unless_allowed() {
    let forbid = |program: super::super::run::Program| program.set("DLO_DATABASE__AUTO_MIGRATE", "false");
    let database = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", database.path().join("database.db").display());
    let mut refused = forbid(serve().with(ONLY_WEB)).set("DLO_DATABASE__URL", &url).start();
    assert_eq!(refused.ended().await.code(), Some(1));
    refused.says("dlo migrate").await;
    forbid(dlo(&["migrate"])).set("DLO_DATABASE__URL", &url).run().expect(0);
    dlo(&["migrate"]).set("DLO_DATABASE__URL", &url).run().expect(0);
    let server = forbid(serve().with(ONLY_WEB)).set("DLO_DATABASE__URL", &url).open().await;
    assert_eq!(server.json("/api/v1/letters").await["total"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_ends_it_in_order_while_pages_are_open() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let mut server = serve().set("DLO_BROKERS__MAIN__URL", &vhost.amqp_url()).open().await;
    server.await_ready().await;
    let listening = server.get("/events").await;
    assert_eq!(server.stop().await.code(), Some(0));
    assert!(server.lines().iter().any(|line| line.contains("stopped")), "{:?}", server.lines());
    assert!(listening.text().await.unwrap().contains("event: changes"));
}

#[tokio::test]
async fn sigterm_ends_it_while_it_looks_for_its_broker() {
    let mut server = serve().set("DLO_BROKERS__MAIN__URL", "amqp://127.0.0.1:1").open().await;
    assert_eq!(server.stop().await.code(), Some(0));
}
