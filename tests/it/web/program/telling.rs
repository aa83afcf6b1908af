//! From the death of a message to the people it concerns.

use dead_letter_office::{
    clock::Clock,
    demo::stand_ins::{AlertmanagerStandIn, PagerDutyStandIn, SlackStandIn, WebhookStandIn},
    domain::actor::Actor,
    store::NewDigest,
};
use serde_json::json;

use super::super::{
    run::{PATIENCE, serve},
    service::Service,
};
use crate::{
    store::{
        database::TestDatabase,
        make::{NOON, id},
    },
    support::{
        process::{wait_for, wait_until},
        rabbit::Rabbit,
        slack_rules::check_slack_message,
    },
};

const RULES: &str = "[[rule]]\nname = \"campaigns\"\nwhen = 'letter.queue == \"campaigns\" && payload.paid'\nimportance = \"critical\"\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_critical_reaches_people_once_and_is_over_when_it_is_dealt_with() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let pagerduty = PagerDutyStandIn::open().await.unwrap();
    let slack = SlackStandIn::open(check_slack_message).await.unwrap();
    let alertmanager = AlertmanagerStandIn::open(Clock::system()).await.unwrap();
    let webhook = WebhookStandIn::open(Clock::system()).await.unwrap();
    let server = serve()
        .holds("rules.toml", RULES.as_bytes())
        .set("DLO_RULES__FILE", "rules.toml")
        .set("DLO_BROKERS__MAIN__URL", &vhost.amqp_url())
        .set("DLO_NOTIFY__PAGERDUTY__URL", &pagerduty.url())
        .set("DLO_NOTIFY__PAGERDUTY__ROUTING_KEY", pagerduty.routing_key())
        .set("DLO_NOTIFY__SLACK__WEBHOOK_URL", &slack.webhook_url())
        .set("DLO_NOTIFY__ALERTMANAGER__URL", &alertmanager.url())
        .set("DLO_NOTIFY__WEBHOOK__URL", &webhook.webhook_url())
        .set("DLO_NOTIFY__WEBHOOK__SECRET", &webhook.secret())
        .open()
        .await;
    server.await_ready().await;
    let service = Service::start(&vhost, "campaigns").await;
    service.fail(r#"{"paid": false}"#).await;
    for _ in 0..3 {
        service.fail(r#"{"paid": true}"#).await;
    }
    let paged = async || pagerduty.incidents().values().any(|incident| incident.is_open);
    wait_until("an incident", PATIENCE, paged).await;
    server.await_letters("importance=critical", 3).await;
    server.await_letters("importance=normal", 1).await;
    let letters = server.json("/api/v1/letters?importance=critical").await;
    for letter in letters["items"].as_array().unwrap() {
        assert_eq!(letter["importance_by"], "rule:campaigns");
        let id = letter["id"].as_str().unwrap();
        assert_eq!(server.post(&format!("/api/v1/letters/{id}/discard"), &json!({})).await.status(), 200);
    }
    let over = async || pagerduty.incidents().values().all(|incident| !incident.is_open);
    wait_until("the end of the incident", PATIENCE, over).await;
    assert_eq!(pagerduty.incidents().len(), 1, "one for all three");
    wait_until("the others", PATIENCE, async || {
        slack.messages().len() == 2 && webhook.events().len() == 2 && alertmanager.resolved().len() == 1
    })
    .await;
    assert!(slack.complaints().is_empty(), "{:?}", slack.complaints());
    let kinds: Vec<_> = webhook.events().iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds, ["incident.opened", "incident.resolved"]);
    // It counts them once it has read the answers.
    let counted = "dlo_notifications_total{channel=\"pagerduty\",outcome=\"delivered\"} 2";
    let is_counted = async || server.get("/metrics").await.text().await.unwrap().contains(counted);
    wait_until(counted, PATIENCE, is_counted).await;
}

/// Nobody is to look after a digest that is late only because all is well, or that goes nowhere.
#[tokio::test]
async fn a_digest_with_nothing_to_say_counts_as_sent() {
    const CONFIG: &str = "[notify.digests.quiet]\nwebhook_url = \"https://hooks.slack.example/services/x\"
        [notify.digests.nowhere]\nqueues = [\"a\"]";
    const METRIC: &str = "dlo_digest_last_sent_timestamp_seconds{";
    let database = TestDatabase::sqlite().await;
    for name in ["quiet", "nowhere", "removed"] {
        let new = NewDigest {
            id: id(),
            name,
            slot: Some(NOON),
            made_at: NOON,
            by: &Actor::system(),
            since: None,
            notification: None,
            report: "{}",
            snapshot: "{}",
        };
        assert!(database.add_digest(&new).await.unwrap());
    }
    let server = serve().with("--roles=web").set("DLO_DATABASE__URL", database.url()).config(CONFIG).open().await;
    let samples = wait_for("a digest that was sent", PATIENCE, async || {
        let metrics = server.get("/metrics").await.text().await.unwrap();
        let samples: Vec<_> = metrics.lines().filter(|line| line.starts_with(METRIC)).map(str::to_owned).collect();
        (!samples.is_empty()).then_some(samples)
    })
    .await;
    assert_eq!(samples, [format!("{METRIC}digest=\"quiet\"}} {}", NOON.as_micros() / 1_000_000)]);
}
