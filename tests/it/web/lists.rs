//! The list of dead letters: what its rows say, their columns and their order, and how those of one group are folded.

use std::sync::atomic::{AtomicBool, Ordering};

use amqp_message::field::FieldValue;
use axum::{
    body::Body,
    http::{Method, header},
};
use dead_letter_office::domain::{command::Command, letter::Importance, retry::RetryOutcome};

use scraper::Html;

use super::{
    answer::{Look, words},
    dead::{Dead, NOON, dead_in},
    desk::{Desk, builder},
    form::{Form, submit},
    groups::{alike, failed_with},
    queue_page::both,
    search::{index, order},
};
use crate::support::soak;

const ZOE: &str = r#"{"id": "0198c0de-0000-7000-8000-000000000001", "customer": {"name": "Zoë", "card": "4711"},
    "total": {"cents": 5, "currency": "EUR"}, "items": [{"sku": "a"}, {"sku": "b"}]}"#;

fn fields(page: &Html) -> Vec<String> {
    page.all(".list-row .row-field").into_iter().map(words).collect()
}

#[tokio::test]
async fn the_error_leads_and_a_row_says_what_tells_its_message_from_others() {
    let desk = Desk::hiding(&["card"]).await;
    desk.receive(order("orders", ZOE, "no rate")).await;
    index(&desk).await;
    let page = desk.page("/letters").await;
    assert_eq!(page.words(".list-row > a > :first-child"), "billing.NoRateException: no rate");
    assert_eq!(page.words(".list-row .row-what"), "orders");
    assert_eq!(fields(&page), ["customer.name Zoë", "total.cents 5", "total.currency EUR"]);
}

#[tokio::test]
async fn columns_are_chosen_remembered_and_named_by_the_address() {
    let desk = Desk::hiding(&["card"]).await;
    let id = desk.receive(order("orders", ZOE, "no rate")).await;
    desk.receive(order("mail", "no fields", "no rate").received(NOON.minus(std::time::Duration::from_secs(9)))).await;
    let choice = desk.page("/letters/columns?queue=orders").await;
    let offered = choice.values("input[type=checkbox][name=column]", "value");
    assert!(
        offered.contains(&"payload.items.sku".to_owned()) && offered.contains(&"header.x-tenant".to_owned()),
        "{offered:?}"
    );
    assert!(!offered.iter().any(|path| path.contains("card")), "what is hidden is offered: {offered:?}");
    let form =
        Form::of(&choice, "Show these columns").tick("column", "payload.items.sku").tick("column", "header.x-tenant");
    let answer = form.send(&desk).await.expect(303);
    let list = "/letters?queue=orders&column=payload.items.sku&column=header.x-tenant";
    assert_eq!(answer.header("location"), list);
    let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
    let with_cookie = async |path: &str| {
        let request = builder(Method::GET, path).header(header::COOKIE, &cookie).body(Body::empty()).unwrap();
        desk.send(request).await.expect(200).page()
    };
    let shown = ["items.sku a, b", "header.x-tenant eu"];
    assert_eq!(fields(&desk.page(list).await), shown);
    let page = with_cookie("/letters?queue=orders").await;
    assert_eq!(fields(&page), shown, "they are remembered");
    assert!(page.values(".list-sort a", "href").iter().all(|href| href.contains("column=payload.items.sku")));
    let own = "/letters?column=payload.customer.card&column=payload.none";
    let page = with_cookie(own).await;
    assert_eq!(
        fields(&page),
        ["customer.card", "none"].repeat(2),
        "the address goes first, and what is hidden stays so"
    );
    let items =
        desk.get("/api/v1/letters?column=payload.items.sku&column=payload.customer.card").await.expect(200).json();
    let said = serde_json::json!({"payload.items.sku": "a, b", "payload.customer.card": null});
    assert_eq!((&items["items"][0]["id"], &items["items"][0]["columns"]), (&id.to_string().into(), &said));
    let answer = submit(&desk, "/letters/columns", &[("automatic", "1"), ("column", "payload.a")]).await.expect(303);
    assert_eq!(answer.header("location"), "/letters");
    assert!(answer.header("set-cookie").contains("Max-Age=0"), "{}", answer.header("set-cookie"));
    assert!(desk.get("/api/v1/letters?column=name").await.problem(400).contains("payload. or header."));
}

#[tokio::test]
async fn a_choice_of_columns_that_cannot_be_shown_is_kept_and_told() {
    let desk = Desk::open().await;
    let names: Vec<String> = (0..9).map(|n| format!("header.x-{n}")).collect();
    let nine: Vec<(&str, &str)> = names.iter().map(|name| ("column", &**name)).collect();
    let page = submit(&desk, "/letters/columns", &nine).await.expect(422).page();
    assert_eq!(page.words("#column-wrong"), "9 are chosen; a list has room for 8.");
    assert_eq!(page.values("input[name=column][checked]", "value"), names);
    let page = submit(&desk, "/letters/columns", &[nine[0], ("column", "total")]).await.expect(422).page();
    assert!(page.words("#column-wrong").starts_with("\"total\" is no field"), "{}", page.words("#column-wrong"));
    assert_eq!(page.values("input[name=column]", "value"), ["header.x-0", "total"]);
    let twice = submit(&desk, "/letters/columns", &[nine[0], nine[1], nine[0]]).await.expect(303);
    assert_eq!(twice.header("location"), "/letters?column=header.x-0&column=header.x-1");
}

