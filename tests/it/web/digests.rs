//! Digests on the pages and in the API: what would be sent, sending it, and the status of those that were.

use std::time::Duration;

use axum::{body::Body, http::Method};
use dead_letter_office::{
    config::{DigestConfig, NotifyConfig, values::Secret},
    domain::{
        letter::{Importance, LetterId},
        notification::{Attempt, Channel, ClaimedNotification},
    },
    grouping,
    services::{digests::DueDigests, worker::Worker},
    store::Enriched,
};
use scraper::Html;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    answer::Look,
    dead::dead_in,
    desk::{Desk, HOST, builder},
};
use crate::{
    store::make::{InGroup, enriched},
    support::slack_rules::check_slack_message,
};

const SECRET: &str = "s3cr3t";

fn with_slack() -> NotifyConfig {
    let mut config = NotifyConfig::default();
    config.slack.webhook_url = Secret::new(format!("https://hooks.slack.example/services/{SECRET}"));
    config.digest.timezone = "Europe/London".to_owned();
    config
}

async fn sort(desk: &Desk, ids: &[LetterId], importance: Importance, queue: &str, error: &str) {
    let found: Vec<Enriched> = ids
        .iter()
        .map(|id| {
            let is = Enriched { importance, received_at: desk.clock.now(), ..enriched(*id) };
            is.in_group("main", queue, error)
        })
        .collect();
    desk.store.enrich(&found, 1, desk.clock.now()).await.unwrap();
}

async fn fail(desk: &Desk, n: usize, importance: Importance, queue: &str, error: &str) -> Vec<LetterId> {
    let now = desk.clock.now();
    let ids = desk.receive_all("main", (0..n).map(|_| dead_in(queue).received(now)).collect()).await;
    sort(desk, &ids, importance, queue, error).await;
    ids
}

async fn send(desk: &Desk, name: &str) -> super::answer::Answer {
    let request = builder(Method::POST, "/digests/send")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("origin", format!("http://{HOST}"));
    desk.send(request.body(Body::from(format!("name={name}"))).unwrap()).await
}

fn preview(page: &Html) -> String {
    page.words(".digest-preview")
}

#[tokio::test]
async fn an_server_without_slack_says_what_to_do() {
    let desk = Desk::open().await;
    fail(&desk, 2, Importance::Normal, "orders", "timeout").await;
    let page = desk.page("/digests").await;
    assert!(page.words("main").contains("Slack is not configured."));
    assert!(page.words("main").contains("[notify.slack]"));
    assert!(page.words("main").contains("No digest yet."));
    assert_eq!(page.count("a[href^='/digests?ask']"), 0);
    assert!(
        preview(&desk.page("/digests?ask=digest").await).contains("2 dead letters open in 1 group"),
        "it can be seen"
    );
    let refused = send(&desk, "digest").await.expect(409);
    assert!(refused.text().contains("notify.slack.webhook_url"), "{}", refused.text());
    desk.post("/api/v1/digests/send", &json!({})).await.expect(409);
    assert!(desk.page("/").await.words("main").contains("Slack is not configured."));
}

#[tokio::test]
async fn each_digest_tells_when_to_where_and_about_what() {
    let mut config = with_slack();
    config.digests.insert("morning".to_owned(), config.digest.clone());
    let mail = DigestConfig { queues: vec!["mail.*".to_owned()], all_quiet: true, ..DigestConfig::default() };
    config.digests.insert("mail & more".to_owned(), mail);
    let desk = Desk::that_tells(&config).await;
    let page = desk.page("/digests").await;
    let plans: Vec<String> = page.all(".digest-plan").iter().map(|plan| plan.words("dl")).collect();
    assert!(plans[0].contains("About dead letters of normal or low importance in mail.*"), "{plans:?}");
    assert!(plans[0].contains("If quiet it is sent anyway"), "{plans:?}");
    // NOON of the tests is a Saturday in November.
    assert!(plans[1].contains("Europe/London Next Mon 23 Nov 2026, 09:00 GMT, in 1 d"), "{plans:?}");
    assert!(plans[1].contains("To Slack, by a webhook"), "{plans:?}");
    assert!(!desk.get("/digests").await.text().contains(SECRET));
    for link in page.values(".digest-plan a", "href") {
        desk.page(&link).await;
    }
    let overview = desk.page("/").await;
    assert!(overview.words("main").contains("Next digest All 2"), "{}", overview.words("main"));
    let listed = desk.get("/api/v1/digests").await.expect(200).json();
    assert_eq!(listed["items"][1]["next_at"], "2026-11-23T09:00:00.000000Z");
    assert_eq!(listed["items"][1]["destination"], "Slack, by a webhook");
    assert_eq!(listed["items"][0]["queues"], json!(["mail.*"]));
    desk.get("/digests?preview=other").await.expect(404);
    desk.post("/api/v1/digests/preview", &json!({})).await.expect(422);
    desk.post("/api/v1/digests/preview", &json!({"name": "morning"})).await.expect(200);
}

