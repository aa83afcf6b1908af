//! What a user sees of a stand-in.

use dead_letter_office::demo::stand_ins::SlackStandIn;
use serde_json::json;

use super::{delivered, delivery, sender, slack_webhook};
use crate::support::http;

async fn page(slack: &SlackStandIn) -> String {
    http().build().unwrap().get(slack.url()).send().await.unwrap().text().await.unwrap()
}

#[tokio::test]
async fn messages_are_shown_and_harmless() {
    let slack = SlackStandIn::open(|_| Ok(())).await.unwrap();
    assert!(page(&slack).await.contains("Nothing has arrived yet."));
    let message = delivery(&json!({ "text": "<script>alert(1)</script>" }));
    assert_eq!(sender().send(&slack_webhook(&slack), &message).await, delivered(None));
    let page = page(&slack).await;
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !page.contains("<script>"), "{page}");
    assert_eq!(slack.requests().len(), 1, "to look is no request");
}
