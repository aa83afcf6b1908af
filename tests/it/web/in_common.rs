//! What the letters of a group have in common that others have not.

use std::time::Duration;

use amqp_message::{field::FieldValue, message::Properties};
use base64::{Engine, prelude::BASE64_STANDARD};
use dead_letter_office::domain::{
    letter::{LetterId, Status},
    retry::RetryOutcome,
};
use serde_json::{Value, json};

use super::{
    answer::{Look, words},
    dead::{Dead, NOON, dead_in},
    desk::{Desk, MAIN},
    groups::{failed_with, group_of, sort},
    mass_edit::gzipped,
};

/// An order, the `number`th.
fn order(number: usize) -> Value {
    let currency = ["EUR", "USD", "ISK"][number % 3];
    json!({"order": number, "total": {"cents": 100 + 37 * number, "currency": currency}})
}

fn dead_order(error: &str, number: usize, order: &Value) -> Dead {
    failed_with(dead_in("orders"), error).received(NOON.minus(Duration::from_secs(900 - number as u64))).with(
        |arrival| {
            arrival.message.body = order.to_string().into_bytes();
            arrival.message.headers.set("x-tenant", FieldValue::string(["eu", "us"][number % 2]));
        },
    )
}

/// Where Protocol Buffers have the kind of a field, this has one that there is not. Of some others a large text is
/// read to its end, pair by pair, before it is found to be no message.
const NO_WIRE_FORMAT: &str = "o";

/// Orders without a currency that found no rate, and orders that failed for another reason.
pub async fn receive(desk: &Desk, n: usize) -> LetterId {
    let without = |number| {
        let mut order = order(number);
        order["total"].as_object_mut().unwrap().remove("currency");
        dead_order("no rate", number, &order)
    };
    let others = (0..n).map(|number| dead_order("time-out", number, &order(number)));
    let ids = desk.receive_all(MAIN, (0..n).map(without).chain(others).collect()).await;
    sort(desk).await;
    ids[0]
}

#[tokio::test]
async fn a_group_says_what_sets_its_letters_apart() {
    let desk = Desk::open().await;
    let group = group_of(&desk, receive(&desk, 30).await).await;
    let page = desk.page(&group).await;
    assert_eq!(page.values("#in-common", "hx-get"), [format!("{group}/in-common")]);
    let page = desk.page(&format!("{group}/in-common")).await;
    let first = words(page.all(".common-table tbody tr")[0]);
    assert!(first.starts_with("payload.total.currency is missing") && first.ends_with("100 % 0 %"), "{first}");
    let list = page.values(".common-found", "href")[0].to_owned();
    assert!(list.ends_with("&q=-payload.total.currency:*"), "{list}");
    super::search::index(&desk).await;
    assert_eq!(desk.page(&list).await.count(".list-row"), 30);
    let compared = "All 30 dead letters compared with 30 of other groups of this queue.";
    assert_eq!(page.words(".common-box > .text-sub"), compared);
    let panel = desk.get(&format!("{group}/in-common?part=panel")).await.expect(200).text();
    assert!(panel.trim_start().starts_with("<div id=\"in-common\""), "{panel}");
    let answer = desk.get(&format!("/api/v1{group}/in-common")).await.expect(200).json();
    let item = &answer["items"][0];
    assert_eq!((&item["field"], &item["condition"]), (&json!("payload.total.currency"), &json!("missing")));
    assert_eq!((&item["here"], &item["elsewhere"], &item["value"]), (&json!(30), &json!(0), &Value::Null));
    assert_eq!(item["text"], "payload.total.currency is missing");
    assert!(item["p_value"].as_f64().unwrap() < 1e-9);
    assert_eq!((&answer["sampled"], &answer["total"]), (&json!(30), &json!(30)));
    assert_eq!(answer["elsewhere"], json!({"other_groups": 30, "succeeded": 0, "same_type": 0}));
}

