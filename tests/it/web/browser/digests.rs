//! A digest is looked at, sent, and read in Slack.

use dead_letter_office::{
    clock::Clock,
    demo::stand_ins::{Misbehaviour, SlackStandIn},
    store::Enriched,
};

use super::{
    super::{desk::Desk, run::serve},
    scene::{Scene, letters},
};
use crate::{
    store::make::{InGroup, enriched},
    support::{PATIENCE, browser::Browser, process::wait_until, slack_rules::check_slack_message},
};

#[tokio::test]
async fn a_digest_is_previewed_sent_and_read_in_slack() {
    let (desk, slack) = (Desk::open().await, SlackStandIn::open(check_slack_message).await.unwrap());
    let mut found = Vec::new();
    for id in letters(&desk, "orders", 3).await {
        let received_at = desk.store.summary(id).await.unwrap().unwrap().received_at;
        let is = Enriched { received_at, ..enriched(id) };
        found.push(is.in_group("main", "orders", "<img src=x onerror=alert(1)> timeout"));
    }
    desk.store.enrich(&found, 1, Clock::system().now()).await.unwrap();
    let Some(browser) = Browser::start().await else { return };
    let server = serve().with("--roles=web,notify").set("DLO_DATABASE__URL", &desk.database_url());
    let server = server.set("DLO_NOTIFY__SLACK__WEBHOOK_URL", &slack.webhook_url());
    let scene = Scene::at(browser, server.open().await).await;
    one_is_looked_at_and_sent(&scene, &slack).await;
    a_refusal_shows_where_people_look(&scene, &slack).await;
    scene.check_quiet().await;
}

async fn one_is_looked_at_and_sent(scene: &Scene, slack: &SlackStandIn) {
    scene.open("/").await;
    scene.press("gd").await;
    scene.reads("h1", "Digests").await;
    scene.click(".digest-plan h2 a").await;
    scene.reads(".report-figures", "3 dead letters open in 1 group").await;
    scene.reads(".report-box", "<img src=x onerror=alert(1)> timeout").await;
    scene.click(".digest-preview .form-steps a").await;
    scene.reads("#asking-title", "Send this to Slack, by a webhook now?").await;
    assert_eq!(slack.messages().len(), 0, "asked first");
    scene.click(".confirm-box button").await;
    scene.reads(".toast-box", "On its way to Slack, by a webhook.").await;
    scene.reads(".report-figures", "3 dead letters open in 1 group").await;
    wait_until("Slack to hear of it", PATIENCE, async || slack.messages().len() == 1).await;
    let message = slack.messages().remove(0).to_string();
    assert!(
        message.contains(&format!("{}{}", scene.server.url.trim_end_matches('/'), scene.address().await)),
        "{message}"
    );
    // Slack has it before the server has written that down, and the page does not change by itself.
    let is_listed = async || {
        scene.open("/digests").await;
        scene
            .ask("document.querySelector('table')?.innerText.replace(/\\s+/g, ' ').includes('sent first attempt') === true")
            .await
            == true
    };
    wait_until("it to be listed as sent", PATIENCE, is_listed).await;
}

async fn a_refusal_shows_where_people_look(scene: &Scene, slack: &SlackStandIn) {
    slack.misbehave(1, Misbehaviour::status(410));
    scene.open("/digests?ask=digest").await;
    scene.click(".confirm-box button").await;
    let overview = async || {
        scene.open("/").await;
        scene.ask("document.querySelector('main').innerText.includes('Slack answered 410')").await == true
    };
    wait_until("the refusal to show", PATIENCE, overview).await;
    scene.click(".panel-items .text-alarm a").await;
    scene.reads(".digest-trouble", "refused").await;
}
