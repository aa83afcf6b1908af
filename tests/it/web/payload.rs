//! What is inside a letter: its encodings, its type, what it says, and what of that is hidden.

use axum::http::Method;
use base64::{Engine, prelude::BASE64_STANDARD};
use dead_letter_office::domain::letter::LetterId;
use scraper::Html;
use serde_json::{Value, json};

use super::{
    answer::{Look, words},
    dead::dead_in,
    desk::{Desk, ask},
    form::{Form, submit},
    schemas::post_form,
};

/// Two types that no message can tell apart, and one that hides something.
const LAB: &str = "syntax = \"proto3\"; package lab.v1;
    message DoorOpened { string door = 1; uint64 badge = 2; }
    message DoorClosed { string door = 1; uint64 badge = 2; }
    message Account { string name = 1; string secret = 2 [debug_redact = true]; Address home = 3; }
    message Address { string street = 1; uint32 number = 2; }";
/// `door: "front door of the lab", badge: 4711`
pub const OPENED: &[u8] = b"\x0a\x15front door of the lab\x10\xe7\x24";
/// `name: "Ada Lovelace", secret: "analytical-engine", home { street: "St James's Square", number: 12 }`
pub const ACCOUNT: &[u8] = b"\x0a\x0cAda Lovelace\x12\x11analytical-engine\x1a\x15\x0a\x11St James's Square\x10\x0c";
pub const SECRET: &str = "analytical-engine";

pub async fn lab() -> Desk {
    let desk = Desk::open().await;
    bring_lab(&desk).await;
    desk
}

pub async fn bring_lab(desk: &Desk) {
    post_form(desk, "/api/v1/schemas", None, &[("lab.proto", LAB.as_bytes())]).await.expect(201);
}

async fn payload(desk: &Desk, id: LetterId, query: &str) -> Value {
    desk.get(&format!("/api/v1/letters/{id}{query}")).await.expect(200).json()["payload"].clone()
}

fn events(letter: &Value) -> Vec<&str> {
    letter["history"].as_array().unwrap().iter().map(|entry| entry["event"].as_str().unwrap()).collect()
}

fn hrefs(page: &Html, selector: &str) -> Vec<String> {
    page.all(selector).iter().map(|link| link.attr("href").unwrap().to_owned()).collect()
}

#[tokio::test]
async fn encodings_are_undone_as_found_or_as_told() {
    let desk = Desk::open().await;
    let inside = "{\"order\": 12345678901234567890, \"state\": \"paid\"}";
    let id = desk.receive(dead_in("orders").body(BASE64_STANDARD.encode(inside))).await;
    let check = async |query: &str, encoding: Value, format: &str, n_remarks: usize| {
        let payload = payload(&desk, id, query).await;
        let remarks = payload["remarks"].as_array().unwrap().len();
        assert_eq!(
            (&payload["encoding"], &payload["format"], remarks),
            (&encoding, &json!(format), n_remarks),
            "{query}"
        );
    };
    check("", json!(["base64"]), "json", 0).await;
    check("?encoding=base64", json!(["base64"]), "json", 0).await;
    check("?encoding=none", json!([]), "text", 0).await;
    check("?encoding=gzip", json!([]), "text", 1).await;
    let answer = desk.get(&format!("/api/v1/letters/{id}")).await;
    assert!(answer.text().contains("12345678901234567890"), "no digit is lost");
    let refused = desk.get(&format!("/api/v1/letters/{id}?encoding=rot13")).await.problem(400);
    assert!(refused.contains("rot13") && refused.contains("base64, hex"), "{refused}");
    desk.get(&format!("/api/v1/letters/{id}?warp=1")).await.problem(400);
}

