//! Walking through a list that is longer than a page.

use std::{collections::HashSet, time::Duration};

use dead_letter_office::domain::letter::Status;
use serde_json::Value;

use super::{
    answer::Look,
    dead::{before_noon, dead_in},
    desk::{Desk, MAIN},
};

const LETTERS: u64 = 23;

/// Letters of which four at a time came in at the same moment.
async fn a_full_server() -> Desk {
    let desk = Desk::open().await;
    let received = |n: u64| dead_in("orders").received(before_noon(Duration::from_secs(n / 4)));
    desk.receive_all(MAIN, (0..LETTERS).map(received).collect()).await;
    desk
}

/// The ids of all pages of the API, page by page.
async fn walk_api(desk: &Desk, query: &str) -> Vec<Value> {
    let mut ids = Vec::new();
    let mut place = String::new();
    loop {
        let answer = desk.get(&format!("/api/v1/letters?{query}{place}")).await.expect(200).json();
        assert_eq!(answer["total"], LETTERS, "all pages together");
        ids.extend(answer["items"].as_array().unwrap().iter().map(|item| item["id"].clone()));
        let Some(next) = answer["next_cursor"].as_str() else { return ids };
        place = format!("&cursor={next}");
    }
}

/// The ids of all pages, by way of their links.
async fn walk_pages(desk: &Desk, query: &str) -> Vec<Value> {
    let mut ids = Vec::new();
    let mut path = format!("/letters?{query}");
    loop {
        let page = desk.page(&path).await;
        ids.extend(page.values(".list-row input", "value").into_iter().map(Value::from));
        let Some(next) = page.values("a[rel=next]", "href").pop() else { return ids };
        path = next;
    }
}

#[tokio::test]
async fn every_letter_is_on_exactly_one_page() {
    let desk = a_full_server().await;
    for limit in [1, 4, 5, 22, 23, 24] {
        let newest = walk_api(&desk, &format!("limit={limit}")).await;
        let oldest = walk_api(&desk, &format!("limit={limit}&sort=oldest")).await;
        let distinct: HashSet<_> = newest.iter().collect();
        assert_eq!((newest.len(), distinct.len()), (23, 23), "limit {limit}");
        assert!(newest.iter().eq(oldest.iter().rev()), "one order is the other backwards");
        assert_eq!(walk_pages(&desk, &format!("limit={limit}&status=all")).await, newest);
    }
}

#[tokio::test]
async fn what_comes_in_meanwhile_shifts_nothing() {
    let desk = a_full_server().await;
    let before = walk_api(&desk, "limit=5").await;
    let first = desk.get("/api/v1/letters?limit=5").await.json();
    desk.receive(dead_in("orders")).await;
    let next = first["next_cursor"].as_str().unwrap();
    let second = desk.get(&format!("/api/v1/letters?limit=5&cursor={next}")).await.json();
    assert_eq!(second["items"][0]["id"], before[5]);
}

#[tokio::test]
async fn a_later_page_leads_back_to_the_first_and_keeps_the_filter() {
    let desk = a_full_server().await;
    let first = desk.page("/letters?queue_glob=ord*&limit=10&sort=oldest").await;
    assert_eq!(first.count(".pager-nav a"), 1);
    let second = desk.page(first.one("a[rel=next]").attr("href").unwrap()).await;
    assert_eq!(second.values(".pager-nav a", "href")[0], "/letters?queue_glob=ord*&sort=oldest&limit=10");
}

#[tokio::test]
async fn a_page_is_small_however_many_letters_there_are() {
    let desk = Desk::open().await;
    let long =
        |n: u64| dead_in(&format!("{}{n}", "long-queue-name.".repeat(15))).published_to("exchange", &"key.".repeat(60));
    desk.receive_all(MAIN, (0..200).map(long).collect()).await;
    let page = desk.get("/letters").await.expect(200);
    assert_eq!(page.page().count(".list-row"), 50);
    let request = super::desk::builder(axum::http::Method::GET, "/letters").header("accept-encoding", "br, gzip");
    let packed = desk.send(request.body(axum::body::Body::empty()).unwrap()).await;
    assert_eq!(packed.header("content-encoding"), "br");
    assert!(packed.body.len() < 60_000, "{} bytes over the wire", packed.body.len());
}

#[tokio::test]
async fn the_page_says_how_many_there_are() {
    let desk = a_full_server().await;
    desk.letter_in(Status::Retried).await;
    assert_eq!(desk.page("/letters?limit=3").await.words("[data-selected]"), "23 dead letters");
}
