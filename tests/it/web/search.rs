//! Searches on the page and by the API: what is found, what is hidden, what is withheld, and where a mistake is.

use std::sync::Arc;

use amqp_message::{
    error_report::ErrorReport,
    field::{FieldTable, FieldValue},
};
use axum::http::Method;
use dead_letter_office::{
    config::{AuthConfig, DecodeConfig, SearchConfig},
    domain::{
        actor::Actor,
        letter::{LetterId, Status},
        rights::{Role, read_memberships},
    },
    services::search::{Indexing, settings},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    answer::{Look, words},
    dead::{Dead, dead_in},
    desk::Desk,
    form::submit,
    groups::sort,
    sign_in::{PASSWORD, by_password, signed_in},
};
use crate::support::{PATIENCE, process::wait_until};

/// Enriches and indexes all there is, as the server does.
pub async fn index(desk: &Desk) {
    let (search, decode) = (SearchConfig::default(), DecodeConfig::default());
    desk.store.prepare_search(settings(&search, &decode)).await.unwrap();
    sort(desk).await;
    let (store, reader) = (Arc::clone(&desk.store), desk.reader.clone());
    let (clock, feed) = (desk.clock.clone(), desk.feed.clone());
    let indexing = Indexing { store, reader, config: search, clock, feed, unsorted: None };
    indexing.work(&CancellationToken::new()).await.unwrap();
    assert_eq!(desk.store.search_backlog().await.unwrap(), 0);
}

pub fn order(queue: &str, body: &str, error: &str) -> Dead {
    let error = ErrorReport {
        kind: Some("billing.NoRateException".to_owned()),
        message: Some(error.to_owned()),
        stacktrace: None,
    };
    dead_in(queue)
        .body(body)
        .header("x-tenant", FieldValue::string("eu"))
        .with(|arrival| arrival.failure.error = Some(error))
}

fn encoded(search: &str) -> String {
    url::form_urlencoded::byte_serialize(search.as_bytes()).collect()
}

