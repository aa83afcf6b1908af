//! What waits for its retry: seen, hurried, handed over, discarded; one by one or all at once.

use std::time::Duration;

use amqp_message::death::Reason;
use axum::{body::Body, http::Method};
use dead_letter_office::domain::{
    command::Command,
    letter::{LetterId, Status},
};
use scraper::Html;
use serde_json::json;

use super::{
    answer::{Answer, Look, words},
    dead::{Dead, dead_in},
    desk::{Desk, MAIN, builder},
    form::{Form, buttons, submit},
};

async fn waiting(desk: &Desk, queue: &str, failures: u64) -> LetterId {
    desk.fails(dead_in(queue), failures).await
}

async fn scheduled(desk: &Desk, queue: &str, n: usize) -> Vec<LetterId> {
    let ids = desk.receive_all(MAIN, (0..n).map(|_| dead_in(queue)).collect()).await;
    for id in &ids {
        desk.command(*id, Command::Retry { delay: Duration::from_secs(3_600), queue: None }).await;
    }
    ids
}

fn titles(page: &Html) -> Vec<String> {
    page.all(".list-row .row-name").into_iter().map(words).collect()
}

#[tokio::test]
async fn what_waits_is_listed_soonest_first() {
    let desk = Desk::open().await;
    let third = waiting(&desk, "orders", 3).await;
    waiting(&desk, "texts", 1).await;
    waiting(&desk, "mail", 2).await;
    desk.receive(dead_in("open")).await;
    let by_hand = desk.receive(dead_in("orders")).await;
    desk.command(by_hand, Command::Retry { delay: Duration::from_secs(7_200), queue: Some("orders.v2".to_owned()) })
        .await;
    let page = desk.page("/scheduled").await;
    assert_eq!(titles(&page), ["texts", "mail", "orders", "orders"]);
    let rows: Vec<String> = page.all(".list-row").into_iter().map(words).collect();
    for (row, parts) in rows.iter().zip([
        ["texts", "retry 1 of 3", "policy", "in 10 s"],
        ["mail", "retry 2 of 3", "policy", "in 1 min"],
        ["orders", "retry 3 of 3", "policy", "in 16 min"],
        ["orders", "to orders.v2", "local user", "in 2 h"],
    ]) {
        assert!(parts.iter().all(|part| row.contains(part)), "{row} without some of {parts:?}");
    }
    assert_eq!(page.values(".list-row > a", "href")[2], format!("/letters/{third}?list=%2Fscheduled"));
    assert_eq!(page.words("#count"), "4 scheduled retries");
    assert_eq!(page.words("#side a[href='/scheduled'] .text-count"), "4 scheduled");
}

#[tokio::test]
async fn what_is_due_is_due_now() {
    let desk = Desk::open().await;
    waiting(&desk, "orders", 1).await;
    desk.clock.advance(Duration::from_secs(3_600));
    let page = desk.page("/scheduled").await;
    assert_eq!(
        (page.words(".list-row time"), page.one(".list-row time").attr("data-due")),
        ("now".to_owned(), Some("0"))
    );
}

#[tokio::test]
async fn an_empty_page_says_why() {
    let desk = Desk::open().await;
    let page = desk.page("/scheduled").await;
    assert!(page.words("main").contains("No scheduled retries."), "{}", page.words("main"));
    assert_eq!(
        (page.words("#count"), page.count("#side a[href='/scheduled'] .text-count")),
        ("no scheduled retries".to_owned(), 0)
    );
    waiting(&desk, "orders", 1).await;
    let narrowed = desk.page("/scheduled?queue=none").await;
    assert_eq!(desk.page(narrowed.one(".empty-state a").attr("href").unwrap()).await.count(".list-row"), 1);
}

#[tokio::test]
async fn the_filter_finds_queues_and_brokers() {
    let desk = Desk::with_brokers(&[MAIN, "other"]).await;
    for queue in ["texts.sms", "texts.mail", "orders"] {
        waiting(&desk, queue, 1).await;
    }
    let [elsewhere] = desk.receive_from("other", [dead_in("orders")]).await;
    desk.bring(elsewhere, Status::Scheduled).await;
    for (query, expected) in
        [("", 4), ("queue_glob=texts.*", 2), ("queue=orders", 2), ("queue=orders&broker=other", 1), ("broker=none", 0)]
    {
        let page = desk.page(&format!("/scheduled?{query}")).await;
        assert_eq!(page.count(".list-row"), expected, "{query}");
    }
    assert_eq!(desk.page("/scheduled?queue=orders").await.count(".list-row .row-broker"), 2);
    assert_eq!(desk.page("/scheduled?broker=other").await.count(".list-row .row-broker"), 0, "it is the same for all");
    for bad in ["limit=0", "cursor=x", "all=burn", "part=rows"] {
        desk.get(&format!("/scheduled?{bad}")).await.expect(400);
    }
}

