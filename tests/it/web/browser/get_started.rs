//! From an empty server to the first dead letter, with a real broker.

use serde_json::json;

use super::{super::run::serve, scene::Scene};
use crate::support::{browser::Browser, rabbit::Rabbit};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_sets_dlo_up() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let Some(browser) = Browser::start().await else { return };
    let vhost = rabbit.vhost();
    vhost.declare_queue("orders", json!({})).await;
    let server = serve()
        .set("DLO_BROKERS__MAIN__URL", &vhost.amqp_url())
        .set("DLO_BROKERS__MAIN__MANAGEMENT_URL", vhost.management_url())
        .open()
        .await;
    server.await_ready().await;
    let scene = Scene::at(browser, server).await;
    scene.open("/letters").await;
    scene.reads("main", "No dead letters yet.").await;
    scene.click(".empty-state .btn-primary").await;
    scene.reads("#broker", "Broker connected").await;
    // It turns done by itself once the command was run.
    scene.reads("#queue", "Of 1 queue none sends its dead letters here yet.").await;
    let command = scene.ask("document.querySelector('#command-by-policy').textContent").await;
    let ran = vhost.shell(command.as_str().unwrap());
    assert!(ran.status.success(), "{ran:?}");
    scene.reads("#queue", "Dead letters of 1 of 1 queue come here: orders.").await;
    scene.reads("#queue", "done").await;
    // What goes wrong is said.
    vhost.declare_queue("dlo.test", json!({})).await;
    scene.click("form[action='/get-started/test'] button").await;
    scene.reads("#test", "PRECONDITION_FAILED").await;
    scene.reads("#test", "failed").await;
    vhost.delete_queue("dlo.test").await;
    scene.click("form[action='/get-started/test'] button").await;
    scene.reads("#test", "The test dead letter came by way of RabbitMQ").await;
    let letter = scene.server.await_letters("queue=dlo.test&status=open", 1).await;
    assert_eq!((&letter["reason"], &letter["message_type"]), (&json!("rejected"), &json!("dlo.test")));
    scene.click("#test-letter button[value=discard]").await;
    scene.reads("#test", "It was dealt with.").await;
    scene.server.await_letters("queue=dlo.test&status=discarded", 1).await;
    scene.open("/activity").await;
    scene.reads("main", "sent a test dead letter through main").await;
    scene.reads("main", "It failed: declaring queue dlo.test").await;
    scene.check_quiet().await;
}
