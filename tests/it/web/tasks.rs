//! Messages of task frameworks, and bodies that languages serialize: in the list, on their page, by the API, edited.

use amqp_message::field::FieldValue;
use dead_letter_office::domain::letter::LetterId;
use serde_json::{Value, json};

use super::{
    answer::Look,
    dead::{Dead, dead_in},
    desk::Desk,
    groups::sort,
    run::serve,
};

fn celery() -> Dead {
    let text = FieldValue::string;
    let task = dead_in("tasks").body(r#"[[42], {"currency": "EUR"}, {"callbacks": null}]"#);
    let task = task.header("task", text("billing.charge")).header("id", text("1")).header("argsrepr", text("(42,)"));
    task.header("kwargsrepr", text("{'currency': 'EUR'}")).header("retries", FieldValue::LongInt(0))
}

async fn retry(desk: &Desk, id: LetterId, body: &serde_json::Value) -> LetterId {
    let letter = desk.post(&format!("/api/v1/letters/{id}/retry"), body).await.expect(200).json();
    letter["id"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_call_is_called_so() {
    const TITLE: &str = r#"billing.charge(42, currency="EUR")"#;
    let desk = Desk::open().await;
    let id = desk.receive(celery()).await;
    sort(&desk).await;
    let letter = desk.letter(id).await;
    assert_eq!(letter["title"], TITLE);
    let expected = json!({"name": "billing.charge", "arguments": [
        {"name": null, "value": 42}, {"name": "currency", "value": "EUR"}]});
    assert_eq!(letter["payload"]["task"], expected);
    assert_eq!(desk.get("/api/v1/letters").await.json()["items"][0]["title"], TITLE);
    assert_eq!(desk.page("/letters").await.words(".row-task"), TITLE);
    let page = desk.page(&format!("/letters/{id}")).await;
    assert_eq!(page.words(".letter-task"), TITLE);
    assert_eq!(page.words("[data-arguments]"), r#"1. 42 currency "EUR""#);
}

#[tokio::test]
async fn an_edited_call_does_not_repeat_its_old_arguments() {
    let desk = Desk::open().await;
    let id = desk.receive(celery()).await;
    let copy = retry(&desk, id, &json!({"json": [[43], {}, {}]})).await;
    let letter = desk.letter(copy).await;
    assert!(!letter["headers"].to_string().contains("repr"), "{letter}");
    let told = letter["history"].to_string();
    assert!(told.contains("header argsrepr removed; header kwargsrepr removed"), "{told}");
    let other = retry(&desk, copy, &json!({"headers": {"set": {"argsrepr": "(43,)"}}})).await;
    let headers = desk.letter(other).await["headers"].to_string();
    assert!(headers.contains(r#"["argsrepr","(43,)"]"#), "{headers}");
}

#[tokio::test]
async fn what_is_hidden_shows_in_no_copy_of_the_arguments() {
    let desk = Desk::open().await;
    let id = desk.receive(celery()).await;
    // Its title is made while nothing is hidden.
    sort(&desk).await;
    let server = serve().with("--roles=web").set("DLO_DATABASE__URL", &desk.database_url());
    let server = server.config("[decode]\nhidden_fields = [\"currency\"]").open().await;
    for path in [
        "/letters".to_owned(),
        format!("/letters/{id}"),
        format!("/letters/{id}/edit"),
        "/api/v1/letters".to_owned(),
        format!("/api/v1/letters/{id}"),
    ] {
        let shown = server.get(&path).await.text().await.unwrap();
        assert!(shown.contains("billing.charge"), "{path}: {shown}");
        assert!(!shown.contains("EUR"), "{path}: {shown}");
    }
    let letter: Value = server.get(&format!("/api/v1/letters/{id}")).await.json().await.unwrap();
    assert_eq!(letter["title"], "billing.charge(…)");
    assert_eq!(letter["payload"]["task"]["arguments"][1]["value"], "•••");
    assert!(letter["headers"].to_string().contains(r#"["kwargsrepr","•••"]"#), "{letter}");
}

#[tokio::test]
async fn tries_and_rounds_stand_apart() {
    let desk = Desk::open().await;
    let id = desk.receive(celery().with(|arrival| arrival.failure.attempts = 3)).await;
    let letter = desk.letter(id).await;
    assert_eq!((&letter["attempts"], &letter["rounds"]), (&json!(3), &json!(1)));
    let page = desk.page(&format!("/letters/{id}")).await;
    assert!(page.words(".letter-cause").contains("3 attempts in 1 round"), "{}", page.words(".letter-cause"));
}

#[tokio::test]
async fn yaml_is_edited_as_the_text_it_is() {
    const BODY: &str = "---\norder: 42 # the answer\nlines: [1, 2]\n";
    let desk = Desk::open().await;
    let id = desk.receive(dead_in("orders").body(BODY)).await;
    let payload = desk.letter(id).await["payload"].clone();
    assert_eq!(payload["format"], "yaml");
    assert_eq!((&payload["json"], &payload["text"]), (&json!({"order": 42, "lines": [1, 2]}), &json!(BODY)));
    let path = format!("/api/v1/letters/{id}/retry");
    let refused = desk.post(&path, &json!({"json": {"order": 43}})).await.problem(422);
    assert!(refused.contains("json: the payload is yaml"), "{refused}");
    let refused = desk.post(&path, &json!({"text": "a: [1"})).await.problem(422);
    assert!(refused.contains("text: this is no YAML"), "{refused}");
    let page = desk.page(&format!("/letters/{id}/edit")).await;
    assert_eq!(page.one("#text").text().collect::<String>(), BODY);
    let copy = retry(&desk, id, &json!({"text": BODY.replace("42", "43")})).await;
    assert_eq!(desk.get(&format!("/api/v1/letters/{copy}/body")).await.body, BODY.replace("42", "43").as_bytes());
}

#[tokio::test]
async fn what_languages_serialize_is_shown_and_never_written() {
    let desk = Desk::open().await;
    let pickle = b"\x80\x04\x95\x0e\0\0\0\0\0\0\0}\x94\x8c\x05order\x94K*s.";
    let php = br#"O:15:"App\Jobs\Charge":1:{s:7:"orderId";i:42;}"#;
    let java = b"\xac\xed\0\x05t\0\x05amber";
    for (body, format, shown) in [
        (&pickle[..], "pickle", json!({"order": 42})),
        (php, "php", json!({"#class": r"App\Jobs\Charge", "orderId": 42})),
        (java, "java", json!("amber")),
    ] {
        let id = desk.receive(dead_in("orders").body(body)).await;
        let payload = desk.letter(id).await["payload"].clone();
        assert_eq!((&payload["format"], &payload["json"]), (&json!(format), &shown));
        let refused = desk.post(&format!("/api/v1/letters/{id}/retry"), &json!({"json": {}})).await.problem(422);
        assert!(refused.contains("never written"), "{refused}");
        let page = desk.page(&format!("/letters/{id}/edit")).await;
        assert!(page.words("#edit").contains("shown and never written"), "{}", page.words("#edit"));
    }
    let broken = desk.receive(dead_in("orders").body(&b"\xac\xed\0\x05sr\0\x0aacme.Order"[..])).await;
    let remarks = desk.letter(broken).await["payload"]["remarks"].to_string();
    assert!(remarks.contains("cannot be read: it ends too early"), "{remarks}");
}
