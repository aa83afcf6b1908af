//! That no outcome tells a secret, whatever goes wrong.

use dead_letter_office::{
    clock::Clock,
    config::values::Secret,
    demo::stand_ins::{Misbehaviour, WebhookStandIn},
    notify::{Channel, Outcome, Reach, Sender},
};
use serde_json::json;

use super::{IMPATIENT, NOW, delivery, sender, url};

const SECRET: &str = "s3cr3t";
const SIGNING_KEY: &str = "whsec_czNjcjN0czNjcjN0czNjcjN0czNjcjN0";

/// One of each kind at `base`, with a secret wherever there may be one.
fn channels(base: &str) -> Vec<Channel> {
    let with_login = url(&base.replace("://", &format!("://user:{SECRET}@")));
    let address = Secret::new(format!("{base}/hooks/{SECRET}?key={SECRET}"));
    vec![
        Channel::slack_webhook(&address).unwrap(),
        Channel::slack_bot(with_login.as_str(), &Secret::new(format!("xoxb-{SECRET}")), "C1").unwrap(),
        Channel::pagerduty(&with_login, &Secret::new(SECRET.repeat(6))).unwrap(),
        Channel::alertmanager(&with_login).unwrap(),
        Channel::webhook(&address, &Secret::new(SIGNING_KEY)).unwrap(),
    ]
}

fn assert_hidden(text: &str) {
    assert!(![SECRET, "czNjcjN0"].iter().any(|secret| text.contains(secret)), "{text}");
}

async fn check(base: &str, misbehave: impl Fn()) {
    let sender = Sender::with_patience(Clock::manual(NOW), &Reach::default(), IMPATIENT).unwrap();
    for channel in channels(base) {
        misbehave();
        match sender.send(&channel, &delivery(&json!({ "text": "a" }))).await {
            Outcome::TryAgain { why, .. } | Outcome::Refused { why } => assert_hidden(&why),
            Outcome::Delivered { .. } => panic!("{channel:?} took it"),
        }
        misbehave();
        if let Err(why) = sender.check(&channel).await {
            assert_hidden(&format!("{why} {why:?}"));
        }
        assert_hidden(&format!("{channel:?}"));
    }
}

#[tokio::test]
async fn no_answer_makes_a_secret_seen() {
    let stand_in = WebhookStandIn::open(Clock::manual(NOW)).await.unwrap();
    let bodies = [
        SECRET.to_owned(),
        format!("\"{SECRET}\""),
        format!(r#"{{"ok":false,"error":"xoxb-{SECRET}"}}"#),
        format!(r#"{{"message":"{SECRET}{SECRET}","errors":["{0}"]}}"#, SECRET.repeat(6)),
        format!("<a href=\"{}/hooks/{SECRET}?key={SECRET}\">", stand_in.url()),
    ];
    for body in bodies {
        for status in [302, 400, 401, 500] {
            let headers = vec![("location", format!("/{SECRET}"))];
            let answer = Misbehaviour::Answer { status, headers, body: body.as_bytes().to_vec() };
            check(&stand_in.url(), || stand_in.misbehave(1, answer.clone())).await;
        }
    }
}

#[tokio::test]
async fn no_silence_makes_a_secret_seen() {
    let stand_in = WebhookStandIn::open(Clock::manual(NOW)).await.unwrap();
    for misbehaviour in [Misbehaviour::CloseBeforeReading, Misbehaviour::CloseAfterReading, Misbehaviour::Hang] {
        check(&stand_in.url(), || stand_in.misbehave(1, misbehaviour.clone())).await;
    }
    check(&stand_in.url().replace("http:", "https:"), || ()).await;
    check("http://nowhere.invalid", || ()).await;
    check("http://127.0.0.1:1", || ()).await;
}

#[tokio::test]
async fn not_even_the_host_of_a_webhook_is_seen() {
    let address = Secret::new("http://host-s3cr3t.invalid/");
    let key = Secret::new(SIGNING_KEY);
    for channel in [Channel::slack_webhook(&address).unwrap(), Channel::webhook(&address, &key).unwrap()] {
        let Outcome::TryAgain { why, .. } = sender().send(&channel, &delivery(&json!({}))).await else { panic!() };
        assert_hidden(&why);
        assert_hidden(&sender().check(&channel).await.unwrap_err().to_string());
    }
}
