//! What the watch has found, on the pages, by the API and for machines.

use std::{collections::BTreeMap, time::Duration};

use amqp_message::glob::Globs;
use dead_letter_office::{
    domain::{
        letter::LetterId,
        lifecycle::recognition::SentBack,
        queue_level::{DeadLetterRoute, QueueLevel, QueueState},
        watch::{Poll, Settings},
    },
    store::{Claim, StoppedRetry, WatchKept, WatchUpdate},
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    answer::{Look, words},
    dead::dead_in,
    desk::{Desk, MAIN},
};

const MINUTE: Duration = Duration::from_secs(60);

fn level(name: &str, consumers: u64, messages: u64) -> QueueLevel {
    QueueLevel {
        name: name.to_owned(),
        messages: Some(messages),
        messages_ready: Some(messages),
        messages_unacknowledged: Some(0),
        consumers: Some(consumers),
        dead_letters: DeadLetterRoute { exchange: Some("dlx".to_owned()), ..DeadLetterRoute::default() },
        ..QueueLevel::default()
    }
}

pub fn settings() -> Settings {
    Settings {
        interval: MINUTE,
        no_consumers_for: 15 * MINUTE,
        growing_for: 10 * MINUTE,
        lags_for: 2 * MINUTE,
        queues: Globs::new(&[]),
        vhost: "/".to_owned(),
        dead_letter_exchange: "the-dlx".to_owned(),
        dead_letter_queue: "dlo.dead-letters".to_owned(),
        obituary_queue: "dlo.obituaries".to_owned(),
    }
}

/// The broker is looked at once a minute and each time found to stand so; the clock goes on meanwhile.
pub async fn looks(desk: &Desk, looks: Vec<Option<Vec<QueueLevel>>>) {
    let settings = settings();
    let watcher = uuid::Uuid::now_v7();
    assert_eq!(desk.store.claim_watch(MAIN, watcher, desk.clock.now(), 9 * MINUTE).await.unwrap(), Claim::Taken);
    let mut before = WatchKept::default();
    for levels in looks {
        desk.clock.advance(MINUTE);
        let mut after = before.clone();
        let at = desk.clock.now();
        let (queues, overdue) = (levels.as_deref(), Some(Duration::ZERO));
        let poll = Poll { begun: at, at, queues, feeds: None, is_consuming: true, overdue };
        after.watch.observe(&settings, &poll);
        let problem = if levels.is_some() { "" } else { "rabbit:15672 did not answer within 10 s" };
        if let Some(levels) = levels {
            after.levels = levels.into_iter().map(|level| (level.name.clone(), level)).collect::<BTreeMap<_, _>>();
        }
        let claimed_until = at.plus(9 * MINUTE);
        let update = WatchUpdate { broker: MAIN, watcher, claimed_until, before: &before, after: &after, problem };
        assert!(desk.store.keep_watch(&update).await.unwrap());
        before = after;
    }
    desk.store.release_watch(MAIN, watcher).await.unwrap();
}

/// `texts.persist` had three consumers and has had none for so many minutes; `texts.new` lost its own just now.
pub fn lost_for(minutes: usize) -> Vec<Option<Vec<QueueLevel>>> {
    let busy = QueueLevel { messages: Some(1_204), messages_unacknowledged: Some(12), ..level("orders", 2, 1_192) };
    let there = |lost, new| Some(vec![busy.clone(), level("texts.persist", lost, 40), level("texts.new", new, 0)]);
    let mut looks = vec![there(3, 1)];
    looks.extend(vec![there(0, 1); minutes]);
    looks.push(there(0, 0));
    looks
}

fn rows(page: &scraper::Html) -> Vec<Vec<String>> {
    let cells = |row: &scraper::ElementRef<'_>| row.all("th bdi, td").into_iter().map(words).collect();
    page.all("table.table-queues tbody tr").iter().map(cells).collect()
}