/// What a link or the API counts.
async fn total(desk: &Desk, query: &str) -> Value {
    desk.get(&format!("/api/v1/letters?status=open&{query}")).await.expect(200).json()["total"].clone()
}

#[tokio::test]
async fn every_figure_is_what_the_letters_page_says() {
    let desk = Desk::that_tells(&with_slack()).await;
    let (mut due, stop) = (DueDigests::new(desk.digests.clone()), CancellationToken::new());
    due.round(&stop).await.unwrap();
    fail(&desk, 4, Importance::Normal, "orders", "timeout").await;
    fail(&desk, 2, Importance::Critical, "orders", "timeout").await;
    // Monday, nine in the morning.
    desk.clock.advance(Duration::from_secs(45 * 60 * 60));
    due.round(&stop).await.unwrap();
    desk.clock.advance(Duration::from_secs(60));
    fail(&desk, 3, Importance::Low, "orders", "timeout").await;
    fail(&desk, 5, Importance::Low, "mail", "<b>refused</b>").await;
    let page = desk.page("/digests?preview=digest").await;
    let words = preview(&page);
    assert!(words.contains("12 dead letters open in 2 groups 8 new 0 succeeded 0 failed again"), "{words}");
    assert!(
        words.contains("New: 1 group, 5 dead letters") && words.contains("Grew: 1 group, 3 dead letters"),
        "{words}"
    );
    assert!(words.contains("<b>refused</b>"), "{words}");
    let links = page.values(".report-figures a", "href");
    let seen = |html: &Html| html.words("#count, .list-count");
    assert!(seen(&desk.page(&links[0]).await).contains("12"), "{links:?}");
    assert!(seen(&desk.page(&links[1]).await).contains('8'), "{links:?}");
    let report = desk.post("/api/v1/digests/preview", &json!({})).await.expect(200).json()["report"].clone();
    assert_eq!(report["open"], total(&desk, "importance=low&importance=normal").await);
    let since = report["from"].as_str().unwrap();
    assert_eq!(report["new"], total(&desk, &format!("importance=low&importance=normal&since={since}")).await);
    for section in report["sections"].as_array().unwrap() {
        for group in section["groups"].as_array().unwrap() {
            let id: uuid::Uuid = group["id"].as_str().unwrap().parse().unwrap();
            let expected = if id == mail_group() { [5, 5] } else { [7, 3] };
            assert_eq!([group["open"].as_u64().unwrap(), group["new"].as_u64().unwrap()], expected);
        }
    }
}

/// What is sent to Slack next.
async fn claimed(desk: &Desk) -> ClaimedNotification {
    let (now, slack) = (desk.clock.now(), (Channel::Slack, None));
    desk.store.claim_notification(now, Duration::from_secs(60), slack).await.unwrap().unwrap()
}

fn mail_group() -> uuid::Uuid {
    let is = enriched(LetterId::from_uuid(uuid::Uuid::nil())).in_group("main", "mail", "<b>refused</b>");
    grouping::id(&is.key).as_uuid()
}

