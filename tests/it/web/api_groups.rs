//! What the API says of groups, and what it does with all letters of a filter.

use std::{collections::BTreeSet, time::Duration};

use axum::{body::Body, http::Method};
use dead_letter_office::domain::{
    command::Command,
    letter::{Importance, LetterId, Status},
    retry::RetryOutcome,
};
use serde_json::{Value, json};

use super::{
    answer::Look,
    dead::{NOON, dead_in},
    desk::{Desk, builder},
    groups::{alike, failed_with, group_of, sort},
    queue_page::both,
    run::PATIENCE,
};
use crate::support::process::wait_until;

const FIELDS: &str = "id broker queue message_type reason error part part_of count open scheduled retried discarded first_seen \
    last_seen importance outcome policy last_retried_at note note_by note_at note_version version state state_by state_at snoozed_until regressed \
    assignee ticket";

async fn api_path(desk: &Desk, letter: LetterId) -> String {
    format!("/api/v1{}", group_of(desk, letter).await)
}

/// The outcomes of a job, once it has ended.
pub async fn ended(desk: &Desk, started: Value) -> Value {
    let path = format!("/api/v1/jobs/{}", started["job"].as_str().unwrap());
    wait_until("the job to end", PATIENCE, async || desk.get(&path).await.json()["state"] != "running").await;
    desk.get(&path).await.expect(200).json()
}

#[tokio::test]
async fn a_group_has_the_fields_of_the_contract() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "out of stock", 3).await;
    desk.bring(ids[0], Status::Discarded).await;
    desk.retry_ends(ids[1], RetryOutcome::Confirmed).await;
    let list = desk.get("/api/v1/groups").await.expect(200).json();
    let item = &list["items"][0];
    let fields: BTreeSet<&str> = item.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, FIELDS.split_whitespace().collect());
    let expected = json!({
        "id": item["id"], "broker": "main", "queue": "orders", "message_type": null, "reason": "rejected",
        "error": "out of stock", "part": null, "part_of": null,
        "count": 3, "open": 1, "scheduled": 0, "retried": 1, "discarded": 1,
        "first_seen": "2026-11-21T11:59:00.000000Z", "last_seen": "2026-11-21T11:59:02.000000Z", "importance": "normal",
        "outcome": {"sent": 1, "failed_again": 0, "pending": 1, "succeeded": 0},
        "policy": item["policy"], "last_retried_at": "2026-11-21T12:00:00.000000Z", "note": null, "note_by": null, "note_at": null,
        "note_version": "none", "version": item["version"], "state": "open", "state_by": null, "state_at": null,
        "snoozed_until": null, "regressed": null, "assignee": null, "ticket": null,
    });
    assert_eq!(*item, expected);
    assert_eq!(item["policy"]["meaning"], "after 10 s, 1 min 40 s, 16 min 40 s; then needs attention");
    assert_eq!((&list["total"], &list["next_cursor"]), (&json!(1), &Value::Null));
    let one = desk.get(&api_path(&desk, ids[0]).await).await.expect(200).json();
    let hours = json!([
        {"start": "2026-11-21T11:00:00.000000Z", "received": 3, "sent": 0, "failed_again": 0},
        {"start": "2026-11-21T12:00:00.000000Z", "received": 0, "sent": 1, "failed_again": 0},
    ]);
    assert_eq!(one["hours"], hours);
    assert_eq!(one["id"], item["id"]);
}

#[tokio::test]
async fn the_list_has_all_groups_unless_asked_for_open_ones() {
    let desk = Desk::open().await;
    alike(&desk, "orders", "x", 1).await;
    let over = alike(&desk, "texts", "x", 1).await;
    desk.bring(over[0], Status::Discarded).await;
    let total =
        async |query: &str| desk.get(&format!("/api/v1/groups?{query}")).await.expect(200).json()["total"].clone();
    assert_eq!(total("").await, 2);
    assert_eq!(total("status=all").await, 2);
    assert_eq!(total("status=open").await, 1);
    let first = desk.get("/api/v1/groups?limit=1").await.expect(200).json();
    let next = first["next_cursor"].as_str().unwrap();
    let second = desk.get(&format!("/api/v1/groups?limit=1&cursor={next}")).await.expect(200).json();
    assert_eq!((&first["items"][0]["queue"], &second["items"][0]["queue"]), (&json!("orders"), &json!("texts")));
    assert_eq!((&second["items"][0]["importance"], &second["next_cursor"]), (&Value::Null, &Value::Null));
    for (query, takes) in [
        ("sort=up", "importance, biggest, newest"),
        ("statu=all", "status, state, assignee, importance"),
        ("cursor=x", "next_cursor"),
    ] {
        let detail = desk.get(&format!("/api/v1/groups?{query}")).await.problem(400);
        assert!(detail.contains(takes), "{query}: {detail}");
    }
}

