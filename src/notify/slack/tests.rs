use std::time::Duration;

use amqp_message::{death::Reason, time::Timestamp};
use serde_json::Value;
use uuid::Uuid;

use slack_rules::{check_slack_message, links_and_mentions};

use super::*;
use crate::domain::{
    digest::{DigestGroup, DigestOptions, DigestPeriod, DigestReport, SectionKind},
    group::GroupId,
    incident::{Incident, IncidentEvent, IncidentKind},
    letter::Importance,
};

#[path = "../../../tests/it/support/slack_rules.rs"]
mod slack_rules;

const HOUR: Duration = Duration::from_secs(60 * 60);
/// Whatever makes Slack do more than show a text.
const HOSTILE: &[&str] = &[
    "<!channel>",
    "<@U123>",
    "<#C1>",
    "<!subteam^S1>",
    "<http://x.example|y>",
    "<",
    ">",
    "|",
    "&",
    "&lt;!here&gt;",
    "@here",
    "@everyone",
    "*bold*",
    "_it_",
    "~s~",
    "`",
    "```",
    ":skull:",
    "\n",
    "\r\n> quote",
    "\u{0}",
    "\u{202e}",
    "\u{200b}",
    "\u{2066}",
    "http://evil.example/?a=b&c",
    "someone@evil.example",
    "𝕏",
    "日本",
    "\"",
    "\\",
    "/",
];

fn now() -> Timestamp {
    Timestamp::from_seconds(1_795_251_600)
}

fn period(from: Option<Timestamp>) -> DigestPeriod {
    DigestPeriod { from, until: now(), label: "Fri 20 Nov 2026, 09:00 GMT to Sat 21 Nov 2026, 09:00 GMT".to_owned() }
}

fn report(groups: Vec<DigestGroup>) -> DigestReport {
    DigestReport::new(
        "Morning digest".to_owned(),
        period(Some(now().minus(24 * HOUR))),
        groups,
        DigestOptions::default(),
    )
}

/// Known for long, with one letter open since an hour.
fn group(n: u128) -> DigestGroup {
    DigestGroup {
        id: GroupId::from_uuid(Uuid::from_u128(n)),
        importance: Importance::Normal,
        broker: "main".to_owned(),
        queue: Some(format!("orders.{n}")),
        message_type: Some("OrderPlaced".to_owned()),
        reason: Reason::Rejected,
        error: "Timeout: no answer within 30 s".to_owned(),
        open: 1,
        new: 0,
        is_new: false,
        first_seen: now().minus(1_000 * HOUR),
        last_seen: now().minus(HOUR),
        oldest_open: Some(now().minus(HOUR)),
        succeeded: 0,
        failed_again: 0,
        note: None,
    }
}

fn stuck(n: u128, open: u64) -> DigestGroup {
    DigestGroup { open, oldest_open: Some(now().minus(72 * HOUR)), ..group(n) }
}

fn links(link: Link) -> Option<String> {
    Some(match link {
        Link::Digest => "https://dlo.example/digests/1".to_owned(),
        Link::Section(kind) => format!("https://dlo.example/groups?section={kind}&since=1"),
        Link::Group(id) => format!("https://dlo.example/groups/{id}"),
    })
}

fn render(report: &DigestReport) -> Value {
    let message = message(report, &links);
    assert_eq!(check_slack_message(&message), Ok(()), "{message:#}");
    message
}

