//! Errors that people say are alike: groups merged by a rule, and split again without it.

use std::time::Duration;

use axum::http::Method;
use dead_letter_office::{
    domain::actor::Actor,
    services::{
        grouping_rules::{GroupingRules, NewGroupingRule, Regrouping},
        worker::Worker,
    },
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    answer::Look,
    desk::Desk,
    form::Form,
    groups::{alike, sort},
    queue_page::both,
};

const RULES: &str = "/api/v1/grouping-rules";

fn customers() -> Value {
    json!({"name": "customers", "pattern": r"no customer (\w+)", "placeholder": "NAME"})
}

fn customers_rule() -> NewGroupingRule {
    let text = |field: &str| customers()[field].as_str().unwrap().to_owned();
    NewGroupingRule { name: text("name"), pattern: text("pattern"), placeholder: text("placeholder") }
}

/// The errors of the groups that are listed, with their letters, and moves on what is to be moved.
async fn groups(desk: &Desk) -> Vec<(String, u64)> {
    while desk.store.move_letters(100).await.unwrap() {}
    let list = desk.get("/api/v1/groups?status=all&sort=biggest").await.expect(200).json();
    let group = |item: &Value| (item["error"].as_str().unwrap().to_owned(), item["count"].as_u64().unwrap());
    list["items"].as_array().unwrap().iter().map(group).collect()
}

fn listed_as(groups: &[(&str, u64)]) -> Vec<(String, u64)> {
    groups.iter().map(|(error, letters)| ((*error).to_owned(), *letters)).collect()
}

fn sorted(mut groups: Vec<(String, u64)>) -> Vec<(String, u64)> {
    groups.sort();
    groups
}

#[tokio::test]
async fn what_is_alike_is_one_group_until_the_rule_is_removed() {
    for (desk, _kept) in both().await {
        for (error, n) in [("no customer acme", 2), ("no customer globex", 3), ("no rate", 1)] {
            alike(&desk, "billing", error, n).await;
        }
        alike(&desk, "texts", "no customer acme", 1).await;
        sort(&desk).await;
        let before =
            listed_as(&[("no customer globex", 3), ("no customer acme", 2), ("no customer acme", 1), ("no rate", 1)]);
        assert_eq!(sorted(groups(&desk).await), sorted(before.clone()));

        let preview = desk.call(Method::POST, &format!("{RULES}/preview"), &customers()).await.expect(200).json();
        assert_eq!((&preview["matched"], &preview["left_out"]), (&json!(3), &json!(0)));
        let merge = &preview["merges"][0];
        assert_eq!((&merge["error"], &merge["queue"]), (&json!("no customer NAME"), &json!("billing")));
        assert_eq!(merge["groups"][0]["error"], "no customer globex");
        assert_eq!(preview["merges"].as_array().unwrap().len(), 1);

        let made = desk.call(Method::POST, RULES, &customers()).await.expect(201);
        let rule = made.header("location").to_owned();
        let merged = listed_as(&[("no customer globex", 5), ("no customer acme", 1), ("no rate", 1)]);
        assert_eq!(sorted(groups(&desk).await), sorted(merged));
        // What comes is in it, whatever it names, and makes no group of its own.
        alike(&desk, "billing", "no customer initech", 4).await;
        alike(&desk, "texts", "no customer initech", 1).await;
        sort(&desk).await;
        let grown = listed_as(&[("no customer globex", 9), ("no customer acme", 2), ("no rate", 1)]);
        assert_eq!(sorted(groups(&desk).await), sorted(grown));

        desk.call(Method::DELETE, &rule, &json!({})).await.expect(204);
        desk.call(Method::DELETE, &rule, &json!({})).await.expect(404);
        let after = [before, listed_as(&[("no customer NAME", 4), ("no customer NAME", 1)])].concat();
        assert_eq!(sorted(groups(&desk).await), sorted(after));
        let activity = desk.page("/activity?area=grouping_rules").await.words("main");
        assert!(activity.contains("added the grouping rule customers"), "{activity}");
        assert!(activity.contains("removed the grouping rule customers"), "{activity}");
    }
}

/// Somebody has merged what a rule had made one into another group.
#[tokio::test]
async fn a_rule_is_removed_whose_group_was_merged_into_another() {
    for (desk, _kept) in both().await {
        for (error, n) in [("no customer acme", 2), ("no customer globex", 3), ("no rate", 9)] {
            alike(&desk, "billing", error, n).await;
        }
        let made = desk.call(Method::POST, RULES, &customers()).await.expect(201);
        let list = desk.get("/api/v1/groups?status=all").await.expect(200).json();
        let ids: Vec<&Value> = list["items"].as_array().unwrap().iter().map(|item| &item["id"]).collect();
        desk.post("/api/v1/groups/merge", &json!({"ids": ids})).await.expect(200);
        assert_eq!(groups(&desk).await, listed_as(&[("no rate", 14)]));
        desk.call(Method::DELETE, made.header("location"), &json!({})).await.expect(204);
        let apart = [("no rate", 12), ("no customer acme", 2), ("no customer NAME", 0)];
        assert_eq!(sorted(groups(&desk).await), sorted(listed_as(&apart)));
    }
}

