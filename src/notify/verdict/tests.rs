//! Each answer and what it means.

use std::time::Duration;

use url::Url;

use super::*;
use crate::config::values::Secret;

const ROUTING_KEY: &str = "0123456789abcdef0123456789abcdef";

fn slack_webhook() -> Channel {
    Channel::slack_webhook(&Secret::new("https://hooks.slack.com/services/T0/B0/s3cr3ts3cr3t")).unwrap()
}

fn slack_bot() -> Channel {
    Channel::slack_bot("https://slack.com/api", &Secret::new("xoxb-s3cr3t"), "C1").unwrap()
}

fn pagerduty() -> Channel {
    Channel::pagerduty(&Url::parse("https://events.pagerduty.com").unwrap(), &Secret::new(ROUTING_KEY)).unwrap()
}

fn alertmanager() -> Channel {
    Channel::alertmanager(&Url::parse("http://u:pa55word@am:9093").unwrap()).unwrap()
}

fn webhook() -> Channel {
    let secret = Secret::new("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD");
    Channel::webhook(&Secret::new("https://example.org/hook"), &secret).unwrap()
}

fn answer(status: u16, body: &str) -> Answer {
    let status = StatusCode::from_u16(status).unwrap();
    Answer { status, retry_after: None, body: body.as_bytes().to_vec(), is_page: false }
}

fn again(why: &str) -> Outcome {
    Outcome::TryAgain { why: why.to_owned(), after: None }
}

fn refused(why: &str) -> Outcome {
    Outcome::Refused { why: why.to_owned() }
}

fn delivered(reference: Option<&str>) -> Outcome {
    Outcome::Delivered { reference: reference.map(str::to_owned) }
}

fn check(channel: &Channel, status: u16, body: &str, expected: Outcome) {
    assert_eq!(outcome(channel, &answer(status, body)), expected, "{status} {body}");
}

#[test]
fn slacks_webhook_answers_ok_or_the_name_of_an_error() {
    let check = |status, body: &str, expected| check(&slack_webhook(), status, body, expected);
    check(200, "ok", delivered(None));
    check(200, "ok\n", delivered(None));
    let no_ok = "Slack's `ok` is missing from the answer; is this the address of an incoming webhook?";
    check(200, "", again(no_ok));
    check(200, "<html>sign in</html>", again(no_ok));
    check(400, "invalid_blocks", refused("Slack answered 400: invalid_blocks"));
    check(403, "action_prohibited", refused("Slack answered 403: action_prohibited"));
    let removed = "Slack answered 404: no_service; the webhook was removed or disabled, make a new one";
    check(404, "no_service", refused(removed));
    let archived = "Slack answered 410: channel_is_archived; choose a channel that is not archived";
    check(410, "channel_is_archived", refused(archived));
    check(429, "rate_limited", again("Slack answered 429: rate_limited"));
    check(500, "rollup_error", again("Slack answered 500: rollup_error"));
    check(503, "", again("Slack answered 503"));
}