#[tokio::test]
async fn a_large_group_is_compared_by_samples_from_all_of_its_time() {
    let (on_sqlite, on_postgres) = (Desk::open().await, Desk::on_postgres().await);
    let on_postgres = on_postgres.map(|(desk, database)| (desk, Some(database)));
    for (desk, _kept) in std::iter::once((on_sqlite, None)).chain(on_postgres) {
        let group = group_of(&desk, receive(&desk, 450).await).await;
        let answer = desk.get(&format!("/api/v1{group}/in-common")).await.expect(200).json();
        assert_eq!((&answer["sampled"], &answer["total"]), (&json!(400), &json!(450)));
        assert_eq!(answer["elsewhere"]["other_groups"], 400);
        // Nothing that changes with time stands out, neither their numbers nor what they cost.
        let fields: Vec<_> = answer["items"].as_array().unwrap().iter().map(|item| item["field"].clone()).collect();
        assert_eq!(fields, [json!("payload.total.currency"), json!("size")]);
    }
}

/// Of large messages not all are read, and of those that are too large none is.
#[tokio::test]
async fn shares_are_of_what_was_read() {
    let desk = Desk::open().await;
    let large = |number: usize, has_currency: bool, n_bytes: usize| {
        let mut order = order(number);
        if !has_currency {
            order["total"].as_object_mut().unwrap().remove("currency");
        }
        order["note"] = json!(NO_WIRE_FORMAT.repeat(200));
        // Most of it are blanks, in which nothing takes long to be made out.
        let mut body = order.to_string();
        body.insert_str(body.len() - 1, &" ".repeat(n_bytes));
        dead_order(if has_currency { "time-out" } else { "no rate" }, number, &Value::Null).body(body)
    };
    let size = |number: usize| if number < 10 { 70_000 } else { 60_000 };
    let ours = (0..100).map(|number| large(number, false, size(number)));
    let others = (0..100).map(|number| large(number, true, size(number)));
    let ids = desk.receive_all(MAIN, ours.chain(others).collect()).await;
    sort(&desk).await;
    let group = group_of(&desk, ids[0]).await;
    super::search::index(&desk).await;
    for path in [format!("/api/v1{group}/in-common"), "/api/v1/letters/in-common?q=error:rate".to_owned()] {
        let answer = desk.get(&path).await.expect(200).json();
        let (here, item) = (answer["sampled"].as_u64().unwrap(), &answer["items"][0]);
        assert!((60..90).contains(&here), "{answer}");
        assert_eq!((&item["text"], &item["here"]), (&json!("payload.total.currency is missing"), &json!(here)));
        let elsewhere = answer["elsewhere"].as_object().unwrap();
        let n_others = elsewhere.values().filter_map(Value::as_u64).sum::<u64>();
        assert!((60..90).contains(&n_others), "{answer}");
        assert_eq!((&answer["total"], &item["elsewhere"]), (&json!(100), &json!(0)));
    }
    let page = desk.page(&format!("{group}/in-common")).await;
    let first = words(page.all(".common-table tbody tr")[0]);
    assert!(first.ends_with("100 % 0 %"), "{first}");
}

/// A small body may say much: of long texts the lengths are compared.
#[tokio::test]
async fn long_texts_are_compared_by_their_lengths() {
    let desk = Desk::open().await;
    let with = |error: &str, number: usize, length: usize| {
        let mut order = order(number);
        order["note"] = json!(NO_WIRE_FORMAT.repeat(length));
        let in_gzip = Properties { content_encoding: Some("gzip".to_owned()), ..Properties::default() };
        dead_order(error, number, &Value::Null).body(gzipped(&order.to_string())).properties(in_gzip)
    };
    let ours = (0..20).map(|number| with("no rate", number, 300_000));
    let others = (0..20).map(|number| with("time-out", number, 299_000 + number));
    let ids = desk.receive_all(MAIN, ours.chain(others).collect()).await;
    sort(&desk).await;
    let group = group_of(&desk, ids[0]).await;
    let answer = desk.get(&format!("/api/v1{group}/in-common")).await.expect(200).json();
    assert_eq!((&answer["sampled"], &answer["elsewhere"]["other_groups"]), (&json!(20), &json!(20)));
    assert_eq!(answer["items"][0]["text"], "payload.note has at least 300,000 characters", "{answer}");
}

