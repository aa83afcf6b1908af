//! The page on which a message is edited, and payloads that are edited by the API.

use amqp_message::field::FieldValue;
use base64::{Engine, prelude::BASE64_STANDARD};
use dead_letter_office::domain::letter::{LetterId, Status};
use scraper::Html;
use serde_json::{Value, json};

use super::{
    answer::{Answer, Look, words},
    dead::{Dead, dead_in, dead_somewhere},
    desk::Desk,
    form::{Form, buttons, submit},
    payload::{ACCOUNT, OPENED, SECRET, bring_lab},
    run::serve,
    schemas::{fixture, put_set},
};

const SEND: &str = "Retry the edited copy";
/// `string e164 = 1 [debug_redact = true]; string country_code = 2;`
const PHONE: &str = "acme.common.v1.PhoneNumber";
const NUMBER: &[u8] = b"\n\x0c+49301234567\x12\x02DE";
const NUMBER_IN_FRANCE: &[u8] = b"\n\x0c+49301234567\x12\x02FR";

/// A message in base64 whose header names its type.
fn a_number() -> Dead {
    dead_in("calls").body(BASE64_STANDARD.encode(NUMBER)).header("cloudEvents:type", FieldValue::string(PHONE))
}

async fn a_letter(dead: Dead) -> (Desk, LetterId) {
    let desk = Desk::open().await;
    put_set(&desk, "acme", fixture("small.binpb")).await.expect(201);
    bring_lab(&desk).await;
    let id = desk.receive(dead).await;
    (desk, id)
}

async fn edit_page(desk: &Desk, id: LetterId) -> Html {
    desk.page(&format!("/letters/{id}/edit")).await
}

/// What stands in the field for the contents.
fn text(page: &Html) -> String {
    page.one("#text").text().collect()
}

/// The page with this text, checked.
async fn checked(desk: &Desk, page: &Html, text: &str) -> Html {
    Form::of(page, "Check").fill("text", text).send(desk).await.expect(200).page()
}

async fn send(desk: &Desk, page: &Html) -> LetterId {
    sent_to(&Form::of(page, SEND).send(desk).await.expect(303))
}

fn sent_to(answer: &Answer) -> LetterId {
    answer.header("location").strip_prefix("/letters/").unwrap().parse().unwrap()
}

async fn body(desk: &Desk, id: LetterId) -> Vec<u8> {
    desk.get(&format!("/api/v1/letters/{id}/body")).await.expect(200).body
}

fn lines(page: &Html, selector: &str) -> Vec<String> {
    page.all(selector).into_iter().map(words).collect()
}

#[tokio::test]
async fn a_message_is_shown_checked_and_sent_in_the_encoding_it_came_in() {
    let (desk, id) = a_letter(a_number()).await;
    let page = edit_page(&desk, id).await;
    assert_eq!(page.words("h2 .text-mono"), format!("base64 → protobuf {PHONE}"));
    let shown = text(&page);
    assert_eq!(serde_json::from_str::<Value>(&shown).unwrap()["countryCode"], "DE");
    assert!(page.words("#check").contains("No changes yet"));
    assert!(!buttons(&page).contains(&SEND.to_owned()));

    let page = checked(&desk, &page, &shown.replace("DE", "FR")).await;
    assert_eq!(lines(&page, ".diff-block del"), ["- \"countryCode\": \"DE\""]);
    assert_eq!(lines(&page, ".diff-block ins"), ["+ \"countryCode\": \"FR\""]);
    assert_eq!(text(&page), shown.replace("DE", "FR"), "kept as typed");

    let followed = Form::of(&page, SEND).press(&desk).await;
    assert_eq!(followed.words(".toast-box p"), "The edited copy is being retried; the original is discarded.");
    let copy: LetterId = desk.letter(id).await["replaced_by"].as_str().unwrap().parse().unwrap();
    assert_eq!(body(&desk, copy).await, BASE64_STANDARD.encode(NUMBER_IN_FRANCE).as_bytes());
    assert_eq!(body(&desk, id).await, BASE64_STANDARD.encode(NUMBER).as_bytes());
    assert_eq!((desk.status(id).await, desk.status(copy).await), (Status::Discarded, Status::Scheduled));
}

