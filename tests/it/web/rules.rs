//! Rules of importance on the page and by the API: seen, tried, written, moved, removed, applied.

use axum::http::Method;
use dead_letter_office::domain::{
    job::{Job, JobState},
    letter::{Importance, Status},
};
use scraper::Html;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    answer::{Answer, Look, words},
    dead::dead_in,
    desk::Desk,
    form::{Form, buttons, submit},
    rules_at_work::{add, evaluated, work},
};

const API: &str = "/api/v1/rules";

async fn put(desk: &Desk, path: &str, body: Value) -> Answer {
    desk.call(Method::PUT, &format!("{API}/{path}"), &body).await
}

async fn names(desk: &Desk) -> Vec<String> {
    let items = desk.get(API).await.expect(200).json()["items"].as_array().unwrap().clone();
    items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
}

fn rows(page: &Html) -> Vec<(String, String)> {
    let row = |row: &scraper::ElementRef<'_>| (row.words("th b"), row.words("th pre"));
    page.all("table.table-rules tbody tr").iter().map(row).collect()
}

fn rule(name: &str, expression: &str, importance: &str) -> Value {
    json!({"name": name, "when": expression, "importance": importance})
}

#[tokio::test]
async fn rules_are_written_read_and_removed_by_the_api() {
    let desk = Desk::open().await;
    let new = json!({"name": " texts ", "when": "letter.queue == \"texts\"", "importance": "high"});
    let added = desk.post(API, &new).await.expect(201).json();
    let expected = json!({
        "id": added["id"], "position": 1, "name": "texts", "when": "letter.queue == \"texts\"",
        "importance": "high", "version": added["version"], "set_by": "local user", "set_at": "2026-11-21T12:00:00.000000Z",
        "mistakes": [], "failures": null,
    });
    assert_eq!(added, expected);
    let id = added["id"].as_str().unwrap();
    assert_eq!(desk.get(&format!("{API}/{id}")).await.expect(200).json(), added);
    let first = desk.post(API, &json!({"name": "a", "when": "true", "importance": "low", "position": 1})).await;
    assert_eq!(first.expect(201).json()["position"], 1);
    assert_eq!(names(&desk).await, ["a", "texts"]);
    let changed = put(&desk, id, rule("texts", "true", "critical")).await.expect(200).json();
    assert_eq!((&changed["importance"], &changed["position"]), (&json!("critical"), &json!(2)));
    let ordered = put(&desk, "order", json!({"ids": [id]})).await.expect(200).json();
    assert_eq!(ordered["items"][0]["name"], "texts");
    assert_eq!((&ordered["file"], &ordered["problem"]), (&Value::Null, &Value::Null));
    desk.call(Method::DELETE, &format!("{API}/{id}"), &json!({})).await.expect(204);
    desk.call(Method::DELETE, &format!("{API}/{id}"), &json!({})).await.problem(404);
    assert_eq!(names(&desk).await, ["a"]);
}

#[tokio::test]
async fn what_is_wrong_is_told_by_its_place() {
    let desk = Desk::open().await;
    let answer = desk.post(API, &rule("a", "letter.attempts > 1 &&\n  letter.quue == \"a\"", "high")).await.expect(422);
    let problem = answer.json();
    let mistake = &problem["errors"][0]["place"];
    let place = ["line", "column", "end_line", "end_column"].map(|word| mistake[word].as_u64().unwrap());
    assert_eq!(place, [2, 10, 2, 14]);
    assert!(mistake["message"].as_str().unwrap().contains("queue"), "{mistake}");
    assert!(problem["detail"].as_str().unwrap().starts_with("when: line 2, column 10: "));
    let plain = desk.post(API, &rule("a", "true", "higher")).await.expect(422).json();
    assert!(plain["errors"][0].get("place").is_none());

    let id = desk.post(API, &rule("a", "true", "high")).await.expect(201).json()["id"].as_str().unwrap().to_owned();
    for (body, part) in [
        (rule("a", "true", "high"), "name: another rule is called \"a\" already"),
        (rule(" ", "true", "high"), "name: a name takes 1 to 100 characters"),
        (rule("b", "true", "higher"), "importance: "),
        (rule("b", "", "high"), "when: it takes at least one character"),
        (rule("b", " ", "high"), "when: line 1, column "),
        (
            json!({"name": "b", "when": "true", "importance": "low", "position": 0}),
            "position: 0 is out of range; it takes 1 or more",
        ),
        (json!({"name": "b", "when": "true", "importance": "low", "expression": "x"}), "expression"),
    ] {
        let said = desk.post(API, &body).await.problem(422);
        assert!(said.contains(part), "{body}: {said}");
    }
    let nobody = Uuid::nil().to_string();
    put(&desk, &nobody, rule("b", "true", "low")).await.problem(404);
    put(&desk, "x", rule("b", "true", "low")).await.problem(404);
    desk.get(&format!("{API}/{nobody}")).await.problem(404);
    assert!(put(&desk, "order", json!({"ids": [id, nobody]})).await.problem(422).contains(&nobody));
    desk.post(&format!("{API}/test"), &json!({"when": "true", "id": nobody})).await.problem(404);
    desk.post(&format!("{API}/test"), &json!({"importance": "low"})).await.problem(422);
    assert_eq!(names(&desk).await, ["a"]);
}