#[tokio::test]
async fn each_step_can_be_undone_by_a_link() {
    let desk = Desk::open().await;
    let body = BASE64_STANDARD.encode("{\"order\": 42, \"state\": \"paid\"}");
    let id = desk.receive(dead_in("orders").body(body.clone())).await;
    for base in [format!("/letters/{id}"), format!("/letters?letter={id}")] {
        let page = desk.page(&base).await;
        assert_eq!(page.words(".payload-steps"), "base64 : show it before this step → JSON");
        let links = hrefs(&page, ".payload-steps a");
        let before = desk.page(&links[0]).await;
        assert_eq!((before.words("#payload"), before.words(".payload-steps")), (body.clone(), "text".to_owned()));
        assert_eq!(
            hrefs(&before, ".payload-chain > p:not(.payload-steps) a"),
            std::slice::from_ref(&base),
            "back to what was found"
        );
        let text = hrefs(&before, ".seg-tabs a").into_iter().find(|link| link.contains("view=hex")).unwrap();
        assert!(text.contains("encoding=none"), "another view of the same: {text}");
    }
    let beside = desk.page(&format!("/letters?queue=orders&letter={id}")).await;
    let kept: Vec<_> =
        beside.all(".payload-chain form input[type=hidden]").iter().map(|it| it.attr("name").unwrap()).collect();
    assert_eq!(kept, ["queue", "letter"], "a form for another chain stays where it is");
    assert_eq!(desk.page(&format!("/letters/{id}?encoding=base64+→+hex")).await.count(".remark-note"), 1);
}

#[tokio::test]
async fn fields_are_told_by_number_where_no_schema_is() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_in("doors").body(OPENED)).await;
    let page = desk.page(&format!("/letters/{id}")).await;
    assert_eq!(page.words(".seg-tabs a[aria-current]"), "Fields");
    let lines: Vec<_> = page.all(".payload-wire li").into_iter().map(words).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("1 length “front door of the lab” text"), "{lines:?}");
    assert!(lines[1].starts_with("2 varint 4711 number or"), "{lines:?}");
    let told = desk.receive(dead_in("doors").body(OPENED)).await;
    desk.call(Method::PATCH, &format!("/api/v1/letters/{told}"), &json!({"message_type": "lab.v1.DoorOpened"})).await;
    let page = desk.page(&format!("/letters/{told}")).await;
    assert!(page.words("#payload-part").contains("No schema describes lab.v1.DoorOpened"));
    assert_eq!(hrefs(&page, ".payload-type a"), ["/schemas"], "where to bring one");
}

#[tokio::test]
async fn candidates_say_why_and_can_be_chosen() {
    let desk = lab().await;
    let [first, second] =
        desk.receive_from(super::desk::MAIN, [dead_in("doors").body(OPENED), dead_in("doors").body(OPENED)]).await;
    let told = desk.letter(first).await;
    assert_eq!((&told["message_type"], &told["type_source"]), (&Value::Null, &Value::Null), "two are alike");
    let best = &told["payload"]["candidates"][0];
    assert_eq!((&best["type"], &best["also"]), (&json!("lab.v1.DoorOpened"), &json!(["lab.v1.DoorClosed"])));
    assert!(best["confidence"].as_f64().unwrap() > 0.5 && best["evidence"][0].is_string(), "{best}");
    let payload = &told["payload"];
    assert_eq!((&payload["decoded_as"], &payload["json"]["2"]), (&Value::Null, &json!(4711)), "a guess is no fact");

    let page = desk.page(&format!("/letters/{first}")).await;
    assert_eq!(page.words(".seg-tabs a[aria-current]"), "Fields");
    assert!(!page.words("#payload-part").contains("badge:"), "no name of a field that is only guessed");
    let list = page.words(".type-candidates");
    for part in ["lab.v1.DoorOpened", "%", "no unknown fields", "Identical on the wire: lab.v1.DoorClosed"] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let page = Form::of(&page, "Use this type : lab.v1.DoorClosed").press(&desk).await;
    assert!(
        page.words(".payload-type").starts_with("lab.v1.DoorClosed set by local user"),
        "{}",
        page.words(".payload-type")
    );
    assert_eq!(
        (page.count(".type-candidates"), hrefs(&page, ".payload-type a")),
        (0, vec!["/schemas/types/lab.v1.DoorClosed".to_owned()])
    );
    assert_eq!(desk.letter(first).await["type_source"], "manual");

    let page = desk.page(&format!("/letters/{second}?view=text")).await;
    let page = Form::of(&page, "Use for all of queue doors : lab.v1.DoorClosed").press(&desk).await;
    assert!(
        page.words(".payload-type").starts_with("lab.v1.DoorClosed mapping by queue doors"),
        "{}",
        page.words(".payload-type")
    );
    assert_eq!(page.words(".seg-tabs a[aria-current]"), "Text", "back where one was");
    let told = desk.letter(second).await;
    assert_eq!(
        (&told["type_source"], &told["payload"]["decoded_as"]),
        (&json!("mapping"), &json!("lab.v1.DoorClosed"))
    );
    let page = desk.page("/schemas").await;
    assert!(page.words(".table-mappings").contains("queue doors on main lab.v1.DoorClosed"), "it can be taken back");
    let refused = [("back", "//example.com"), ("carrier", "queue"), ("pattern", "a"), ("type", "a.B")];
    submit(&desk, "/schemas/map", &refused).await.expect(400);
}