#[tokio::test]
async fn depth_and_consumers_stand_beside_letters_those_first_that_need_a_hand() {
    let desk = Desk::watching().await;
    for queue in ["orders", "orders", "texts.persist"] {
        desk.receive(dead_in(queue)).await;
    }
    looks(&desk, lost_for(22)).await;
    let page = desk.page("/queues").await;
    let found: Vec<Vec<String>> = rows(&page).into_iter().map(|row| row[..5].to_vec()).collect();
    let expected = [
        ["texts.persist", "40", "none for 22 min, had 3", "1", "0"],
        ["texts.new", "0", "none for 0 s, had 1", "0", "0"],
        ["orders", "1,204 12 unacked", "2", "2", "0"],
    ];
    assert_eq!(found, expected.map(|row| row.map(str::to_owned).to_vec()));
    assert_eq!((page.count(".queue-consumers .is-alarm"), page.count(".queue-consumers .is-warn")), (1, 1));
    assert_eq!(page.words(".concern-list"), "texts.persist texts.persist has had no consumer for 22 min; it had 3.");
    assert!(page.words(".watch-panel").contains("answered now"), "{}", page.words(".watch-panel"));
    let one = desk.page(page.values(".concern-list a", "href")[0].as_str()).await;
    assert_eq!(one.words("h1"), "texts.persist");
    assert_eq!(rows(&desk.page("/queues?queue_glob=texts.*").await).len(), 2, "also where no letters came from");
}

#[tokio::test]
async fn settings_that_are_likely_missing_are_named_with_what_mends_them() {
    let desk = Desk::watching().await;
    for queue in ["orders", "messages"] {
        desk.receive(dead_in(queue)).await;
    }
    assert_eq!(desk.page("/queues").await.count("#missing-title"), 0);
    let own = SentBack::own_retries(MAIN, "messages", desk.clock.now(), 1);
    desk.store.remember_sent_back(MAIN, &[own]).await.unwrap();
    let busy = QueueLevel { redeliver_rate: Some(90.0), acknowledge_rate: Some(0.2), ..level("orders", 2, 3) };
    let none = QueueLevel { dead_letters: DeadLetterRoute::default(), ..level("texts", 1, 0) };
    looks(&desk, vec![Some(vec![busy, none]); 2]).await;
    let page = desk.page("/queues").await;
    let said: Vec<String> = page.all(".concern-list li").into_iter().map(words).collect();
    assert_eq!(said.len(), 3, "{said:?}");
    for (said, parts) in said.iter().zip([
        ["messages dlo retries none of its messages automatically", "max_retries: 0", "ago. Symfony Messenger"],
        [
            "orders Its messages are requeued again and again, 90 a second",
            "reject without requeueing",
            "delivery-limit",
        ],
        [
            "1 queue with consumers has no dead-letter exchange",
            "lost: texts.",
            r#"set_policy --vhost='/' --apply-to queues 'dlo-texts' '^texts$' '{"dead-letter-exchange":"the-dlx"}'"#,
        ],
    ]) {
        assert!(parts.iter().all(|part| said.contains(part)), "{said} lacks one of {parts:?}");
    }
    for href in page.values(".concern-list a[href^='/docs/']", "href") {
        let docs = desk.get(&href).await.expect(200);
        assert_eq!(docs.header("content-type"), "text/plain; charset=utf-8");
    }
    assert_eq!(page.count(".concern-list a[href^='/docs/']"), 2, "of Symfony, and of all");
}

#[tokio::test]
async fn a_queue_whose_copies_are_not_recognised_is_named_with_what_they_lack() {
    let desk = Desk::watching().await;
    for queue in ["orders", "texts"] {
        desk.receive(dead_in(queue)).await;
    }
    let letter = LetterId::from_uuid(Uuid::now_v7());
    for minutes in [9, 4] {
        for (queue, has_id) in [("orders", true), ("texts", false)] {
            let (queue, at) = (queue.to_owned(), desk.clock.now().minus(minutes * MINUTE));
            let stopped = StoppedRetry { letter, queue, at, has_id, superseded: Vec::new() };
            desk.store.stop_retries(MAIN, &[stopped]).await.unwrap();
        }
    }
    let page = desk.page("/queues").await;
    let said: Vec<String> = page.all(".concern-list li").into_iter().map(words).collect();
    for (queue, lacks) in [("orders", "with another message_id each time"), ("texts", "with no message_id")] {
        let line = said.iter().find(|line| line.starts_with(queue)).unwrap();
        for part in [
            "Automatic retries of 2 messages",
            "in the last 9 min",
            "the last one 4 min ago",
            lacks,
            "Handing over a failed message",
        ] {
            assert!(line.contains(part), "{line} lacks {part}");
        }
    }
}