#[tokio::test]
async fn a_note_is_set_and_removed() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 1).await;
    let path = api_path(&desk, ids[0]).await;
    let patch = async |body: Value| desk.call(Method::PATCH, &path, &body).await;
    let noted = patch(json!({"note": " with the vendor "})).await.expect(200).json();
    assert_eq!((&noted["note"], &noted["note_by"]), (&json!("with the vendor"), &json!("local user")));
    assert_eq!(noted["note_at"], "2026-11-21T12:00:00.000000Z");
    assert_eq!(patch(json!({})).await.expect(200).json()["note"], "with the vendor");
    assert_eq!(patch(json!({"note": ""})).await.expect(200).json()["note"], Value::Null);
    patch(json!({"note": "x".repeat(8_001)})).await.problem(422);
    patch(json!({"open": 3})).await.problem(422);
    desk.call(Method::PATCH, "/api/v1/groups/x", &json!({})).await.problem(404);
}

/// Its id leads to what it is part of, with all that is changed by it.
#[tokio::test]
async fn what_is_changed_of_a_merged_group_is_changed_of_what_it_is_part_of() {
    for (desk, _kept) in both().await {
        let big = alike(&desk, "orders", "x", 2).await;
        let small = alike(&desk, "orders", "y", 1).await;
        let (big, path) = (api_path(&desk, big[0]).await, api_path(&desk, small[0]).await);
        let ids = [&big, &path].map(|path| path.replace("/api/v1/groups/", ""));
        desk.post("/api/v1/groups/merge", &json!({"ids": ids})).await.expect(200);
        let patch = async |body: Value, tag: &str| {
            let request = builder(Method::PATCH, &path).header("content-type", "application/json");
            desk.send(request.header("if-match", tag).body(Body::from(body.to_string())).unwrap()).await
        };
        let seen = desk.get(&path).await.expect(200);
        let noted = patch(json!({"note": "a"}), seen.header("etag")).await.expect(200).json();
        assert_eq!((&noted["id"], &noted["note"]), (&json!(ids[0]), &json!("a")));
        patch(json!({"note": "b"}), seen.header("etag")).await.problem(412);
        patch(json!({"assignee": "me", "ticket": "https://t.example/1"}), "*").await.expect(200);
        desk.post(&format!("{path}/acknowledge"), &json!({})).await.expect(200);
        let one = desk.get(&big).await.expect(200).json();
        let said = ["note", "assignee", "ticket", "state"].map(|field| one[field].as_str().unwrap());
        assert_eq!(said, ["a", "user:local user", "https://t.example/1", "acknowledged"]);
    }
}

#[tokio::test]
async fn all_letters_of_a_filter_are_acted_on_in_the_background() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 3).await;
    let others = alike(&desk, "orders", "y", 1).await;
    let group = desk.letter(ids[0]).await["group"].clone();
    let action = json!({"action": "discard", "filter": {"group": group, "status": "open"}, "note": "useless"});
    let answer = desk.post("/api/v1/actions", &action).await.expect(202);
    let started = answer.json();
    assert_eq!(answer.header("location"), format!("/api/v1/jobs/{}", started["job"].as_str().unwrap()));
    let job = ended(&desk, started).await;
    let expected = json!({"id": job["id"], "action": "discard", "state": "done", "total": 3, "done": 3, "failed": 0, "skipped": 0,
        "errors": [], "errors_left_out": 0, "waits_until": null, "begins_at": null, "created_at": "2026-11-21T12:00:00.000000Z",
        "created_by": "local user", "outcome": null, "edited": false, "pacing": null});
    assert_eq!(job, expected);
    assert_eq!((desk.status(ids[2]).await, desk.status(others[0]).await), (Status::Discarded, Status::Open));
    let detail =
        desk.post(&format!("/api/v1/jobs/{}/cancel", job["id"].as_str().unwrap()), &json!({})).await.problem(409);
    assert!(detail.contains("ended: it is done"), "{detail}");
    desk.post(&format!("/api/v1/jobs/{}/cancel", uuid::Uuid::nil()), &json!({})).await.problem(404);
}

#[tokio::test]
async fn the_filter_takes_every_word_of_the_list() {
    let desk = Desk::open().await;
    alike(&desk, "a", "x", 2).await;
    let low = alike(&desk, "b", "x", 1).await;
    desk.command(low[0], Command::SetImportance(Importance::Low)).await;
    let done = async |filter: Value| {
        let action = json!({"action": "importance", "importance": "high", "filter": filter});
        let started = desk.post("/api/v1/actions", &action).await.expect(202).json();
        ended(&desk, started).await["done"].clone()
    };
    assert_eq!(done(json!({"queue": "c"})).await, 0);
    assert_eq!(done(json!({"queue": ["a", "b"], "importance": "low"})).await, 1);
    assert_eq!(done(json!({"broker": "main", "reason": ["rejected", "expired"], "since": "1h"})).await, 3);
    assert_eq!(done(json!({"until": "2026-11-21T11:59:01.000000Z"})).await, 2, "received before");
    assert_eq!(done(json!({"type_unknown": true, "status": "all"})).await, 3);
    assert_eq!(done(json!({"type_glob": "acme.*"})).await, 0);
}

