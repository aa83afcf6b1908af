//! Policies on the page and by the API: seen, set, taken back.

use axum::{
    body::Body,
    http::{Method, StatusCode},
};
use scraper::Html;
use serde_json::{Value, json};

use super::{
    answer::{Look, words},
    dead::dead_in,
    desk::{Desk, builder},
    form::{Form, remove, submit},
};

const API: &str = "/api/v1/policies";

/// The cells of each row of the table.
fn rows(page: &Html) -> Vec<Vec<String>> {
    let cells = |row: &scraper::ElementRef<'_>| row.all("th, td").into_iter().map(words).collect();
    page.all("table.table-policies tbody tr").iter().map(cells).collect()
}

async fn put(desk: &Desk, policy: Value) -> Value {
    let set = desk.post(API, &policy).await;
    if set.status != StatusCode::CONFLICT {
        return set.expect(201).json();
    }
    let all = desk.get(API).await.json();
    let is_it = |item: &&Value| item["queues"] == policy["queues"] && item["reason"] == policy["reason"];
    let there = all["items"].as_array().unwrap().iter().find(is_it).unwrap();
    desk.call(Method::PUT, &format!("{API}/{}", there["id"].as_str().unwrap()), &policy).await.expect(200).json()
}

#[tokio::test]
async fn what_is_in_force_is_listed_the_most_specific_first() {
    let desk = Desk::open().await;
    for queue in ["orders", "texts.sms", "texts.mail"] {
        desk.receive(dead_in(queue)).await;
    }
    put(&desk, json!({"queues": "texts.*", "initial": "1s", "factor": 2, "attempts": 13, "max": "1h", "jitter": 0.1}))
        .await;
    put(&desk, json!({"queues": "texts.sms", "delays": [], "reason": "expired"})).await;
    let rows = rows(&desk.page("/policies").await);
    let expected = [
        ["texts.sms expired", "no automatic retry", "texts.sms", "local user now"],
        [
            "texts.*",
            "after 1 s, 2 s, 4 s … 1 h (13 retries); then needs attention · ± 10 %",
            "texts.mail , texts.sms",
            "local user now",
        ],
        ["*", "after 10 s, 1 min 40 s, 16 min 40 s; then needs attention", "orders", "configuration"],
    ];
    assert_eq!(rows.iter().map(|row| &row[..4]).collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_policy_is_set_in_the_form_and_in_force_at_once() {
    let desk = Desk::open().await;
    let form = Form::of(&desk.page("/policies?queues=orders").await, "Set the policy");
    let page = form.fill("delays", "1s, 1m 30s").fill("jitter", "25").fill("via", "broker").press(&desk).await;
    let toast = page.words(".toast-box p");
    assert_eq!(toast, "In force for orders: after 1 s, 1 min 30 s; then needs attention.");
    assert_eq!(
        rows(&page)[0][..2],
        ["orders", "after 1 s, 1 min 30 s; then needs attention · ± 25 % · waits in RabbitMQ"]
    );
    let stored = &desk.store.policies().await.unwrap()[0];
    assert_eq!((stored.policy.jitter, desk.policies.book().all().len()), (0.25, 2));
}

#[tokio::test]
async fn a_policy_that_is_there_is_changed_in_the_form() {
    let desk = Desk::open().await;
    put(&desk, json!({"queues": "a.*", "reason": "expired", "initial": "250ms", "factor": 1.5, "attempts": 7, "keep_routing_key": true})).await;
    let page = desk.page("/policies").await;
    let change = page.values("table.table-policies a.btn-link", "href");
    assert_eq!(change[0], "/policies?queues=a.*&reason=expired#set");
    let page = desk.page(change[0].trim_end_matches("#set")).await;
    let values = page.values("#policy input:not([type])", "value");
    assert_eq!(values, ["a.*", "", "250ms", "1.5", "1h", "7", "10"]);
    assert_eq!(page.one("#policy [checked][name=kind]").attr("value"), Some("exponential"));
    Form::of(&page, "Set the policy").fill("attempts", "8").press(&desk).await;
    let set = desk.store.policies().await.unwrap();
    assert_eq!((set.len(), set[0].policy.delays.retries(), set[0].policy.keep_routing_key), (1, 8, true));
}

#[tokio::test]
async fn what_is_wrong_is_said_at_its_field_and_changes_nothing() {
    let desk = Desk::open().await;
    let form = || async { Form::of(&desk.page("/policies?queues=orders").await, "Set the policy") };
    for (field, value, says) in [
        ("delays", "10s, soon", "soon"),
        ("delays", "40d", "30 days"),
        ("jitter", "120", "0 to 100"),
        ("queues", &*"x".repeat(256), "glob"),
    ] {
        let answer = form().await.fill(field, value).send(&desk).await.expect(422);
        let page = answer.page();
        let wrong = page.words(&format!("#{field}-wrong"));
        assert!(wrong.contains(says), "{field}: {wrong}");
        let input = page.one(&format!("#policy input[name={field}]"));
        assert_eq!((input.attr("value"), input.attr("aria-invalid")), (Some(value), Some("true")), "kept as typed");
        assert_eq!(input.attr("aria-describedby"), Some(&*format!("{field}-wrong")));
    }
    assert_eq!((desk.store.policies().await.unwrap(), desk.policies.book().all().len()), (vec![], 1));
    submit(&desk, "/policies/set", &[("queues", "a")]).await.expect(400);
}

#[tokio::test]
async fn taking_back_says_what_is_in_force_then() {
    let desk = Desk::open().await;
    put(&desk, json!({"queues": "texts.*", "delays": ["5s"]})).await;
    put(&desk, json!({"queues": "texts.sms", "delays": []})).await;
    let page = desk.page("/policies").await;
    let page = remove(&desk, &page, "Remove texts.sms any reason").await;
    let toast = page.words(".toast-box p");
    assert_eq!(
        toast,
        "Removed the policy of texts.sms. In force there now, from texts.*: after 5 s; then needs attention."
    );
    let page = remove(&desk, &page, "Remove texts.* any reason").await;
    assert!(page.words(".toast-box p").contains("from *: after 10 s"), "{}", page.words(".toast-box p"));
    assert_eq!((rows(&page).len(), page.count("a.btn-danger")), (1, 0), "that of the configuration stays");
    let again = submit(&desk, "/policies/unset", &[("queues", "texts.*")]).await.expect(303);
    assert!(super::form::follow(&desk, again).await.words(".toast-box.is-failed").contains("There is no policy"));
}

async fn preview(desk: &Desk, query: &str) -> String {
    let request = builder(Method::GET, &format!("/policies?part=preview&{query}")).header("hx-request", "true");
    let answer = desk.send(request.body(Body::empty()).unwrap()).await.expect(200);
    answer.page().words("body")
}

#[tokio::test]
async fn the_form_says_what_it_would_mean() {
    let desk = Desk::open().await;
    for queue in ["texts.a", "texts.b", "orders"] {
        desk.receive(dead_in(queue)).await;
    }
    put(&desk, json!({"queues": "texts.b", "delays": []})).await;
    let said = preview(&desk, "kind=listed&queues=texts.*&delays=10s,100s&jitter=10").await;
    assert_eq!(said, "Means: after 10 s, 1 min 40 s; then needs attention · ± 10 % Applies to texts.a");
    let said = preview(&desk, "kind=exponential&queues=*&initial=1s&attempts=3").await;
    assert!(said.contains("after 1 s, 2 s, 4 s;") && said.contains("Applies to orders , texts.a"), "{said}");
    assert!(said.contains("Replaces: after 10 s"), "{said}");
    assert!(preview(&desk, "kind=listed&queues=nothing.*&delays=1s").await.contains("no queue seen so far"));
    assert_eq!(preview(&desk, "kind=listed&queues=a&delays=soon").await.split(' ').next(), Some("delays"));
    assert!(preview(&desk, "kind=listed").await.contains("Enter the queues"));
    let page = desk.page("/policies?kind=listed&queues=texts.*&delays=7s").await;
    assert!(page.words("#preview").contains("after 7 s"), "without scripts too");
    assert_eq!(desk.store.policies().await.unwrap().len(), 1, "nothing was set");
    desk.get("/policies?part=all").await.expect(400);
}

#[tokio::test]
async fn what_the_broker_cannot_promise_is_said() {
    let desk = Desk::open().await;
    let page = desk.page("/policies").await;
    let said = page.words("#via-means");
    assert!(said.contains("not listed") && said.contains("reject-publish"), "{said}");
    assert_eq!(page.one("select[name=via]").attr("aria-describedby"), Some("via-means"));
}

#[tokio::test]
async fn the_api_sets_lists_and_takes_back() {
    let desk = Desk::open().await;
    let set = put(
        &desk,
        json!({"queues": "a.*", "delays": ["10s", "100s"], "jitter": 0.2, "via": "broker", "keep_routing_key": true}),
    )
    .await;
    let expected = json!({
        "id": set["id"], "queues": "a.*", "reason": null, "delays": ["10s", "100s"], "jitter": 0.2, "via": "broker",
        "meaning": "after 10 s, 1 min 40 s; then needs attention · ± 20 % · waits in RabbitMQ · keeps the routing key",
        "initial": null, "factor": null, "max": null, "attempts": null, "keep_routing_key": true,
        "version": set["version"], "set_by": "local user", "set_at": "2026-11-21T12:00:00.000000Z",
    });
    assert_eq!(set, expected);
    let listed = desk.get(API).await.expect(200).json();
    assert_eq!(listed["items"][0], expected);
    assert_eq!((&listed["items"][1]["queues"], &listed["items"][1]["set_by"]), (&json!("*"), &Value::Null));
    let growing = put(&desk, json!({"queues": "a.*", "initial": "1s"})).await;
    assert_eq!((&growing["factor"], &growing["max"], &growing["attempts"]), (&json!(2.0), &json!("1h"), &json!(5)));
    let place = format!("{API}/{}", set["id"].as_str().unwrap());
    assert_eq!(desk.get(&place).await.expect(200).json(), growing);
    desk.post(API, &json!({"queues": "a.*", "delays": []})).await.problem(409);
    let moved = desk.call(Method::PUT, &place, &json!({"queues": "b", "delays": []})).await.problem(422);
    assert!(moved.starts_with("queues: "), "{moved}");
    desk.call(Method::DELETE, &place, &Value::Null).await.expect(204);
    desk.call(Method::DELETE, &place, &Value::Null).await.problem(404);
}

/// It stands in the configuration, and one that is set goes before it.
#[tokio::test]
async fn the_configured_policy_can_be_replaced_and_not_removed() {
    let desk = Desk::open().await;
    let configured = desk.get(API).await.json()["items"][0].clone();
    let place = format!("{API}/{}", configured["id"].as_str().unwrap());
    desk.call(Method::DELETE, &place, &Value::Null).await.problem(409);
    let set = desk.call(Method::PUT, &place, &json!({"queues": "*", "delays": ["1s"]})).await.expect(200).json();
    assert_eq!((&set["id"], &set["set_by"]), (&configured["id"], &json!("local user")));
    desk.call(Method::DELETE, &place, &Value::Null).await.expect(204);
    assert_eq!(desk.get(&place).await.expect(200).json(), configured);
}

#[tokio::test]
async fn the_api_refuses_by_field() {
    let desk = Desk::open().await;
    for (policy, field) in [
        (json!({"delays": ["1s"]}), "queues: it is needed"),
        (json!({"queues": "", "delays": ["1s"]}), "queues: "),
        (json!({"queues": "a", "delays": ["soon"]}), "delays[0]: "),
        (json!({"queues": "a", "delays": "10s"}), "delays: "),
        (json!({"queues": "a"}), "delays: "),
        (json!({"queues": "a", "delays": [], "initial": "1s"}), "delays: "),
        (json!({"queues": "a", "delays": ["1s"], "attempts": 3}), "attempts: "),
        (json!({"queues": "a", "initial": "1s", "attempts": 101}), "attempts: "),
        (json!({"queues": "a", "initial": "1s", "factor": 0.5}), "factor: "),
        (json!({"queues": "a", "delays": [], "jitter": 2}), "jitter: "),
        (json!({"queues": "a", "delays": [], "via": "mail"}), "via: "),
        (json!({"queues": "a", "delays": [], "reason": "bored"}), "reason: "),
        (json!({"queues": "a", "delays": [], "vai": "database"}), "vai"),
    ] {
        let detail = desk.post(API, &policy).await.problem(422);
        assert!(detail.starts_with(field) || (field == "vai" && detail.contains(field)), "{policy}: {detail}");
    }
    assert_eq!(desk.store.policies().await.unwrap(), []);
}

#[tokio::test]
async fn a_name_that_would_deceive_the_eye_is_shown() {
    let desk = Desk::open().await;
    put(&desk, json!({"queues": "a\u{202e}<b>", "delays": []})).await;
    let page = desk.page("/policies").await;
    assert!(rows(&page)[0][0].contains("‹U+202E›"), "{:?}", rows(&page)[0]);
    let page = desk.page(&page.values("a.btn-danger", "href")[0]).await;
    assert_eq!(page.one("[action='/policies/unset'] [name=queues]").attr("value"), Some("a\u{202e}<b>"));
}