#[tokio::test]
async fn the_overview_names_unhealthy_queues() {
    let desk = Desk::watching().await;
    let unhealthy = async |desk: &Desk| {
        let page = desk.page("/").await;
        let panels = page.all(".panel-box").into_iter().filter(|panel| panel.words("h2").starts_with("Unhealthy"));
        panels.map(words).collect::<String>()
    };
    assert!(unhealthy(&desk).await.contains("Unknown. main has not been asked yet."));
    looks(&desk, vec![Some(vec![level("orders", 2, 7), level("parked", 0, 0), level("dlo.dead-letters", 0, 9)])]).await;
    assert!(
        unhealthy(&desk).await.contains("None: no queue with messages is without consumers, none is full or down.")
    );

    let desk = Desk::watching().await;
    looks(&desk, lost_for(3)).await;
    let said = unhealthy(&desk).await;
    assert!(said.contains("texts.persist No consumers; 40 messages wait."), "{said}");

    let desk = Desk::watching().await;
    let never_had_any = QueueLevel { max_length: Some(100), ..level("stats.counters", 0, 100) };
    let down = QueueLevel { state: Some(QueueState::Down), ..level("images", 1, 3) };
    looks(&desk, vec![Some(vec![never_had_any, down]), None]).await;
    let said = unhealthy(&desk).await;
    let expected = "stats.counters No consumers; 100 messages wait. Full: it holds 100 messages at most.";
    assert!(said.contains(expected) && said.contains("images Not running: down."), "{said}");
    assert!(
        said.contains("Unknown. main: rabbit:15672 did not answer within 10 s.") && !said.contains("None"),
        "{said}"
    );
    let page = desk.page("/queues").await;
    let found: Vec<_> = rows(&page).into_iter().map(|row| row[..3].join(" ")).collect();
    assert_eq!(found, ["images 3 it is down", "stats.counters 100 full none"]);

    let desk = Desk::watching().await;
    looks(&desk, lost_for(22)).await;
    let page = desk.page("/").await;
    assert_eq!(page.words(".concern-list"), "texts.persist texts.persist has had no consumer for 22 min; it had 3.");
    assert_eq!(page.values(".concern-list a", "href"), ["/queues/main/texts.persist"]);
}

#[tokio::test]
async fn a_broker_that_does_not_answer_is_told_with_the_reason() {
    let desk = Desk::watching().await;
    looks(&desk, [vec![Some(vec![level("orders", 2, 7)])], vec![None; 5]].concat()).await;
    let page = desk.page("/queues").await;
    let said = page.words(".watch-panel");
    assert!(said.contains("answered 5 min ago") && said.contains("did not answer within 10 s"), "{said}");
    assert!(
        page.words(".concern-list").starts_with("The management API does not answer"),
        "{}",
        page.words(".concern-list")
    );
    assert_eq!(rows(&page)[0][..3], ["orders", "7", "2"], "as it stood then");
    let desk = Desk::watching().await;
    looks(&desk, [vec![Some(vec![level("parked", 0, 7)])], vec![None; 5]].concat()).await;
    let said = desk.page("/").await.words(".concern-list");
    assert!(!said.contains("parked"), "how it stood then is not how it stands: {said}");
}