/// A letter with a hidden value whose type is known.
async fn an_account(desk: &Desk, body: &[u8]) -> LetterId {
    let id = desk.receive(dead_in("accounts").body(body)).await;
    let said = json!({"message_type": "lab.v1.Account"});
    desk.call(Method::PATCH, &format!("/api/v1/letters/{id}"), &said).await.expect(200);
    id
}

#[tokio::test]
async fn what_is_hidden_is_in_no_page_unless_revealed() {
    let desk = lab().await;
    let encoded = BASE64_STANDARD.encode(ACCOUNT);
    for body in [ACCOUNT, encoded.as_bytes()] {
        let id = an_account(&desk, body).await;
        let page = desk.page(&format!("/letters/{id}")).await;
        assert!(page.words("#payload").contains("St James's Square"), "{}", page.words("#payload-part"));
        assert_eq!(page.count(".code-hidden-value"), 1);
        for query in
            ["", "view=json", "view=fields", "view=text", "view=hex", "encoding=none", "encoding=none&view=text"]
        {
            for path in [format!("/letters/{id}?{query}"), format!("/letters?letter={id}&{query}")] {
                let html = desk.get(&path).await.expect(200).text();
                // As it is, in hex, and as it was sent.
                for part in [SECRET, "61 6e 61 6c 79 74", &encoded[..40]] {
                    assert!(!html.contains(part), "{path}: {part}");
                }
            }
        }
        let asked = desk.get(&format!("/letters/{id}?reveal=true")).await.expect(200);
        assert!(!asked.text().contains(SECRET));
        let told = desk.letter(id).await;
        let secret = told["payload"]["json"]["secret"].as_str().unwrap();
        assert!(told["payload"]["hidden"] == true && secret.starts_with("•••"), "{secret}");
        assert_eq!(events(&told), ["received", "type_set"], "to look at the rest leaves no line");

        let shown = Form::of(&page, "Reveal").send(&desk).await.expect(200);
        assert!(shown.text().contains(SECRET) && shown.page().count(".code-hidden-value") == 0);
        assert_eq!(shown.page().count(".seg-tabs a"), 0, "what is revealed has no address");
        let text = Form::of(&shown.page(), "Text").send(&desk).await.expect(200).page();
        assert!(text.words("#payload").contains(SECRET));
        let history = shown.page().words("#timeline");
        assert!(history.contains("Hidden values revealed by local user"), "{history}");
        assert_eq!(events(&desk.letter(id).await), ["received", "type_set", "revealed", "revealed"]);
    }
}