async fn ids(desk: &Desk, search: &str) -> Vec<String> {
    let answer = desk.get(&format!("/api/v1/letters?q={}", encoded(search))).await.expect(200).json();
    assert_eq!(answer["total"], answer["items"].as_array().unwrap().len());
    assert_eq!(answer["total_is_least"], false);
    answer["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

async fn finds(desk: &Desk, search: &str, expected: &[LetterId]) {
    let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
    assert_eq!(ids(desk, search).await, expected, "{search}");
}

async fn on_both() -> Vec<(Desk, Option<crate::support::databases::Lent>)> {
    let mut both = vec![(Desk::hiding(&["card", "auth.pin"]).await, None)];
    if let Some((desk, database)) = Desk::hiding_on_postgres(&["card", "auth.pin"]).await {
        both.push((desk, Some(database)));
    }
    both
}

#[tokio::test]
async fn payloads_headers_and_errors_are_found_and_what_is_hidden_is_not() {
    const BODY: &str = r#"{"customer": {"name": "Zoë Ångström"}, "total": {"cents": 129000}, "currency": null,
        "items": [{"sku": "A-7"}, {"sku": "B-9"}], "card": "4711-0815-kestrel", "auth": {"pin": "98765"}}"#;
    for (desk, _kept) in on_both().await {
        let letter =
            desk.receive(order("billing.invoices", BODY, "card 4711-0815-kestrel: no exchange rate for ISK")).await;
        let plain = desk.receive(dead_in("texts").body("hello \u{1f426} kestrel words")).await;
        index(&desk).await;
        let yes = [letter];
        finds(&desk, "NoRate", &yes).await;
        finds(&desk, "billing", &yes).await;
        finds(&desk, "\"norate\"", &[]).await;
        finds(&desk, "error:\"no exchange rate\"", &yes).await;
        finds(&desk, "zoë", &yes).await;
        finds(&desk, "payload.customer.name:\"zoë ångström\"", &yes).await;
        finds(&desk, "payload.total.cents:>4000", &yes).await;
        finds(&desk, "payload.items.sku:b-9", &yes).await;
        finds(&desk, "-payload.currency:* queue:billing.*", &yes).await;
        finds(&desk, "header.x-tenant:eu", &yes).await;
        finds(&desk, "hello", &[plain]).await;
        for hidden in
            ["4711", "\"0815\"", "payload.card:*", "payload.card:4711-0815-kestrel", "98765", "payload.auth.pin:98765"]
        {
            finds(&desk, hidden, &[]).await;
        }
        finds(&desk, "kestrel", &[plain]).await;
    }
}

/// What is there and has no value of its own is there all the same.
#[tokio::test]
async fn objects_and_lists_are_there() {
    const BODY: &str =
        r#"{"customer": {"at": {}}, "items": [], "auth": {"pin": "98765"}, "card": "4711", "note": null}"#;
    for (desk, _kept) in on_both().await {
        let mut routed = FieldTable::default();
        routed.set("hops", FieldValue::Array(vec![]));
        let letter = desk.receive(order("a", BODY, "x").header("x-routed", FieldValue::Table(routed))).await;
        let other = desk.receive(order("b", "{}", "x")).await;
        index(&desk).await;
        for path in ["customer", "customer.at", "items", "auth"] {
            finds(&desk, &format!("payload.{path}:*"), &[letter]).await;
            finds(&desk, &format!("-payload.{path}:*"), &[other]).await;
        }
        for path in ["x-routed", "x-routed.hops"] {
            finds(&desk, &format!("header.{path}:*"), &[letter]).await;
        }
        for path in ["auth.pin", "card", "note"] {
            finds(&desk, &format!("payload.{path}:*"), &[]).await;
        }
    }
}

#[tokio::test]
async fn a_mistake_is_told_with_its_column() {
    let desk = Desk::open().await;
    let answer = desk.get("/api/v1/letters?q=a+status:opne").await.expect(422).json();
    assert_eq!((&answer["code"], &answer["errors"][0]["parameter"]), (&json!("invalid_search"), &json!("q")));
    assert_eq!(answer["errors"][0]["code"], "search");
    assert_eq!(answer["errors"][0]["place"]["column"], 10);
    assert_eq!(answer["errors"][0]["place"]["end_column"], 14);
    let detail = answer["detail"].as_str().unwrap();
    assert!(detail.starts_with("q: column 10: \"opne\" is not possible: it takes open, scheduled"), "{detail}");
    let action = json!({"action": "discard", "filter": {"q": "quue:x"}});
    let answer = desk.post("/api/v1/actions", &action).await.expect(422).json();
    assert_eq!((&answer["code"], &answer["errors"][0]["pointer"]), (&json!("invalid_search"), &json!("/filter/q")));
    desk.receive(dead_in("orders")).await;
    let page = desk.page("/letters?q=a+status:opne").await;
    assert_eq!(words(page.one(".search-mistake mark")), "opne");
    assert!(words(page.one(".search-mistake")).contains("Column 10: \"opne\" is not possible"));
    assert!(words(page.one(".empty-state")).contains("The search was not carried out."));
    assert_eq!(page.count(".list-row"), 0);
    assert_eq!(page.one("#search").attr("value"), Some("a status:opne"));
}

#[tokio::test]
async fn parts_can_be_removed_one_by_one() {
    let desk = Desk::open().await;
    let letter = desk.receive(order("billing.a", "{}", "boom")).await;
    index(&desk).await;
    let page = desk.page("/letters?q=boom+-test+queue:billing.*&reason=rejected").await;
    let parts: Vec<String> = page.all(".search-parts li bdi").into_iter().map(words).collect();
    assert_eq!(parts, ["boom", "-test", "queue:billing.*"]);
    let links: Vec<_> = page.all(".search-parts a").into_iter().map(|link| link.attr("href").unwrap()).collect();
    assert_eq!(links[1], "/letters?q=boom+queue:billing.*&reason=rejected");
    assert!(page.all(".list-row input").into_iter().any(|row| row.attr("value") == Some(&letter.to_string())));
    assert!(words(page.one(".page-head")).contains("1 open"), "{}", words(page.one(".page-head")));
}

#[tokio::test]
async fn an_action_is_about_what_a_search_finds() {
    let desk = Desk::open().await;
    let found = desk.receive(order("billing", r#"{"n": 7}"#, "boom")).await;
    let other = desk.receive(order("billing", r#"{"n": 3}"#, "boom")).await;
    index(&desk).await;
    let action = json!({"action": "discard", "filter": {"q": "boom payload.n:>4"}});
    let job = desk.post("/api/v1/actions", &action).await.expect(202).json();
    let path = format!("/api/v1/jobs/{}", job["job"].as_str().unwrap());
    let ended = async || desk.get(&path).await.expect(200).json()["state"] != "running";
    wait_until("the job to end", PATIENCE, ended).await;
    assert_eq!((desk.status(found).await, desk.status(other).await), (Status::Discarded, Status::Open));
    desk.call(Method::POST, &format!("{path}/undo"), &json!({})).await.expect(202);
    let reopened = async || desk.status(found).await == Status::Open;
    wait_until("it to be undone", PATIENCE, reopened).await;
}

#[tokio::test]
async fn an_edited_copy_is_found_by_what_it_says() {
    let desk = Desk::open().await;
    let letter = desk.receive(order("billing", r#"{"currency": "ISK"}"#, "boom")).await;
    index(&desk).await;
    let edit = json!({"json": {"currency": "EUR"}, "delay": "1h"});
    let answer = desk.post(&format!("/api/v1/letters/{letter}/retry"), &edit).await.expect(200).json();
    index(&desk).await;
    let copies = ids(&desk, "payload.currency:EUR").await;
    assert_eq!(copies.len(), 1, "{answer}");
    assert_ne!(copies[0], letter.to_string());
    finds(&desk, "payload.currency:ISK", &[letter]).await;
}

/// Vera sees payloads nowhere, and Ada those of her team.
#[tokio::test]
async fn withheld_payloads_cannot_be_asked() {
    let auth = AuthConfig { viewers_see_payloads: false, ..by_password() };
    let desk = Desk::where_people_sign_in(auth).await;
    for (name, role) in [("vera", Role::Viewer), ("ada", Role::Operator)] {
        let teams = read_memberships("").unwrap();
        desk.users.add(name, PASSWORD, (role, &teams), &Actor::command_line()).await.unwrap();
    }
    desk.receive(order("billing", r#"{"name": "kestrel"}"#, "boom")).await;
    index(&desk).await;
    let (vera, ada) = (signed_in(&desk, "vera").await, signed_in(&desk, "ada").await);
    let rows = async |visit: &super::sign_in::Visit, search: &str| {
        visit.get(&desk, &format!("/letters?q={}", encoded(search))).await.expect(200).page().count(".list-row")
    };
    assert_eq!((rows(&vera, "boom").await, rows(&ada, "boom").await), (1, 1));
    assert_eq!((rows(&vera, "kestrel").await, rows(&ada, "kestrel").await), (0, 1));
    assert_eq!(rows(&ada, "payload.name:kestrel").await, 1);
    let fields = async |visit: &super::sign_in::Visit, column: &str| {
        let page = visit.get(&desk, &format!("/letters?{column}")).await.expect(200).page();
        page.all(".list-row .row-field").into_iter().map(words).collect::<Vec<_>>()
    };
    let columns = "column=payload.name&column=header.x-tenant";
    assert_eq!((fields(&vera, "").await, fields(&ada, "").await), (vec![], vec!["name kestrel".to_owned()]));
    assert_eq!(fields(&vera, columns).await, ["name", "header.x-tenant eu"]);
    assert_eq!(fields(&ada, columns).await, ["name kestrel", "header.x-tenant eu"]);
    let completed = async |visit: &super::sign_in::Visit, typed: &str| {
        let answer = visit.get(&desk, &format!("/letters/completions?q={typed}")).await.expect(200).json();
        answer["items"].as_array().unwrap().iter().map(|item| item["text"].as_str().unwrap().to_owned()).collect()
    };
    for (typed, text) in [("payload.", "payload.name:"), ("payload.name:", "kestrel")] {
        let (hers, its): (Vec<String>, Vec<String>) = (completed(&vera, typed).await, completed(&ada, typed).await);
        assert_eq!((hers, its), (vec![], vec![text.to_owned()]), "{typed}");
    }
    let page = vera.get(&desk, "/letters?q=payload.name:kestrel").await.expect(200).page();
    assert!(words(page.one(".search-mistake")).contains("payloads are withheld from you"));
}

#[tokio::test]
async fn fields_and_values_are_completed() {
    let desk = Desk::hiding(&["password"]).await;
    desk.receive(dead_in("billing.invoices").body(r#"{"total": {"currency": "EUR"}, "a b": 1}"#)).await;
    desk.receive(dead_in("billing.invoices").body(r#"{"total": {"currency": "EUR"}, "password": "hunter2"}"#)).await;
    desk.receive(dead_in("texts sent").body(r#"{"total": {"currency": "US dollar"}}"#)).await;
    let ask = async |search: &str, at: usize| -> Value {
        desk.get(&format!("/letters/completions?q={}&at={at}", encoded(search))).await.expect(200).json()
    };
    let labels = |answer: &Value| -> Vec<(String, String)> {
        let text = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
        answer["items"].as_array().unwrap().iter().map(|item| (text(item, "text"), text(item, "about"))).collect()
    };
    let answer = ask("é qu", 4).await;
    assert_eq!((&answer["from"], &answer["to"]), (&json!(2), &json!(4)), "as scripts count");
    assert_eq!(labels(&answer)[0].0, "queue:");
    let answer = ask("queue:", 6).await;
    let pair = |text: &str, about: &str| (text.to_owned(), about.to_owned());
    assert_eq!(labels(&answer), [pair("billing.invoices", "2"), pair("\"texts sent\"", "1")]);
    assert_eq!(labels(&ask("queue:voi", 9).await), [pair("billing.invoices", "2")]);
    assert_eq!(labels(&ask("status:op", 9).await), [pair("open", "3")]);
    assert_eq!(labels(&ask("payload.x:", 10).await), []);
    assert_eq!(labels(&ask("payload.TOT", 11).await), [pair("payload.total.currency:", "3 of the latest 3")]);
    let all = labels(&ask("payload.", 8).await);
    assert!(!all.iter().any(|(field, _)| field.contains("a b")), "it cannot be searched for: {all:?}");
    let currencies = [pair("EUR", "2 of the latest 3"), pair("\"US dollar\"", "1 of the latest 3")];
    assert_eq!(labels(&ask("payload.total.currency:", 23).await), currencies);
    assert_eq!(labels(&ask("payload.total.currency:doll", 27).await), currencies[1..]);
    assert_eq!(labels(&ask("payload.password:", 17).await), [], "it is hidden");
    // What cannot be found so is not offered.
    let odd = r#"{"co:lon": 1, "nul": "a\u0000b", "lines": "a\nb", ":": 2}"#;
    desk.receive(dead_in("odd").body(odd).header("x-exception-message", FieldValue::string("no rate"))).await;
    for begun in ["payload.co", "payload.:", "payload.nul:", "payload.lines:", "header.x-exception"] {
        assert_eq!(labels(&ask(begun, begun.len()).await), [], "{begun}");
    }
}

#[tokio::test]
async fn what_a_search_finds_is_what_is_asked_about_and_acted_on() {
    for (desk, _kept) in on_both().await {
        let ours = desk.receive(order("billing.invoices", "{}", "no rate")).await;
        let other = desk.receive(order("texts", "{}", "time-out")).await;
        index(&desk).await;
        let asked = json!({"action": "retry", "filter": {"q": "\"no rate\"", "status": "open"}});
        let told = desk.post("/api/v1/actions/preview", &asked).await.expect(200).json();
        let queues: Vec<_> = told["queues"].as_array().unwrap().iter().map(|queue| &queue["name"]).collect();
        assert_eq!((&told["total"], queues), (&json!(1), vec![&json!("billing.invoices")]));
        let address = |search: &str| format!("/letters/all?q={}&all=discard", encoded(search));
        let page = desk.page(&address("\"no rate\"")).await;
        assert!(page.words(".confirm-box").contains("Discard 1"), "{}", page.words(".confirm-box"));
        let until = page.all("[name=until]")[0].attr("value").unwrap();
        let form = [("until", until), ("action", "discard")];
        // With a mistake in it, it is about nothing rather than about everything.
        let mistaken = submit(&desk, "/letters/all?q=eror:x", &form).await;
        assert!(mistaken.expect(422).text().contains("did you mean error?"));
        desk.get(&address("eror:x")).await.expect(422);
        submit(&desk, "/letters/all?q=%22no+rate%22", &form).await.expect(303);
        wait_until("the job to end", PATIENCE, async || desk.status(ours).await == Status::Discarded).await;
        assert_eq!(desk.status(other).await, Status::Open);
    }
}