/// A link leads to those for which it holds, or there is none.
#[tokio::test]
async fn objects_and_lists_lead_to_a_search_and_hidden_values_to_none() {
    let desk = Desk::hiding(&["pin"]).await;
    let with = |part: Value| {
        move |number| {
            let mut order = order(number);
            order.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
            order
        }
    };
    let (ours, others) = (with(json!({"tags": {"inner": {}}})), with(json!({"pin": "1111"})));
    let dead = (0..20).map(|n| dead_order("a", n, &ours(n))).chain((0..20).map(|n| dead_order("b", n, &others(n))));
    let ids = desk.receive_all(MAIN, dead.collect()).await;
    sort(&desk).await;
    super::search::index(&desk).await;
    for (letter, term) in [(ids[0], "&q=payload.tags:*"), (ids[20], "&q=-payload.tags:*")] {
        let page = desk.page(&format!("{}/in-common", group_of(&desk, letter).await)).await;
        let mut links = page.values(".common-found", "href");
        links.retain(|link| link.contains("payload."));
        assert!(links.iter().any(|link| link.ends_with(term)), "{term}: {links:?}");
        assert!(links.iter().all(|link| !link.contains("payload.pin")), "{links:?}");
        for link in &links {
            assert_eq!(desk.page(link).await.count(".list-row"), 20, "{link}");
        }
    }
}

#[tokio::test]
async fn edited_copies_are_not_what_services_sent() {
    let desk = Desk::open().await;
    let group = group_of(&desk, receive(&desk, 30).await).await.replace("/groups/", "");
    let letters = desk.get(&format!("/api/v1/letters?group={group}&limit=12")).await.expect(200).json();
    for letter in letters["items"].as_array().unwrap() {
        let edit = json!({"body_base64": BASE64_STANDARD.encode("{\"patched\": true}")});
        desk.post(&format!("/api/v1/letters/{}/retry", letter["id"].as_str().unwrap()), &edit).await.expect(200);
    }
    let sent = desk.store.claim_due_retries(MAIN, NOON, Duration::from_secs(60), 100).await.unwrap();
    let sent: Vec<_> = sent.iter().map(|retry| (retry, RetryOutcome::Confirmed)).collect();
    desk.store.finish_retries(&sent, NOON).await.unwrap();
    sort(&desk).await;
    let answer = desk.get(&format!("/api/v1/groups/{group}/in-common")).await.expect(200).json();
    assert_eq!((sent.len(), &answer["elsewhere"]["succeeded"]), (12, &json!(0)));
    assert!(!answer["items"].to_string().contains("patched"), "{}", answer["items"]);
}

#[tokio::test]
async fn it_is_said_why_nothing_is_compared() {
    let desk = Desk::open().await;
    let few = group_of(&desk, receive(&desk, 5).await).await;
    let page = desk.page(&format!("{few}/in-common")).await;
    assert_eq!(page.words(".common-box"), "The group has too few dead letters to compare: it takes 10.");
    let dead =
        (0..20).map(|number| failed_with(dead_in("alone"), "x").received(NOON.minus(Duration::from_secs(number))));
    let alone = desk.receive_all(MAIN, dead.collect()).await;
    sort(&desk).await;
    let of_alone = format!("{}/in-common", group_of(&desk, alone[0]).await);
    assert!(desk.page(&of_alone).await.words(".common-box").contains("There is too little to compare with"));
    for id in alone {
        desk.bring(id, Status::Retried).await;
    }
    assert!(
        desk.page(&of_alone)
            .await
            .words(".common-box")
            .starts_with("It has no dead letters but those that were sent back")
    );
}

#[tokio::test]
async fn a_hidden_value_is_only_present_or_missing() {
    let desk = Desk::hiding(&["pin"]).await;
    let with_pin = |pin: Value| {
        move |number| {
            let mut order = order(number);
            order["pin"] = pin.clone();
            order
        }
    };
    let (ours, others) = (with_pin(json!("1111")), with_pin(json!("2222")));
    let dead = (0..20).map(|n| dead_order("a", n, &ours(n))).chain((0..20).map(|n| dead_order("b", n, &others(n))));
    let ids = desk.receive_all(MAIN, dead.collect()).await;
    sort(&desk).await;
    let group = group_of(&desk, ids[0]).await;
    let answer = desk.get(&format!("/api/v1{group}/in-common")).await.expect(200).json();
    assert_eq!(answer["items"], json!([]));
}

