//! A database with a hundred thousand letters in three thousand groups.

use dead_letter_office::{clock::Clock, domain::digest::SectionKind};

use super::newsroom::{DAY, HOUR, Newsroom, at, config, shown, slack};
use crate::{
    store::database::TestDatabase,
    support::slack_rules::{check_slack_message, links_and_mentions},
};

const LETTERS: u64 = 100_000;
const GROUPS: u64 = 3_000;
/// Errors that want to be more than a text in Slack.
const ERROR: &str = "<!channel> *boom* & <https://evil.example|click> @here ";

/// Letter n is in group n modulo [`GROUPS`], was received n seconds before `now`, and every tenth group is critical.
async fn fill(database: &TestDatabase, now: i64) {
    let id = |kind: u32| match database.is_sqlite() {
        true => format!("unhex(printf('%08x%024x', {kind}, i))"),
        false => format!("(lpad('{kind}', 8, '0') || lpad(to_hex(i), 24, '0'))::uuid"),
    };
    let numbers = |n: u64| {
        format!("WITH RECURSIVE n (i) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {n})")
    };
    let group_of_letter =
        id(7).replace(", i)", &format!(", i % {GROUPS})")).replace("to_hex(i)", &format!("to_hex(i % {GROUPS})"));
    let is_critical = "i % 10 = 0";
    let members = format!("({LETTERS} - i - 1) / {GROUPS} + 1");
    database
        .tamper(&format!(
            "INSERT INTO facets (id, broker, queue, reason, status, importance, count) VALUES
                (1, 'main', 'orders', 'rejected', 'open', 'normal', {normal}), (2, 'main', 'orders', 'rejected', 'open', 'critical', {critical});
            {numbers} INSERT INTO letters (id, facet_id, received_at, first_received_at, last_failed_at, exchange, routing_key, attempts,
                importance_by, size, handed_over_at, named_with, enriched_at, group_id)
                SELECT {letter}, CASE WHEN (i % {GROUPS}) % 10 = 0 THEN 2 ELSE 1 END, {now} - 1000000 * i, {now} - 1000000 * i,
                {now}, '', 'orders', 1, 'default', 10, {now}, 1, {now} - 1000000 * i, {group_of_letter} FROM n;
            {group_numbers} INSERT INTO groups (id, broker, queue, message_type, reason, error, critical, high, normal, low, scheduled,
                retried, discarded, first_seen, last_seen, sent, failed_again, note, note_by)
                SELECT {group}, 'main', 'orders', '', 'rejected', '{ERROR}' || i, CASE WHEN {is_critical} THEN {members} ELSE 0 END, 0,
                CASE WHEN {is_critical} THEN 0 ELSE {members} END, 0, 0, 0, 0, {now} - 100000000000, {now}, 0, 0, '', '' FROM n;",
            normal = LETTERS * 9 / 10,
            critical = LETTERS / 10,
            numbers = numbers(LETTERS),
            group_numbers = numbers(GROUPS),
            letter = id(1),
            group = id(7),
        ))
        .await;
}

async fn check(database: &TestDatabase) {
    let (slack, clock) = (slack().await, Clock::manual(at("2026-06-01T08:00:00Z")));
    let mut newsroom = Newsroom::open(database, &clock, &config(&slack, "0 9 * * *", "UTC")).await;
    newsroom.works().await;
    newsroom.lives_until(at("2026-06-01T09:00:00Z"), HOUR).await;
    assert_eq!(newsroom.slots().await.len(), 1, "an empty one, for what comes next to be new");
    clock.advance(DAY - HOUR);
    fill(database, clock.now().as_micros()).await;
    clock.advance(HOUR);
    newsroom.works().await;

    let plan = newsroom.digests.plans()[0].clone();
    let record = newsroom.made().await.pop().unwrap();
    assert_eq!(record.slot.map(shown), Some("2026-06-02T09:00:00Z".to_owned()));
    let (_, report) = newsroom.store.digest(record.id).await.unwrap().unwrap();
    // Received since nine in the morning of the day before: 82,800 seconds and letters, less those of critical groups.
    let new = (0..=82_800_u64).filter(|n| !(n % GROUPS).is_multiple_of(10)).count() as u64;
    assert_eq!((report.open, report.open_groups, report.new_letters), (LETTERS * 9 / 10, GROUPS * 9 / 10, new));
    let section = &report.sections[0];
    assert_eq!((section.kind, section.n_groups, section.letters), (SectionKind::New, 2_700, 90_000));
    let messages = slack.messages();
    let message = &messages[1];
    check_slack_message(message).unwrap();
    assert!(links_and_mentions(message).iter().all(|link| link.starts_with("http://dlo.example/")), "{message}");
    let text = message.to_string();
    assert!(text.contains("and <http://dlo.example/digests/") && text.contains("|2,690 more groups>"), "{text}");
    let next = newsroom.digests.preview(&plan, &newsroom.store).await.unwrap().report;
    let sections: Vec<_> = next.sections.iter().map(|one| (one.kind, one.n_groups, one.letters)).collect();
    assert_eq!(sections, [(SectionKind::Stuck, 2_700, 90_000)], "of each the oldest is more than a day old");
    assert_eq!((next.open, next.new_letters), (LETTERS * 9 / 10, 0));
}

#[tokio::test]
async fn the_figures_are_exact_and_slack_takes_it() {
    let database = TestDatabase::sqlite().await;
    check(&database).await;
}

#[tokio::test]
async fn on_postgres_too() {
    let Some(database) = TestDatabase::postgres().await else { return };
    check(&database).await;
}