#[tokio::test]
async fn a_rule_is_tried_by_the_api() {
    let desk = Desk::open().await;
    let letter = desk.receive(dead_in("orders").body("{\"total\": 1200}")).await;
    desk.receive(dead_in("texts")).await;
    work(&desk).await;
    let test = async |body: Value| desk.post(&format!("{API}/test"), &body).await.expect(200).json();
    let tried = test(json!({"when": "payload.total > 1000", "importance": "critical"})).await;
    let expected = json!({
        "looked_at": 2, "cut": false, "takes": 1, "comes_too_late": 0, "failures": 0,
        "first_failure": null, "changes": 1, "letters": [{
            "id": letter.to_string(), "broker": "main", "queue": "orders", "message_type": null, "taken": true,
            "importance": "normal", "would_be": "critical",
        }],
    });
    assert_eq!(tried, expected);
    let wrong = desk.post(&format!("{API}/test"), &json!({"when": "payload.total >"})).await;
    assert!(wrong.problem(422).starts_with("when: line 1, column "));
    assert_eq!(names(&desk).await, [""; 0]);
}

#[tokio::test]
async fn rules_are_applied_as_a_job() {
    let desk = Desk::open().await;
    let letter = desk.receive(dead_in("orders")).await;
    work(&desk).await;
    desk.post(API, &rule("all", "true", "critical")).await.expect(201);
    let job = desk.post(&format!("{API}/apply"), &json!({})).await.expect(202).json()["job"].clone();
    let told = async || desk.get(&format!("/api/v1/jobs/{}", job.as_str().unwrap())).await.expect(200).json();
    let begun = told().await;
    assert_eq!(
        (&begun["action"], &begun["state"], &begun["total"]),
        (&json!("apply rules"), &json!("queued"), &json!(1))
    );
    work(&desk).await;
    assert_eq!((&told().await["state"], &told().await["done"]), (&json!("done"), &json!(1)));
    assert_eq!(desk.letter(letter).await["importance_by"], "rule:all");
}

#[tokio::test]
async fn an_empty_page_says_what_rules_are_for_and_how_to_begin() {
    let desk = Desk::open().await;
    let page = desk.page("/rules").await;
    assert!(page.words("#rules-title ~ .empty-state").contains("All dead letters have normal importance"));
    assert!(page.words("#preview").starts_with("Write an expression"));
    assert_eq!(page.count("#changes"), 0);
    assert_eq!(page.one("#side [data-go=r]").attr("aria-current"), Some("page"));
    // Nothing is there to apply rules to.
    assert_eq!(buttons(&page), ["Save", "Test"]);
    for href in page.values(".rule-examples a", "href") {
        let page = desk.page(href.split('#').next().unwrap()).await;
        assert_ne!(words(page.one("#rule textarea")), "");
        assert_ne!(page.one("#rule [name=name]").attr("value"), Some(""));
    }
}

#[tokio::test]
async fn a_rule_is_written_on_the_page_and_applied() {
    let desk = Desk::open().await;
    let letter = desk.receive(dead_in("orders").body("{\"region\": \"eu\"}")).await;
    work(&desk).await;
    let form = || async { Form::of(&desk.page("/rules").await, "Save and apply to 1 open or scheduled dead letter") };
    let wrong = form().await.fill("name", "EU").fill("expression", "payload.region = \"eu\"").send(&desk).await;
    let page = wrong.expect(422).page();
    assert!(page.words("#mistakes").starts_with("line 1, column 16 : "), "{}", page.words("#mistakes"));
    assert_eq!(words(page.one("#rule textarea")), "payload.region = \"eu\"", "kept as typed");
    assert_eq!(page.one("#rule textarea").attr("aria-invalid"), Some("true"));
    let page = form().await.fill("name", "EU").fill("expression", "payload.region ==\r\n  \"eu\"").press(&desk).await;
    assert_eq!(page.words(".toast-box p"), "Saved the rule EU. The rules are being applied to 1 dead letter.");
    assert_eq!(rows(&page), [("EU".to_owned(), "payload.region == \"eu\"".to_owned())]);
    assert!(page.words("#applying").ends_with("0 of 1 dead letter Stop"), "{}", page.words("#applying"));
    assert_eq!(desk.rules.in_force().active()[0].rule.expression, "payload.region ==\n  \"eu\"");
    work(&desk).await;
    assert_eq!(evaluated(&desk, letter).await, (Importance::High, "rule:EU".to_owned()));
    let double = form().await.fill("name", "EU").fill("expression", "true").send(&desk).await.expect(422).page();
    assert!(double.words("#name-wrong").contains("another rule is called"));
    let changes: Vec<String> = desk.page("/rules").await.all("#changes li p").into_iter().map(words).collect();
    assert_eq!(
        changes,
        ["local user applied the rules to 1 dead letter", "local user wrote EU high: payload.region == \"eu\""]
    );
}

