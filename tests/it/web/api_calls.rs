//! What the API does to letters.

use axum::http::Method;
use dead_letter_office::domain::letter::{LetterId, Status};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    answer::Look,
    dead::{dead_in, dead_somewhere},
    desk::Desk,
};

async fn a_letter(status: Status) -> (Desk, LetterId, String) {
    let desk = Desk::open().await;
    let id = desk.letter_in(status).await;
    (desk, id, format!("/api/v1/letters/{id}"))
}

/// Starts an action on many letters and returns its job.
async fn job(desk: &Desk, action: &Value) -> Value {
    let answer = desk.post("/api/v1/actions", action).await.expect(202);
    let path = format!("/api/v1/jobs/{}", answer.json()["job"].as_str().unwrap());
    assert_eq!(answer.header("location"), path);
    desk.get(&path).await.expect(200).json()
}

#[tokio::test]
async fn retry_schedules_at_once_or_later() {
    for (body, at) in
        [(json!({}), "12:00:00"), (json!({"delay": "30s"}), "12:00:30"), (json!({"delay": "0"}), "12:00:00")]
    {
        let (desk, _, path) = a_letter(Status::Open).await;
        let letter = desk.post(&format!("{path}/retry"), &body).await.expect(200).json();
        assert_eq!(letter["status"], "scheduled", "{body}");
        assert_eq!(letter["retry_at"], format!("2026-11-21T{at}.000000Z"), "{body}");
    }
}

#[tokio::test]
async fn a_retry_may_name_another_queue() {
    let (desk, id, path) = a_letter(Status::Open).await;
    desk.post(&format!("{path}/retry"), &json!({"queue": "orders.v2"})).await.expect(200);
    let history = desk.letter(id).await["history"][1].to_string();
    assert!(history.contains("orders.v2"), "{history}");
}

#[tokio::test]
async fn a_retry_of_unknown_queue_has_to_name_one() {
    let desk = Desk::open().await;
    let path = format!("/api/v1/letters/{}/retry", desk.receive(dead_somewhere()).await);
    let detail = desk.post(&path, &json!({})).await.problem(422);
    assert!(detail.contains("name one"), "{detail}");
    desk.post(&path, &json!({"queue": "orders"})).await.expect(200);
}

#[tokio::test]
async fn discard_and_reopen_are_each_others_undoing() {
    let (desk, _, path) = a_letter(Status::Open).await;
    let letter = desk.post(&format!("{path}/discard"), &json!({"note": "a duplicate"})).await.expect(200).json();
    assert_eq!((&letter["status"], &letter["note"]), (&json!("discarded"), &json!("a duplicate")));
    let letter = desk.post(&format!("{path}/reopen"), &json!({})).await.expect(200).json();
    assert_eq!((&letter["status"], &letter["note"]), (&json!("open"), &json!("a duplicate")));
}

#[tokio::test]
async fn reopen_cancels_a_scheduled_retry() {
    let (desk, _, path) = a_letter(Status::Scheduled).await;
    let letter = desk.post(&format!("{path}/reopen"), &json!({})).await.expect(200).json();
    assert_eq!((&letter["status"], &letter["retry_at"]), (&json!("open"), &Value::Null));
}

#[tokio::test]
async fn a_call_that_needs_nothing_takes_no_body() {
    let (desk, _, path) = a_letter(Status::Open).await;
    for call in ["discard", "reopen", "retry"] {
        let request = super::desk::ask(Method::POST, &format!("{path}/{call}"));
        desk.send(request).await.expect(200);
    }
}

#[tokio::test]
async fn patch_sets_what_it_names_and_leaves_the_rest() {
    let (desk, _, path) = a_letter(Status::Retried).await;
    let set = async |body: Value| desk.call(Method::PATCH, &path, &body).await.expect(200).json();
    let letter = set(json!({"importance": "critical", "note": "ask Ann"})).await;
    assert_eq!((&letter["importance"], &letter["note"]), (&json!("critical"), &json!("ask Ann")));
    assert_eq!(letter["importance_by"], "manual");
    let letter = set(json!({"note": ""})).await;
    assert_eq!((&letter["importance"], &letter["note"]), (&json!("critical"), &Value::Null));
    assert_eq!(set(json!({})).await["importance"], "critical");
}

