//! Two people who change the same: the second is told, keeps what was typed, and nothing is overwritten in silence. By
//! forms and by the API, on both databases.

use axum::{
    body::Body,
    http::{HeaderName, Method, header},
};
use scraper::Html;
use serde_json::{Value, json};

use super::{
    answer::{Answer, Look},
    desk::{Desk, builder},
    form::{Form, click, submit},
    groups::{alike, group_of},
};

/// A call with a header.
async fn call(desk: &Desk, method: Method, path: &str, body: &Value, (name, value): (HeaderName, &str)) -> Answer {
    let request = builder(method, path).header("content-type", "application/json").header(name, value);
    desk.send(request.body(Body::from(body.to_string())).unwrap()).await
}

fn if_match(tag: &str) -> (HeaderName, &str) {
    (header::IF_MATCH, tag)
}

/// What the second is told.
fn told(page: &Html) -> String {
    page.words(".form-conflict")
}

async fn a_rule_in_the_form(desk: &Desk) {
    let new = json!({"name": "a", "when": "true", "importance": "low"});
    let id = desk.post("/api/v1/rules", &new).await.expect(201).json()["id"].as_str().unwrap().to_owned();
    let path = format!("/rules?edit={id}");
    let (first, second) = (desk.page(&path).await, desk.page(&path).await);
    Form::of(&first, "Save").fill("expression", "false").press(desk).await;
    let mine = Form::of(&second, "Save").fill("name", "mine").fill("importance", "critical");
    let again = mine.send(desk).await.expect(409).page();
    let expected = "local user has set this rule meanwhile. now Name: a When: false importance: low";
    assert!(told(&again).starts_with(expected), "{}", told(&again));
    let form = (again.one("#rule [name=name]").attr("value"), again.words("#rule [name=importance] [selected]"));
    assert_eq!(form, (Some("mine"), "critical".to_owned()), "kept as typed");
    assert_eq!(desk.rules.in_force().active()[0].rule.expression, "false", "nothing is overwritten");
    Form::of(&again, "Save").press(desk).await;
    let active = desk.rules.in_force().active()[0].rule.clone();
    assert_eq!((&*active.name, &*active.expression), ("mine", "true"), "who was told may");
}

async fn a_rule_that_was_removed_meanwhile(desk: &Desk) {
    let new = json!({"name": "a", "when": "true", "importance": "low"});
    let id = desk.post("/api/v1/rules", &new).await.expect(201).json()["id"].as_str().unwrap().to_owned();
    let form = Form::of(&desk.page(&format!("/rules?edit={id}")).await, "Save");
    desk.call(Method::DELETE, &format!("/api/v1/rules/{id}"), &json!({})).await.expect(204);
    let again = form.fill("name", "mine").send(desk).await.expect(409).page();
    assert!(told(&again).starts_with("Somebody has removed this rule meanwhile."), "{}", told(&again));
    Form::of(&again, "Save").press(desk).await;
    assert_eq!(desk.rules.in_force().active()[0].rule.name, "mine", "it is a new one");
}

/// In the order in which rules are tried.
fn rules_in_order(desk: &Desk) -> Vec<String> {
    desk.rules.in_force().active().iter().map(|active| active.rule.name.clone()).collect()
}

async fn three_rules(desk: &Desk) {
    for name in ["a", "b", "c"] {
        let new = json!({"name": name, "when": "true", "importance": "low"});
        desk.post("/api/v1/rules", &new).await.expect(201);
    }
}

/// The place is not what was changed, and so stays where the other has put it.
async fn a_rule_that_was_moved_meanwhile_stays_there(desk: &Desk) {
    three_rules(desk).await;
    let id = desk.rules.in_force().active()[0].id;
    let form = Form::of(&desk.page(&format!("/rules?edit={id}")).await, "Save");
    Form::of(&desk.page("/rules").await, "Move a down").press(desk).await;
    assert_eq!(rules_in_order(desk), ["b", "a", "c"]);
    form.fill("name", "d").press(desk).await;
    assert_eq!(rules_in_order(desk), ["b", "d", "c"]);
}

