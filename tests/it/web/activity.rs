//! Who did what: the page, and the same for scripts.

use std::time::Duration;

use axum::http::Method;
use dead_letter_office::domain::{
    activity::{Area, AuditEntry},
    actor::Actor,
    command::Command,
    filter::LetterFilter,
    job::Job,
    letter::{LetterId, Status},
};
use scraper::Html;
use serde_json::{Value, json};

use super::{
    answer::{Look, words},
    dead::{NOON, before_noon, dead_in},
    desk::{Desk, MAIN},
    form::{Form, submit},
};

const API: &str = "/api/v1/activity";

/// Who and what of each line.
fn lines(page: &Html) -> Vec<[String; 2]> {
    let cells = |row: &scraper::ElementRef<'_>| {
        let cells: Vec<String> = row.all("td").into_iter().map(words).collect();
        [cells[1].clone(), cells[2].clone()]
    };
    page.all("table.table-activity tbody tr").iter().map(cells).collect()
}

fn line(by: &str, what: &str) -> [String; 2] {
    [by.to_owned(), what.to_owned()]
}

/// Somebody else did something, so long before noon.
async fn did(desk: &Desk, by: &str, ago: Duration, area: Area, action: &str, subject: &str) {
    let entry = AuditEntry::new(before_noon(ago), &Actor::named(by), area, action, subject);
    desk.store.begin_job(&Job::begun(uuid::Uuid::now_v7(), "test"), &entry).await.unwrap();
}

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn everything_people_do_here_is_told_in_sentences() {
    let desk = Desk::open().await;
    let [first, second] = desk.receive_from(MAIN, [dead_in("orders"), dead_in("texts.persist")]).await;
    let note = Form::of(&desk.page(&format!("/letters/{first}")).await, "Save the note").fill("note", "ask Bob");
    note.press(&desk).await;
    let both = format!("{first},{second}");
    submit(&desk, "/letters/actions", &[("id", &both), ("action", "discard")]).await.expect(303);
    desk.post(&format!("/api/v1/letters/{second}/reopen"), &json!({})).await.expect(200);
    desk.call(Method::POST, "/api/v1/policies", &json!({"queues": "texts.*", "delays": ["1m 30s"]})).await.expect(201);
    let mapping = json!({"queue": "orders", "message_type": "acme.Order"});
    desk.call(Method::POST, "/api/v1/mappings", &mapping).await.expect(201);
    let page = desk.page("/activity").await;
    let me = "local user";
    let expected = [
        line(me, "mapped a type to orders the queue carries acme.Order"),
        line(me, "set the retry policy of texts.* after 1 min 30 s; then needs attention · ± 10 %"),
        line(me, "reopened a dead letter of texts.persist the discard was undone"),
        line(me, "discarded 2 dead letters of orders, texts.persist"),
        line(me, "wrote a note on a dead letter of orders ask Bob"),
    ];
    assert_eq!(lines(&page), expected);
    let links = page.values("table.table-activity td a", "href");
    let [letter, other] = [first, second].map(|id| format!("/letters/{id}"));
    assert_eq!(links, ["/schemas#mappings", "/policies?queues=texts.*#set", &*other, &*letter]);
    assert_eq!(page.all("time")[0].attr("datetime"), Some("2026-11-21T12:00:00Z"));
    assert_eq!(words(page.all("table.table-activity time")[0]), "21 Nov 2026, 12:00:00 UTC");
}

#[tokio::test]
async fn what_is_refused_or_left_as_it_is_is_not_told() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_in("orders")).await;
    desk.post(&format!("/api/v1/letters/{id}/reopen"), &json!({})).await.expect(409);
    desk.post(&format!("/api/v1/letters/{}/discard", uuid::Uuid::now_v7()), &json!({})).await.expect(404);
    desk.call(Method::DELETE, "/api/v1/policies/019a8b7c-0000-7000-8000-000000000001", &json!({})).await.expect(404);
    desk.call(Method::DELETE, "/api/v1/mappings/019a8b7c-0000-7000-8000-000000000001", &json!({})).await.expect(404);
    desk.call(Method::PATCH, &format!("/api/v1/letters/{id}"), &json!({"note": ""})).await.expect(200);
    let page = desk.page("/activity").await;
    assert!(page.words("main").contains("No activity yet."), "{}", page.words("main"));
}

#[tokio::test]
async fn an_action_on_all_that_waits_says_which_and_how_many() {
    let desk = Desk::open().await;
    for queue in ["texts.a", "texts.b", "orders"] {
        desk.fails(dead_in(queue), 1).await;
    }
    let until = NOON.as_micros().to_string();
    let fields = [("action", "discard"), ("queue_glob", "texts.*"), ("until", &*until)];
    submit(&desk, "/scheduled/all", &fields).await.expect(303);
    let told = "discarded 2 dead letters of all scheduled dead letters, of the queue texts.*";
    assert_eq!(lines(&desk.page("/activity").await), [line("local user", told)]);
    submit(&desk, "/scheduled/all", &fields).await.expect(303);
    assert_eq!(desk.page("/activity").await.count("table.table-activity tbody tr"), 1, "nothing was left");
}