/// As JavaScript and as Python write it.
#[tokio::test]
async fn json_on_one_line_is_edited_over_several_and_goes_out_on_one() {
    for (colon, comma) in [(":", ","), (": ", ", ")] {
        let came = [
            r#""id"COLON"ord-1042""#,
            r#""total"COLON{"cents"COLON1290.00COMMA"currency"COLON"EURO"}"#,
            r#""paid"COLONfalse"#,
        ]
        .join("COMMA")
        .replace("COLON", colon)
        .replace("COMMA", comma);
        let came = format!("{{{came}}}");
        let (desk, id) = a_letter(dead_in("orders").body(came.clone())).await;
        let page = edit_page(&desk, id).await;
        let shown = text(&page);
        assert!(shown.lines().any(|line| line == "    \"currency\": \"EURO\""), "{shown}");
        assert!(page.words("#edit").contains("It came on one line, and goes out on one."));
        assert!(page.words("#check").contains("No changes yet"));
        let wrong = checked(&desk, &page, &shown.replace("false", "flase")).await;
        assert!(wrong.words(".edit-mistakes").starts_with("line 7, column "), "{}", wrong.words(".edit-mistakes"));
        let page = checked(&desk, &page, &shown.replace("EURO", "EUR")).await;
        assert_eq!(lines(&page, ".diff-block ins"), ["+ \"currency\": \"EUR\""]);
        let copy = send(&desk, &page).await;
        assert_eq!(String::from_utf8(body(&desk, copy).await).unwrap(), came.replace("EURO", "EUR"));
    }
}

#[tokio::test]
async fn what_is_wrong_is_told_by_line_and_cannot_be_sent() {
    let (desk, id) = a_letter(a_number()).await;
    let page = edit_page(&desk, id).await;
    let shown = text(&page);
    for (wrong, place, reason) in [
        (shown.replace("countryCode", "county"), "line 3, column 3", "county"),
        (shown.replace("\"DE\"", "7"), "line 3, column 18", "country_code : a string was expected"),
        (shown.replace("\"DE\"", "\"DE"), "line 3, column", ""),
        (String::new(), "line 1, column 1", ""),
    ] {
        let page = checked(&desk, &page, &wrong).await;
        let told = page.words(".edit-mistakes");
        assert!(told.starts_with(place) && told.contains(reason), "{wrong}: {told}");
        assert!(!buttons(&page).contains(&SEND.to_owned()), "{wrong}");
        assert_eq!(text(&page), wrong, "kept as typed");
    }
    assert_eq!(desk.status(id).await, Status::Open);
}

#[tokio::test]
async fn line_breaks_of_browsers_and_spaces_between_values_change_nothing() {
    let (desk, id) = a_letter(a_number()).await;
    let page = edit_page(&desk, id).await;
    let shown = text(&page);
    for same in [shown.replace('\n', "\r\n"), shown.replace("\": ", "\" :  ")] {
        let page = checked(&desk, &page, &same).await;
        assert!(page.words("#check").contains("No changes yet"), "{same}: {}", page.words("#check"));
    }
    for text_as_it_came in ["a\r\nb\r\nc", "a\nb\r\nc", "\n\na", "a\rb\n"] {
        let id = desk.receive(dead_in("texts").body(text_as_it_came)).await;
        let page = edit_page(&desk, id).await;
        // A parser makes all of them LF, and a browser sends all of them as CR LF.
        let typed = text(&page).replace("\r\n", "\n").replace(['\r', '\n'], "\r\n");
        let page = checked(&desk, &page, &typed).await;
        assert!(page.words("#check").contains("No changes yet"), "{text_as_it_came:?}");
    }
}

