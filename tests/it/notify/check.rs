//! Whether a channel can be reached.

use dead_letter_office::{
    clock::Clock,
    config::values::Secret,
    demo::stand_ins::{AlertmanagerStandIn, Misbehaviour, PagerDutyStandIn, SlackStandIn, WebhookStandIn},
    notify::Channel,
};

use super::{NOW, alertmanager, pagerduty, sender, slack_bot, slack_webhook, webhook};

async fn check(channel: &Channel) -> Result<(), String> {
    sender().check(channel).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn nobody_sees_a_check() {
    let clock = Clock::manual(NOW);
    let slack = SlackStandIn::open(|_| Ok(())).await.unwrap();
    let alerts = AlertmanagerStandIn::open(clock.clone()).await.unwrap();
    let pager = PagerDutyStandIn::open().await.unwrap();
    let hook = WebhookStandIn::open(clock).await.unwrap();
    let channels = [slack_webhook(&slack), slack_bot(&slack), alertmanager(&alerts), pagerduty(&pager), webhook(&hook)];
    for channel in channels {
        assert_eq!(check(&channel).await, Ok(()), "{channel:?}");
    }
    assert!(slack.messages().is_empty() && alerts.firing().is_empty() && pager.incidents().is_empty());
    assert!(hook.events().is_empty());
    for request in [slack.requests(), pager.requests(), hook.requests()].concat() {
        assert!(request.path == "/" || request.path == "/api/auth.test", "{}", request.path);
    }
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    let slack = SlackStandIn::open(|_| Ok(())).await.unwrap();
    let other = Channel::slack_bot(&slack.api_url(), &Secret::new("xoxb-other"), "C1").unwrap();
    let why = "Slack answered invalid_auth; give notify.slack.token a token that is valid";
    assert_eq!(check(&other).await, Err(why.to_owned()));

    let hook = WebhookStandIn::open(Clock::manual(NOW)).await.unwrap();
    hook.misbehave(1, Misbehaviour::status(502));
    assert_eq!(check(&webhook(&hook)).await, Err("the webhook answered 502".to_owned()));
    hook.misbehave(1, Misbehaviour::status(405));
    assert_eq!(check(&webhook(&hook)).await, Ok(()));

    let alerts = AlertmanagerStandIn::open(Clock::manual(NOW)).await.unwrap();
    let address = alerts.url().replace("http://", "");
    alerts.misbehave(1, Misbehaviour::garbage());
    let why = format!("Alertmanager at {address} answered 200, but not as an Alertmanager does");
    assert_eq!(check(&alertmanager(&alerts)).await, Err(why));
    alerts.misbehave(1, Misbehaviour::status(401));
    assert_eq!(check(&alertmanager(&alerts)).await, Err(format!("Alertmanager at {address} answered 401")));
}