#[tokio::test]
async fn the_page_is_filtered_by_kind_person_time_and_subject() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_in("orders")).await;
    did(&desk, "Ann", 50 * 60 * MINUTE, Area::Rules, "set", "texts").await;
    did(&desk, "Doe, Jane", 90 * MINUTE, Area::Schemas, "remove", "texts").await;
    did(&desk, "dlo", MINUTE, Area::Schemas, "upload", "orders").await;
    desk.command(id, Command::SetNote("n".to_owned())).await;
    let found = async |query: &str| lines(&desk.page(&format!("/activity{query}")).await).len();
    assert_eq!(found("").await, 4);
    assert_eq!(found("?area=schemas").await, 2);
    assert_eq!(found("?area=schemas&area=rules&by=&subject=&since=").await, 3, "what a form sends");
    assert_eq!(found("?by=Doe,+Jane").await, 1);
    assert_eq!(found("?by=Ann&by=dlo").await, 2);
    assert_eq!(found("?subject=texts").await, 2);
    assert_eq!(found(&format!("?subject=+{id}+")).await, 1);
    assert_eq!(found("?since=24h").await, 3);
    assert_eq!(found("?since=2h&until=30m").await, 1);
    let page = desk.page("/activity?area=schemas&by=Doe,+Jane&since=24h").await;
    let chosen: Vec<String> = page.all("select option[selected]").into_iter().map(words).collect();
    assert_eq!(chosen, ["Schemas", "Doe, Jane", "Last 24 h"]);
    let people: Vec<String> = page.all("select[name=by] option").into_iter().map(words).collect();
    assert_eq!(people, ["Anybody", "Ann", "Doe, Jane", "dlo itself", "local user"]);
    let none = desk.page("/activity?by=Nobody").await;
    assert!(none.words("main").contains("No matching activity."));
    assert_eq!(words(none.one("select[name=by] option[selected]")), "Nobody");
    for wrong in ["?area=letter", "?since=soon", "?cursor=x", "?part=main"] {
        desk.get(&format!("/activity{wrong}")).await.expect(400);
    }
}

#[tokio::test]
async fn older_lines_stand_on_further_pages() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_in("orders")).await;
    for n in 0..5 {
        desk.command(id, Command::SetNote(format!("note {n}"))).await;
    }
    let (mut path, mut seen) = ("/activity?area=letters&limit=2".to_owned(), Vec::new());
    loop {
        let page = desk.page(&path).await;
        seen.extend(lines(&page).into_iter().map(|[_, what]| what));
        match page.values("a[rel=next]", "href").pop() {
            Some(next) => path = next,
            None => break,
        }
    }
    assert_eq!(seen, [4, 3, 2, 1, 0].map(|n| format!("wrote a note on a dead letter of orders note {n}")));
    let last = desk.page(&path).await;
    assert_eq!(words(last.one(".pager-nav a")), "Newest");
    let part = desk.get(&format!("{path}&part=results")).await.expect(200);
    assert_eq!(part.header("hx-push-url"), path);
    assert_eq!((part.page().count("#results"), part.page().count("main")), (1, 0));
}

#[tokio::test]
async fn the_api_tells_the_same_page_by_page() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_in("orders")).await;
    desk.command(id, Command::SetNote("ask Bob".to_owned())).await;
    did(&desk, "Ann", MINUTE, Area::Digests, "send", "daily").await;
    let first = desk.get(&format!("{API}?limit=1")).await.expect(200).json();
    let sent = json!({
        "id": first["items"][0]["id"], "at": "2026-11-21T11:59:00.000000Z", "by": "Ann", "via": null,
        "address": null, "area": "digests", "action": "send", "subject": "daily", "letters": 0, "detail": null, "text": "sent the digest daily",
    });
    assert_eq!(first["items"], json!([sent]));
    let next = first["next_cursor"].as_str().unwrap();
    let second = desk.get(&format!("{API}?limit=1&cursor={next}")).await.expect(200).json();
    let item = &second["items"][0];
    let expected =
        (json!(id.to_string()), json!(1), json!("ask Bob"), json!("wrote a note on a dead letter of orders"));
    assert_eq!(
        (&item["subject"], &item["letters"], &item["detail"], &item["text"]),
        (&expected.0, &expected.1, &expected.2, &expected.3)
    );
    assert_eq!(second["next_cursor"], Value::Null);
    let by = desk.get(&format!("{API}?by=Ann&area=digests&since=2h&subject=daily")).await.expect(200).json();
    assert_eq!(by["items"], json!([sent]));
    for (query, names) in [("area=x", "letters, groups"), ("cursor=x", "next_cursor"), ("before=1", "area, by")] {
        let detail = desk.get(&format!("{API}?{query}")).await.problem(400);
        assert!(detail.contains(names), "{query}: {detail}");
    }
}

#[tokio::test]
async fn names_and_notes_do_no_harm() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_in("a\u{202e}<b>")).await;
    desk.command(id, Command::SetNote(format!("<script>\u{1b}{}", "x".repeat(3_000)))).await;
    did(&desk, "<i>Eve\n", MINUTE, Area::Rules, "set\u{0}", "<b>").await;
    let page = desk.page("/activity").await;
    let lines = lines(&page);
    assert_eq!(lines[0], line("<i>Eve␊", "rules: set␀ <b>"));
    assert!(lines[1][1].contains("‹U+202E›") && lines[1][1].contains("<script>␛xxx"), "{}", lines[1][1]);
    assert!(lines[1][1].len() < 1_000);
    assert_eq!(page.count("main script, main b, main i"), 0);
}

#[tokio::test]
async fn what_is_gone_is_told_without_a_link() {
    let desk = Desk::open().await;
    let gone = LetterId::from_uuid(uuid::Uuid::now_v7());
    did(&desk, "Ann", MINUTE, Area::Letters, "discard", &gone.to_string()).await;
    did(&desk, "Ann", MINUTE, Area::Groups, "note", &gone.to_string()).await;
    let page = desk.page("/activity").await;
    assert_eq!(lines(&page)[0], line("Ann", "removed the note of a group that is gone"));
    assert_eq!(page.count("table.table-activity a"), 0);
    let filter = LetterFilter { statuses: vec![Status::Open], ..LetterFilter::default() };
    assert_eq!(desk.store.count(&filter).await.unwrap(), 0);
}
