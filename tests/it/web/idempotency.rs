//! Calls that are made again because their answer was lost.

use std::time::Duration;

use axum::{
    body::Body,
    http::{Method, Request},
};
use dead_letter_office::{
    domain::{actor::Actor, letter::Status},
    services::idempotency::{KEPT, Keys},
    store::{KeyClaim, KeyedCall},
};
use serde_json::{Value, json};

use super::{
    dead::{NOON, dead_in},
    desk::{Desk, builder},
};
use crate::support::{PATIENCE, process::wait_until};

fn keyed(path: &str, key: &str, body: &Value) -> Request<Body> {
    let request = builder(Method::POST, path).header("content-type", "application/json");
    request.header("idempotency-key", key).body(Body::from(body.to_string())).unwrap()
}

/// A proxy that joins two calls must not have one of them done.
async fn a_key_is_one(desk: &Desk) {
    let id = desk.receive(dead_in("orders")).await;
    let mut request = keyed(&format!("/api/v1/letters/{id}/discard"), "a", &json!({}));
    request.headers_mut().append("idempotency-key", "b".parse().unwrap());
    let detail = desk.send(request).await.problem(400);
    assert!(detail.contains("more than once"), "{detail}");
    assert_eq!(desk.status(id).await, Status::Open);
}

async fn a_call_is_done_once_and_answered_again(desk: &Desk) {
    let id = desk.receive(dead_in("orders")).await;
    let path = format!("/api/v1/letters/{id}/retry");
    let later = json!({"delay": "1h"});
    let first = desk.send(keyed(&path, "a", &later)).await.expect(200);
    desk.clock.advance(Duration::from_secs(60));
    let again = desk.send(keyed(&path, "a", &later)).await.expect(200);
    assert_eq!((again.json(), again.header("etag")), (first.json(), first.header("etag")), "it has not moved");
    assert_eq!((first.header("idempotency-replayed"), again.header("idempotency-replayed")), ("", "true"));
    let detail = desk.send(keyed(&path, "a", &json!({"delay": "2h"}))).await.problem(422);
    assert!(detail.contains("was used for another call"), "{detail}");
    let moved = desk.send(keyed(&path, "b", &later)).await.expect(200).json();
    assert_ne!(moved["retry_at"], first.json()["retry_at"], "another key is another call");
    assert_eq!(desk.letter(id).await["history"].as_array().unwrap().len(), 3);

    let rule = json!({"name": "a", "when": "true", "importance": "low"});
    let made = desk.send(keyed("/api/v1/rules", "c", &rule)).await.expect(201);
    let again = desk.send(keyed("/api/v1/rules", "c", &rule)).await.expect(201);
    assert_eq!((again.header("location"), again.json()), (made.header("location"), made.json()));
    desk.clock.advance(KEPT + Duration::from_secs(1));
    desk.send(keyed("/api/v1/rules", "c", &rule)).await.problem(422);
}

async fn what_failed_can_be_made_again(desk: &Desk) {
    let id = desk.letter_in(Status::Discarded).await;
    let path = format!("/api/v1/letters/{id}/discard");
    desk.send(keyed(&path, "a", &json!({}))).await.problem(409);
    desk.post(&format!("/api/v1/letters/{id}/reopen"), &json!({})).await.expect(200);
    desk.send(keyed(&path, "a", &json!({}))).await.expect(200);
    for wrong in ["", &"x".repeat(256)] {
        let problem = desk.send(keyed(&path, wrong, &json!({}))).await.expect(400).json();
        assert_eq!(problem["errors"][0]["header"], "Idempotency-Key");
    }
}

/// Wherever a caller hangs up, the call is done, and whoever makes it again is answered.
async fn a_call_goes_on_without_its_caller(desk: &Desk) {
    for steps in 0..20 {
        let id = desk.letter_in(Status::Open).await;
        let (path, key) = (format!("/api/v1/letters/{id}/retry"), format!("k{steps}"));
        let call = || keyed(&path, &key, &json!({"delay": "1h"}));
        {
            let mut given_up = std::pin::pin!(desk.send(call()));
            for _ in 0..steps * 5 {
                tokio::select! {
                    biased;
                    _ = &mut given_up => break,
                    () = tokio::task::yield_now() => {}
                }
            }
        }
        wait_until("the answer", PATIENCE, async || desk.send(call()).await.status == 200).await;
        let history = desk.letter(id).await["history"].clone();
        assert_eq!(history.as_array().unwrap().len(), 2, "{steps}: {history}");
    }
}

/// One under way is a 409. One whose server is given up for dead is another: whether it was done is not known.
async fn a_call_that_is_under_way_is_not_made_twice(desk: &Desk) {
    let (keys, by) = (Keys::new(desk.store.clone(), desk.clock.clone()), Actor::local());
    let call = KeyedCall { by: &by, key: "a", hash: "h" };
    assert_eq!(keys.claim(call).await.unwrap(), KeyClaim::First);
    assert_eq!(keys.claim(call).await.unwrap(), KeyClaim::UnderWay);
    assert_eq!(keys.claim(KeyedCall { hash: "other", ..call }).await.unwrap(), KeyClaim::Other);
    desk.clock.advance(Duration::from_secs(3_600));
    assert_eq!(keys.claim(call).await.unwrap(), KeyClaim::CutOff);
    desk.clock.advance(KEPT);
    assert_eq!(keys.claim(call).await.unwrap(), KeyClaim::First, "nobody asks again after a day");
    assert_eq!(desk.store.forget_keys(NOON, 10).await.unwrap(), 0);
    assert_eq!(desk.store.forget_keys(desk.clock.now().plus(KEPT), 10).await.unwrap(), 1);
}

on_both!(
    a_key_is_one,
    a_call_is_done_once_and_answered_again,
    what_failed_can_be_made_again,
    a_call_goes_on_without_its_caller,
    a_call_that_is_under_way_is_not_made_twice,
);
