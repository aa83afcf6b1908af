//! ChangeFeed as they happen: server-sent events.

use axum::body::Body;
use dead_letter_office::domain::broker::ConnectionState;
use http_body_util::BodyExt;

use super::{
    answer::Look,
    dead::{NOON, dead_in},
    desk::{Desk, MAIN},
};

/// The next event, as `name data`.
async fn next(stream: &mut Body) -> Option<String> {
    let frame = stream.frame().await?.unwrap().into_data().unwrap();
    let text = String::from_utf8(frame.to_vec()).unwrap();
    let lines: Vec<_> = text.trim().lines().filter_map(|line| line.split_once(": ")).map(|(_, value)| value).collect();
    Some(lines.join(" "))
}

#[tokio::test]
async fn whoever_begins_to_listen_is_told_how_things_stand() {
    let desk = Desk::open().await;
    desk.receive(dead_in("orders")).await;
    let known = desk.page("/letters").await.one("#side").attr("data-changes").unwrap().to_owned();
    let mut stream = desk.stream("/events").await;
    assert_eq!(next(&mut stream).await, Some(format!("changes {known}")), "what a page made now knows already");
}

#[tokio::test]
async fn letters_and_brokers_make_news() {
    let desk = Desk::open().await;
    let mut stream = desk.stream("/events").await;
    let mut told = vec![next(&mut stream).await];
    desk.receive(dead_in("orders")).await;
    told.push(next(&mut stream).await);
    desk.board_says(MAIN, ConnectionState::Lost { since: NOON, why: "gone".to_owned() });
    told.push(next(&mut stream).await);
    told.dedup();
    assert_eq!(told.len(), 3, "{told:?}");
}

#[tokio::test]
async fn what_comes_in_quickly_is_told_together() {
    let desk = Desk::open().await;
    let mut stream = desk.stream("/events").await;
    next(&mut stream).await;
    for _ in 0..20 {
        desk.receive(dead_in("orders")).await;
    }
    let told = next(&mut stream).await.unwrap();
    assert!(told.starts_with("changes 20."), "{told}");
}

#[tokio::test]
async fn the_stream_ends_when_the_server_closes() {
    let desk = Desk::open().await;
    let mut stream = desk.stream("/events").await;
    next(&mut stream).await;
    desk.closing.cancel();
    assert_eq!(next(&mut stream).await, None);
}