#[tokio::test]
async fn a_rule_is_tried_without_scripts_and_with_them() {
    let desk = Desk::open().await;
    desk.receive(dead_in("orders").body("{\"total\": 1200}")).await;
    work(&desk).await;
    let page = desk.page("/rules?expression=payload.total+%3E+1000&importance=critical&name=large").await;
    assert!(page.one("#preview").attr("hx-trigger").unwrap().starts_with("load, "));
    let tried = Form::of(&page, "Test").send(&desk).await.expect(200).page();
    let said = "It matches the only dead letter. Applying the rules with it would change 1 dead letter: 1 from normal to critical .";
    assert_eq!(tried.words("#preview .preview-box"), said);
    assert_eq!(words(tried.one("table.table-trial tbody tr")), "orders yes normal critical");
    assert_eq!(tried.one("#rule [name=name]").attr("value"), Some("large"), "kept as typed");
    assert_eq!(desk.rules.in_force().active(), []);

    let part = async |expression: &str| {
        let body = url::form_urlencoded::Serializer::new(String::new()).append_pair("expression", expression).finish();
        let request = super::desk::builder(Method::POST, "/rules/check")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("sec-fetch-site", "same-origin")
            .header("hx-request", "true");
        desk.send(request.body(axum::body::Body::from(body)).unwrap()).await.expect(200).page()
    };
    let page = part("payload.totl = 1").await;
    assert_eq!(page.count("main"), 0, "only the part");
    assert_eq!(page.words(".rule-mistake mark"), "=");
    assert!(page.one(".rule-mistake pre").text().collect::<String>().ends_with("\n             ^"));
    assert!(
        part("payload.total > 9000").await.words(".preview-box").starts_with("It does not match the only dead letter.")
    );
    assert!(part(" ").await.words(".preview-box").starts_with("Write an expression"));
}

#[tokio::test]
async fn rules_are_moved_changed_and_removed_on_the_page() {
    let desk = Desk::open().await;
    for name in ["a", "b", "c"] {
        add(&desk, name, "true", Importance::Low).await;
    }
    let order = |page: &Html| rows(page).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let page = desk.page("/rules").await;
    assert_eq!(page.values("table.table-rules button[disabled]", "value"), ["earlier", "later"]);
    let page = Form::of(&page, "Move c up").press(&desk).await;
    assert_eq!(order(&page), ["a", "c", "b"]);
    let page = Form::of(&page, "Move a down").press(&desk).await;
    assert_eq!(order(&page), ["c", "a", "b"]);
    let c = desk.rules.in_force().active()[0].id;
    let page = desk.page(&format!("/rules?edit={c}")).await;
    assert_eq!(page.words("#rule-title bdi"), "c");
    assert_eq!(page.words("#rule [name=place] [selected]"), "first");
    let page = Form::of(&page, "Save").fill("name", "d").fill("place", "3").press(&desk).await;
    assert_eq!(order(&page), ["a", "b", "d"]);
    let page = desk.page(&format!("/rules?remove={c}")).await;
    assert!(page.words("#removing-title").contains("Remove the rule d ?"), "{}", page.words("#removing-title"));
    let page = Form::of(&page, "Remove it").press(&desk).await;
    assert_eq!(order(&page), ["a", "b"]);
    let changes: Vec<String> = page.all("#changes li p").into_iter().map(words).collect();
    let expected = [
        "local user removed d low: true",
        "local user wrote d it was called \"c\"; number 3 instead of 1",
        "local user changed the order \"a\" is tried after \"c\"",
        "local user changed the order \"c\" is tried before \"b\"",
    ];
    assert_eq!(changes[..4], expected);
    for (action, pairs, status) in [
        ("/rules/remove", vec![("id", c.to_string())], 303),
        ("/rules/move", vec![("id", c.to_string()), ("to", "earlier".to_owned())], 303),
        ("/rules/move", vec![("id", c.to_string()), ("to", "up".to_owned())], 400),
        ("/rules/remove", vec![], 400),
        ("/rules/cancel", vec![("job", "x".to_owned())], 400),
        ("/rules/set", vec![("edit", c.to_string()), ("name", "x".to_owned()), ("expression", "true".to_owned())], 409),
    ] {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| (*name, &**value)).collect();
        submit(&desk, action, &pairs).await.expect(status);
    }
    desk.get(&format!("/rules?edit={c}")).await.expect(404);
    desk.get(&format!("/rules?remove={c}")).await.expect(404);
    desk.get("/rules?part=x").await.expect(400);
    assert_eq!(order(&desk.page("/rules").await), ["a", "b"]);
}

