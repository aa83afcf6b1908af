//! ChangeFeed as they happen: server-sent events.

use axum::body::Body;
use dead_letter_office::{domain::broker::ConnectionState, services::health::HealthWatch};
use http_body_util::BodyExt;

use super::{
    answer::Look,
    dead::{NOON, dead_in},
    desk::{Desk, MAIN},
};

/// What the next event about letters and brokers says has changed.
pub async fn next_change(stream: &mut Body) -> String {
    next(stream).await.unwrap().strip_prefix("changes ").unwrap().to_owned()
}

/// The next event about letters and brokers.
async fn next(stream: &mut Body) -> Option<String> {
    loop {
        let event = next_of_all(stream).await?;
        if !event.starts_with("health ") {
            return Some(event);
        }
    }
}

/// The next event, as `name data`.
async fn next_of_all(stream: &mut Body) -> Option<String> {
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
async fn what_goes_wrong_is_told_and_stands_on_every_page_until_it_is_over() {
    let desk = Desk::open().await;
    let mut watch = HealthWatch::new(desk.health.clone());
    let mut stream = desk.stream("/events").await;
    let mut health = async || loop {
        let event = next_of_all(&mut stream).await.unwrap();
        if let Some(changes) = event.strip_prefix("health ") {
            return changes.to_owned();
        }
    };
    let known = async |path: &str| desk.page(path).await.one("#health").attr("data-health").unwrap().to_owned();
    let well = health().await;
    assert_eq!(known("/").await, well);
    desk.board_says(MAIN, ConnectionState::Lost { since: NOON, why: "<b>gone</b>".to_owned() });
    watch.look();
    let ill = health().await;
    assert_ne!(ill, well);
    for path in ["/", "/letters", "/groups", "/schemas", "/api/docs", "/banner"] {
        assert_eq!(known(path).await, ill, "{path}");
        let words = desk.page(path).await.words("#health");
        assert!(words.contains("No connection to broker main since 12:00:00 <b>gone</b> dlo keeps trying."), "{words}");
    }
    let missing = desk.get("/nowhere").await.expect(404).page();
    assert!(missing.words("#health").contains("No connection to broker main"), "also where something else is wrong");
    desk.board_says(MAIN, ConnectionState::Connected { since: NOON });
    watch.look();
    assert_eq!(health().await, well);
    assert_eq!(desk.page("/").await.words("#health"), "");
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