#[tokio::test]
async fn a_text_keeps_its_line_breaks() {
    let (desk, id) = a_letter(dead_in("texts").body("Dear all,\r\nthe shop is closed.\r\n")).await;
    let page = edit_page(&desk, id).await;
    // As scripts send it.
    let page = checked(&desk, &page, "Dear all,\nthe shop is open.\n").await;
    assert_eq!(lines(&page, ".diff-block ins"), ["+ the shop is open."]);
    let copy = send(&desk, &page).await;
    assert_eq!(body(&desk, copy).await, b"Dear all,\r\nthe shop is open.\r\n");
}

#[tokio::test]
async fn a_change_of_line_ends_alone_is_reported() {
    let (desk, id) = a_letter(dead_in("texts").body("Dear all")).await;
    let page = checked(&desk, &edit_page(&desk, id).await, "Dear all\r\n").await;
    assert!(page.words("#check").contains("Only line endings"), "{}", page.words("#check"));
    assert_eq!(body(&desk, send(&desk, &page).await).await, b"Dear all\n");
}

#[tokio::test]
async fn hidden_values_are_not_shown_and_stay_what_they_are() {
    let (desk, id) = a_letter(dead_in("accounts").body(BASE64_STANDARD.encode(ACCOUNT))).await;
    let said = json!({"message_type": "lab.v1.Account"});
    desk.call(axum::http::Method::PATCH, &format!("/api/v1/letters/{id}"), &said).await.expect(200);
    let page = edit_page(&desk, id).await;
    let shown = text(&page);
    assert!(shown.contains("St James's Square") && shown.contains("•••"), "{shown}");
    let page = checked(&desk, &page, &shown.replace("Square", "Street")).await;
    for html in [shown, page.html()] {
        assert!(!html.contains(SECRET) && !html.contains(&BASE64_STANDARD.encode(ACCOUNT)[..40]), "{html}");
    }
    assert_eq!(page.count(".diff-block del"), 1);
    let copy = send(&desk, &page).await;
    let expected = String::from_utf8_lossy(ACCOUNT).replace("Square", "Street");
    assert_eq!(body(&desk, copy).await, BASE64_STANDARD.encode(expected).as_bytes());
}

#[tokio::test]
async fn hidden_values_that_no_type_keeps_are_not_for_editing() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_in("orders").body("{\"secret\": \"tiger\", \"n\": 1}")).await;
    let server = serve().with("--roles=web").set("DLO_DATABASE__URL", &desk.database_url());
    let server = server.config("[decode]\nhidden_fields = [\"secret\"]").open().await;
    let html = server.get(&format!("/letters/{id}/edit")).await.text().await.unwrap();
    let page = Html::parse_document(&html);
    assert_eq!((page.count("#text"), html.contains("tiger")), (0, false));
    assert!(page.words("#edit").contains("It has hidden values"), "{}", page.words("#edit"));
}

#[tokio::test]
async fn what_cannot_be_edited_says_why_and_its_headers_can() {
    let (desk, guessed) = a_letter(dead_in("doors").body(OPENED).header("tenant", FieldValue::string("acme"))).await;
    let binary =
        dead_in("bytes").body(b"\x00\xff\xfe\x80\x00\x01".to_vec()).header("tenant", FieldValue::string("acme"));
    let binary = desk.receive(binary).await;
    for (id, why) in [(guessed, "not certain"), (binary, "could not be read to its end")] {
        let page = edit_page(&desk, id).await;
        assert_eq!(page.count("#text"), 0);
        assert!(page.words("#edit").contains(why), "{}", page.words("#edit"));
        let before = body(&desk, id).await;
        let page = Form::of(&page, "Check").fill("header:tenant", "other").send(&desk).await.expect(200).page();
        assert_eq!(lines(&page, "#check li"), ["header tenant = other"]);
        let copy = send(&desk, &page).await;
        assert_eq!(body(&desk, copy).await, before);
        assert_eq!(desk.letter(copy).await["headers"]["tenant"], "other");
    }
}