#[tokio::test]
async fn a_rule_shows_that_it_fails_and_on_which_letter() {
    let desk = Desk::open().await;
    add(&desk, "odd", "1 / payload.n == 1", Importance::High).await;
    let letter = desk.receive(dead_in("orders").body("{\"n\": 0}")).await;
    work(&desk).await;
    let page = desk.page("/rules").await;
    let said = page.words("table.table-rules .text-alarm");
    assert!(said.starts_with("Evaluation failed on 1 dead letter, last now on this one : line 1, column "), "{said}");
    assert_eq!(page.one("table.table-rules .text-alarm a").attr("href").unwrap(), format!("/letters/{letter}"));
    let failures = desk.get(API).await.json()["items"][0]["failures"].clone();
    assert_eq!((&failures["count"], &failures["last_letter"]), (&json!(1), &json!(letter.to_string())));
}

#[tokio::test]
async fn a_letter_leads_to_its_rule_and_to_a_new_one() {
    let desk = Desk::open().await;
    let letter = desk.receive(dead_in("a & b").body("{}")).await;
    work(&desk).await;
    let links = async || desk.page(&format!("/letters/{letter}")).await.values(".facts-list a[href^='/rules']", "href");
    assert_eq!(links().await, ["/rules", "/rules?queue=a+%26+b#rule"]);
    let page = desk.page("/rules?queue=a+%26+b").await;
    assert_eq!(words(page.one("#rule textarea")), "letter.queue == \"a & b\"");
    add(&desk, "a <b>", "true", Importance::Low).await;
    add(&desk, "c", "true", Importance::Low).await;
    desk.rules.apply(&dead_letter_office::domain::actor::Actor::local()).await.unwrap();
    work(&desk).await;
    let link = links().await.remove(0);
    assert_eq!(link, "/rules?rule=a+%3Cb%3E#meant");
    let page = desk.page(link.split('#').next().unwrap()).await;
    assert_eq!(page.words("#meant th b"), "a <b>");
    assert!(
        desk.page("/rules?rule=gone").await.words("main .panel-note").starts_with("There is no rule gone any more.")
    );
}

#[tokio::test]
async fn a_running_job_shows_how_far_it_is_and_can_be_stopped() {
    let desk = Desk::open().await;
    desk.letter_in(Status::Open).await;
    assert_eq!(desk.page("/rules").await.words("#applying"), "");
    let page = Form::of(&desk.page("/rules").await, "Apply to 1 open or scheduled dead letter").press(&desk).await;
    let id = page.one("#applying [name=job]").attr("value").unwrap().to_owned();
    let part = async || desk.get(&format!("/rules?part=applying&job={id}")).await.expect(200).page();
    let page = part().await;
    assert!(page.one("#applying").attr("hx-get").is_some(), "it is asked for again");
    let page = Form::of(&page, "Stop").press(&desk).await;
    assert!(page.words(".toast-box p").starts_with("Stopped."));
    assert_eq!(page.words("#applying"), "", "it is over");
    let page = part().await;
    assert_eq!(page.words("#applying"), "Applying the rules was stopped after 0 of 1 dead letter.");
    assert_eq!(page.one("#applying").attr("hx-get"), None);
    // It has ended, or is not kept any more.
    for job in [id.clone(), Uuid::now_v7().to_string()] {
        let again = submit(&desk, "/rules/cancel", &[("job", &job)]).await.expect(303);
        assert!(super::form::follow(&desk, again).await.words(".toast-box.is-failed").contains("ended already"));
    }
    let job = desk.store.job(id.parse().unwrap()).await.unwrap();
    assert!(matches!(job, Some(Job { state: JobState::Cancelled, .. })));
}

#[tokio::test]
async fn names_that_would_deceive_the_eye_are_shown() {
    let desk = Desk::open().await;
    add(&desk, "a\u{202e}<b>", "letter.queue == \"\u{202e}<i>\"", Importance::Low).await;
    let page = desk.page("/rules").await;
    let (name, expression) = &rows(&page)[0];
    assert!(name.contains("‹U+202E›") && name.ends_with("<b>"), "{name}");
    assert!(expression.contains("‹U+202E›") && expression.ends_with("<i>\""), "{expression}");
    desk.post(API, &rule("a\0", "true", "low")).await.problem(422);
}