/// By any search: what sets its letters apart from the others of their queues; what it asks for itself is no news.
#[tokio::test]
async fn a_search_says_what_sets_its_letters_apart() {
    let (on_sqlite, on_postgres) = (Desk::open().await, Desk::on_postgres().await);
    let on_postgres = on_postgres.map(|(desk, database)| (desk, Some(database)));
    for (desk, _kept) in std::iter::once((on_sqlite, None)).chain(on_postgres) {
        receive(&desk, 30).await;
        desk.receive_all(MAIN, (0..30).map(|_| dead_in("elsewhere")).collect()).await;
        super::search::index(&desk).await;
        let path = "/api/v1/letters/in-common?q=error:rate";
        let answer = desk.get(path).await.expect(200).json();
        let item = &answer["items"][0];
        assert_eq!(
            (&item["text"], &item["here"], &item["elsewhere"]),
            (&json!("payload.total.currency is missing"), &json!(30), &json!(0))
        );
        assert_eq!(
            (&answer["sampled"], &answer["total"], &answer["total_is_least"]),
            (&json!(30), &json!(30), &json!(false))
        );
        assert_eq!(answer["elsewhere"], json!({"not_found": 30, "succeeded": 0}), "of the same queue");
        let asked = desk.get("/api/v1/letters/in-common?q=-payload.total.currency:*+queue:orders").await.json();
        assert!(!asked["items"].to_string().contains("payload.total.currency"), "{asked}");
        assert_eq!(asked["sampled"], 30);
        // One click leads to the search with the cause.
        let list = desk.page("/letters?q=error:rate+OR+error:none").await;
        let panel = list.values(".letters-causes [hx-get]", "hx-get")[0].to_owned();
        assert_eq!(panel, "/letters/in-common?q=error:rate+OR+error:none");
        let found = desk.page(&panel).await.values(".common-found", "href")[0].to_owned();
        assert_eq!(desk.page(&found).await.count(".list-row"), 30, "{found}");
        assert!(found.starts_with("/letters?q=%28error:rate+OR+error:none%29+-payload.total.currency:*"), "{found}");
        // Nothing narrows the list of all, and a mistake is told.
        assert_eq!(desk.page("/letters").await.count(".letters-causes"), 0);
        desk.get("/api/v1/letters/in-common?q=status:opne").await.problem(422);
        assert_eq!(desk.get("/api/v1/letters/in-common?q=error:nowhere").await.expect(200).json()["items"], json!([]));
    }
}

/// What always goes with what is searched for is what somebody wants to know.
#[tokio::test]
async fn what_goes_with_what_is_asked_for_is_told() {
    let desk = Desk::open().await;
    let of_region = |number: usize| {
        let mut order = order(number);
        order["region"] = json!(["west", "east"][number % 2]);
        dead_order("time-out", number, &order)
    };
    desk.receive_all(MAIN, (0..40).map(of_region).collect()).await;
    super::search::index(&desk).await;
    for (search, told) in
        [("header.x-tenant:eu", "payload.region is “west”"), ("payload.region:west", "header.x-tenant is “eu”")]
    {
        let answer = desk.get(&format!("/api/v1/letters/in-common?q={search}")).await.expect(200).json();
        assert_eq!((&answer["sampled"], &answer["items"][0]["text"]), (&json!(20), &json!(told)), "{answer}");
        assert_eq!(answer["items"].as_array().unwrap().len(), 1, "{answer}");
    }
}

/// Where a search finds too many to be counted, its sample is spread over its time all the same.
#[tokio::test]
async fn a_large_search_is_compared_by_a_sample() {
    let desk = Desk::open().await;
    receive(&desk, 450).await;
    super::search::index(&desk).await;
    let answer = desk.get("/api/v1/letters/in-common?q=error:rate").await.expect(200).json();
    assert_eq!((&answer["sampled"], &answer["total"]), (&json!(400), &json!(450)));
    assert_eq!(answer["items"][0]["field"], "payload.total.currency", "{answer}");
    assert_eq!(answer["items"].as_array().unwrap().len(), 2, "nothing that changes with time stands out: {answer}");
}