#[tokio::test]
async fn headers_are_set_removed_and_added() {
    let trace = "at a\nat b";
    let dead = dead_in("orders").body("{\"n\": 1}").header("n", FieldValue::LongInt(7));
    let dead = dead.header("old", FieldValue::string("x")).header("tenant", FieldValue::string("acme"));
    let dead = dead.header("to", FieldValue::string(" "));
    let (desk, id) = a_letter(dead.header("trace", FieldValue::string(trace))).await;
    let page = edit_page(&desk, id).await;
    let named = |selector: &str| page.values(selector, "name");
    assert_eq!(named("[name^='header:']"), ["header:n", "header:old", "header:tenant", "header:to", "header:trace"]);
    assert_eq!(named("textarea[name^='header:']"), ["header:trace"], "one of several lines keeps them");
    let form = Form::of(&page, "Check").fill("header:tenant", "other").tick("header_removed", "old");
    let form = form.fill("header:trace", "at a\r\nat b").fill("header:n", "8");
    let form = form.fill("new_name:0", "at").fill("new_type:0", "timestamp").fill("new_value:0", "60");
    let page = form.send(&desk).await.expect(200).page();
    assert_eq!(
        lines(&page, "#check li"),
        ["header n = 8 (long)", "header old removed", "header tenant = other", "header at = 60 (timestamp)",]
    );
    let copy = send(&desk, &page).await;
    let expected = json!({"tenant": "other", "trace": trace, "n": {"t": "long", "v": 8}, "to": " ",
        "at": {"t": "timestamp", "v": 60}});
    assert_eq!(desk.letter(copy).await["headers"], expected);
    assert_eq!(body(&desk, copy).await, b"{\"n\": 1}");
}

#[tokio::test]
async fn properties_are_edited_beside() {
    let (desk, id) = a_letter(dead_in("orders").body("{\"n\": 1}")).await;
    let page = edit_page(&desk, id).await;
    let form = Form::of(&page, "Check").fill("property:priority", "300").fill("property:expiration", "soon");
    let page = form.send(&desk).await.expect(200).page();
    let told = page.words(".edit-mistakes");
    assert!(told.contains("property priority") && told.contains("property expiration"), "{told}");
    let form = Form::of(&page, "Check").fill("property:priority", "3").fill("property:expiration", "60000");
    let page = form.fill("property:content_type", "text/x-note").send(&desk).await.expect(200).page();
    let expected = ["property content_type = text/x-note", "property priority = 3", "property expiration = 60000"];
    assert_eq!(lines(&page, "#check li"), expected);
    let copy = send(&desk, &page).await;
    let properties = desk.letter(copy).await["properties"].clone();
    assert_eq!((&properties["content_type"], &properties["expiration"]), (&json!("text/x-note"), &json!("60000")));
    let page = edit_page(&desk, copy).await;
    assert_eq!(page.values("[name='property:expiration']", "value"), ["60000"]);
    let changed = checked(&desk, &page, "{\"n\": 2}").await;
    assert_eq!(lines(&changed, "#check li"), ["property expiration = 60000"], "it goes along");
    let form = Form::of(&page, "Check").fill("property:content_type", "");
    let emptied = form.send(&desk).await.expect(200).page();
    assert_eq!(lines(&emptied, "#check li"), ["property content_type removed", "property expiration = 60000"]);
    let copy = send(&desk, &emptied).await;
    let properties = desk.letter(copy).await["properties"].clone();
    assert_eq!((&properties["content_type"], &properties["expiration"]), (&Value::Null, &json!("60000")));
    let form = Form::of(&edit_page(&desk, copy).await, "Check").fill("property:expiration", "");
    let page = form.send(&desk).await.expect(200).page();
    assert_eq!(lines(&page, "#check li"), ["property expiration removed"]);
}