#[tokio::test]
async fn what_would_be_sent_is_sent_after_one_was_asked_once_more() {
    let desk = Desk::that_tells(&with_slack()).await;
    fail(&desk, 2, Importance::Normal, "orders", "timeout").await;
    let page = desk.page("/digests?ask=digest").await;
    assert!(page.words(".confirm-box").contains("Send this to Slack, by a webhook now?"));
    assert_eq!(desk.store.digests(None, None, 9).await.unwrap().len(), 0, "asked first");
    let sent = send(&desk, "digest").await.expect(303);
    let place = sent.headers["location"].to_str().unwrap().to_owned();
    let page = desk.page(&place).await;
    assert!(page.words("main header").contains("requested by local user"), "{}", page.words("main header"));
    assert!(preview(&page).contains("2 dead letters open in 1 group"), "as it was sent");
    let claimed = claimed(&desk).await;
    let body: Value = serde_json::from_str(&claimed.notification.body).unwrap();
    check_slack_message(&body).unwrap();
    assert!(claimed.notification.body.contains(&format!("http://dlo.example.com{place}")));
    let activity = desk.store.activity(&Default::default(), None, 9).await.unwrap();
    let entry = &activity[0].entry;
    assert_eq!(
        (entry.area.as_str(), &*entry.action, &*entry.subject, entry.by.as_str()),
        ("digests", "send", "digest", "local user")
    );
    desk.clock.advance(Duration::from_secs(1));
    let accepted = desk.post("/api/v1/digests/send", &json!({"name": "digest"})).await.expect(202);
    let listed = desk.get("/api/v1/digests/runs?name=digest&limit=1").await.expect(200).json();
    assert_eq!(listed["items"][0]["id"], accepted.json()["id"]);
    assert_eq!((&listed["items"][0]["state"], &listed["items"][0]["slot"]), (&json!("waiting"), &json!(null)));
    let one = desk.get(accepted.header("location")).await.expect(200).json();
    assert_eq!((&one["id"], &one["report"]["open"]), (&listed["items"][0]["id"], &json!(2)));
    let cursor = listed["next_cursor"].as_str().unwrap();
    let rest = desk.get(&format!("/api/v1/digests/runs?name=digest&cursor={cursor}")).await.expect(200).json();
    assert_eq!(rest["items"].as_array().unwrap().len(), 1);
    assert_ne!(rest["items"][0]["id"], listed["items"][0]["id"]);
    assert_eq!(rest["next_cursor"], json!(null));
    desk.get(&format!("/api/v1/digests/runs?cursor={cursor}")).await.problem(400);
    assert_eq!(desk.get("/api/v1/digests").await.expect(200).json()["total"], 1);
}

#[tokio::test]
async fn what_became_of_each_is_reported() {
    let desk = Desk::that_tells(&with_slack()).await;
    send(&desk, "digest").await.expect(303);
    let last = async || desk.page("/digests").await.words("table");
    assert!(last().await.contains("waiting"), "{}", last().await);
    let end = async |attempt: Attempt| {
        let now = desk.clock.now();
        let claimed = claimed(&desk).await;
        desk.store.end_attempt(claimed.notification.id, &attempt, now).await.unwrap();
    };
    let soon = desk.clock.now().plus(Duration::from_secs(180));
    end(Attempt::Later(soon, "Slack answered 503".to_owned())).await;
    assert!(last().await.contains("waiting tried once, next in 3 min Slack answered 503"), "{}", last().await);
    let overview = desk.page("/").await;
    assert!(overview.words("main").contains("The last digest was not sent: Slack answered 503"));
    desk.clock.advance(Duration::from_secs(180));
    end(Attempt::Refused("Slack answered 404: no_service".to_owned())).await;
    assert!(last().await.contains("refused after 2 attempts Slack answered 404: no_service"), "{}", last().await);
    assert!(desk.page("/digests").await.words(".digest-trouble").contains("The last digest was not sent"));
    let metrics = desk.get("/metrics").await.text();
    assert!(!metrics.contains("{digest=\"digest\"}"), "{metrics}");

    desk.clock.advance(Duration::from_secs(1));
    send(&desk, "digest").await.expect(303);
    end(Attempt::Delivered).await;
    assert!(last().await.contains("sent first attempt"), "{}", last().await);
    assert!(!desk.page("/").await.words("main").contains("not sent"));
    let metrics = desk.get("/metrics").await.text();
    let sent = desk.clock.now().as_micros() / 1_000_000;
    assert!(metrics.contains(&format!("{{digest=\"digest\"}} {sent}")), "{metrics}");
}

#[tokio::test]
async fn what_there_is_not_is_said() {
    let desk = Desk::that_tells(&with_slack()).await;
    for path in ["/digests/x", "/digests/00000000-0000-0000-0000-000000000001"] {
        assert!(desk.get(path).await.expect(404).text().contains("no such digest"));
    }
    send(&desk, "other").await.expect(404);
    desk.post("/api/v1/digests/send", &json!({"name": "other"})).await.expect(422);
    desk.post("/api/v1/digests/send", &json!({"nam": "digest"})).await.expect(422);
}
