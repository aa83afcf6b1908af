//! One letter: everything that is known of it.

use std::time::Duration;

use amqp_message::{
    death::Reason,
    field::{FieldTable, FieldValue},
    message::Properties,
};
use dead_letter_office::domain::{
    command::Command,
    letter::{Importance, LetterId},
    retry::RetryOutcome,
};
use scraper::Html;

use super::{
    answer::{Look, words},
    dead::{Dead, before_noon, dead_in, dead_somewhere},
    desk::{DECODE_MAX_BYTES, Desk},
};

async fn shown(dead: Dead) -> (Desk, LetterId, Html) {
    let desk = Desk::open().await;
    let id = desk.receive(dead).await;
    let page = desk.page(&format!("/letters/{id}")).await;
    (desk, id, page)
}

/// The payload as it is shown, and what is said about it.
async fn payload(dead: Dead, view: &str) -> (String, String) {
    let (desk, id, _) = shown(dead).await;
    let page = desk.page(&format!("/letters/{id}?view={view}")).await;
    let text = page.all("#payload").iter().flat_map(|payload| payload.text()).collect();
    (text, page.all(".remark-note").into_iter().map(words).collect())
}

#[tokio::test]
async fn says_what_failed_where_why_and_when() {
    let hour = Duration::from_secs(3_600);
    let dead = dead_in("texts.sms").published_to("events", "text.created").because(Reason::DeliveryLimit);
    let (_, _, page) = shown(dead.attempts(3).of(Importance::High).received(before_noon(hour))).await;
    assert_eq!(page.words("#letter-title"), "texts.sms");
    let head = page.words("article header");
    let told = ["events", "text.created", "delivered too often", "main", "high", "open", "3", "1 h ago", "21 Nov 2026"];
    for part in told {
        assert!(head.contains(part), "{part}: {head}");
    }
}

#[tokio::test]
async fn json_is_laid_out_and_keeps_every_digit() {
    let body = "{\"amount\":12345678901234567890.10,\"list\":[1,{}],\"text\":\"ä\\u0000\"}";
    let (text, remarks) = payload(dead_in("orders").body(body), "json").await;
    assert!(text.contains("12345678901234567890.10"), "{text}");
    assert!(text.lines().count() > 3, "{text}");
    let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    assert_eq!((bare.as_str(), remarks.as_str()), (body, ""));
}

#[tokio::test]
async fn a_body_can_be_seen_as_text_and_as_hex() {
    let dead = || dead_in("orders").body("{\"a\":1}");
    assert_eq!(payload(dead(), "text").await.0, "{\"a\":1}");
    let hex = payload(dead(), "hex").await.0;
    assert!(hex.contains("7b 22 61 22") && hex.contains("{\"a\":1}"), "{hex}");
}

#[tokio::test]
async fn the_view_that_fits_is_chosen_unless_asked_otherwise() {
    for (body, label) in [(&b"[1]"[..], "JSON"), (b"words", "Text"), (b"\xff\x00", "Hex")] {
        let (_, _, page) = shown(dead_in("orders").body(body)).await;
        assert_eq!(page.words(".seg-tabs a[aria-current]"), label);
    }
}

#[tokio::test]
async fn what_is_not_what_it_claims_to_be_is_said() {
    let json = Properties { content_type: Some("application/json".to_owned()), ..Properties::default() };
    let (text, remarks) = payload(dead_in("orders").properties(json).body("{oops"), "text").await;
    assert!(text == "{oops" && remarks.contains("declared as JSON"), "{remarks}");
    let (_, remarks) = payload(dead_in("orders").body("words"), "json").await;
    assert!(remarks.contains("not JSON"), "{remarks}");
    let (_, remarks) = payload(dead_in("orders").body(*b"a\xff"), "text").await;
    assert!(remarks.contains("not UTF-8"), "{remarks}");
}

#[tokio::test]
async fn an_empty_body_is_called_empty() {
    let (_, _, page) = shown(dead_in("orders")).await;
    assert_eq!(page.words(".payload-empty"), "The body is empty.");
}

#[tokio::test]
async fn a_large_body_is_cut_and_its_page_stays_small() {
    let body = vec![b'x'; usize::try_from(DECODE_MAX_BYTES).unwrap() + 1];
    let (desk, id, page) = shown(dead_in("orders").body(body.clone())).await;
    let remarks: Vec<_> = page.all(".remark-note").into_iter().map(words).collect();
    assert!(remarks.concat().contains("decode.max_bytes"), "{remarks:?}");
    for view in ["json", "text", "hex"] {
        let size = desk.get(&format!("/letters/{id}?view={view}")).await.body.len();
        assert!(size < 100_000, "{view}: {size} bytes");
    }
    assert_eq!(desk.get(&format!("/api/v1/letters/{id}/body")).await.body, body);
}

#[tokio::test]
async fn the_download_is_the_body_byte_for_byte_and_never_runs() {
    let body: Vec<u8> = (0..=255).chain(*b"<script>alert(1)</script>").collect();
    let html = Properties { content_type: Some("text/html".to_owned()), ..Properties::default() };
    let (desk, _, page) = shown(dead_in("orders").properties(html).body(body.clone())).await;
    let answer = desk.get(page.one("a[download]").attr("href").unwrap()).await.expect(200);
    assert_eq!(answer.body, body);
    assert_eq!(answer.header("content-type"), "application/octet-stream");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert_eq!(answer.header("content-security-policy"), "default-src 'none'; sandbox");
    assert!(answer.header("content-disposition").starts_with("attachment; filename=\"letter-"));
}