#[tokio::test]
async fn every_letter_is_on_exactly_one_page() {
    let desk = Desk::open().await;
    let mut expected: Vec<String> = scheduled(&desk, "orders", 11).await.iter().map(ToString::to_string).collect();
    for limit in [1, 4, 10, 11, 12] {
        let (mut found, mut path) = (Vec::new(), format!("/scheduled?queue_glob=ord*&limit={limit}"));
        loop {
            let page = desk.page(&path).await;
            found.extend(page.values(".list-row input", "value"));
            let Some(next) = page.values("a[rel=next]", "href").pop() else { break };
            assert!(next.starts_with("/scheduled?queue_glob=ord*"), "the filter stays");
            path = next;
        }
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "limit {limit}");
    }
}

#[tokio::test]
async fn the_selected_ones_are_acted_on() {
    let desk = Desk::open().await;
    let ids = [waiting(&desk, "a", 1).await, waiting(&desk, "b", 1).await, waiting(&desk, "c", 1).await];
    let page = Form::of(&desk.page("/scheduled").await, "Retry now").tick("id", ids[0]).press(&desk).await;
    assert!(page.words(".toast-box p").contains("Retrying 1 dead letter"), "{}", page.words(".toast-box"));
    assert_eq!(desk.letter(ids[0]).await["retry_at"], "2026-11-21T12:00:00.000000Z");
    let page = Form::of(&page, "Stop retrying").tick("id", ids[1]).press(&desk).await;
    assert_eq!((desk.status(ids[1]).await, page.count(".list-row")), (Status::Open, 2));
    Form::of(&page, "Discard").tick("id", ids[2]).press(&desk).await;
    assert_eq!(desk.status(ids[2]).await, Status::Discarded);
}

/// Presses the link to what is done with all, and then the button that does it.
async fn do_with_all(desk: &Desk, path: &str, link: &str, button: &str) -> Html {
    let page = desk.page(path).await;
    let links = page.all(".list-bar .menu-sheet a");
    let asking = links.iter().find(|found| words(**found).starts_with(link)).unwrap().attr("href").unwrap();
    Form::of(&desk.page(asking).await, button).press(desk).await
}

#[tokio::test]
async fn all_that_match_are_retried_after_one_more_question() {
    let desk = Desk::open().await;
    scheduled(&desk, "texts.a", 2).await;
    scheduled(&desk, "texts.b", 1).await;
    let other = scheduled(&desk, "orders", 1).await[0];
    let asked = desk.page("/scheduled?queue_glob=texts.*&all=retry").await;
    assert_eq!(asked.words("#asking-title"), "Retry 3 of texts.a (2), texts.b (1) now?");
    assert_eq!(asked.one(".confirm-box a").attr("href"), Some("/scheduled?queue_glob=texts.*"));
    let page = do_with_all(&desk, "/scheduled?queue_glob=texts.*", "Retry all now", "Retry all 3 now").await;
    assert!(page.words(".toast-box p").contains("Retrying 3 dead letters."), "{}", page.words(".toast-box"));
    assert_eq!((page.count(".list-row"), page.count(".confirm-box")), (3, 0));
    assert!(page.all(".list-row time").into_iter().all(|time| words(time) == "now"));
    assert_eq!(desk.letter(other).await["retry_at"], "2026-11-21T13:00:00.000000Z");
}

#[tokio::test]
async fn all_can_be_handed_over_or_discarded() {
    let desk = Desk::open().await;
    let first = scheduled(&desk, "a", 3).await;
    let page = do_with_all(&desk, "/scheduled", "Stop retrying all", "Stop retrying 3").await;
    assert!(page.words(".toast-box p").contains("Stopped retrying 3 dead letters"), "{}", page.words(".toast-box"));
    assert_eq!(desk.status(first[2]).await, Status::Open);
    let second = scheduled(&desk, "b", 2).await;
    do_with_all(&desk, "/scheduled", "Discard all", "Discard all 2").await;
    assert_eq!((desk.status(second[0]).await, desk.status(first[0]).await), (Status::Discarded, Status::Open));
}