#[tokio::test]
async fn a_queue_that_is_not_listed_is_missing_while_the_list_is_newer_than_its_letters_and_not_old() {
    let desk = Desk::watching().await;
    desk.receive(dead_in("orders")).await;
    looks(&desk, vec![Some(vec![level("texts", 1, 0)])]).await;
    let badges = async |desk: &Desk| desk.get("/api/v1/queues/main/orders").await.expect(200).json()["badges"].clone();
    let missing = json!([{"name": "missing", "text": "not found"}]);
    assert_eq!(badges(&desk).await, missing);
    desk.clock.advance(60 * MINUTE);
    assert_eq!(badges(&desk).await, json!([]), "that was an hour ago");

    let desk = Desk::watching().await;
    desk.receive(dead_in("orders")).await;
    looks(&desk, vec![Some(vec![level("texts", 1, 0)])]).await;
    assert_eq!(badges(&desk).await, missing);
    let now = desk.clock.now();
    desk.receive(dead_in("orders").with(|arrival| arrival.received_at = now)).await;
    assert_eq!(badges(&desk).await, json!([]), "it has been declared since");
}

#[tokio::test]
async fn where_no_api_is_named_the_page_says_how_to() {
    let desk = Desk::with(&[MAIN, "far.away"], &[MAIN]).await;
    let page = desk.page("/queues").await;
    let said = page.words(".watch-panel");
    assert!(said.contains("main not asked yet") && said.contains("far.away is not watched"), "{said}");
    assert!(said.contains("[brokers.\"far.away\"] management_url = \"http://USER:PASSWORD@HOST:15672\""), "{said}");
    let nowhere = Desk::open().await;
    nowhere.receive(dead_in("orders")).await;
    let page = nowhere.page("/queues").await;
    assert!(!page.words("table.table-queues thead").contains("Depth"), "no columns without a number");
    assert!(!nowhere.page("/").await.words("main").contains("need a hand"));
}

#[tokio::test]
async fn the_api_and_the_numbers_tell_the_same() {
    let desk = Desk::watching().await;
    desk.receive(dead_in("orders")).await;
    looks(&desk, lost_for(22)).await;
    let api = desk.get("/api/v1/queues").await.expect(200).json();
    let item = |name: &str| -> Value {
        api["items"].as_array().unwrap().iter().find(|item| item["queue"] == name).unwrap().clone()
    };
    let orders = item("orders");
    assert_eq!(
        (&orders["depth"], &orders["ready"], &orders["unacknowledged"]),
        (&json!(1204), &json!(1192), &json!(12))
    );
    assert_eq!((&orders["consumers"], &orders["open"], &orders["unhealthy"]), (&json!(2), &json!(1), &json!(false)));
    let lost = item("texts.persist");
    assert_eq!((&lost["consumers"], &lost["had_consumers"], &lost["open"]), (&json!(0), &json!(3), &json!(0)));
    assert_eq!(
        (&lost["without_consumers_since"], &lost["unhealthy"]),
        (&json!("2026-11-21T12:02:00.000000Z"), &json!(true))
    );
    let metrics = desk.get("/metrics").await.expect(200).text();
    let lines: Vec<&str> = metrics.lines().filter(|line| line.starts_with("dlo_queue_without_consumers{")).collect();
    assert_eq!(lines, ["dlo_queue_without_consumers{broker=\"main\",queue=\"texts.persist\"} 1"]);
    let plain = Desk::open().await;
    plain.receive(dead_in("orders")).await;
    let api = plain.get("/api/v1/queues").await.expect(200).json();
    assert_eq!((&api["items"][0]["depth"], &api["items"][0]["consumers"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn names_of_queues_do_no_harm() {
    let desk = Desk::watching().await;
    let odd = "<b>a\u{202e}\n";
    let there = |n| Some(vec![level(odd, n, 0)]);
    looks(&desk, [vec![there(1)], vec![there(0); 16]].concat()).await;
    let page = desk.page("/queues").await;
    assert_eq!(page.count("main table b, .concern-list b"), 0);
    assert!(page.words(".concern-list").contains("‹U+202E›"), "{}", page.words(".concern-list"));
    let own = desk.page(page.values(".concern-list a", "href")[0].as_str()).await;
    assert!(own.words("h1").contains("‹U+202E›"), "{}", own.words("h1"));
    assert_eq!(own.count("main h1 b, main dl b"), 0);
}