#[tokio::test]
async fn a_part_is_revealed_where_it_stands() {
    let desk = lab().await;
    let id = an_account(&desk, ACCOUNT).await;
    let base = format!("/letters?queue=accounts&letter={id}");
    let pairs = [("back", &*base), ("part", "payload"), ("view", "text")];
    let part = submit(&desk, &format!("/letters/{id}/reveal"), &pairs).await.expect(200);
    assert!(part.text().trim_start().starts_with("<section") && part.text().contains(SECRET), "{}", part.text());
    assert_eq!(hrefs(&part.page(), ".payload-reveal a"), std::slice::from_ref(&base));
    let elsewhere = [("back", "https://example.com/")];
    submit(&desk, &format!("/letters/{id}/reveal"), &elsewhere).await.expect(400);
    assert_eq!(events(&desk.letter(id).await), ["received", "type_set", "revealed"]);
}

#[tokio::test]
async fn whoever_takes_a_body_with_hidden_values_is_written_down() {
    let desk = lab().await;
    let id = desk.receive(dead_in("orders").body(ACCOUNT)).await;
    let change = json!({"message_type": "lab.v1.Account"});
    desk.call(Method::PATCH, &format!("/api/v1/letters/{id}"), &change).await.expect(200);
    desk.get(&format!("/api/v1/letters/{id}/body")).await.expect(200);
    assert_eq!(events(&desk.letter(id).await), ["received", "type_set", "revealed"]);

    let open = desk.receive(dead_in("orders").body(OPENED)).await;
    desk.call(Method::PATCH, &format!("/api/v1/letters/{open}"), &json!({"message_type": "lab.v1.DoorOpened"})).await;
    desk.get(&format!("/api/v1/letters/{open}/body")).await.expect(200);
    assert_eq!(events(&desk.letter(open).await), ["received", "type_set"], "nothing in it is hidden");
}

#[tokio::test]
async fn the_api_reveals_and_writes_it_down() {
    let desk = lab().await;
    let id = an_account(&desk, ACCOUNT).await;
    let told = desk.post(&format!("/api/v1/letters/{id}/reveal"), &json!({})).await.expect(200).json();
    assert_eq!((&told["payload"]["hidden"], &told["payload"]["json"]["secret"]), (&json!(false), &json!(SECRET)));
    assert_eq!(events(&told), ["received", "type_set", "revealed"]);
    assert_eq!(told["history"][2]["by"], "local user");
    desk.get(&format!("/api/v1/letters/{id}?reveal=true")).await.problem(400);
    desk.send(ask(Method::HEAD, &format!("/api/v1/letters/{id}/body"))).await.expect(200);
    desk.post(&format!("/api/v1/letters/{id}/reveal"), &json!({"encoding": ["rot13"]})).await.problem(422);
    assert_eq!(events(&desk.letter(id).await).len(), 3);
    let open = desk.receive(dead_in("orders").body("{}")).await;
    let told = desk.post(&format!("/api/v1/letters/{open}/reveal"), &json!({})).await.expect(200).json();
    assert_eq!(events(&told), ["received"], "there is nothing to reveal");
}

#[tokio::test]
async fn the_raw_body_with_other_encodings_hides_as_well() {
    let desk = lab().await;
    let id = an_account(&desk, BASE64_STANDARD.encode(ACCOUNT).as_bytes()).await;
    let told = payload(&desk, id, "?encoding=none").await;
    assert_eq!((&told["hidden"], &told["text"], &told["json"]), (&json!(true), &Value::Null, &Value::Null));
    assert!(told["remarks"].to_string().contains("hidden"), "{told}");
}

/// Whatever reads JSON level by level would need a stack for all of them.
#[tokio::test]
async fn json_of_too_many_levels_is_text() {
    let desk = Desk::open().await;
    for (levels, format) in [(100, "json"), (20_000, "text")] {
        let body = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let id = desk.receive(dead_in("orders").body(body)).await;
        let payload = desk.letter(id).await["payload"].clone();
        assert_eq!(payload["format"], format, "{payload}");
        assert_eq!(payload["remarks"].to_string().contains("20000 levels"), format == "text", "{}", payload["remarks"]);
        desk.page(&format!("/letters/{id}")).await;
        desk.page(&format!("/letters/{id}/edit")).await;
    }
}
