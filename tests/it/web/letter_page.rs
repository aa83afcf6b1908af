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
    assert!(page.words("#letter-title").starts_with("Delivered too often"), "{}", page.words("#letter-title"));
    let head = page.words("article header");
    for part in ["in texts.sms", "high", "open", "3 attempts", "1 h ago"] {
        assert!(head.contains(part), "{part}: {head}");
    }
    let facts = page.words("#letter-facts");
    for part in ["events / text.created", "main", "high", "21 Nov 2026"] {
        assert!(facts.contains(part), "{part}: {facts}");
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
    let (desk, id, _) = shown(dead).await;
    let page = desk.page(&format!("/letters/{id}?tab=headers")).await;
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
    let (desk, id, _) = shown(dead_in("orders").properties(properties)).await;
    let page = desk.page(&format!("/letters/{id}?tab=headers")).await;
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
async fn the_timeline_tells_all_in_one_order_and_who_tells_it() {
    let death = [("queue", "orders"), ("reason", "rejected"), ("exchange", "shop")];
    let published =
        Properties { timestamp: Some(1_700_000_000), app_id: Some("shop-api".to_owned()), ..Properties::default() };
    let (desk, id, _) = shown(dead_in("orders").death(&death).properties(published)).await;
    desk.retry_ends(id, RetryOutcome::Failed("nothing is bound to it".to_owned())).await;
    desk.command(id, Command::Discard { note: Some("a duplicate".to_owned()) }).await;
    let page = desk.page(&format!("/letters/{id}?tab=timeline")).await;
    let lines: Vec<_> = page.all("#timeline li").into_iter().map(words).collect();
    let expected = [
        ("Discarded by local user", "dlo"),
        ("Retry failed by local user", "nothing is bound to it"),
        ("Retry scheduled by local user", "dlo"),
        ("Received", "dlo"),
        ("Published by shop-api", "timestamp"),
        // RabbitMQ did not say when.
        ("Rejected in orders", "x-death via shop"),
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:?}");
    for ((what, more), line) in expected.into_iter().zip(&lines) {
        assert!(line.contains(what) && line.contains(more), "{what}, {more}: {lines:?}");
    }
    let page = desk.page(&format!("/letters/{id}")).await;
    assert!(page.words(".note-text").contains("a duplicate"));
    assert_eq!(page.all("#timeline li").len(), 5, "the latest stand beside the payload");
    assert_eq!(page.words("#tab-timeline"), "Timeline 6");
}

/// The parts have addresses of their own and work as links, beside the list too.
#[tokio::test]
async fn its_parts_are_links_that_keep_where_one_is() {
    let (desk, id, _) = shown(dead_in("orders").header("tenant", FieldValue::string("acme")).body("{}")).await;
    for at in [format!("/letters/{id}?list=%2Fletters%3Fqueue%3Dorders"), format!("/letters?queue=orders&letter={id}")]
    {
        let mut page = desk.page(&at).await;
        for (tab, shows) in [
            ("headers", "[aria-labelledby=headers-title]"),
            ("timeline", "#timeline"),
            ("similar", "[aria-labelledby=similar-title]"),
            ("payload", "#payload"),
        ] {
            let href = page.one(&format!("#tab-{tab}")).attr("href").unwrap().to_owned();
            assert_eq!(href.contains("tab="), tab != "payload", "{href}");
            page = desk.page(&href).await;
            assert_eq!(page.values(".letter-tabs [aria-current=page]", "id"), [format!("tab-{tab}")]);
            assert_eq!(page.count(shows), 1, "{href}");
            assert_eq!(page.count("#payload"), usize::from(tab == "payload"), "{href}");
            assert!(href.starts_with(&at), "{href}");
        }
    }
    desk.get(&format!("/letters/{id}?tab=deaths")).await.expect(400);
    desk.get(&format!("/letters/{id}?list=//elsewhere.example")).await.expect(400);
}

/// Walks a list of seven, three on a page, from one end to the other and back.
#[tokio::test]
async fn the_letters_beside_it_are_those_of_the_list_also_over_its_pages() {
    let desk = Desk::open().await;
    let mut ids = Vec::new();
    for n in 0..7 {
        ids.push(desk.receive(dead_in("walked").received(before_noon(Duration::from_secs(n * 60)))).await);
        desk.receive(dead_in("others").received(before_noon(Duration::from_secs(n * 60 + 30)))).await;
    }
    let oldest: Vec<LetterId> = ids.iter().rev().copied().collect();
    for (list, order) in
        [("/letters?queue=walked&limit=3", &ids), ("/letters?queue=walked&sort=oldest&limit=3", &oldest)]
    {
        let first = desk.page(list).await.values(".list-row > a", "href");
        let own = desk.page(&first[0]).await.one("a[title='Full width']").attr("href").unwrap().to_owned();
        for begin in [first[0].clone(), own] {
            let (mut at, mut seen) = (begin.clone(), Vec::new());
            loop {
                let page = desk.page(&at).await;
                let id = page.one(".letter-view").attr("data-letter").unwrap().to_owned();
                let back = page.one("[data-close]").attr("href").unwrap().to_owned();
                let (back, place) = back.split_once('#').unwrap_or((&back, ""));
                let rows = desk.page(back).await.values(".list-row", "id");
                assert!(rows.len() <= 3 && rows.contains(&format!("row-{id}")), "{at}: back to {rows:?}");
                assert!(place.is_empty() || place == format!("row-{id}"));
                seen.push(id);
                let Some(next) = page.values("#letter-next", "href").pop() else { break };
                at = next;
            }
            assert_eq!(seen, order.iter().map(ToString::to_string).collect::<Vec<_>>(), "{list}");
            for id in order.iter().rev() {
                let page = desk.page(&at).await;
                assert_eq!(page.one(".letter-view").attr("data-letter"), Some(&*id.to_string()));
                let Some(previous) = page.values("#letter-previous", "href").pop() else { break };
                at = previous;
            }
            assert_eq!(desk.page(&at).await.one(".letter-view").attr("data-letter"), Some(&*order[0].to_string()));
        }
    }
    // One that has left the list still has its place in it.
    let second = desk.page("/letters?queue=walked&limit=3").await.values(".list-row > a", "href")[1].clone();
    desk.command(ids[1], Command::Discard { note: None }).await;
    let page = desk.page(&second).await;
    assert!(page.one("#letter-next").attr("href").unwrap().contains(&ids[2].to_string()));
    assert!(page.one("#letter-previous").attr("href").unwrap().contains(&ids[0].to_string()));
    let alone = desk.page(&format!("/letters/{}", ids[2])).await;
    assert_eq!(alone.count("#letter-next") + alone.count("#letter-previous"), 0, "nobody knows from which list");
}

#[tokio::test]
async fn the_last_problem_is_an_alert() {
    let (desk, id, _) = shown(dead_in("orders")).await;
    desk.retry_ends(id, RetryOutcome::Failed("there is no queue orders".to_owned())).await;
    let page = desk.page(&format!("/letters/{id}")).await;
    assert_eq!(page.words(".remark-problem"), "The last retry failed. There is no queue orders");
    assert!(desk.page("/letters").await.words(".list-row .row-why").contains("there is no queue orders"));
}

#[tokio::test]
async fn a_letter_of_no_known_queue_says_so() {
    let (desk, _, page) = shown(dead_somewhere()).await;
    assert!(page.words(".letter-cause").contains("queue unknown"));
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