/// A place that is chosen is one in the order that was seen.
async fn a_rule_that_is_moved_in_the_form(desk: &Desk) {
    three_rules(desk).await;
    let id = desk.rules.in_force().active()[2].id;
    let form = Form::of(&desk.page(&format!("/rules?edit={id}")).await, "Save").fill("name", "mine");
    Form::of(&desk.page("/rules").await, "Move a down").press(desk).await;
    assert_eq!(rules_in_order(desk), ["b", "a", "c"]);
    let again = form.fill("place", "2").send(desk).await.expect(409).page();
    assert!(told(&again).starts_with("Somebody has put the rules into another order meanwhile."), "{}", told(&again));
    assert_eq!(rules_in_order(desk), ["b", "a", "c"], "nothing is moved that was not seen");
    let form = (again.one("#rule [name=name]").attr("value"), again.words("#rule [name=place] [selected]"));
    assert_eq!(form, (Some("mine"), "2, after b".to_owned()), "kept as typed");
    Form::of(&again, "Save").press(desk).await;
    assert_eq!(rules_in_order(desk), ["b", "mine", "a"], "who was told may");
}

/// It comes last, whatever others do, unless a place was chosen for it.
async fn a_new_rule_among_others_that_are_moved(desk: &Desk) {
    three_rules(desk).await;
    let page = desk.page("/rules").await;
    let new = |name: &str| Form::of(&page, "Save").fill("name", name).fill("expression", "true");
    Form::of(&page, "Move a down").press(desk).await;
    new("d").press(desk).await;
    assert_eq!(rules_in_order(desk), ["b", "a", "c", "d"]);
    let again = new("e").fill("place", "1").send(desk).await.expect(409).page();
    assert!(told(&again).contains("Nothing is saved yet"), "{}", told(&again));
    Form::of(&again, "Save").press(desk).await;
    assert_eq!(rules_in_order(desk), ["e", "b", "a", "c", "d"]);
}

async fn rules_that_were_moved_meanwhile(desk: &Desk) {
    three_rules(desk).await;
    let page = desk.page("/rules").await;
    Form::of(&page, "Move a down").press(desk).await;
    assert_eq!(rules_in_order(desk), ["b", "a", "c"]);
    let again = Form::of(&page, "Move b up").send(desk).await.expect(409).page();
    assert!(told(&again).starts_with("Somebody has put the rules into another order meanwhile."), "{}", told(&again));
    assert_eq!(rules_in_order(desk), ["b", "a", "c"], "nothing is moved that was not seen");
    Form::of(&again, "Move c up").press(desk).await;
    assert_eq!(rules_in_order(desk), ["b", "c", "a"], "who was told may");
}

async fn the_order_of_rules_by_the_api(desk: &Desk) {
    three_rules(desk).await;
    let path = "/api/v1/rules/order";
    let seen = desk.get("/api/v1/rules").await.expect(200);
    let tag = format!("\"{}\"", seen.json()["version"].as_str().unwrap());
    assert_eq!(seen.header("etag"), tag);
    let ids: Vec<Value> = seen.json()["items"].as_array().unwrap().iter().map(|item| item["id"].clone()).collect();
    let put = async |id: &Value, tag: &str| call(desk, Method::PUT, path, &json!({"ids": [id]}), if_match(tag)).await;
    let moved = put(&ids[1], &tag).await.expect(200);
    let refused = put(&ids[2], &tag).await.problem(412);
    assert!(refused.starts_with("Somebody has put the rules into another order meanwhile."), "{refused}");
    assert_eq!(rules_in_order(desk), ["b", "a", "c"]);
    put(&ids[2], moved.header("etag")).await.expect(200);
    assert_eq!(rules_in_order(desk), ["c", "b", "a"]);
    desk.call(Method::PUT, path, &json!({"ids": [ids[0]]})).await.expect(200);
}

async fn a_rule_that_is_to_be_removed(desk: &Desk) {
    let new = json!({"name": "a", "when": "true", "importance": "low"});
    let id = desk.post("/api/v1/rules", &new).await.expect(201).json()["id"].as_str().unwrap().to_owned();
    let question = desk.page(&format!("/rules?remove={id}")).await;
    let changed = json!({"name": "a", "when": "false", "importance": "low"});
    desk.call(Method::PUT, &format!("/api/v1/rules/{id}"), &changed).await.expect(200);
    let again = Form::of(&question, "Remove it").send(desk).await.expect(409).page();
    assert!(told(&again).contains("When: false"), "{}", told(&again));
    Form::of(&again, "Remove it").press(desk).await;
    assert!(desk.rules.in_force().active().is_empty());
}

