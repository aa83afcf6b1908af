//! Groups that are split by a field, and whose parts are made one again.

use std::time::Duration;

use axum::http::Method;
use dead_letter_office::domain::letter::LetterId;
use serde_json::{Value, json};

use super::{
    answer::Look,
    dead::dead_in,
    desk::{Desk, MAIN},
    form::{Form, click},
    groups::{failed_with, group_of, sort},
    queue_page::both,
};

async fn fail(desk: &Desk, bodies: &[&str]) -> Vec<LetterId> {
    fail_with(desk, "no rate", bodies).await
}

async fn fail_with(desk: &Desk, error: &str, bodies: &[&str]) -> Vec<LetterId> {
    let dead = |body: &&str| failed_with(dead_in("billing"), error).body(*body);
    let ids = desk.receive_all(MAIN, bodies.iter().map(dead).collect()).await;
    sort(desk).await;
    ids
}

const EUR: &str = r#"{"currency": "EUR"}"#;
const USD: &str = r#"{"currency": "USD"}"#;
const NONE: &str = r#"{"other": 1}"#;

/// The address of a group of three in EUR, two in USD and one without a currency.
async fn failures(desk: &Desk) -> String {
    let ids = fail(desk, &[EUR, EUR, EUR, USD, USD, NONE]).await;
    group_of(desk, ids[0]).await
}

/// What each group is a part by, and how many letters it has.
async fn groups(desk: &Desk) -> Vec<(String, u64)> {
    while desk.store.move_letters(100).await.unwrap() {}
    let list = desk.get("/api/v1/groups?status=all&sort=biggest").await.expect(200).json();
    let group = |item: &Value| (item["part"].as_str().unwrap_or("-").to_owned(), item["count"].as_u64().unwrap());
    let mut groups: Vec<_> = list["items"].as_array().unwrap().iter().map(group).collect();
    groups.sort();
    groups
}

fn as_listed(groups: &[(&str, u64)]) -> Vec<(String, u64)> {
    let mut groups: Vec<_> = groups.iter().map(|(part, letters)| ((*part).to_owned(), *letters)).collect();
    groups.sort();
    groups
}

fn by_currency(values: &[Option<&str>]) -> Value {
    json!({"field": "payload.currency", "values": values})
}