#[tokio::test]
async fn numbers_of_binary_formats_keep_their_types() {
    // {3: 0.1 as float32, "n": 5 as uint16}
    const BODY: &[u8] = b"\x82\x03\xca\x3d\xcc\xcc\xcd\xa1n\xcd\0\x05";
    let (desk, id) = a_letter(dead_in("orders").body(BODY)).await;
    let page = edit_page(&desk, id).await;
    let shown = text(&page);
    let told = checked(&desk, &page, &shown.replace("0.1", "0.123456789")).await.words(".edit-mistakes");
    assert!(told.contains("single precision"), "{told}");
    let page = checked(&desk, &page, &shown.replace(": 5", ": 6")).await;
    let copy = send(&desk, &page).await;
    assert_eq!(body(&desk, copy).await, b"\x82\x03\xca\x3d\xcc\xcc\xcd\xa1n\xcd\0\x06");
    let refused = retry(&desk, copy, r#"{"json": {"3": 0.123456789, "n": 6}}"#).await.problem(422);
    assert!(refused.contains("single precision"), "{refused}");
}

#[tokio::test]
async fn a_header_that_would_not_arrive_is_not_offered_and_says_why() {
    let text = |text: &str| FieldValue::string(text);
    let spring =
        dead_in("orders").body("text").header("tenant", text("acme")).header("many", FieldValue::Array(vec![]));
    let spring = spring.header("x-exception-message", text("no rate")).header("x-exception-stacktrace", text("at A"));
    let spring = spring.header("x-original-exchange", text("")).header("x-original-routingKey", text("orders"));
    let (desk, id) = a_letter(spring).await;
    let page = edit_page(&desk, id).await;
    assert_eq!(page.values("[name^='header:']", "name"), ["header:tenant"]);
    let told = lines(&page, "[data-fixed]").join(" ");
    for (name, why) in [("x-exception-message", "before its service gave it up"), ("many", "it is no text, number")] {
        assert!(told.contains(name) && told.contains(why), "{told}");
    }
    // What is refused for all of the message is refused before it can be sent.
    let form =
        Form::of(&page, "Check").fill("new_name:0", "x-original-queue").fill("new_value:0", &"x".repeat(200_000));
    let page = form.send(&desk).await.expect(200).page();
    assert!(page.words(".edit-mistakes").contains("refuses more than"), "{}", page.words(".edit-mistakes"));
    assert!(!buttons(&page).contains(&SEND.to_owned()));
}

#[tokio::test]
async fn what_else_is_wrong_is_told_before_it_is_sent() {
    let (desk, id) = a_letter(dead_in("orders").body("text").header("tenant", FieldValue::string("acme"))).await;
    let page = edit_page(&desk, id).await;
    for (field, value, told) in [
        ("delay", "soon", "after : \"soon\" is no delay"),
        ("new_name:0", "tenant", "header tenant : there is a header of that name already"),
        ("new_name:0", "x-death", "header x-death : it is not for editing"),
    ] {
        let form = Form::of(&page, "Check").fill("text", "other").fill(field, value);
        let page = form.send(&desk).await.expect(200).page();
        assert!(page.words(".edit-mistakes").starts_with(told), "{}", page.words(".edit-mistakes"));
        assert!(!buttons(&page).contains(&SEND.to_owned()));
        assert_eq!(page.one(&format!("[name='{field}']")).attr("value"), Some(value), "kept as typed");
    }
}

#[tokio::test]
async fn it_goes_where_and_when_it_is_reported() {
    let (desk, id) = a_letter(dead_in("orders").body("text")).await;
    let form = Form::of(&edit_page(&desk, id).await, "Check").fill("text", "other");
    let page = form.fill("queue", "orders.v2").fill("delay", "10m").send(&desk).await.expect(200).page();
    let followed = Form::of(&page, SEND).press(&desk).await;
    assert_eq!(followed.words(".toast-box p"), "The edited copy will be retried in 10 min; the original is discarded.");
    let copy: LetterId = desk.letter(id).await["replaced_by"].as_str().unwrap().parse().unwrap();
    assert_eq!(desk.store.waiting_retry(copy).await.unwrap().unwrap().queue, "orders.v2");
    assert_eq!(desk.letter(copy).await["retry_at"], "2026-11-21T12:10:00.000000Z");
}

#[tokio::test]
async fn only_what_was_shown_is_sent() {
    let (desk, id) = a_letter(dead_in("orders").body("text")).await;
    let page = checked(&desk, &edit_page(&desk, id).await, "other").await;
    let page = Form::of(&page, SEND).fill("text", "typed since").send(&desk).await.expect(200).page();
    assert_eq!(lines(&page, ".diff-block ins"), ["+ typed since"]);
    assert_eq!(desk.status(id).await, Status::Open);
    let copy = send(&desk, &page).await;
    assert_eq!(body(&desk, copy).await, b"typed since");
}

#[tokio::test]
async fn what_is_refused_is_not_lost() {
    let (desk, id) = a_letter(dead_somewhere().body("text")).await;
    let page = checked(&desk, &edit_page(&desk, id).await, "other").await;
    let page = Form::of(&page, SEND).send(&desk).await.expect(422).page();
    assert!(page.words(".toast-box.is-failed").contains("name one"), "{}", page.words(".toast-box"));
    assert_eq!(text(&page), "other");
    let copy = sent_to(&Form::of(&page, SEND).fill("queue", "orders").send(&desk).await.expect(303));
    assert_eq!(body(&desk, copy).await, b"other");
}

#[tokio::test]
async fn scripts_are_told_what_came_of_checking() {
    let (desk, id) = a_letter(dead_in("orders").body("text")).await;
    let address = format!("/letters/{id}/edit");
    let typed = [("text", "other"), ("part", "check"), ("back", &*address)];
    let part = submit(&desk, &address, &typed).await.expect(200);
    assert!(!part.text().contains("<main"), "{}", part.text());
    assert_eq!(lines(&part.page(), ".diff-block ins"), ["+ other"]);
    submit(&desk, &address, &[("text", "other"), ("step", "x")]).await.expect(400);
    desk.get(&format!("/letters/{}/edit", uuid::Uuid::nil())).await.expect(404);
}

async fn retry(desk: &Desk, id: LetterId, asked: &str) -> Answer {
    let request = super::desk::builder(axum::http::Method::POST, &format!("/api/v1/letters/{id}/retry"));
    let request = request.header("content-type", "application/json");
    desk.send(request.body(axum::body::Body::from(asked.to_owned())).unwrap()).await
}

#[tokio::test]
async fn the_api_takes_an_edited_payload() {
    let (desk, id) = a_letter(a_number()).await;
    let mut payload = desk.letter(id).await["payload"]["json"].clone();
    let refused = retry(&desk, id, &json!({"json": payload}).to_string()).await.problem(422);
    assert!(refused.contains("changes nothing"), "{refused}");
    for (asked, told) in [
        (json!({"json": {"county": "DE"}}), "json: acme.common.v1.PhoneNumber has no field \"county\""),
        (json!({"json": {"countryCode": 7}}), "json.countryCode: a string was expected"),
        (json!({"json": payload, "body_base64": "AA=="}), "json: body_base64, json, text: it takes one of them"),
    ] {
        let detail = retry(&desk, id, &asked.to_string()).await.problem(422);
        assert!(detail.starts_with(told), "{asked}: {detail}");
    }
    payload["countryCode"] = json!("FR");
    let copy = retry(&desk, id, &json!({"json": payload}).to_string()).await.expect(200).json();
    let copy = copy["id"].as_str().unwrap().parse().unwrap();
    assert_eq!(body(&desk, copy).await, BASE64_STANDARD.encode(NUMBER_IN_FRANCE).as_bytes());
}

#[tokio::test]
async fn the_api_loses_no_digit() {
    let (desk, id) = a_letter(dead_in("orders").body("{\"n\": 12345678901234567890.10}")).await;
    let refused = retry(&desk, id, "{\"json\": {\"n\": 12345678901234567890.10}}").await.problem(422);
    assert!(refused.contains("changes nothing"), "{refused}");
    let copy = retry(&desk, id, "{\"json\": {\"n\": 12345678901234567890.10, \"m\": 1}}").await.expect(200).json();
    let copy = copy["id"].as_str().unwrap().parse().unwrap();
    assert_eq!(body(&desk, copy).await, b"{\"n\": 12345678901234567890.10, \"m\": 1}");
}
