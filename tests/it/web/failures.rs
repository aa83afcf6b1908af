//! When something breaks: what is said, and what is not.

use axum::{body::Body, http::Method};
use sqlx::SqlitePool;

use super::{
    answer::Look,
    dead::dead_in,
    desk::{Desk, ask, builder},
    form::submit,
};

/// A server from under which a table has been pulled away.
async fn a_broken_server() -> Desk {
    let desk = Desk::open().await;
    desk.receive(dead_in("orders")).await;
    let raw = SqlitePool::connect(&desk.database_url()).await.unwrap();
    sqlx::query("ALTER TABLE facets RENAME TO gone").execute(&raw).await.unwrap();
    raw.close().await;
    desk
}

/// Words of ours that nobody outside has to read.
fn check_discretion(text: &str) {
    for word in ["facets", "SELECT", "sqlx", "no such table", "database.db", "/src/", "panicked"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[tokio::test]
async fn a_page_that_is_not_there_offers_the_way_on() {
    let desk = Desk::open().await;
    let page = desk.get("/nowhere").await.expect(404).page();
    assert_eq!((page.count("h1"), page.count("nav")), (1, 1));
    let ways = page.values("main a", "href");
    assert_eq!(ways, ["/letters", "/"]);
    for way in ways {
        desk.page(&way).await;
    }
}

#[tokio::test]
async fn a_failure_of_ours_is_named_by_its_request_and_tells_no_internals() {
    let desk = a_broken_server().await;
    for path in ["/", "/letters"] {
        let answer = desk.get(path).await.expect(500);
        check_discretion(&answer.text());
        let page = answer.page();
        assert_eq!(page.words("main code"), answer.header("x-request-id"), "{path}");
        assert!(page.values("main a", "href").contains(&"/readyz".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn a_failure_of_ours_is_a_problem_to_programs() {
    let desk = a_broken_server().await;
    let answer = desk.get("/api/v1/letters").await;
    let id = answer.header("x-request-id").to_owned();
    assert_eq!(answer.json()["request_id"], id);
    check_discretion(&answer.text());
    answer.problem(500);
}

#[tokio::test]
async fn a_failure_of_ours_is_a_toast_to_htmx() {
    let desk = a_broken_server().await;
    let request = builder(Method::GET, "/letters?part=results").header("hx-request", "true");
    let answer = desk.send(request.body(Body::empty()).unwrap()).await.expect(500);
    check_discretion(&answer.text());
    assert!(answer.page().words(".toast-box.is-failed").contains(answer.header("x-request-id")));
}

#[tokio::test]
async fn numbers_are_told_while_the_database_is_broken() {
    let desk = a_broken_server().await;
    desk.metrics.letter_received("main", Some("orders"));
    assert!(desk.get("/metrics").await.expect(200).text().contains("dlo_letters_received_total"));
    desk.get("/healthz").await.expect(200);
}

#[tokio::test]
async fn a_form_over_the_limit_is_refused_as_a_page() {
    let desk = Desk::open().await;
    let note = "x".repeat(3 << 20);
    let page = submit(&desk, "/letters/actions", &[("action", "note"), ("note", &note)]).await.expect(413).page();
    assert!(page.words("main").contains("2097152 bytes"), "{}", page.words("main"));
}

#[tokio::test]
async fn a_form_of_another_type_is_refused() {
    let desk = Desk::open().await;
    let request = builder(Method::POST, "/letters/actions").header("content-type", "multipart/form-data; boundary=x");
    let page = desk.send(request.body(Body::from("--x--")).unwrap()).await.expect(415).page();
    assert!(page.words("main").contains("application/x-www-form-urlencoded"));
}

#[tokio::test]
async fn another_method_is_refused_as_a_page() {
    let desk = Desk::open().await;
    for (method, path) in [(Method::POST, "/letters"), (Method::DELETE, "/"), (Method::PUT, "/queues")] {
        let answer = desk.send(ask(method, path)).await.expect(405);
        assert!(answer.page().words("main").contains("does not take that method"), "{path}");
        assert!(answer.header("allow").contains("GET"), "{path}");
    }
}

/// After a mistake in a form it stands in the address bar.
#[tokio::test]
async fn the_address_of_a_form_leads_to_its_page() {
    let desk = Desk::open().await;
    for (form, page) in [
        ("/rules/set", "/rules"),
        ("/policies/set", "/policies"),
        ("/schemas/upload", "/schemas"),
        ("/letters/actions?status=open", "/letters?status=open"),
    ] {
        assert_eq!(desk.get(form).await.expect(303).header("location"), page);
        desk.get(page).await.expect(200);
    }
}

#[tokio::test]
async fn what_a_request_calls_itself_is_kept() {
    let desk = Desk::open().await;
    let request = builder(Method::GET, "/healthz").header("x-request-id", "my-own");
    let answer = desk.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.header("x-request-id"), "my-own");
}

#[tokio::test]
async fn head_is_answered_like_get_without_a_body() {
    let desk = Desk::open().await;
    for path in ["/", "/letters", "/healthz", "/api/v1/letters"] {
        let answer = desk.send(ask(Method::HEAD, path)).await.expect(200);
        assert!(answer.body.is_empty(), "{path}");
    }
}