async fn a_policy_in_the_form(desk: &Desk) {
    let path = "/policies?queues=orders";
    let (first, second) = (desk.page(path).await, desk.page(path).await);
    Form::of(&first, "Set the policy").fill("delays", "1s").press(desk).await;
    let mine = Form::of(&second, "Set the policy").fill("delays", "2s").fill("jitter", "5");
    let again = mine.send(desk).await.expect(409).page();
    let expected = "local user has set this policy meanwhile. now after 1 s; then needs attention";
    assert!(told(&again).starts_with(expected), "{}", told(&again));
    assert_eq!(again.one("#policy [name=delays]").attr("value"), Some("2s"), "kept as typed");
    assert!(desk.policies.book().all()[0].policy.delays.after(1).is_some_and(|delay| delay.as_secs() == 1));
    Form::of(&again, "Set the policy").press(desk).await;
    assert!(desk.policies.book().all()[0].policy.delays.after(1).is_some_and(|delay| delay.as_secs() == 2));
}

/// Who opens the form for other queues has seen nothing of these.
async fn a_policy_that_was_not_seen(desk: &Desk) {
    desk.post("/api/v1/policies", &json!({"queues": "orders", "delays": ["1s"]})).await.expect(201);
    let other = Form::of(&desk.page("/policies?queues=texts").await, "Set the policy").fill("queues", "orders");
    let again = other.fill("delays", "9s").send(desk).await.expect(409).page();
    assert!(told(&again).contains("after 1 s"), "{}", told(&again));
    let back = Form::of(&again, "Set the policy").fill("queues", "texts");
    back.press(desk).await;
    assert_eq!(desk.policies.book().all().len(), 3, "there was none for these");
}

async fn a_policy_that_is_to_be_removed(desk: &Desk) {
    let made = desk.post("/api/v1/policies", &json!({"queues": "a", "delays": ["1s"]})).await.expect(201);
    let place = made.header("location");
    let put = async |delay| desk.call(Method::PUT, place, &json!({"queues": "a", "delays": [delay]})).await;
    let question = click(desk, &desk.page("/policies").await, "Remove a any reason").await;
    assert!(question.words(".confirm-box").contains("after 1 s; then needs attention"));
    put("2s").await.expect(200);
    let again = Form::of(&question, "Remove it").send(desk).await.expect(409).page();
    assert!(told(&again).contains("after 2 s"), "{}", told(&again));
    assert_eq!(desk.store.policies().await.unwrap().len(), 1);
    Form::of(&again, "Remove it").press(desk).await;
    assert_eq!(desk.store.policies().await.unwrap(), []);
    desk.get("/policies?queues=a&remove=yes").await.expect(404);
    desk.get("/policies?queues=*&remove=yes").await.expect(404);
}

async fn a_mapping_in_the_form(desk: &Desk) {
    let page = desk.page("/schemas?type=a.A").await;
    Form::of(&page, "Add").fill("pattern", "orders").press(desk).await;
    let second = Form::of(&page, "Add").fill("pattern", "orders").fill("type", "a.B");
    let again = second.send(desk).await.expect(409).page();
    assert!(told(&again).contains("Messages of queue orders have the type a.A"), "{}", told(&again));
    assert_eq!(desk.store.mappings().await.unwrap()[0].mapping.message_type, "a.A");
    Form::of(&again, "Add").press(desk).await;
    assert_eq!(desk.store.mappings().await.unwrap()[0].mapping.message_type, "a.B");
    let question = click(desk, &desk.page("/schemas").await, "Remove queue orders").await;
    let mapping = desk.get("/api/v1/mappings").await.json()["items"][0]["id"].as_str().unwrap().to_owned();
    let other = json!({"queue": "orders", "message_type": "a.C"});
    desk.call(Method::PUT, &format!("/api/v1/mappings/{mapping}"), &other).await.expect(200);
    let again = Form::of(&question, "Remove it").send(desk).await.expect(409).page();
    assert!(told(&again).contains("a.C"), "{}", told(&again));
    Form::of(&again, "Remove it").press(desk).await;
    assert_eq!(desk.store.mappings().await.unwrap(), []);
}

