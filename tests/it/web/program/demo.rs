//! `dlo demo`: that its world fails in the ways it is meant to show.

use serde_json::{Value, json};

use super::super::run::{PATIENCE, Running, dlo};
use crate::support::{http, process::wait_for, rabbit::Rabbit};

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
    once_a_service_is_mended_its_retries_succeed(&demo).await;
    assert!(demo.stop().await.success());
}

/// As the page of the demo does it, to which the foot of each page leads.
async fn once_a_service_is_mended_its_retries_succeed(demo: &Running) {
    let page = scraper::Html::parse_document(&demo.get("/").await.text().await.unwrap());
    let link = scraper::Selector::parse(".side-foot a[href^='http://127.0.0.1']").unwrap();
    let control = page.select(&link).next().unwrap().attr("href").unwrap().to_owned();
    let about = http().build().unwrap().get(&control).send().await.unwrap().text().await.unwrap();
    assert!(about.contains("billing: broken") && about.contains("thumbnails: broken"), "{about}");
    let mend = |site: &'static str| {
        let client = http().build().unwrap();
        let post = client.post(format!("{control}services/billing/mend")).header("sec-fetch-site", site);
        async move { post.send().await.unwrap() }
    };
    assert_eq!(mend("cross-site").await.status(), 403);
    let states: Value = mend("none").await.json().await.unwrap();
    assert_eq!((&states[0]["name"], &states[0]["state"]), (&json!("billing"), &json!("mended")));
    let all = json!({"action": "retry", "filter": {"queue": ["billing.invoices"], "status": ["open", "scheduled"]}});
    assert_eq!(demo.post("/api/v1/actions", &all).await.status(), 202);
    demo.await_none("queue=billing.invoices&status=open&status=scheduled").await;
}
