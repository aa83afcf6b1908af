//! Messages of those who mean ill, and of those who are merely odd.

use amqp_message::{field::FieldValue, message::Properties};
use dead_letter_office::domain::{command::Command, letter::LetterId};

use super::{
    answer::Look,
    dead::{Dead, dead_in},
    desk::Desk,
    mass_edit::gzipped,
};

const SCRIPT: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}&amp;";
/// Turns the reading direction around: what looks like `exe.txt` is none.
const OVERRIDE: &str = "user\u{202e}txt.exe";
const RIGHT_TO_LEFT: &str = "طلبات";

/// A message in which everything that can hold text holds this one.
fn full_of(text: &str) -> Dead {
    let some = Some(text.to_owned());
    let properties = Properties {
        content_type: some.clone(),
        content_encoding: some.clone(),
        correlation_id: some.clone(),
        reply_to: some.clone(),
        expiration: some.clone(),
        message_id: some.clone(),
        kind: some.clone(),
        user_id: some.clone(),
        app_id: some.clone(),
        cluster_id: some.clone(),
        ..Properties::default()
    };
    let body = format!("{{\"{0}\": \"{0}\"}}", text.replace('"', "\\\""));
    dead_in(text)
        .published_to(text, text)
        .properties(properties)
        .body(body)
        .remark(text)
        .death(&[("queue", text), ("reason", text), ("exchange", text), ("original-expiration", text)])
        .header(
            text,
            FieldValue::Array(vec![FieldValue::string(text), FieldValue::ByteArray(text.as_bytes().to_vec())]),
        )
}

/// A server with such a message, and every page and part that shows it.
async fn shown(text: &str) -> (Desk, LetterId, Vec<String>) {
    let desk = Desk::with_brokers(&["main", "other"]).await;
    let id = desk.receive(full_of(text)).await;
    desk.command(id, Command::SetNote(text.to_owned())).await;
    let mut paths = vec!["/".to_owned(), "/letters".to_owned()];
    paths.extend(["main", "results", "news"].map(|part| format!("/letters?part={part}")));
    for view in ["json", "text", "hex"] {
        paths.push(format!("/letters/{id}?view={view}"));
        paths.push(format!("/letters?letter={id}&view={view}"));
        paths.push(format!("/letters?part=letter&letter={id}&view={view}"));
    }
    (desk, id, paths)
}

#[tokio::test]
async fn nothing_in_a_message_becomes_markup() {
    let (desk, _, paths) = shown(SCRIPT).await;
    for path in paths {
        let answer = desk.get(&path).await.expect(200);
        let page = answer.page();
        assert_eq!(page.count("script:not([src^='/assets/'])"), 0, "{path}");
        assert_eq!(page.count("img, iframe, object, embed, base, [onerror], [onclick], [style]"), 0, "{path}");
        assert!(!answer.text().contains("alert(1)</"), "{path}");
    }
}

#[tokio::test]
async fn what_a_message_says_is_shown_as_it_is() {
    let (desk, id, _) = shown(SCRIPT).await;
    let page = desk.page(&format!("/letters/{id}")).await;
    let places = [".letter-cause", ".facts-list", "#payload", ".remark-note", ".letter-cause bdi", ".note-text"];
    for place in places {
        let text: String = page.all(place).iter().flat_map(|found| found.text()).collect();
        assert!(text.contains("<script>alert(1)</script>"), "{place}: {text}");
    }
    let list = desk.page("/letters").await;
    assert!(list.words(".list-row .row-what").contains(SCRIPT), "{}", list.words(".list-row .row-what"));
}

#[tokio::test]
async fn what_would_turn_the_line_around_is_named_instead() {
    let (desk, _, paths) = shown(OVERRIDE).await;
    for path in paths {
        let page = desk.get(&path).await.expect(200).page();
        // But for the field in which a note is edited: it has to hold the note as it is.
        for element in page.all("body *:not(textarea)") {
            let text: String =
                element.children().filter_map(|child| child.value().as_text()).map(|text| &**text).collect();
            assert!(!text.contains('\u{202e}'), "{path}: {text:?} in {:?}", element.value());
        }
        let spoken =
            ["title", "aria-label", "placeholder"].map(|name| page.values(&format!("[{name}]"), name).concat());
        assert!(!spoken.concat().contains('\u{202e}'), "{path}: {spoken:?}");
    }
}