#[tokio::test]
async fn without_a_status_it_is_done_with_what_takes_it() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 3).await;
    desk.bring(ids[0], Status::Retried).await;
    desk.bring(ids[1], Status::Discarded).await;
    let action = json!({"action": "retry", "delay": "1h", "filter": {"queue": "orders"}});
    let job = ended(&desk, desk.post("/api/v1/actions", &action).await.expect(202).json()).await;
    assert_eq!((&job["done"], &job["failed"]), (&json!(1), &json!(0)));
    assert_eq!(desk.letter(ids[2]).await["retry_at"], "2026-11-21T13:00:00.000000Z");
    let every = json!({"action": "retry", "filter": {"queue": "orders", "status": "all"}});
    let job = ended(&desk, desk.post("/api/v1/actions", &every).await.expect(202).json()).await;
    assert_eq!(
        (&job["state"], &job["done"], &job["failed"], &job["total"]),
        (&json!("failed"), &json!(1), &json!(2), &json!(3))
    );
    assert!(job["errors"][0].as_str().unwrap().contains("the letter is"), "{job}");
}

#[tokio::test]
async fn what_comes_after_the_moment_is_left_alone() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 3).await;
    let late = desk.receive(failed_with(dead_in("orders"), "x").received(NOON.plus(Duration::from_secs(1)))).await;
    sort(&desk).await;
    let discard = async |until: Option<&str>| {
        let mut action = json!({"action": "discard", "filter": {"status": "open"}});
        if let Some(until) = until {
            action["until"] = json!(until);
        }
        ended(&desk, desk.post("/api/v1/actions", &action).await.expect(202).json()).await["done"].clone()
    };
    assert_eq!(discard(Some("2026-11-21T11:59:00.000000Z")).await, 1);
    assert_eq!(desk.status(ids[1]).await, Status::Open);
    assert_eq!(discard(Some("2036-01-01T00:00:00.000000Z")).await, 2, "never later than now");
    assert_eq!(discard(None).await, 0);
    assert_eq!(desk.status(late).await, Status::Open);
}

#[tokio::test]
async fn an_action_that_cannot_be_is_refused_with_what_would_be_right() {
    let desk = Desk::open().await;
    let id = alike(&desk, "orders", "x", 1).await[0];
    let cases = [
        (json!({"filter": {}}), "filter: it takes at least one condition"),
        (json!({"filter": {"staus": "open"}}), "filter.staus: there is no such field; there are broker"),
        (json!({"filter": {"limit": "5"}}), "filter.limit"),
        (json!({"filter": {"q": "eror:x"}}), "filter.q"),
        (json!({"filter": {"group": "x"}}), "filter.group"),
        (json!({"filter": {"queue": 7}}), "filter"),
        (json!({"filter": "open"}), "filter"),
        (json!({"filter": {"status": "open"}, "ids": [id.to_string()]}), "ids, filter: it takes one of them"),
        (json!({"filter": {"status": "open"}, "until": "soon"}), "until"),
        (json!({"ids": [id.to_string()], "until": "1h"}), "until: it goes only with filter"),
        (json!({"filter": {"status": "open"}, "rate": 5}), "rate: it goes only with retry"),
        (json!({"filter": {"status": "open"}, "canary": 5}), "canary"),
        (json!({}), "ids: it takes at least one id of a letter; or filter"),
    ];
    for (mut action, part) in cases {
        action["action"] = json!("discard");
        let detail = desk.post("/api/v1/actions", &action).await.problem(422);
        assert!(detail.contains(part), "{action}: {detail}");
    }
    assert_eq!(desk.status(id).await, Status::Open);
}

#[tokio::test]
async fn a_job_that_has_ended_can_be_undone() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 2).await;
    let done = async |path: &str, body: Value| {
        let started = desk.post(path, &body).await.expect(202);
        assert_eq!(ended(&desk, started.json()).await["state"], "done");
        started.header("location").to_owned()
    };
    let job = done("/api/v1/actions", json!({"action": "discard", "filter": {"queue": ["orders"]}})).await;
    assert_eq!(desk.status(ids[0]).await, Status::Discarded);
    let offers = async || desk.page(job.trim_start_matches("/api/v1")).await.count(".job-acts [action$='/undo']");
    assert_eq!(offers().await, 1);
    let undo = done(&format!("{job}/undo"), json!({})).await;
    assert_eq!((desk.status(ids[0]).await, desk.status(ids[1]).await), (Status::Open, Status::Open));
    assert_eq!(offers().await, 0, "it is undone");
    desk.post(&format!("{undo}/undo"), &json!({})).await.expect(409);
    desk.post("/api/v1/jobs/0192f1c4-0000-7000-8000-000000000000/undo", &json!({})).await.expect(404);
}