#[tokio::test]
async fn letters_of_a_group_are_told_apart_by_a_field() {
    for (desk, _kept) in both().await {
        let group = failures(&desk).await;
        let path = format!("/api/v1{group}");
        let preview = desk.post(&format!("{path}/split/preview"), &json!({"field": "payload.currency"})).await;
        let expected = json!([
            {"value": "EUR", "letters": 3}, {"value": "USD", "letters": 2}, {"value": null, "letters": 1},
        ]);
        assert_eq!(preview.expect(200).json()["values"], expected);
        desk.post(&format!("{path}/split"), &by_currency(&[Some("EUR"), None])).await.expect(200);
        sort(&desk).await;
        assert_eq!(groups(&desk).await, as_listed(&[("currency: EUR", 3), ("-", 2), ("currency is missing", 1)]));
        let whole = desk.get(&path).await.expect(200).json();
        let parts: Vec<_> = whole["parts"].as_array().unwrap().iter().map(|part| part["open"].clone()).collect();
        assert_eq!(parts, [json!(1), json!(3)]);
        fail(&desk, &[EUR, r#"{"currency": "GBP"}"#]).await;
        assert_eq!(groups(&desk).await, as_listed(&[("currency: EUR", 4), ("-", 3), ("currency is missing", 1)]));
        // Every process knows of it by now.
        desk.clock.advance(Duration::from_secs(15));
        sort(&desk).await;
        assert_eq!(desk.store.split_to_apply().await.unwrap(), None);
    }
}

#[tokio::test]
async fn parts_are_made_one_again_with_what_came_since() {
    for (desk, _kept) in both().await {
        let group = failures(&desk).await;
        let path = format!("/api/v1{group}");
        desk.post(&format!("{path}/split"), &by_currency(&[Some("EUR"), Some("USD"), Some("GBP")])).await.expect(200);
        sort(&desk).await;
        assert_eq!(groups(&desk).await, as_listed(&[("currency: EUR", 3), ("currency: USD", 2), ("-", 1)]));
        let eur = desk.get(&path).await.json()["parts"][0]["id"].as_str().unwrap().to_owned();
        let joined = desk.post(&format!("{path}/join"), &json!({})).await.expect(200).json();
        assert_eq!(joined["from"].as_array().unwrap().len(), 3, "also that which no letter is in yet");
        assert_eq!(groups(&desk).await, as_listed(&[("-", 6)]));
        fail(&desk, &[EUR, r#"{"currency": "GBP"}"#]).await;
        assert_eq!(groups(&desk).await, as_listed(&[("-", 8)]));
        // One of them is a group of its own again.
        desk.post(&format!("/api/v1/groups/{eur}/unmerge"), &json!({})).await.expect(200);
        assert_eq!(groups(&desk).await, as_listed(&[("currency: EUR", 4), ("-", 4)]));
        desk.post(&format!("{path}/join"), &json!({})).await.expect(200);
        // Split anew, otherwise.
        desk.post(&format!("{path}/split"), &by_currency(&[Some("EUR"), None])).await.expect(200);
        sort(&desk).await;
        assert_eq!(groups(&desk).await, as_listed(&[("currency: EUR", 4), ("-", 3), ("currency is missing", 1)]));
    }
}

/// The text by which its error is known becomes another; what it is split by does not.
#[tokio::test]
async fn a_group_stays_split_when_a_grouping_rule_is_added_and_removed() {
    for (desk, _kept) in both().await {
        let ids = fail_with(&desk, "no customer acme", &[EUR, EUR, USD]).await;
        let path = format!("/api/v1{}", group_of(&desk, ids[0]).await);
        desk.post(&format!("{path}/split"), &by_currency(&[Some("EUR")])).await.expect(200);
        // Every process knows of it by then.
        desk.clock.advance(Duration::from_secs(15));
        sort(&desk).await;
        assert_eq!(groups(&desk).await, as_listed(&[("currency: EUR", 2), ("-", 1)]));
        let rule = json!({"name": "customers", "pattern": r"no customer (\w+)", "placeholder": "NAME"});
        let made = desk.post("/api/v1/grouping-rules", &rule).await.expect(201);
        fail_with(&desk, "no customer acme", &[EUR, USD]).await;
        assert_eq!(groups(&desk).await, as_listed(&[("currency: EUR", 3), ("-", 2)]));
        desk.call(Method::DELETE, made.header("location"), &json!({})).await.expect(204);
        fail_with(&desk, "no customer acme", &[EUR]).await;
        // What came by the rule and is in no part is a group of its own now; others of its text are empty.
        let left: Vec<_> = groups(&desk).await.into_iter().filter(|(_, letters)| *letters > 0).collect();
        assert_eq!(left, as_listed(&[("currency: EUR", 4), ("-", 1), ("-", 1)]));
    }
}

#[tokio::test]
async fn what_cannot_be_split_stays_as_it_is() {
    let desk = Desk::open().await;
    let group = failures(&desk).await;
    let path = format!("/api/v1{group}");
    let split = async |path: &str, body: Value| desk.post(&format!("{path}/split"), &body).await;
    for (body, pointer) in [
        (by_currency(&[]), "/values"),
        (json!({"field": "currency", "values": ["EUR"]}), "/field"),
        (by_currency(&[Some(&*"x".repeat(90))]), "/values"),
    ] {
        assert_eq!(split(&path, body).await.expect(422).json()["errors"][0]["pointer"], pointer);
    }
    let detail = desk.post(&format!("{path}/join"), &json!({})).await.problem(409);
    assert!(detail.contains("it has no parts"), "{detail}");
    split(&path, by_currency(&[Some("EUR")])).await.expect(200);
    sort(&desk).await;
    let detail = split(&path, by_currency(&[Some("USD")])).await.problem(409);
    assert!(detail.contains("it is split already"), "{detail}");
    let part = desk.get(&path).await.json()["parts"][0]["id"].as_str().unwrap().to_owned();
    let detail = split(&format!("/api/v1/groups/{part}"), by_currency(&[Some("USD")])).await.problem(409);
    assert!(detail.contains("it is a part of a group that was split"), "{detail}");
    assert_eq!(groups(&desk).await, as_listed(&[("currency: EUR", 3), ("-", 3)]));
}

#[tokio::test]
async fn people_are_as_far_with_a_part_as_with_the_group() {
    let desk = Desk::open().await;
    let group = failures(&desk).await;
    let path = format!("/api/v1{group}");
    desk.post(&format!("{path}/acknowledge"), &json!({})).await.expect(200);
    desk.post(&format!("{path}/split"), &by_currency(&[Some("EUR")])).await.expect(200);
    sort(&desk).await;
    let part = desk.get(&path).await.json()["parts"][0]["id"].as_str().unwrap().to_owned();
    let part = desk.get(&format!("/api/v1/groups/{part}")).await.expect(200).json();
    assert_eq!((&part["state"], &part["part_of"]), (&json!("acknowledged"), &json!(group.replace("/groups/", ""))));
}

#[tokio::test]
async fn what_cannot_be_told_is_not_said_to_be_missing() {
    let desk = Desk::hiding(&["currency"]).await;
    let large = format!("{{\"a\": \"{}\"}}", "x".repeat(65 << 10));
    let ids = fail(&desk, &[EUR, r#"{"inner": {"currency": "EUR"}}"#, "no JSON", "{\"cut\": ", &large, NONE]).await;
    let group = group_of(&desk, ids[0]).await;
    let path = format!("/api/v1{group}");
    for (field, missing) in [("payload.currency", 2), ("payload.inner.currency", 2)] {
        let preview = desk.post(&format!("{path}/split/preview"), &json!({"field": field})).await.expect(200).json();
        assert_eq!((&preview["read"], &preview["values"]), (&json!(6), &json!([{"value": null, "letters": missing}])));
        assert_eq!(preview["untold"], json!(6 - missing));
    }
    let page = desk.page(&format!("{group}/split?field=payload.currency")).await.words("main");
    assert!(page.contains("Of 4 of 6 dead letters it cannot be told"), "{page}");
    desk.post(&format!("{path}/split"), &by_currency(&[Some("EUR"), None])).await.expect(200);
    sort(&desk).await;
    assert_eq!(groups(&desk).await, as_listed(&[("-", 4), ("currency is missing", 2)]));
}

#[tokio::test]
async fn a_group_is_split_on_its_page() {
    let desk = Desk::open().await;
    let group = failures(&desk).await;
    let page = desk.page(&group).await;
    let asked = click(&desk, &page, "Split …").await;
    assert!(asked.words("main").contains("By which field"));
    let asked = desk.page(&format!("{group}/split?field=payload.currency")).await;
    assert!(asked.words("main").contains("EUR 3 of 6"), "{}", asked.words("main"));
    let part = desk.get(&format!("{group}/split?field=payload.currency&part=main")).await.expect(200);
    assert_eq!(part.header("hx-push-url"), format!("{group}/split?field=payload.currency"));
    let done = Form::of(&asked, "Split").press(&desk).await;
    assert!(done.words("#toasts").contains("Split into 3 parts."), "{}", done.words("#toasts"));
    sort(&desk).await;
    let page = desk.page(&group).await;
    assert_eq!(
        page.words("#parts"),
        "currency is missing 1 open currency: EUR 3 open currency: USD 2 open Merge the parts again"
    );
    let part = click(&desk, &page, "currency: EUR").await;
    assert_eq!(part.words("h1"), "no rate · currency: EUR");
    let joined = Form::of(&page, "Merge the parts again").press(&desk).await;
    assert!(joined.words("#toasts").contains("Merged 3 parts into one group."));
    assert_eq!(groups(&desk).await, as_listed(&[("-", 6)]));
    // A field that is there and says nothing is a value, too.
    fail(&desk, &[r#"{"currency": ""}"#, r#"{"currency": " "}"#]).await;
    let asked = desk.page(&format!("{group}/split?field=payload.currency")).await;
    assert!(asked.words("main").contains("the field is empty 2 of 8"), "{}", asked.words("main"));
    Form::of(&asked, "Split").press(&desk).await;
    sort(&desk).await;
    let parts = [("currency: EUR", 3), ("currency: USD", 2), ("currency is missing", 1), ("currency: ", 2), ("-", 0)];
    assert_eq!(groups(&desk).await, as_listed(&parts));
    let same = desk.page(&format!("{group}/split?field=header.x-none")).await;
    assert!(same.words("main").contains("there is nothing to tell apart"));
}
