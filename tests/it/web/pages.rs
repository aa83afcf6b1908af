//! Every page: that it is there, in order, and says what matters.

use std::{collections::HashSet, time::Duration};

use amqp_message::field::FieldValue;
use dead_letter_office::{
    domain::{
        actor::Actor,
        broker::ConnectionState,
        incident::{Incident, IncidentKind},
        letter::{Importance, Status},
        notification::{Attempt, Channel, NewNotification, NotificationKind},
        policy::{Delays, Policy, Via},
        retry::RetryOutcome,
        version::Expected,
    },
    store::Telling,
};
use scraper::{ElementRef, Html};
use serde_json::json;
use uuid::Uuid;

use super::{
    answer::{Look, words},
    dead::{NOON, before_noon, dead_in, dead_somewhere},
    desk::{Desk, MAIN},
    form::submit,
    groups::{group_of, sort},
    queue_page::both,
    schemas::{fixture, put_set},
};

/// A server in which there is something of everything, and the addresses of its pages.
pub async fn a_busy_server() -> (Desk, Vec<String>) {
    let desk = Desk::with_brokers(&[MAIN, "other"]).await;
    for status in Status::ALL {
        desk.letter_in(*status).await;
    }
    let typed = dead_in("texts").header("n", FieldValue::LongInt(7)).body("{\"a\": [1, null]}").remark("odd");
    let typed = desk.receive(typed.death(&[("queue", "texts"), ("reason", "rejected")])).await;
    let nameless = desk.receive(dead_somewhere().body([0, 255])).await;
    let failed = desk.receive(dead_in("orders").of(Importance::Critical)).await;
    desk.retry_ends(failed, RetryOutcome::Failed("it was unroutable".to_owned())).await;
    desk.board_says("other", ConnectionState::Lost { since: NOON, why: "refused".to_owned() });
    let mut paths: Vec<String> =
        ["/", "/letters", "/letters?status=all&limit=2", "/letters?queue=none", "/api/docs"].map(str::to_owned).into();
    desk.fails(dead_in("texts"), 1).await;
    sort(&desk).await;
    let group = group_of(&desk, typed).await;
    desk.retry_ends(typed, RetryOutcome::Confirmed).await;
    submit(&desk, &format!("{group}/note"), &[("note", "a note\nof two lines")]).await.expect(303);
    paths.extend(["/groups", "/groups?status=all&sort=biggest&limit=2", "/groups?queue=none"].map(str::to_owned));
    paths.extend([group.clone(), format!("{group}?all=retry")]);
    paths.push(format!("/letters?status=all&{}", group.replace("/groups/", "group=")));
    desk.policies.set(&strict("texts"), &Expected::Anything, &Actor::named("Ann")).await.unwrap();
    for set in ["small.binpb", "sets_odd/texts_no_imports.binpb", "sets_odd/texts_v2_conflict.binpb"] {
        put_set(&desk, "acme", fixture(set)).await.expect(201);
    }
    paths.extend(
        [
            "/scheduled",
            "/scheduled?all=retry",
            "/scheduled?queue=none",
            "/jobs",
            "/letters/all?all=retry",
            "/letters/all?all=importance",
            "/letters/all?queue=none",
            "/queues",
            "/policies",
            "/policies?queues=texts",
            "/activity",
            "/activity?area=policies&by=Ann&since=24h",
            "/activity?subject=none",
            "/schemas",
            "/schemas?q=text&type=acme.Nothing",
            "/schemas/types/acme.texts.v1.TextQueued",
        ]
        .map(str::to_owned),
    );
    let held_back = json!({"action": "retry", "filter": {"queue": "none"}, "rate": 1});
    let begun = desk.post("/api/v1/actions", &held_back).await.expect(202).header("location").to_owned();
    paths.push(begun.replace("/api/v1", ""));
    for id in [typed, nameless, failed] {
        paths.extend([format!("/letters/{id}"), format!("/letters?letter={id}"), format!("/letters/{id}?view=hex")]);
    }
    (desk, paths)
}

/// Nothing is retried by itself.
fn strict(queues: &str) -> Policy {
    Policy {
        queues: queues.to_owned(),
        reason: None,
        delays: Delays::Listed(Vec::new()),
        jitter: 0.0,
        via: Via::Database,
        keep_routing_key: false,
    }
}

