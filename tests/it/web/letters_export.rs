//! Letters as a file.

use std::{collections::BTreeSet, time::Duration};

use amqp_message::field::{FieldTable, FieldValue};
use base64::{Engine, prelude::BASE64_STANDARD};
use dead_letter_office::{config::AuthConfig, domain::letter::Status};
use serde_json::{Value, json};

use super::{
    answer::Look,
    dead::{Dead, NOON, dead_in},
    desk::{Desk, MAIN},
    sign_in::{by_password, desks_with, signed_in},
};

const SECRET: &str = "4711-0815-1234";

fn items(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn all_that_match_are_there_in_the_order_of_the_list() {
    let desk = Desk::open().await;
    let dead: Vec<Dead> =
        (0..230).map(|n| dead_in(if n % 2 == 0 { "orders" } else { "texts" }).body(format!("{{\"n\":{n}}}"))).collect();
    desk.receive_all(MAIN, dead).await;
    desk.letter_in(Status::Discarded).await;
    let export =
        async |query: &str| items(&desk.get(&format!("/api/v1/letters/export{query}")).await.expect(200).text());
    let ids = |items: &[Value]| items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    for query in ["sort=oldest", "status=open", "queue=texts&sort=newest", "limit=7"] {
        let list =
            desk.get(&format!("/api/v1/letters?limit=1000&{}", query.replace("limit=7", ""))).await.expect(200).json();
        let mut expected = ids(list["items"].as_array().unwrap());
        if query == "limit=7" {
            expected.truncate(7);
        }
        assert_eq!(ids(&export(&format!("?{query}")).await), expected, "{query}");
    }
    let all = export("").await;
    assert_eq!(all.len(), 231);
    let mut one = all[5].clone();
    let mut whole = desk.get(&format!("/api/v1/letters/{}", one["id"].as_str().unwrap())).await.json();
    assert_eq!(one["history"].take(), whole["history"].take());
    assert_eq!(one, whole, "each is as a single letter is shown");
    let page = desk.get("/letters?queue=texts").await.expect(200).page();
    let links = page.values("a[href^='/api/v1/letters/export']", "href");
    assert_eq!(links.len(), 2);
    let table = desk.get(&links[1]).await.expect(200);
    assert_eq!(table.header("content-disposition"), "attachment; filename=\"letters.csv\"");
    assert_eq!(table.text().lines().count(), 116, "its head, and those that the page is about");
    assert_eq!(items(&desk.get(&links[0]).await.expect(200).text()).len(), 115);
}

/// Else an export of what keeps coming in has no end.
#[tokio::test]
async fn what_comes_in_meanwhile_is_not_in_it_whatever_end_is_given() {
    let desk = Desk::open().await;
    desk.receive(dead_in("orders")).await;
    desk.receive(dead_in("orders").received(NOON.plus(Duration::from_secs(1)))).await;
    for (query, expected) in [("", 1), ("?until=2026-11-21T14:00:00Z", 1), ("?until=2026-11-21T11:00:00Z", 0)] {
        let export = desk.get(&format!("/api/v1/letters/export{query}")).await.expect(200);
        assert_eq!(export.text().lines().count(), expected, "{query}");
    }
}

#[tokio::test]
async fn a_table_has_the_columns_that_are_asked_for() {
    let desk = Desk::open().await;
    let dead = dead_in("orders").body("{\"total\":{\"cents\":-5,\"list\":[1,2]}}");
    let dead = dead.header("x-tenant", FieldValue::string("@eu")).header("n", FieldValue::LongInt(7));
    desk.receive(dead.header("x-exception-message", FieldValue::string("=HYPERLINK(\"http://evil\")"))).await;
    let fields =
        ["queue", "error.message", "header.x-tenant", "header.n", "payload.total.cents", "payload.total.list", "note"];
    let query: String = fields.map(|field| format!("&field={field}")).concat();
    let table = desk.get(&format!("/api/v1/letters/export?format=csv{query}")).await.expect(200);
    assert_eq!(table.header("content-type"), "text/csv; charset=utf-8");
    let text = table.text();
    let lines: Vec<&str> = text.split("\r\n").collect();
    assert_eq!(lines[0], fields.map(|field| format!("\"{field}\"")).join(","));
    assert_eq!(lines[1], "\"orders\",\"'=HYPERLINK(\"\"http://evil\"\")\",\"'@eu\",7,-5,\"[1,2]\",");
    let usual = desk.get("/api/v1/letters/export?format=csv&column=header.n").await.expect(200).text();
    assert!(usual.starts_with("\"id\",\"received_at\",\"status\",") && usual.contains(",\"header.n\"\r\n"), "{usual}");
    assert!(usual.ends_with(",7\r\n"), "{usual}");
    let refused = desk.get("/api/v1/letters/export?format=xml&field=body&staus=open&q=queue:").await.json();
    let places: BTreeSet<&str> =
        refused["errors"].as_array().unwrap().iter().filter_map(|error| error["parameter"].as_str()).collect();
    assert_eq!(places, BTreeSet::from(["field", "format", "q", "staus"]), "{refused}");
}

/// Its last columns are those of the list, with all that the list says there.
#[tokio::test]
async fn a_table_says_what_the_columns_of_the_list_say() {
    let desk = Desk::hiding(&["pin"]).await;
    let long = "word ".repeat(40);
    let body = json!({
        "items": [{"sku": "A-1", "n": 1}, {"sku": "A-2", "n": 2}], "a.b": "dotted", "long": long.trim(), "cents": -5,
        "formula": "=1+1", "pin": "4711", "lines": "1\n2",
    });
    let mut info = FieldTable::default();
    info.set("tenant", FieldValue::string("eu"));
    let dead = dead_in("orders").body(body.to_string()).header("x-info", FieldValue::Table(info));
    desk.receive(dead).await;
    let check = async |columns: &[&str], expected: &str| {
        let columns: String = columns.iter().map(|column| format!("&column={column}")).collect();
        let table = desk.get(&format!("/api/v1/letters/export?format=csv&field=queue{columns}")).await.expect(200);
        assert_eq!(table.text().split("\r\n").nth(1), Some(&*format!("\"orders\",{expected}")), "{columns}");
    };
    check(&["payload.items.sku", "payload.items.n", "payload.a.b"], "\"A-1, A-2\",\"1, 2\",\"dotted\"").await;
    check(&["header.x-info.tenant", "payload.none", "payload.pin"], "\"eu\",,").await;
    check(&["payload.cents", "payload.formula", "payload.lines"], "-5,\"'=1+1\",\"1\n2\"").await;
    check(&["payload.long"], &format!("\"{}\"", long.trim())).await;
}

/// JSON that few readers take.
#[tokio::test]
async fn a_strange_payload_does_not_break_a_table_off() {
    let desk = Desk::open().await;
    let odd = r#"{"a": "cut \ud83d", "n": 1e400, "id": 12345678901234567890123, "pair": "\ud83d\ude00"}"#;
    for body in [odd, "{\"n\": 1}"] {
        desk.receive(dead_in("orders").body(body)).await;
    }
    let fields = ["a", "n", "id", "pair"].map(|field| format!("&field=payload.{field}")).concat();
    let path = format!("/api/v1/letters/export?format=csv&sort=oldest{fields}");
    let table = desk.get(&path).await.expect(200).text();
    let rows: Vec<&str> = table.lines().skip(1).collect();
    assert_eq!(rows, ["\"cut \u{fffd}\",\"1e400\",\"12345678901234567890123\",\"\u{1f600}\"", ",1,,"]);
}

#[tokio::test]
async fn what_is_hidden_is_not_in_it_unless_it_is_revealed() {
    let desk = Desk::hiding(&["ssn"]).await;
    // Over several lines, as it is shown, too.
    let body = format!("{{\"ssn\":\"{SECRET}\",\n \"name\":\"Zoe\"}}");
    let id = desk.receive(dead_in("orders").header("x-ssn-copy", FieldValue::string(SECRET)).body(body.clone())).await;
    let get = async |query: &str| desk.get(&format!("/api/v1/letters/export?{query}")).await.expect(200).text();
    for query in ["", "format=csv&field=payload.ssn&field=header.x-ssn-copy&field=payload.name", "reveal=false"] {
        let text = get(query).await;
        assert!(!text.contains(SECRET) && text.contains("Zoe"), "{query}: {text}");
        assert!(!text.contains(&BASE64_STANDARD.encode(&body)), "{query}");
    }
    let revealed = async || desk.letter(id).await["history"].to_string().matches("\"revealed\"").count();
    assert_eq!(items(&get("").await).len(), 1, "each is one line");
    assert_eq!(revealed().await, 0);
    let one = items(&get("reveal=true").await).remove(0);
    assert_eq!(
        (&one["payload"]["json"]["ssn"], &one["body_base64"]),
        (&SECRET.into(), &BASE64_STANDARD.encode(&body).into())
    );
    assert!(get("reveal=true&format=csv&field=payload.ssn").await.contains(SECRET));
    assert_eq!(revealed().await, 2, "each time is in the history");
}

#[tokio::test]
async fn who_may_not_see_payloads_exports_none() {
    let auth = AuthConfig { viewers_see_payloads: false, ..by_password() };
    for (desk, _kept) in desks_with(&auth).await {
        desk.receive(dead_in("orders").header("x-tenant", FieldValue::string("eu")).body("{\"name\":\"Zoe\"}")).await;
        let vera = signed_in(&desk, "vera").await;
        let text = vera.get(&desk, "/api/v1/letters/export").await.expect(200).text();
        assert!(!text.contains("Zoe") && text.contains("\"orders\"") && text.contains("x-tenant"), "{text}");
        let table = vera.get(&desk, "/api/v1/letters/export?format=csv&field=payload.name&field=queue").await;
        assert_eq!(table.expect(200).text(), "\"payload.name\",\"queue\"\r\n,\"orders\"\r\n");
        vera.get(&desk, "/api/v1/letters/export?reveal=true").await.expect(403);
        let otto = signed_in(&desk, "otto").await;
        assert!(otto.get(&desk, "/api/v1/letters/export?reveal=true").await.expect(200).text().contains("Zoe"));
    }
}