fn number(n: u64) -> Dead {
    let at = NOON.minus(std::time::Duration::from_secs(n));
    failed_with(dead_in("orders"), if n == 3 { "boom" } else { "no rate" }).received(at)
}

#[tokio::test]
async fn letters_of_one_group_that_follow_each_other_are_one_row() {
    let desk = Desk::open().await;
    let ids = desk.receive_from("main", std::array::from_fn::<_, 9, _>(|n| number(n as u64))).await;
    desk.receive(number(9).of(Importance::Critical)).await;
    index(&desk).await;
    let page = desk.page("/letters").await;
    assert_eq!(page.count("#rows > li"), 5, "three, one of another group, and a run");
    assert_eq!(page.words(".list-run [data-run-n]"), "6");
    assert_eq!(page.count(".list-run .run-rows input[name=id]"), 6);
    assert_eq!(page.count(".list-run.is-open"), 0);
    let page = desk.page(&format!("/letters?letter={}", ids[8])).await;
    assert_eq!(page.count(".list-run.is-open"), 1, "what is open is seen");
    let group = desk.letter(ids[0]).await["group"].as_str().unwrap().to_owned();
    let page = desk.page(&format!("/letters?group={group}")).await;
    assert_eq!((page.count(".list-run"), page.count(".list-row")), (0, 9), "of a group all are seen");
}

#[tokio::test]
async fn rows_have_an_order() {
    let desk = Desk::open().await;
    desk.receive(dead_in("a").attempts(2).body("x".repeat(3_000)).header("n", FieldValue::string("1"))).await;
    desk.receive(dead_in("b").attempts(9).of(Importance::Low)).await;
    desk.receive(dead_in("c").of(Importance::Critical)).await;
    let check = async |sort: &str, label: &str, expected: [&str; 3]| {
        let page = desk.page(&format!("/letters?sort={sort}")).await;
        let shown: Vec<_> = page.all(".list-row .row-name").into_iter().map(words).collect();
        assert_eq!(shown, expected, "{sort}");
        assert_eq!(page.words(".list-sort summary"), label);
        assert_eq!(page.words(".list-sort [aria-current]"), label);
    };
    check("importance", "Most important first", ["c", "a", "b"]).await;
    check("attempts", "Most attempts first", ["b", "a", "c"]).await;
    check("size", "Largest first", ["a", "c", "b"]).await;
    let page = desk.page("/letters?sort=size").await;
    assert!(words(page.all(".list-row .row-tries")[0]).contains("2.9 KiB"), "the size is told where it decides");
    let first = desk.get("/api/v1/letters?sort=attempts&limit=1").await.expect(200).json();
    let cursor = first["next_cursor"].as_str().unwrap();
    let next =
        desk.get(&format!("/api/v1/letters?sort=attempts&limit=1&column=payload.a&cursor={cursor}")).await.expect(200);
    assert_eq!(next.json()["items"][0]["queue"], "a");
}

/// Each letter is in the list of all statuses at every moment, whatever is done with it meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changes_its_status_is_not_missing() {
    let n_letters = soak(10, 30);
    for (desk, _kept) in both().await {
        let mut ids = Vec::new();
        for _ in 0..n_letters {
            ids.push(desk.receive(dead_in("texts")).await);
        }
        let is_changing = AtomicBool::new(true);
        let change = async {
            for id in &ids {
                desk.command(*id, Command::Discard { note: None }).await;
            }
            for id in &ids {
                desk.command(*id, Command::Reopen).await;
            }
            is_changing.store(false, Ordering::Release);
        };
        let look = async {
            while is_changing.load(Ordering::Acquire) {
                let list = desk.get("/api/v1/letters?limit=200").await.expect(200).json();
                assert_eq!(list["items"].as_array().unwrap().len(), n_letters);
            }
        };
        tokio::join!(change, look);
    }
}

#[tokio::test]
async fn a_row_of_many_says_what_most_of_them_say() {
    let desk = Desk::open().await;
    desk.receive(dead_in("mail")).await;
    let ids = alike(&desk, "orders", "no rate", 6).await;
    let said = async || desk.page("/letters").await.words(".run-head .row-why");
    let before = said().await;
    desk.retry_ends(ids[5], RetryOutcome::Failed("there is no queue orders".to_owned())).await;
    assert!(desk.page("/letters").await.words(".run-rows").contains("there is no queue orders"));
    assert_eq!(said().await, before);
}