/// From the page of a letter, which has no room for the question.
async fn a_mapping_from_another_page(desk: &Desk) {
    desk.post("/api/v1/mappings", &json!({"queue": "orders", "message_type": "a.A"})).await.expect(201);
    let request = builder(Method::POST, "/schemas/map")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "same-origin")
        .header("hx-request", "true");
    let body = Body::from("carrier=queue&pattern=orders&type=a.B&back=/letters");
    let answer = desk.send(request.body(body).unwrap()).await.expect(409);
    assert!(answer.page().words(".toast-box p").contains("have the type a.A"), "{}", answer.text());
    submit(desk, "/schemas/map", &[("carrier", "queue"), ("pattern", "orders"), ("type", "a.A")]).await.expect(303);
}

async fn a_note_in_the_form(desk: &Desk) {
    let letters = alike(desk, "orders", "x", 1).await;
    let path = group_of(desk, letters[0]).await;
    let (first, second) = (desk.page(&path).await, desk.page(&path).await);
    Form::of(&first, "Save the note").fill("note", "ask Ann").press(desk).await;
    let again = Form::of(&second, "Save the note").fill("note", "ask Bob").send(desk).await.expect(409).page();
    assert!(told(&again).contains("local user has set this note meanwhile. now ask Ann"), "{}", told(&again));
    assert_eq!((again.words("textarea"), again.count("details.note-form[open]")), ("ask Bob".to_owned(), 1));
    Form::of(&again, "Save the note").press(desk).await;
    let stale = Form::of(&again, "Remove the note").send(desk).await.expect(409).page();
    assert!(told(&stale).contains("ask Bob"), "{}", told(&stale));
    let page = desk.page(&path).await;
    assert_eq!(page.words(".note-text"), "ask Bob");
}

async fn a_rule_by_the_api(desk: &Desk) {
    let rule = |expression: &str| json!({"name": "a", "when": expression, "importance": "low"});
    let made = desk.post("/api/v1/rules", &rule("true")).await.expect(201);
    let path = format!("/api/v1/rules/{}", made.json()["id"].as_str().unwrap());
    let seen = desk.get(&path).await.expect(200);
    assert_eq!(seen.header("etag"), made.header("etag"));
    assert_eq!(seen.header("etag"), format!("\"{}\"", seen.json()["version"].as_str().unwrap()));
    let set = call(desk, Method::PUT, &path, &rule("false"), if_match(seen.header("etag"))).await.expect(200);
    let stale = call(desk, Method::PUT, &path, &rule("1 == 1"), if_match(seen.header("etag"))).await.problem(412);
    assert!(stale.contains("local user has set this rule meanwhile. It says now: Name: a; When: false"), "{stale}");
    call(desk, Method::DELETE, &path, &json!({}), if_match(seen.header("etag"))).await.problem(412);
    desk.call(Method::PUT, &path, &rule("true")).await.expect(200);
    call(desk, Method::DELETE, &path, &json!({}), if_match(set.header("etag"))).await.problem(412);
    call(desk, Method::DELETE, &path, &json!({}), if_match("*")).await.expect(204);
}

async fn policies_and_mappings_by_the_api(desk: &Desk) {
    for (list, bodies) in [
        ("/api/v1/policies", ["1s", "2s", "3s"].map(|delay| json!({"queues": "orders", "delays": [delay]}))),
        ("/api/v1/mappings", ["a.A", "a.B", "a.C"].map(|name| json!({"queue": "orders", "message_type": name}))),
    ] {
        let first = desk.post(list, &bodies[0]).await.expect(201);
        desk.post(list, &bodies[1]).await.problem(409);
        let place = first.header("location");
        assert_eq!(desk.get(place).await.header("etag"), first.header("etag"));
        let send = async |body: &Value, condition| call(desk, Method::PUT, place, body, condition).await;
        send(&bodies[1], (header::IF_NONE_MATCH, "*")).await.problem(412);
        let second = send(&bodies[1], if_match(first.header("etag"))).await.expect(200);
        send(&bodies[2], if_match(first.header("etag"))).await.problem(412);
        send(&bodies[2], if_match("nonsense")).await.problem(400);
        let listed = desk.get(list).await.expect(200).json();
        assert_eq!(second.header("etag"), format!("\"{}\"", listed["items"][0]["version"].as_str().unwrap()));
        call(desk, Method::DELETE, place, &json!({}), if_match(first.header("etag"))).await.problem(412);
        call(desk, Method::DELETE, place, &json!({}), if_match(second.header("etag"))).await.expect(204);
    }
}