#[tokio::test]
async fn every_page_is_in_order() {
    let (desk, paths) = a_busy_server().await;
    for path in &paths {
        let answer = desk.get(path).await.expect(200);
        assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
        let page = answer.page();
        check_references(path, &page);
        check_names(path, &page);
        check_outline(path, &page);
    }
}

/// One heading, the landmarks, a language and a title.
fn check_outline(path: &str, page: &Html) {
    for part in ["h1", "main", "head > title", "html[lang]", "nav[aria-label='Pages']", "meta[name=viewport]"] {
        assert_eq!(page.count(part), 1, "{path} and its {part}");
    }
    let title = page.words("head > title");
    assert!(title.ends_with("Dead Letter Office"), "{path}: {title:?}");
}

/// What points elsewhere in the page finds it there, and nothing points elsewhere in the world.
fn check_references(path: &str, page: &Html) {
    let ids = page.values("[id]", "id");
    let known: HashSet<&str> = ids.iter().map(String::as_str).collect();
    assert_eq!(ids.len(), known.len(), "{path} has an id twice: {ids:?}");
    for attribute in ["aria-labelledby", "list", "form"] {
        for id in page.values(&format!("[{attribute}]"), attribute) {
            assert!(known.contains(&*id), "{path}: {attribute}={id}");
        }
    }
    for attribute in ["href", "src", "action", "hx-get", "data-list"] {
        for address in page.values(&format!("[{attribute}]"), attribute) {
            let is_here = address.starts_with('/') && !address.starts_with("//");
            let is_below = address.strip_prefix('#').is_some_and(|id| known.contains(id));
            assert!(is_here || is_below, "{path}: {attribute}={address}");
        }
    }
}

/// Whoever cannot see the page is told what each thing on it is.
fn check_names(path: &str, page: &Html) {
    let is_inside_label =
        |field: &ElementRef<'_>| field.ancestors().filter_map(ElementRef::wrap).any(|up| up.value().name() == "label");
    for field in page.all("input:not([type=hidden]), select, textarea") {
        let is_named = field.attr("aria-label").is_some() || is_inside_label(&field);
        assert!(is_named, "{path}: no label on {}", field.html());
    }
    for control in page.all("button, a[href], summary") {
        let is_named = !words(control).is_empty() || control.attr("aria-label").is_some();
        assert!(is_named, "{path}: no name on {}", control.html());
    }
    for heading in page.all("table") {
        assert!(heading.count("th[scope]") > 0, "{path}: {}", heading.html());
    }
}

#[tokio::test]
async fn an_empty_server_tells_what_to_do_next() {
    let desk = Desk::open().await;
    for path in ["/", "/letters"] {
        let page = desk.page(path).await;
        assert!(page.words("main").contains("No dead letters yet."), "{path}");
        assert_eq!(page.one(".empty-state .btn-primary").attr("href"), Some("/get-started#queue"), "{path}");
    }
}

#[tokio::test]
async fn an_server_that_is_not_connected_says_so_and_what_to_do() {
    let desk = Desk::open().await;
    desk.board_says(MAIN, ConnectionState::Lost { since: NOON, why: "connection refused".to_owned() });
    for path in ["/", "/letters"] {
        let main = desk.page(path).await.words("main");
        for part in ["connection lost", "connection refused", "brokers.main.url"] {
            assert!(main.contains(part), "{path} without {part:?}: {main}");
        }
    }
}

#[tokio::test]
async fn an_empty_list_says_why() {
    let desk = Desk::open().await;
    desk.letter_in(Status::Discarded).await;
    let main = desk.page("/letters").await.words("main");
    assert!(main.contains("Nothing is open.") && main.contains("1 dead letter"), "{main}");
    let narrowed = desk.page("/letters?queue=none&status=all").await;
    assert!(narrowed.words("main").contains("No dead letter matches this filter."));
    let everything = narrowed.one(".empty-state a").attr("href").unwrap();
    assert_eq!(desk.page(everything).await.count(".list-row"), 1);
}

#[tokio::test]
async fn the_overview_counts_what_its_links_lead_to() {
    let (desk, _) = a_busy_server().await;
    let overview = desk.page("/").await;
    let tiles = overview.all(".tile-box > a").into_iter().map(|tile| (tile, words(tile.one("b"))));
    let totals = overview.all(".total-list a").into_iter().map(|total| (total, words(total.one("b"))));
    let queues = overview.all(".table-data tbody tr");
    let queues = queues.iter().map(|row| (row.one("td.table-number a"), words(row.all("td.table-number")[0])));
    for (link, count) in tiles.chain(totals).chain(queues) {
        let path = link.attr("href").unwrap();
        assert_eq!(desk.page(path).await.count(".list-row").to_string(), count, "{path}");
    }
}