/// The database takes the importance and not the note.
#[tokio::test]
async fn patch_sets_all_that_it_names_or_nothing() {
    let (desk, id, path) = a_letter(Status::Open).await;
    let raw = sqlx::SqlitePool::connect(&desk.database_url()).await.unwrap();
    const NO_NOTES: &str = "CREATE TRIGGER no_notes BEFORE UPDATE OF note ON letters
        BEGIN SELECT RAISE(ABORT, 'no notes'); END";
    sqlx::query(NO_NOTES).execute(&raw).await.unwrap();
    desk.call(Method::PATCH, &path, &json!({"importance": "critical", "note": "x"})).await.problem(500);
    assert_eq!(desk.letter(id).await["importance"], "normal");
    assert_eq!(desk.letter(id).await["history"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn an_action_on_many_leaves_a_job() {
    let desk = Desk::open().await;
    let ids = desk.receive_from("main", [dead_in("a"), dead_in("b")]).await;
    let job = job(&desk, &json!({"action": "discard", "ids": ids.map(|id| id.to_string()), "note": "old"})).await;
    let expected = json!({"action": "discard", "state": "done", "total": 2, "done": 2, "failed": 0, "errors": []});
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&job[field], value, "{field}");
    }
    assert_eq!(desk.note(ids[1]).await.as_deref(), Some("old"));
    assert_eq!(desk.status(ids[0]).await, Status::Discarded);
}

#[tokio::test]
async fn a_job_tells_what_could_not_be_done() {
    let (desk, id, _) = a_letter(Status::Retried).await;
    let open = desk.letter_in(Status::Open).await;
    let ids = json!([id.to_string(), open.to_string(), open.to_string(), Uuid::nil()]);
    let job = job(&desk, &json!({"action": "retry", "ids": ids, "delay": "1h"})).await;
    let numbers = [&job["total"], &job["done"], &job["failed"]];
    assert_eq!(numbers, [&json!(3), &json!(1), &json!(2)], "each letter once");
    assert_eq!(job["state"], "failed");
    let errors = job["errors"].to_string();
    assert!(errors.contains("retried") && errors.contains("no such dead letter"), "{errors}");
}

/// Nobody is to look for what went wrong with those that were done.
#[tokio::test]
async fn a_job_of_which_one_letter_was_refused_has_not_failed_on_its_page() {
    let (desk, id, _) = a_letter(Status::Retried).await;
    let open = desk.letter_in(Status::Open).await;
    for (ids, state) in [(vec![id, open], "partly done"), (vec![id], "failed")] {
        let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
        let job = job(&desk, &json!({"action": "discard", "ids": ids})).await;
        let page = desk.page(&format!("/jobs/{}", job["id"].as_str().unwrap())).await;
        assert!(page.words(".mark-state") == state, "{}", page.words("#jobs"));
    }
}

#[tokio::test]
async fn every_action_can_be_done_to_many() {
    let cases = [
        (Status::Open, json!({"action": "retry"}), "status", "scheduled"),
        (
            Status::Open,
            json!({"action": "retry", "delay": "1h", "queue": "q"}),
            "retry_at",
            "2026-11-21T13:00:00.000000Z",
        ),
        (Status::Open, json!({"action": "discard"}), "status", "discarded"),
        (Status::Discarded, json!({"action": "reopen"}), "status", "open"),
        (Status::Open, json!({"action": "importance", "importance": "low"}), "importance", "low"),
    ];
    for (status, mut action, field, expected) in cases {
        let (desk, id, _) = a_letter(status).await;
        action["ids"] = json!([id.to_string()]);
        assert_eq!(job(&desk, &action).await["done"], 1, "{action}");
        assert_eq!(desk.letter(id).await[field], expected, "{action}");
    }
}