/// A process that did not know of the rule yet has made a group after the others were merged.
#[tokio::test]
async fn what_was_left_undone_is_done_by_whoever_is_there() {
    for (desk, _kept) in both().await {
        alike(&desk, "billing", "no customer acme", 2).await;
        sort(&desk).await;
        let elsewhere = GroupingRules::new(desk.changes.clone(), desk.clock.clone());
        elsewhere.add(&customers_rule(), &Actor::local()).await.unwrap();
        alike(&desk, "billing", "no customer globex", 1).await;
        sort(&desk).await;
        assert_eq!(groups(&desk).await.len(), 2);
        let mut worker = Regrouping(elsewhere);
        worker.round(&CancellationToken::new()).await.unwrap();
        assert_eq!(groups(&desk).await, listed_as(&[("no customer acme", 3)]));
        // So it goes on for as long as others may not know.
        assert!(desk.store.has_grouping_rules_to_apply().await.unwrap());
        desk.clock.advance(Duration::from_secs(60));
        worker.round(&CancellationToken::new()).await.unwrap();
        assert!(!desk.store.has_grouping_rules_to_apply().await.unwrap());
        assert_eq!(groups(&desk).await, listed_as(&[("no customer acme", 3)]));
    }
}

#[tokio::test]
async fn people_try_add_and_remove_them_on_a_page() {
    let desk = Desk::open().await;
    for error in ["no customer acme", "no customer <b>globex"] {
        alike(&desk, "billing", error, 1).await;
    }
    sort(&desk).await;
    assert!(desk.page("/groups").await.words("main").contains("Grouping rules"));
    let page = desk.page("/groups/rules").await;
    assert!(page.words("main").contains("None."));
    let form = Form::of(&page, "Add").fill("name", " customers ").fill("pattern", "(");
    let refused = form.send(&desk).await.expect(422).page();
    assert!(refused.words("#pattern-wrong").contains("unclosed group"));
    let form = Form::of(&refused, "Try").fill("pattern", "no customer (.*)");
    let tried = form.send(&desk).await.expect(200).page();
    let said = tried.words(".preview-box");
    assert!(said.starts_with("It matches the errors of 2 error groups, and merges these:"), "{said}");
    assert!(said.contains("no customer <b>globex 1 dead letter"), "{said}");
    let listed = Form::of(&tried, "Add").press(&desk).await;
    assert!(listed.words("tbody tr").starts_with("customers no customer (.*) …"), "{}", listed.words("tbody tr"));
    assert_eq!(groups(&desk).await.len(), 1);
    let again = Form::of(&listed, "Add").fill("name", "customers").fill("pattern", "x").send(&desk).await.expect(422);
    assert!(again.page().words("#name-wrong").contains("already"));
    let listed = Form::of(&listed, "Remove customers").press(&desk).await;
    assert!(listed.words("#toasts").contains("Removed the grouping rule customers."));
    // That of the rule is empty, and forgotten later.
    let left = [("no customer <b>globex", 1), ("no customer acme", 1), ("no customer …", 0)];
    assert_eq!(sorted(groups(&desk).await), sorted(listed_as(&left)));
}

#[tokio::test]
async fn what_cannot_be_a_rule_changes_nothing() {
    let desk = Desk::open().await;
    let long = "x".repeat(301);
    let checks = [
        (json!({"name": "a", "pattern": "("}), "/pattern"),
        (json!({"name": "a", "pattern": "a*"}), "/pattern"),
        (json!({"name": "a", "pattern": long}), "/pattern"),
        (json!({"name": "a", "pattern": "x", "placeholder": "xx"}), "/pattern"),
        (json!({"name": " ", "pattern": "x"}), "/name"),
        (json!({"name": "a\nb", "pattern": "x"}), "/name"),
        (json!({"name": "a", "pattern": "x", "placeholder": ""}), "/placeholder"),
    ];
    for (body, place) in checks {
        for path in [RULES.to_owned(), format!("{RULES}/preview")] {
            let errors = desk.call(Method::POST, &path, &body).await.expect(422).json();
            assert_eq!(errors["errors"][0]["pointer"], place, "{body}");
        }
    }
    assert_eq!(desk.get(RULES).await.expect(200).json()["total"], 0);
    assert_eq!(customers_rule().mistakes(), []);
}
