//! Slack, by webhook and by bot.

use dead_letter_office::{config::values::Secret, demo::stand_ins::SlackStandIn, notify::Channel};
use serde_json::{Value, json};

use super::{delivered, delivery, refused, sender, slack_bot, slack_webhook};

fn anything(_: &Value) -> Result<(), String> {
    Ok(())
}

fn no_blocks(message: &Value) -> Result<(), String> {
    message.get("blocks").map_or(Ok(()), |_| Err("no blocks today".to_owned()))
}

#[tokio::test]
async fn a_webhook_posts_what_it_is_given() {
    let slack = SlackStandIn::open(anything).await.unwrap();
    let message = json!({ "text": "12 dead letters", "blocks": [] });
    assert_eq!(sender().send(&slack_webhook(&slack), &delivery(&message)).await, delivered(None));
    assert_eq!(slack.messages(), [message]);
    let requests = slack.requests();
    assert_eq!(requests[0].header("user-agent"), Some(concat!("dlo/", env!("CARGO_PKG_VERSION"))));
}

#[tokio::test]
async fn a_bot_posts_to_its_channel_and_learns_where_the_message_is() {
    let slack = SlackStandIn::open(anything).await.unwrap();
    let outcome = sender().send(&slack_bot(&slack), &delivery(&json!({ "text": "12 dead letters" }))).await;
    assert_eq!(outcome, delivered(Some("C0DEADLETTERS/1795255440.000001")));
    assert_eq!(slack.messages(), [json!({ "text": "12 dead letters", "channel": slack.channel() })]);
}

#[tokio::test]
async fn a_long_message_that_slack_sends_back_is_delivered_all_the_same() {
    let slack = SlackStandIn::open(anything).await.unwrap();
    let outcome = sender().send(&slack_bot(&slack), &delivery(&json!({ "text": "x".repeat(100_000) }))).await;
    assert_eq!(outcome, delivered(Some("C0DEADLETTERS/1795255440.000001")));
}

#[tokio::test]
async fn what_slack_refuses_is_said() {
    let slack = SlackStandIn::open(no_blocks).await.unwrap();
    let sender = sender();
    let blocks = delivery(&json!({ "blocks": [] }));
    assert_eq!(sender.send(&slack_webhook(&slack), &blocks).await, refused("Slack answered 400: invalid_blocks"));
    assert_eq!(sender.send(&slack_bot(&slack), &blocks).await, refused("Slack answered invalid_blocks"));
    assert_eq!(slack.complaints(), ["no blocks today", "no blocks today"]);
    let list = delivery(&json!([]));
    assert_eq!(sender.send(&slack_bot(&slack), &list).await, refused("the delivery is no JSON object"));

    let removed = Channel::slack_webhook(&Secret::new(format!("{}/services/gone", slack.url()))).unwrap();
    let why = "Slack answered 404: no_service; the webhook was removed or disabled, make a new one";
    assert_eq!(sender.send(&removed, &delivery(&json!({ "text": "a" }))).await, refused(why));
    assert_eq!(slack.messages(), [0; 0]);
}

#[tokio::test]
async fn a_bot_that_may_not_is_refused() {
    let slack = SlackStandIn::open(anything).await.unwrap();
    let bot = |token: &str, channel| Channel::slack_bot(&slack.api_url(), &Secret::new(token), channel).unwrap();
    let (sender, message) = (sender(), delivery(&json!({ "text": "a" })));
    let why = "Slack answered invalid_auth; give notify.slack.token a token that is valid";
    assert_eq!(sender.send(&bot("xoxb-other", slack.channel()), &message).await, refused(why));
    let why = "Slack answered channel_not_found; check the channel's name, and invite the bot if it is private";
    assert_eq!(sender.send(&bot(slack.token(), "elsewhere"), &message).await, refused(why));
}