#[tokio::test]
async fn names_from_right_to_left_stand_apart() {
    let (desk, id, _) = shown(RIGHT_TO_LEFT).await;
    for path in ["/".to_owned(), "/letters".to_owned(), format!("/letters/{id}")] {
        let page = desk.page(&path).await;
        let isolated = page.all("bdi").into_iter().any(|name| name.text().collect::<String>() == RIGHT_TO_LEFT);
        assert!(isolated, "{path}");
    }
}

#[tokio::test]
async fn names_of_any_length_are_cut_in_lists_and_whole_on_the_letter() {
    let long = "q".repeat(300);
    let (desk, id, _) = shown(&long).await;
    let list = desk.page("/letters").await;
    let shown = list.words(".list-row .row-name");
    assert!(shown.ends_with('…') && shown.chars().count() < 200, "{shown}");
    assert_eq!(desk.page(&format!("/letters/{id}")).await.words(".letter-cause a"), long);
    let filtered = desk.get(&format!("/api/v1/letters?queue={long}")).await.expect(200).json();
    assert_eq!(filtered["total"], 1);
}

#[tokio::test]
async fn a_link_to_a_queue_of_any_name_finds_its_letters() {
    for name in [SCRIPT, OVERRIDE, RIGHT_TO_LEFT, "a,b", "a b", "50%", "#1?&=+", "\"\"", " padded ", "[x]*"] {
        let desk = Desk::open().await;
        desk.receive(dead_in(name)).await;
        let overview = desk.page("/").await;
        let link = |place: &str| overview.one(&format!(".table-data tbody {place} a")).attr("href").unwrap().to_owned();
        let (letters, queue) = (link("td.table-number"), link("td:first-child"));
        assert_eq!(desk.page(&letters).await.count(".list-row"), 1, "{name:?}: {letters}");
        assert_eq!(desk.page(&queue).await.count(".queue-page"), 1, "{name:?}: {queue}");
    }
}

#[tokio::test]
async fn a_cookie_of_ours_cannot_bring_markup_in() {
    let desk = Desk::open().await;
    let forged: String = url::form_urlencoded::byte_serialize(SCRIPT.as_bytes()).collect();
    let request = super::desk::builder(axum::http::Method::GET, "/letters")
        .header("cookie", format!("dlo-toast=text={forged}&undo=%%%"));
    let answer = desk.send(request.body(axum::body::Body::empty()).unwrap()).await.expect(200);
    assert!(!answer.text().contains("<script>alert"));
}

#[tokio::test]
async fn what_an_address_says_comes_back_escaped() {
    let desk = Desk::open().await;
    let encoded: String = url::form_urlencoded::byte_serialize(SCRIPT.as_bytes()).collect();
    for path in ["/letters?status=", "/letters?queue=", "/letters?", "/letters?letter=", "/nowhere/", "/?part="] {
        let answer = desk.get(&format!("{path}{encoded}")).await;
        assert!(!answer.text().contains("<script>alert"), "{path}");
        assert_eq!(answer.page().count("img"), 0, "{path}");
    }
}

/// The path of it with each of its values would be gigabytes. All else is found and shown.
#[tokio::test]
async fn a_field_with_a_name_of_a_megabyte_stands_in_nobodys_way() {
    let desk = Desk::open().await;
    let body = format!(r#"{{"a": 7, "{}": [{}1]}}"#, "k".repeat(1 << 20), "1,".repeat(90_000));
    let in_gzip = Properties { content_encoding: Some("gzip".to_owned()), ..Properties::default() };
    desk.receive(dead_in("orders").body(gzipped(&body)).properties(in_gzip)).await;
    super::search::index(&desk).await;
    assert_eq!(desk.page("/letters?q=payload.a:7").await.count(".list-row"), 1);
    let choice = desk.page("/letters/columns").await;
    assert_eq!(choice.values("input[type=checkbox][name=column]", "value"), ["payload.a"]);
    let list = desk.get("/api/v1/letters?column=payload.a").await.expect(200).json();
    assert_eq!(list["items"][0]["columns"]["payload.a"], "7");
}