#[test]
fn slacks_api_answers_200_to_everything() {
    let check = |status, body: &str, expected| check(&slack_bot(), status, body, expected);
    check(200, r#"{"ok":true,"channel":"C1","ts":"1.2"}"#, delivered(Some("C1/1.2")));
    check(200, r#"{"ok":true,"channel":"C1","ts":"1.2","message":{"text":""#, delivered(Some("C1/1.2")));
    check(200, r#"{"ok":true}"#, delivered(None));
    for passing in
        ["ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"]
    {
        let body = format!(r#"{{"ok":false,"error":"{passing}"}}"#);
        check(200, &body, again(&format!("Slack answered {passing}")));
    }
    check(200, r#"{"ok":false,"error":"msg_too_long"}"#, refused("Slack answered msg_too_long"));
    let invalid = "Slack answered invalid_auth; give notify.slack.token a token that is valid";
    check(200, r#"{"ok":false,"error":"invalid_auth"}"#, refused(invalid));
    check(200, "<html>", again("Slack's answer cannot be read"));
    check(200, r#"{"ok":false}"#, again("Slack's answer cannot be read"));
    check(200, r#"{"error":"invalid_auth"}"#, again("Slack's answer cannot be read"));
    check(429, r#"{"ok":false,"error":"ratelimited"}"#, again("Slack answered 429: ratelimited"));
}

#[test]
fn pagerduty_has_it_only_with_202() {
    let check = |status, body: &str, expected| check(&pagerduty(), status, body, expected);
    let accepted = r#"{"status":"success","message":"Event processed","dedup_key":"k"}"#;
    check(202, accepted, delivered(Some("k")));
    check(202, "", delivered(None));
    let other = "answered 200 with something else than its API does; is it another server?";
    check(200, accepted, again(&format!("PagerDuty at events.pagerduty.com {other}")));
    let invalid = r#"{"status":"invalid event","message":"Event object is invalid","errors":["'summary' is missing"]}"#;
    let why = "PagerDuty at events.pagerduty.com answered 400: Event object is invalid; 'summary' is missing";
    check(400, invalid, refused(why));
    check(429, "", again("PagerDuty at events.pagerduty.com answered 429"));
    check(500, "<html>", again("PagerDuty at events.pagerduty.com answered 500"));
}

#[test]
fn alertmanager_says_what_is_wrong_with_an_alert() {
    let check = |status, body: &str, expected| check(&alertmanager(), status, body, expected);
    check(200, "", delivered(None));
    let why = "Alertmanager at am:9093 answered 400: start time must be before end time";
    check(400, "\"start time must be before end time\"\n", refused(why));
    check(500, "\"no\"", again("Alertmanager at am:9093 answered 500: no"));
    let page = Answer { is_page: true, ..answer(200, "<html>") };
    assert!(matches!(outcome(&alertmanager(), &page), Outcome::TryAgain { .. }));
    let page = Answer { is_page: true, ..answer(404, "<html>") };
    assert_eq!(outcome(&alertmanager(), &page), refused("Alertmanager at am:9093 answered 404"));
}

#[test]
fn a_webhook_takes_it_with_any_2xx_and_is_not_quoted() {
    let check = |status, expected| check(&webhook(), status, "the payload, sent back", expected);
    for status in [200, 201, 202, 204] {
        check(status, delivered(None));
    }
    for status in [408, 409, 425, 429, 500, 502, 503, 504, 599] {
        check(status, again(&format!("the webhook answered {status}")));
    }
    for status in [400, 401, 403, 404, 405, 410, 413, 422] {
        check(status, refused(&format!("the webhook answered {status}")));
    }
    let moved = "the webhook answered 307, a redirect, and these are not followed; configure the address it leads to";
    check(307, refused(moved));
}

#[test]
fn the_wait_that_is_asked_for_is_reported() {
    for (channel, status, body) in [
        (webhook(), 429, ""),
        (webhook(), 503, ""),
        (slack_webhook(), 429, "rate_limited"),
        (slack_bot(), 200, r#"{"ok":false,"error":"ratelimited"}"#),
        (pagerduty(), 429, ""),
    ] {
        let after = Some(Duration::from_secs(30));
        let answer = Answer { retry_after: after, ..answer(status, body) };
        assert!(matches!(outcome(&channel, &answer), Outcome::TryAgain { after: told, .. } if told == after));
    }
}

#[test]
fn secrets_that_are_sent_back_are_not_reported() {
    for (channel, status, body) in [
        (pagerduty(), 400, format!(r#"{{"message":"bad key {ROUTING_KEY}","errors":["{ROUTING_KEY}"]}}"#)),
        (alertmanager(), 401, "\"u:pa55word is not known\"".to_owned()),
        (slack_webhook(), 404, "s3cr3ts3cr3t".to_owned()),
        (slack_bot(), 200, r#"{"ok":false,"error":"xoxb-s3cr3t"}"#.to_owned()),
    ] {
        let Outcome::Refused { why } = outcome(&channel, &answer(status, &body)) else { panic!("{body}") };
        assert!(why.contains("(hidden)"), "{why}");
        assert!(![ROUTING_KEY, "pa55word", "s3cr3t"].iter().any(|secret| why.contains(secret)), "{why}");
    }
}

#[test]
fn long_answers_are_quoted_in_part() {
    let Outcome::Refused { why } = outcome(&alertmanager(), &answer(400, &"x y\n".repeat(2_000))) else { panic!() };
    assert!(why.ends_with('…') && why.chars().count() < 260, "{why}");
}