#[tokio::test]
async fn what_came_after_the_question_is_left_alone() {
    let desk = Desk::open().await;
    let asked_for = waiting(&desk, "orders", 1).await;
    let asked = Form::of(&desk.page("/scheduled?all=discard").await, "Discard all 1");
    let later = desk.clock.now().plus(Duration::from_secs(1));
    let late = desk.fails(dead_in("orders").received(later), 1).await;
    asked.press(&desk).await;
    assert_eq!((desk.status(asked_for).await, desk.status(late).await), (Status::Discarded, Status::Scheduled));
}

#[tokio::test]
async fn nothing_is_done_to_all_without_the_question() {
    let desk = Desk::open().await;
    let id = waiting(&desk, "orders", 1).await;
    submit(&desk, "/scheduled/all", &[("action", "discard")]).await.expect(400);
    for pairs in [vec![("until", "1")], vec![("action", "burn"), ("until", "1")]] {
        submit(&desk, "/scheduled/all", &pairs).await.expect(422);
    }
    assert_eq!(desk.status(id).await, Status::Scheduled);
    let gone = submit(&desk, "/scheduled/all", &[("queue", "none"), ("action", "discard"), ("until", "1")]).await;
    assert!(
        super::form::follow(&desk, gone.expect(303))
            .await
            .words(".toast-box.is-failed p")
            .contains("No scheduled retries there")
    );
}

#[tokio::test]
async fn a_letter_that_waits_says_so_and_can_be_hurried() {
    let desk = Desk::open().await;
    let id = waiting(&desk, "orders", 2).await;
    let page = desk.page(&format!("/letters/{id}")).await;
    let head = page.words("article header");
    assert!(head.contains("retry 2 of 3, due in 1 min"), "{head}");
    assert_eq!(buttons(&page)[..3], ["Retry now", "Schedule", "Stop retrying"]);
    assert!(buttons(&page).contains(&"Discard".to_owned()));
    Form::of(&page, "Stop retrying").press(&desk).await;
    assert_eq!(desk.status(id).await, Status::Open);
}

#[tokio::test]
async fn the_policy_of_the_reason_counts() {
    let desk = Desk::open().await;
    let expired = json!({"queues": "*", "reason": "expired", "delays": ["1h"], "jitter": 0});
    desk.call(Method::POST, "/api/v1/policies", &expired).await.expect(201);
    desk.fails(dead_in("orders").because(Reason::Expired), 1).await;
    let row = desk.page("/scheduled").await.words(".list-row");
    assert!(row.contains("retry 1 of 1") && row.contains("in 1 h"), "{row}");
}

async fn ask_htmx(desk: &Desk, path: &str) -> Answer {
    desk.send(builder(Method::GET, path).header("hx-request", "true").body(Body::empty()).unwrap()).await.expect(200)
}

#[tokio::test]
async fn parts_are_what_the_whole_page_has_there() {
    let desk = Desk::open().await;
    waiting(&desk, "orders", 1).await;
    let whole = desk.page("/scheduled?queue=orders").await;
    let main = ask_htmx(&desk, "/scheduled?queue=orders&part=main").await;
    assert_eq!(main.header("hx-push-url"), "/scheduled?queue=orders");
    assert_eq!(main.page().one("#main").html(), whole.one("#main").html());
    let results = ask_htmx(&desk, "/scheduled?queue=orders&part=results").await.page();
    assert_eq!(results.one("#results").html(), whole.one("#results").html());
    waiting(&desk, "orders", 1).await;
    assert_eq!(desk.page("/scheduled?queue=orders").await.words("#count[data-fresh]"), "2 scheduled retries");
}

#[tokio::test]
async fn a_page_is_small_however_much_waits() {
    let desk = Desk::open().await;
    let long = |n: u64| -> Dead { dead_in(&format!("{}{n}", "long-queue-name.".repeat(15))) };
    for id in desk.receive_all(MAIN, (0..60).map(long).collect()).await {
        desk.bring(id, Status::Scheduled).await;
    }
    let request = builder(Method::GET, "/scheduled").header("accept-encoding", "br, gzip");
    let packed = desk.send(request.body(Body::empty()).unwrap()).await;
    assert!(packed.body.len() < 60_000, "{} bytes over the wire", packed.body.len());
}