/// An incident of which Slack is told so often, and how each of it ends.
async fn incident_opens(desk: &Desk, title: &str, told: usize, end: &Attempt) {
    let now = desk.clock.now();
    let incident = Incident {
        key: format!("watch:main:{title}"),
        kind: IncidentKind::Watch,
        title: title.to_owned(),
        importance: Importance::Critical,
        broker: MAIN.to_owned(),
        queue: None,
        message_type: None,
        reason: None,
        error: None,
        open: 0,
        first_seen: now,
        last_seen: now,
        opened_at: now,
        resolved_at: None,
        href: "http://dlo.example.com/queues".to_owned(),
        storm: None,
    };
    let notification = |_| NewNotification {
        id: Uuid::now_v7(),
        channel: Channel::Slack,
        subject: incident.key.clone(),
        kind: NotificationKind::IncidentReminder,
        body: "{}".to_owned(),
    };
    let notifications: Vec<_> = (0..told).map(notification).collect();
    let telling = Telling { notifications: &notifications, at: now };
    assert!(desk.store.open_incident(Uuid::now_v7(), &incident, Some(&telling)).await.unwrap());
    let (lease, slack) = (Duration::from_secs(60), (Channel::Slack, None));
    while let Some(claimed) = desk.store.claim_notification(now, lease, slack).await.unwrap() {
        desk.store.end_attempt(claimed.notification.id, end, now).await.unwrap();
    }
}

#[tokio::test]
async fn the_overview_says_of_each_incident_who_was_notified_and_why_somebody_was_not() {
    for (desk, _kept) in both().await {
        incident_opens(&desk, "no answer", 1, &Attempt::Refused("Slack answered 404".to_owned())).await;
        incident_opens(&desk, "no consumers", 80, &Attempt::Delivered).await;
        let said: Vec<String> = desk.page("/").await.all("#incidents li").into_iter().map(words).collect();
        let says = |title: &str, what: &str| said.iter().any(|line| line.contains(title) && line.contains(what));
        assert!(says("no answer", "Notification failed: Slack answered 404"), "{said:?}");
        assert!(says("no consumers", "notified: Slack") && !says("no answer", "notified"), "{said:?}");
    }
}

#[tokio::test]
async fn the_overview_leads_to_the_oldest() {
    let desk = Desk::open().await;
    desk.receive(dead_in("new").of(Importance::High)).await;
    let hours = Duration::from_secs(5 * 3_600);
    let oldest = desk.receive(dead_in("old").of(Importance::High).received(before_noon(hours))).await;
    let overview = desk.page("/").await;
    let link = overview.one(".tile-box.is-high p a");
    assert_eq!(words(link), "oldest 5 h ago");
    let rows = desk.page(link.attr("href").unwrap()).await.values(".list-row input", "value");
    assert_eq!(rows[0], oldest.to_string());
}

#[tokio::test]
async fn what_each_page_is_called_tells_them_apart() {
    let (desk, _) = a_busy_server().await;
    let letter = desk.receive(dead_in("payments")).await;
    let mut titles = HashSet::new();
    for path in [
        "/",
        "/groups",
        "/letters",
        "/scheduled",
        "/jobs",
        "/letters/all",
        "/queues",
        "/policies",
        "/schemas",
        "/activity",
        "/api/docs",
        &format!("/letters/{letter}"),
        "/nowhere",
    ] {
        assert!(titles.insert(desk.get(path).await.page().words("head > title")), "{path}");
    }
}

#[tokio::test]
async fn the_page_of_the_api_names_every_call() {
    let desk = Desk::open().await;
    let docs = desk.page("/api/docs").await;
    let calls: Vec<String> = docs
        .all(".api-call")
        .iter()
        .map(|call| format!("{} {}", call.words(".mark-tag"), call.words("h3 code")))
        .collect();
    assert!(calls.contains(&"POST /api/v1/letters/{id}/retry".to_owned()), "{calls:?}");
    assert_eq!(calls.len(), super::openapi::calls(&desk).await.len());
}