/// Every text of the blocks, in order.
fn texts(message: &Value) -> Vec<String> {
    let text = |value: &Value| value["text"].as_str().unwrap().to_owned();
    let list = |value: &Value| value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
    let blocks = message["blocks"].as_array().unwrap().iter();
    blocks
        .flat_map(|block| {
            let own = block.get("text").map(text).into_iter();
            own.chain(list(&block["fields"])).chain(list(&block["elements"])).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn a_digest_reads_from_top_to_bottom() {
    let fresh = DigestGroup { is_new: true, open: 1_200, new: 1_300, succeeded: 100, ..group(1) };
    let grew =
        DigestGroup { importance: Importance::High, open: 7, new: 5, note: Some("known".to_owned()), ..group(2) };
    let succeeded = DigestGroup { open: 0, oldest_open: None, succeeded: 40, error: String::new(), ..group(4) };
    let message = render(&report(vec![succeeded, stuck(3, 2), grew, fresh, group(5)]));
    let expected = [
        "Morning digest",
        "Fri 20 Nov 2026, 09:00 GMT to Sat 21 Nov 2026, 09:00 GMT",
        "*1,210* dead letters open in 4 groups",
        "*1,305* new",
        "*140* succeeded",
        "*0* failed again",
        "*New:* 1 group, 1,200 dead letters\n_error groups seen for the first time_",
        "orders.1 · OrderPlaced\nTimeout: no answer within 30 s",
        "*1,200* open, *1,300* new, *100* succeeded, oldest 1 h",
        "<https://dlo.example/groups/00000000-0000-0000-0000-000000000001|Open the group>",
        "*Grew:* 1 group, 5 dead letters\n_known error groups with more failures_",
        "orders.2 · OrderPlaced\nTimeout: no answer within 30 s\nNote: known",
        "high, *7* open, *5* new, oldest 1 h",
        "<https://dlo.example/groups/00000000-0000-0000-0000-000000000002|Open the group>",
        "*Stuck:* 1 group, 2 dead letters\n_error groups open for long_",
        "orders.3 · OrderPlaced\nTimeout: no answer within 30 s",
        "*2* open, oldest 3 d",
        "<https://dlo.example/groups/00000000-0000-0000-0000-000000000003|Open the group>",
        "*Succeeded:* 1 group, 40 dead letters\n_error groups where all retries succeeded, or are pending_",
        "orders.4 · OrderPlaced\nrejected by its consumer, no reason recorded",
        "*0* open, *40* succeeded",
        "<https://dlo.example/groups/00000000-0000-0000-0000-000000000004|Open the group>",
        "<https://dlo.example/digests/1|Open the digest>",
    ];
    assert_eq!(texts(&message), expected);
    assert_eq!(
        message["text"],
        "Morning digest: 1,210 dead letters open in 4 groups, 1,305 new, 140 succeeded, 0 failed again"
    );
}

#[test]
fn the_biggest_of_thousands_are_shown_and_the_rest_is_counted() {
    let size = |n| match n {
        0 => 330,
        1..2_990 => 30,
        _ => 1_000,
    };
    let report = report((0..3_000).map(|n| stuck(n, size(n))).collect());
    assert_eq!((report.open, report.open_groups, report.sections[0].letters), (100_000, 3_000, 100_000));
    let texts = texts(&render(&report));
    assert!(texts.contains(&"*100,000* dead letters open in 3,000 groups".to_owned()));
    assert!(texts.contains(&"*Stuck:* 3,000 groups, 100,000 dead letters\n_error groups open for long_".to_owned()));
    assert_eq!(texts.iter().filter(|text| text.starts_with("orders.")).count(), 10);
    assert_eq!(texts.iter().filter(|text| *text == "*1,000* open, oldest 3 d").count(), 10);
    let rest = "and <https://dlo.example/groups?section=stuck&amp;since=1|2,990 more groups> with 90,000 dead letters";
    assert!(texts.contains(&rest.to_owned()), "{texts:#?}");
}

#[test]
fn every_section_gets_its_share() {
    let mut groups: Vec<_> = (0..50).map(|n| stuck(n, 5)).collect();
    groups.extend((50..100).map(|n| DigestGroup { new: 3, ..group(n) }));
    groups.extend((100..103).map(|n| DigestGroup { is_new: true, ..group(n) }));
    groups.extend((103..150).map(|n| DigestGroup { open: 0, succeeded: 1, ..group(n) }));
    let texts = texts(&render(&report(groups)));
    let more: Vec<_> = texts.iter().filter(|text| text.starts_with("and <")).collect();
    let shown =
        |kind: SectionKind| more.iter().find(|text| text.contains(&format!("section={kind}"))).unwrap().as_str();
    assert_eq!(more.len(), 3);
    assert!(shown(SectionKind::Grew).contains("|44 more groups> with 132 dead letters"), "{more:?}");
    assert!(shown(SectionKind::Stuck).contains("|44 more groups> with 220 dead letters"));
    assert!(shown(SectionKind::Succeeded).contains("|42 more groups> with 42 dead letters"));
}

#[test]
fn texts_that_are_as_long_as_can_be_fit() {
    for long in ["x", "<", "&", "日", "𝕏", "\"", "\\", "/"] {
        let long = long.repeat(20_000);
        let fat = |n| DigestGroup {
            queue: Some(long.clone()),
            message_type: Some(long.clone()),
            error: long.clone(),
            note: Some(long.clone()),
            open: u64::MAX,
            new: u64::MAX,
            succeeded: u64::MAX,
            failed_again: u64::MAX,
            ..stuck(n, 1)
        };
        let mut groups: Vec<_> = (0..100).map(fat).collect();
        groups.extend((100..200).map(|n| DigestGroup { open: 0, ..fat(n) }));
        groups.extend((200..300).map(|n| DigestGroup { new: 0, failed_again: 0, ..fat(n) }));
        groups.extend((300..400).map(|n| DigestGroup { is_new: true, ..fat(n) }));
        let period = DigestPeriod { label: long.clone(), ..period(Some(now().minus(HOUR))) };
        let report = DigestReport::new(long.clone(), period, groups, DigestOptions::default());
        assert_eq!(report.sections.len(), 4);
        render(&report);
        let long_links = |_| Some(format!("https://dlo.example/{}", "a".repeat(480)));
        assert_eq!(check_slack_message(&message(&report, &long_links)), Ok(()));
    }
}

#[test]
fn a_quiet_digest_says_so() {
    let texts_of = |report: &DigestReport| texts(&render(report));
    let nothing = report(Vec::new());
    assert!(nothing.is_quiet());
    assert_eq!(texts_of(&nothing)[2], "All quiet. Nothing in the scope of this digest is open.");
    let waiting = report(vec![group(1), group(2)]);
    assert!(waiting.is_quiet());
    assert_eq!(
        texts_of(&waiting)[2],
        "All quiet. Nothing is new, and none of the 2 dead letters that are open is older than 1 d."
    );
    assert_eq!(render(&nothing)["text"], "Morning digest: All quiet. Nothing in the scope of this digest is open.");
}

#[test]
fn the_first_digest_is_about_all_there_is() {
    let groups = vec![stuck(1, 3), group(2)];
    let report = DigestReport::new("Morning digest".to_owned(), period(None), groups, DigestOptions::default());
    let texts = texts(&render(&report));
    assert!(texts[1].starts_with("The first digest, about everything so far: Fri 20 Nov"), "{texts:?}");
    assert!(texts.iter().any(|text| text.starts_with("*New:* 2 groups, 4 dead letters")));
}

#[test]
fn brokers_are_named_where_there_are_several() {
    let shown = |broker: &str| {
        let other = DigestGroup { broker: broker.to_owned(), ..stuck(2, 1) };
        texts(&render(&report(vec![stuck(1, 2), other]))).iter().any(|text| text.starts_with("main · orders.1"))
    };
    assert!(!shown("main"));
    assert!(shown("other"));
}

#[test]
fn without_an_address_there_are_no_links() {
    let groups = (0..30).map(|n| stuck(n, 1)).collect();
    let message = message(&report(groups), &|_| None);
    assert_eq!(check_slack_message(&message), Ok(()));
    assert_eq!(links_and_mentions(&message), Vec::<String>::new());
    assert!(texts(&message).contains(&"and 20 more groups with 20 dead letters".to_owned()));
}

#[test]
fn no_text_does_more_than_be_shown() {
    arbtest::arbtest(|u| {
        let mut groups = Vec::new();
        for n in 0..u.int_in_range(0..=60)? {
            groups.push(DigestGroup {
                importance: *u.choose(Importance::ALL)?,
                broker: hostile(u)?,
                queue: Some(hostile(u)?),
                message_type: Some(hostile(u)?),
                error: hostile(u)?,
                open: *u.choose(&[0, 1, 12_345, u64::MAX])?,
                new: *u.choose(&[0, 7, u64::MAX])?,
                is_new: u.arbitrary()?,
                first_seen: Timestamp::from_micros(u.arbitrary()?),
                oldest_open: Some(Timestamp::from_micros(u.arbitrary()?)),
                succeeded: u.arbitrary()?,
                failed_again: u.int_in_range(0..=1)?,
                note: Some(hostile(u)?),
                ..group(n)
            });
        }
        let period = DigestPeriod { label: hostile(u)?, ..period(Some(now())) };
        let report = DigestReport::new(hostile(u)?, period, groups, DigestOptions::default());
        check_harmless(&message(&report, &links));
        Ok(())
    });
}

#[test]
fn no_incident_does_more_than_be_shown() {
    arbtest::arbtest(|u| {
        let of_queue = Incident {
            kind: *u.choose(IncidentKind::ALL)?,
            title: hostile(u)?,
            importance: *u.choose(Importance::ALL)?,
            queue: Some(hostile(u)?).filter(|queue| !queue.is_empty()),
            message_type: Some(hostile(u)?),
            error: Some(hostile(u)?),
            open: u.arbitrary()?,
            href: format!("https://dlo.example/{}", hostile(u)?),
            ..an_incident()
        };
        check_harmless(&incident(&of_queue, *u.choose(IncidentEvent::ALL)?, &hostile(u)?));
        Ok(())
    });
}

fn hostile(u: &mut arbtest::arbitrary::Unstructured<'_>) -> arbtest::arbitrary::Result<String> {
    let mut text = String::new();
    for _ in 0..u.int_in_range(0..=6)? {
        match u.int_in_range(0..=2)? {
            0 => text.push_str(u.arbitrary()?),
            1 => text.push_str(&u.choose(HOSTILE)?.repeat(u.int_in_range(1..=2)?)),
            _ => text.push_str(&u.choose(HOSTILE)?.repeat(300)),
        }
    }
    Ok(text)
}

fn check_harmless(message: &Value) {
    assert_eq!(check_slack_message(message), Ok(()), "{message:#}");
    for bracket in links_and_mentions(message) {
        let (address, words) = bracket.split_once('|').unwrap();
        assert!(address.starts_with("https://dlo.example/"), "{bracket}");
        assert!(words.starts_with("Open the ") || words.ends_with(" group") || words.ends_with(" groups"), "{bracket}");
    }
    for object in text_objects(message) {
        let text = object["text"].as_str().unwrap();
        assert!(
            text.chars().all(|c| c == '\n' || !(c.is_control() || "\u{202e}\u{200b}\u{2066}".contains(c))),
            "{text:?}"
        );
        assert!(
            text.split('&').skip(1).all(|rest| ["amp;", "lt;", "gt;"].iter().any(|end| rest.starts_with(end))),
            "{text}"
        );
        if object["type"] == "mrkdwn" {
            assert_eq!(object["verbatim"], true);
            let outside: String =
                text.split('<').map(|part| part.split_once('>').map_or(part, |(_, rest)| rest)).collect();
            assert!(!outside.contains(['@', '`', '~', '#', '/', '>', '&']), "{text}");
        } else {
            assert_eq!((object["type"].as_str(), object["emoji"].as_bool()), (Some("plain_text"), Some(false)));
            assert!(!text.contains(['<', '>']), "{text}");
        }
    }
    assert!(!message["text"].as_str().unwrap().contains("@here"));
}

fn text_objects(value: &Value) -> Vec<&Value> {
    let own = (value["text"].is_string() && value["type"].is_string()).then_some(value);
    let inner: Vec<&Value> = match value {
        Value::Object(object) => object.values().flat_map(text_objects).collect(),
        Value::Array(values) => values.iter().flat_map(text_objects).collect(),
        _ => Vec::new(),
    };
    own.into_iter().chain(inner).collect()
}

fn an_incident() -> Incident {
    Incident {
        key: "group:1".to_owned(),
        kind: IncidentKind::Group,
        title: "Letters in orders.eu".to_owned(),
        importance: Importance::Critical,
        broker: "main".to_owned(),
        queue: Some("orders.eu".to_owned()),
        message_type: Some("OrderPlaced".to_owned()),
        reason: Some(Reason::Rejected),
        error: Some("Timeout: <none>".to_owned()),
        open: 1_234,
        first_seen: now(),
        last_seen: now(),
        opened_at: now(),
        resolved_at: None,
        href: "https://dlo.example/incidents/1".to_owned(),
        storm: None,
    }
}

#[test]
fn a_page_says_what_where_and_how_much() {
    let expected = [
        "Opened: Letters in orders.eu",
        "orders.eu · OrderPlaced\nTimeout: &lt;none&gt;",
        "*critical*, 1,234 dead letters open",
        "since Sat 21 Nov 2026, 09:00 GMT",
        "<https://dlo.example/incidents/1|Open the incident>",
    ];
    let page = incident(&an_incident(), IncidentEvent::Opened, "Sat 21 Nov 2026, 09:00 GMT");
    assert_eq!((check_slack_message(&page), texts(&page)), (Ok(()), expected.map(str::to_owned).to_vec()));
    assert_eq!(page["text"], "Opened: Letters in orders.eu (critical, 1,234 dead letters open)");
    let bare = Incident { kind: IncidentKind::Watch, queue: None, message_type: None, error: None, ..an_incident() };
    let page = incident(&bare, IncidentEvent::Reminded, "noon");
    assert_eq!(check_slack_message(&page), Ok(()));
    assert_eq!(texts(&page)[..3], ["Still open: Letters in orders.eu", "–", "*critical*"]);
}