/// Of groups and letters people change what they set by hand.
async fn notes_by_the_api(desk: &Desk) {
    let letters = alike(desk, "orders", "x", 1).await;
    for path in [format!("/api/v1{}", group_of(desk, letters[0]).await), format!("/api/v1/letters/{}", letters[0])] {
        let seen = desk.get(&path).await.expect(200);
        let set = async |note: Value, tag: &str| {
            let tag = tag.to_owned();
            let request = builder(Method::PATCH, &path).header("content-type", "application/json");
            let body = Body::from(json!({"note": note}).to_string());
            desk.send(request.header(header::IF_MATCH, tag).body(body).unwrap()).await
        };
        let first = set(json!("a"), seen.header("etag")).await.expect(200);
        assert_ne!(first.header("etag"), seen.header("etag"), "{path}");
        set(json!("b"), seen.header("etag")).await.problem(412);
        assert_eq!(desk.get(&path).await.json()["note"], "a", "{path}");
        let cleared = set(Value::Null, first.header("etag")).await.expect(200);
        assert_eq!(cleared.json()["note"], Value::Null, "{path}");
        assert_eq!(cleared.header("etag"), seen.header("etag"), "{path}: it is as it was");
    }
}

/// What one call says of several fields holds for all of them, whichever version it names.
async fn several_fields_of_a_group_by_the_api(desk: &Desk) {
    let letters = alike(desk, "orders", "x", 1).await;
    let path = format!("/api/v1{}", group_of(desk, letters[0]).await);
    let patch = async |body: Value, header: (HeaderName, &str)| call(desk, Method::PATCH, &path, &body, header).await;
    let note_version = desk.get(&path).await.json()["note_version"].as_str().unwrap().to_owned();
    patch(json!({"ticket": "https://t.example/1"}), if_match("*")).await.expect(200);
    let both = json!({"note": "mine", "ticket": "https://t.example/2"});
    patch(both.clone(), if_match(&format!("\"{note_version}\""))).await.problem(412);
    patch(both.clone(), (header::IF_NONE_MATCH, "*")).await.problem(412);
    let there = desk.get(&path).await;
    let found = there.clone().json();
    assert_eq!(
        (&found["note"], &found["ticket"]),
        (&Value::Null, &json!("https://t.example/1")),
        "nothing is overwritten"
    );
    patch(both, if_match(there.header("etag"))).await.expect(200);
    patch(json!({"note": "mine"}), (header::IF_NONE_MATCH, "*")).await.problem(412);
    patch(json!({"note": "other"}), if_match("*")).await.expect(200);
}

/// The forms of a group name the version that they show.
async fn the_ticket_of_a_group_in_the_form(desk: &Desk) {
    let letters = alike(desk, "orders", "x", 1).await;
    let path = group_of(desk, letters[0]).await;
    let (first, second) = (desk.page(&path).await, desk.page(&path).await);
    let save = |page: &Html, ticket: &str| Form::of(page, "Save").fill("ticket", ticket);
    save(&first, "https://t.example/1").press(desk).await;
    save(&second, "https://t.example/2").press(desk).await;
    assert_eq!(desk.get(&format!("/api/v1{path}")).await.json()["ticket"], "https://t.example/1");
}

on_both!(
    several_fields_of_a_group_by_the_api,
    the_ticket_of_a_group_in_the_form,
    a_rule_in_the_form,
    a_rule_that_was_removed_meanwhile,
    a_rule_that_was_moved_meanwhile_stays_there,
    a_rule_that_is_moved_in_the_form,
    a_new_rule_among_others_that_are_moved,
    rules_that_were_moved_meanwhile,
    the_order_of_rules_by_the_api,
    a_rule_that_is_to_be_removed,
    a_policy_in_the_form,
    a_policy_that_was_not_seen,
    a_policy_that_is_to_be_removed,
    a_mapping_in_the_form,
    a_mapping_from_another_page,
    a_note_in_the_form,
    a_rule_by_the_api,
    policies_and_mappings_by_the_api,
    notes_by_the_api,
);