#[tokio::test]
async fn headers_show_their_types_and_what_is_inside() {
    let inner: FieldTable = [("deep".to_owned(), FieldValue::Boolean(true))].into_iter().collect();
    let dead = dead_in("orders")
        .header("text", FieldValue::string("ö"))
        .header("bytes", FieldValue::LongString(vec![0xff, 0xfe]))
        .header("number", FieldValue::LongLongInt(-1))
        .header("money", FieldValue::Decimal { scale: 2, value: 1999 })
        .header("inner", FieldValue::Array(vec![FieldValue::Table(inner)]));
    let (_, _, page) = shown(dead).await;
    let rows: Vec<_> = page.all("[aria-labelledby=headers-title] tbody tr").into_iter().map(words).collect();
    let expected = ["text ö", "number longlong -1", "money decimal 19.99", "deep bool true"];
    for row in expected {
        assert!(rows.contains(&row.to_owned()), "{row}: {rows:?}");
    }
    assert!(rows.iter().any(|row| row.starts_with("bytes longstr") && row.contains("ff fe")), "{rows:?}");
}

#[tokio::test]
async fn properties_are_listed_by_their_names() {
    let properties = Properties {
        message_id: Some("m-1".to_owned()),
        delivery_mode: Some(2),
        priority: Some(9),
        timestamp: Some(1_795_262_400),
        ..Properties::default()
    };
    let (_, _, page) = shown(dead_in("orders").properties(properties)).await;
    let rows: Vec<_> = page.all("[aria-labelledby=properties-title] tbody tr").into_iter().map(words).collect();
    assert_eq!(
        rows,
        [
            "message_id m-1",
            "delivery_mode 2, persistent",
            "priority 9",
            "timestamp 1795262400, 21 Nov 2026, 12:00:00 UTC"
        ]
    );
}

#[tokio::test]
async fn deaths_are_told_in_order() {
    let dead = dead_in("orders").death(&[("queue", "orders"), ("reason", "rejected"), ("exchange", "shop")]);
    let (_, _, page) = shown(dead).await;
    let deaths = page.all("[aria-labelledby=deaths-title] li");
    assert_eq!(deaths.len(), 1);
    for part in ["orders", "ejected", "shop"] {
        assert!(words(deaths[0]).contains(part), "{}", words(deaths[0]));
    }
}

#[tokio::test]
async fn history_tells_who_did_what() {
    let (desk, id, _) = shown(dead_in("orders")).await;
    desk.retry_ends(id, RetryOutcome::Failed("nothing is bound to it".to_owned())).await;
    desk.command(id, Command::Discard { note: Some("a duplicate".to_owned()) }).await;
    let page = desk.page(&format!("/letters/{id}")).await;
    let lines: Vec<_> = page.all("[aria-labelledby=history-title] li").into_iter().map(words).collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[0].contains("Discarded by local user"), "{lines:?}");
    assert!(
        lines[1].contains("Retry failed by local user") && lines[1].contains("nothing is bound to it"),
        "{lines:?}"
    );
    assert!(lines[3].contains("Received"), "{lines:?}");
    assert!(page.words(".note-text").contains("a duplicate"));
}

#[tokio::test]
async fn the_last_problem_is_an_alert() {
    let (desk, id, _) = shown(dead_in("orders")).await;
    desk.retry_ends(id, RetryOutcome::Failed("there is no queue orders".to_owned())).await;
    let page = desk.page(&format!("/letters/{id}")).await;
    assert!(page.words("[role=alert]").contains("there is no queue orders"));
    assert!(desk.page("/letters").await.words(".list-row .row-why").contains("there is no queue orders"));
}

#[tokio::test]
async fn a_letter_of_no_known_queue_says_so() {
    let (desk, _, page) = shown(dead_somewhere()).await;
    assert_eq!(page.words("#letter-title"), "queue unknown");
    assert!(page.words(".letter-queue").contains("Send to"));
    assert!(desk.page("/letters").await.words(".list-row .row-what").contains("queue unknown"));
}

#[tokio::test]
async fn remarks_of_the_intake_are_shown() {
    let (_, _, page) = shown(dead_in("orders").remark("message_id was no UTF-8").body("x")).await;
    assert!(page.all(".remark-note").into_iter().map(words).any(|remark| remark.contains("message_id was no UTF-8")));
}

#[tokio::test]
async fn a_letter_that_is_not_there_is_a_404_with_the_way_on() {
    let desk = Desk::open().await;
    for id in [uuid::Uuid::nil().to_string(), "nonsense".to_owned(), "a%20b".to_owned()] {
        let page = desk.get(&format!("/letters/{id}")).await.expect(404).page();
        assert!(page.words("main").contains("no such dead letter"), "{id}");
        assert!(page.count("main a[href='/letters']") > 0, "{id}");
    }
}
