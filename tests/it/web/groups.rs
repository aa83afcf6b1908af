//! Similar failures: seen as one, retried, discarded, noted.

use std::time::Duration;

use amqp_message::{death::Reason, error_report::ErrorReport};
use axum::{body::Body, http::Method};
use dead_letter_office::domain::retry_limits::RetryLimits;
use dead_letter_office::{
    domain::{
        actor::Actor,
        command::Command,
        filter::LetterFilter,
        job::{Bulk, JobState},
        letter::{Importance, LetterId, Status},
        pacing::Pacing,
        retry::RetryOutcome,
    },
    metrics::Metrics,
    services::{
        enrichment::{Enrichment, SoFar},
        triage::Triage,
    },
};
use scraper::Html;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    answer::{Answer, Look, words},
    dead::{Dead, NOON, dead_in, dead_somewhere},
    desk::{Desk, MAIN, builder},
    form::{Form, follow, submit},
    payload::bring_lab,
};

const MINUTE: Duration = Duration::from_secs(60);

/// It failed with this error.
pub fn failed_with(dead: Dead, error: &str) -> Dead {
    dead.with(|arrival| arrival.failure.error = ErrorReport::new(None, Some(error.to_owned()), None))
}

/// Puts letters that have come in into their groups, as dlo does a moment later.
pub async fn sort(desk: &Desk) {
    let mut enrichment = Enrichment {
        store: desk.store.clone(),
        reader: desk.reader.clone(),
        schemas: desk.schemas.clone(),
        rules: desk.rules.clone(),
        grouping_rules: desk.grouping_rules.clone(),
        group_splits: desk.group_splits.clone(),
        clock: desk.clock.clone(),
        metrics: Metrics::default(),
        feed: desk.feed.clone(),
        so_far: SoFar::default(),
    };
    enrichment.work(&CancellationToken::new()).await.unwrap();
}

/// Letters of one group, the first one the oldest.
pub async fn alike(desk: &Desk, queue: &str, error: &str, n: usize) -> Vec<LetterId> {
    let dead = |second| {
        let at = NOON.minus(MINUTE).plus(Duration::from_secs(second as u64));
        failed_with(dead_in(queue), error).received(at)
    };
    let ids = desk.receive_all(MAIN, (0..n).map(dead).collect()).await;
    sort(desk).await;
    ids
}

/// The address of the group that a letter is in.
pub async fn group_of(desk: &Desk, letter: LetterId) -> String {
    let group = desk.store.summary(letter).await.unwrap().unwrap().group;
    format!("/groups/{}", group.unwrap())
}

async fn importance(desk: &Desk, ids: &[LetterId], importance: Importance) {
    for id in ids {
        desk.command(*id, Command::SetImportance(importance)).await;
    }
}

fn titles(page: &Html) -> Vec<String> {
    page.all(".list-row .row-what").into_iter().map(words).collect()
}

#[tokio::test]
async fn groups_are_listed_with_the_most_important_first() {
    let desk = Desk::open().await;
    alike(&desk, "texts", "too long", 3).await;
    let critical = alike(&desk, "orders", "out of stock", 1).await;
    importance(&desk, &critical, Importance::Critical).await;
    let over = alike(&desk, "mail", "bounced", 1).await;
    desk.bring(over[0], Status::Discarded).await;
    let page = desk.page("/groups").await;
    assert_eq!(titles(&page), ["orders", "texts"]);
    let rows: Vec<String> = page.all(".list-row").into_iter().map(words).collect();
    for (row, parts) in rows.iter().zip([
        ["critical", "out of stock", "1 open", "last 1 min", "not retried"],
        ["normal", "too long", "3 open", "last 58 s", "not retried"],
    ]) {
        assert!(parts.iter().all(|part| row.contains(part)), "{row} without some of {parts:?}");
    }
    let growth = "3 received in 2 h, most of them from 11:55 on";
    assert_eq!(words(page.all(".group-spark title")[1]), growth);
    assert_eq!(page.values(".list-row > a", "href")[0], group_of(&desk, critical[0]).await);
    assert_eq!(page.words("#count"), "2 groups needing attention");
    assert_eq!(page.words("#side a[href='/groups'] .text-count"), "2 needing attention");
    let everything = desk.page("/groups?status=all&sort=newest").await;
    assert_eq!(titles(&everything).len(), 3);
    assert_eq!(everything.words("#count"), "3 groups");
}

#[tokio::test]
async fn every_chip_counts_the_groups_it_leads_to() {
    let desk = Desk::open().await;
    let both = alike(&desk, "a", "x", 2).await;
    importance(&desk, &both[..1], Importance::Critical).await;
    let low = alike(&desk, "b", "x", 1).await;
    importance(&desk, &low, Importance::Low).await;
    let over = alike(&desk, "c", "x", 1).await;
    desk.bring(over[0], Status::Discarded).await;
    for query in ["", "?status=all", "?queue=a", "?importance=low", "?reason=expired"] {
        let page = desk.page(&format!("/groups{query}")).await;
        let chips = page.all(".chip-groups .chip-link");
        assert_eq!(chips.len(), 10);
        for chip in chips {
            // Beside importances that are chosen already, another one adds its groups to theirs.
            if query.contains("importance") && chip.attr("href").is_some_and(|href| href.contains("importance")) {
                continue;
            }
            let leads_to = desk.page(chip.attr("href").unwrap()).await;
            let expected = if query == "?importance=low" && words(chip).starts_with("low") {
                desk.page("/groups").await.count(".list-row")
            } else {
                words(chip.one("b")).parse().unwrap()
            };
            assert_eq!(leads_to.count(".list-row"), expected, "{query}: {}", words(chip));
        }
    }
}

/// That of its queue is not always the one that holds for its reason.
#[tokio::test]
async fn a_group_says_the_policy_for_its_reason() {
    let desk = Desk::open().await;
    let rejected = desk.receive(dead_in("orders")).await;
    let too_many = desk.receive(dead_in("orders").because(Reason::MaxLen)).await;
    let nowhere = desk.receive(dead_somewhere()).await;
    sort(&desk).await;
    for policy in [
        json!({"queues": "orders", "delays": ["5s", "20s"], "jitter": 0}),
        json!({"queues": "orders", "reason": "maxlen", "delays": []}),
    ] {
        desk.call(Method::POST, "/api/v1/policies", &policy).await.expect(201);
    }
    for (letter, meaning) in [
        (rejected, Some("after 5 s, 20 s; then needs attention")),
        (too_many, Some("no automatic retry")),
        (nowhere, None),
    ] {
        let path = group_of(&desk, letter).await;
        let page = desk.page(&path).await;
        let shown = page.all(".facts-list a[href^='/policies']").first().map(|link| words(*link));
        assert_eq!(shown.as_deref(), meaning);
        assert_eq!(desk.get(&format!("/api/v1{path}")).await.json()["policy"]["meaning"].as_str(), meaning);
    }
}

#[tokio::test]
async fn the_filter_finds_what_groups_have_in_common() {
    let desk = Desk::with_brokers(&[MAIN, "other"]).await;
    alike(&desk, "texts.sms", "x", 1).await;
    alike(&desk, "texts.mail", "x", 1).await;
    desk.receive(dead_somewhere()).await;
    desk.receive(dead_in("orders").because(Reason::Expired)).await;
    desk.receive_from("other", [dead_in("orders")]).await;
    sort(&desk).await;
    for (query, expected) in [
        ("", 5),
        ("queue_glob=texts.*", 2),
        ("queue=orders", 2),
        ("queue=orders&broker=other", 1),
        ("queue_unknown=true", 1),
        ("reason=expired&reason=unknown", 2),
        ("type_unknown=true", 5),
        ("type_glob=acme.*", 0),
        ("importance=normal", 5),
        ("importance=critical", 0),
    ] {
        assert_eq!(desk.page(&format!("/groups?{query}")).await.count(".list-row"), expected, "{query}");
        let api = desk.get(&format!("/api/v1/groups?{query}")).await.expect(200).json();
        assert_eq!(api["total"], expected, "{query}");
    }
    assert_eq!(desk.page("/groups?queue=orders").await.count(".list-row .row-broker"), 2);
    for bad in ["status=retried", "limit=0", "cursor=x", "sort=up", "part=rows"] {
        desk.get(&format!("/groups?{bad}")).await.expect(400);
    }
    let page = desk.page("/groups?status=all&queue_glob=texts.*&importance=low&sort=biggest").await;
    let form = page.one("main form[role=search]");
    assert_eq!(form.values("input[type=hidden]", "name"), ["status", "importance"]);
    assert_eq!(form.one("select[name=sort] option[selected]").attr("value"), Some("biggest"));
}

#[tokio::test]
async fn every_group_is_on_exactly_one_page() {
    let desk = Desk::open().await;
    for n in 0..7 {
        alike(&desk, &format!("queue-{n}"), "x", n % 3 + 1).await;
    }
    for (sort, limit) in [("importance", 1), ("importance", 3), ("biggest", 2), ("newest", 7)] {
        let (mut found, mut path) = (Vec::new(), format!("/groups?queue_glob=queue-*&sort={sort}&limit={limit}"));
        loop {
            let page = desk.page(&path).await;
            found.extend(titles(&page));
            let Some(next) = page.values("a[rel=next]", "href").pop() else { break };
            path = next;
        }
        found.sort();
        assert_eq!(found, (0..7).map(|n| format!("queue-{n}")).collect::<Vec<_>>(), "{sort}, {limit}");
    }
}

#[tokio::test]
async fn an_empty_page_says_why() {
    let desk = Desk::open().await;
    let page = desk.page("/groups").await;
    assert!(page.words("main").contains("No dead letters yet."), "{}", page.words("main"));
    assert_eq!(page.values(".empty-state a", "href"), ["/get-started#queue"]);
    let ids = alike(&desk, "orders", "x", 1).await;
    let narrowed = desk.page("/groups?queue=none").await;
    assert_eq!(desk.page(narrowed.values(".empty-state a", "href").first().unwrap()).await.count(".list-row"), 1);
    desk.bring(ids[0], Status::Discarded).await;
    let done = desk.page("/groups").await;
    assert!(done.words("main").contains("Nothing needs attention."), "{}", done.words("main"));
    assert_eq!(desk.page(done.one(".empty-state a").attr("href").unwrap()).await.count(".list-row"), 1);
}

#[tokio::test]
async fn a_group_shows_its_figures_and_its_letters() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "out of stock", 4).await;
    desk.bring(ids[3], Status::Discarded).await;
    desk.clock.advance(MINUTE);
    let page = desk.page(&group_of(&desk, ids[0]).await).await;
    assert_eq!((page.words("h1"), page.words(".group-what")), ("out of stock".into(), "orders".into()));
    assert!(page.words("header.page-head").contains("3 open · first 2 min ago , last 1 min ago"));
    let counts: Vec<_> = page.all(".total-list a").into_iter().map(words).collect();
    assert_eq!(counts, ["3 open", "0 scheduled", "0 retried", "1 discarded"]);
    for (link, rows) in page.values(".total-list a", "href").iter().zip([3, 0, 0, 1]) {
        assert_eq!(desk.page(link).await.count(".list-row"), rows, "{link}");
    }
    let list = group_of(&desk, ids[0]).await.replace('/', "%2F");
    let newest: Vec<_> = ids.iter().rev().map(|id| format!("/letters/{id}?list={list}")).collect();
    assert_eq!(page.values(".list-plain .list-row > a", "href"), newest);
}

/// All of a young group fits into one chart; an older one has a second that goes back two weeks.
#[tokio::test]
async fn the_charts_of_a_group_begin_where_there_is_something_to_see() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "out of stock", 4).await;
    let path = group_of(&desk, ids[0]).await;
    let bars = async || {
        let page = desk.page(&path).await;
        let bar = page.values(".chart-bars a", "href").swap_remove(0);
        assert_eq!(desk.page(&bar).await.count(".list-row"), 4, "{bar}");
        page.values(".chart-bars a", "aria-label")
    };
    assert_eq!(bars().await, ["21 Nov 11:55 to 12:00 UTC: 4 dead letters (4 normal)"]);
    desk.clock.advance(24 * 60 * MINUTE);
    assert_eq!(bars().await, ["21 Nov 06:00 to 12:00 UTC: 4 dead letters"]);
}

#[tokio::test]
async fn what_is_no_group_is_a_404() {
    let desk = Desk::open().await;
    for id in ["x", "00000000-0000-0000-0000-000000000000"] {
        desk.get(&format!("/groups/{id}")).await.expect(404);
        desk.get(&format!("/api/v1/groups/{id}")).await.problem(404);
        submit(&desk, &format!("/groups/{id}/note"), &[("note", "x")]).await.expect(404);
    }
}

#[tokio::test]
async fn what_was_sent_back_heals_or_comes_back() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 4).await;
    let path = group_of(&desk, ids[0]).await;
    assert!(desk.page(&path).await.words(".outcome-box").contains("Nothing was retried."));
    for id in &ids[..3] {
        desk.retry_ends(*id, RetryOutcome::Confirmed).await;
    }
    let shown = async |expected: &str| {
        let page = desk.page(&path).await;
        assert!(page.words(".outcome-box ul").contains(expected), "{}", page.words(".outcome-box"));
        let overview = desk.page("/").await;
        assert!(overview.words(".outcome-box ul").contains(expected), "{}", overview.words(".outcome-box"));
    };
    shown("0 succeeded 0 failed again 3 pending").await;
    let row = desk.page("/groups").await.words(".list-row .row-outcome");
    assert!(row.starts_with("pending ; 3 retried: 0 succeeded, 0 failed again, 3 pending"), "{row}");
    desk.clock.advance(MINUTE);
    let back = failed_with(dead_in("orders"), "x").with(|arrival| arrival.returning = Some(ids[0]));
    desk.receive(back.received(NOON.plus(MINUTE))).await;
    sort(&desk).await;
    shown("0 succeeded 1 failed again 2 pending").await;
    desk.clock.advance(MINUTE * 60);
    shown("2 succeeded 1 failed again 0 pending").await;
    let row = desk.page("/groups").await.words(".list-row .row-outcome");
    assert!(row.starts_with("66 % succeeded ; 3 retried: 2 succeeded, 1 failed again"), "{row}");
    assert!(desk.page(&path).await.words(".outcome-box").contains("Last retried 1 h ago ."));
}

/// Follows the link of that label, and presses the button of the question.
async fn do_with_all(desk: &Desk, path: &str, link: &str, button: &str) -> Html {
    let page = desk.page(path).await;
    let links = page.all(".group-actions a");
    let asking = links.iter().find(|found| words(**found).starts_with(link));
    let asking = asking.unwrap_or_else(|| panic!("{link} among {:?}", page.words(".group-actions")));
    Form::of(&desk.page(asking.attr("href").unwrap()).await, button).press(desk).await
}

#[tokio::test]
async fn all_open_letters_are_retried_after_one_more_question() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 3).await;
    let other = alike(&desk, "orders", "y", 1).await;
    desk.bring(ids[2], Status::Discarded).await;
    let path = group_of(&desk, ids[0]).await;
    let asked = desk.page(&format!("{path}?all=retry")).await;
    assert_eq!(asked.words("#asking-title"), "Retry 2 of orders: x?");
    assert_eq!(asked.one(".confirm-box a").attr("href"), Some(&*path));
    let page = do_with_all(&desk, &path, "Retry 2", "Retry 2").await;
    assert!(page.words(".toast-box p").contains("Retrying 2 dead letters."), "{}", page.words(".toast-box"));
    let statuses = [desk.status(ids[0]).await, desk.status(ids[1]).await, desk.status(ids[2]).await];
    assert_eq!(statuses, [Status::Scheduled, Status::Scheduled, Status::Discarded]);
    assert_eq!(desk.status(other[0]).await, Status::Open);
    assert_eq!(page.count(".confirm-box"), 0);
}

#[tokio::test]
async fn a_retry_may_wait() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 1).await;
    let asked = desk.page(&format!("{}?all=retry", group_of(&desk, ids[0]).await)).await;
    let page = Form::of(&asked, "Retry 1").fill("delay", "1h").press(&desk).await;
    assert!(
        page.words(".toast-box p").contains("1 dead letter will be retried in 1 h."),
        "{}",
        page.words(".toast-box")
    );
    assert_eq!(desk.letter(ids[0]).await["retry_at"], "2026-11-21T13:00:00.000000Z");
}

#[tokio::test]
async fn they_are_discarded_and_reopened_together() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 3).await;
    let path = group_of(&desk, ids[0]).await;
    let page = do_with_all(&desk, &path, "Discard 3", "Discard 3").await;
    assert!(page.words(".toast-box p").contains("Discarded 3 dead letters."), "{}", page.words(".toast-box"));
    assert_eq!(desk.status(ids[2]).await, Status::Discarded);
    assert!(!page.words(".group-actions").contains("Retry"), "nothing is open");
    let page = do_with_all(&desk, &path, "Reopen 3 discarded", "Reopen 3").await;
    assert!(page.words(".toast-box p").contains("Reopened 3 dead letters."), "{}", page.words(".toast-box"));
    assert_eq!(desk.status(ids[2]).await, Status::Open);
}

#[tokio::test]
async fn the_importance_of_all_open_ones_is_set() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 2).await;
    let path = group_of(&desk, ids[0]).await;
    let page =
        Form::of(&desk.page(&path).await, "Set importance of 2 open").fill("importance", "critical").press(&desk).await;
    assert!(page.words(".toast-box p").contains("2 dead letters set to critical."), "{}", page.words(".toast-box"));
    assert_eq!(desk.letter(ids[1]).await["importance"], "critical");
    assert_eq!(page.words("header.page-head .mark-tag"), "critical");
}

#[tokio::test]
async fn what_was_done_with_a_group_can_be_undone() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 4).await;
    desk.bring(ids[0], Status::Discarded).await;
    desk.clock.advance(MINUTE);
    let path = group_of(&desk, ids[0]).await;
    let done = do_with_all(&desk, &path, "Discard 3", "Discard 3").await;
    desk.clock.advance(MINUTE);
    for action in ["reopen", "discard"] {
        desk.post(&format!("/api/v1/letters/{}/{action}", ids[1]), &json!({})).await.expect(200);
    }
    let page = Form::of(&done, "Undo u").press(&desk).await;
    assert!(page.words(".toast-box p").contains("Reopened 2 dead letters."), "{}", page.words(".toast-box"));
    assert_eq!(page.words("h1"), done.words("h1"), "back on the page of the group");
    let statuses = async || {
        let mut statuses = Vec::new();
        for id in &ids {
            statuses.push(desk.status(*id).await);
        }
        statuses
    };
    let [open, discarded] = [Status::Open, Status::Discarded];
    assert_eq!(statuses().await, [discarded, discarded, open, open], "what others discarded stays so");

    let asked = desk.page(&format!("{path}?all=retry")).await;
    let page = Form::of(&asked, "Retry 2").fill("delay", "1h").press(&desk).await;
    assert_eq!(statuses().await[2..], [Status::Scheduled; 2]);
    let again = Form::of(&page, "Undo u");
    assert!(again.press(&desk).await.words(".toast-box p").contains("Stopped retrying 2 dead letters"));
    assert_eq!(statuses().await[2..], [open; 2]);
    let page = do_with_all(&desk, &path, "Retry 2", "Retry 2").await;
    assert!(!page.words(".toast-box").contains("Undo"), "what is sent at once is gone");
}

#[tokio::test]
async fn what_came_after_the_question_is_left_alone() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 1).await;
    let asked = Form::of(&desk.page(&format!("{}?all=discard", group_of(&desk, ids[0]).await)).await, "Discard 1");
    let late = desk.receive(failed_with(dead_in("orders"), "x").received(NOON.plus(MINUTE))).await;
    sort(&desk).await;
    asked.press(&desk).await;
    assert_eq!((desk.status(ids[0]).await, desk.status(late).await), (Status::Discarded, Status::Open));
}

#[tokio::test]
async fn nothing_is_done_without_the_question() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 1).await;
    let path = format!("{}/all", group_of(&desk, ids[0]).await);
    let until = NOON.as_micros().to_string();
    submit(&desk, &path, &[("action", "discard")]).await.expect(400);
    for pairs in [
        vec![("until", &*until)],
        vec![("action", "burn"), ("until", "1")],
        vec![("action", "importance"), ("importance", "huge"), ("until", "1")],
        vec![("action", "importance"), ("until", &until)],
    ] {
        submit(&desk, &path, &pairs).await.expect(422);
    }
    assert_eq!(desk.status(ids[0]).await, Status::Open);
    let gone = submit(&desk, &path, &[("action", "reopen"), ("until", &until)]).await.expect(303);
    assert!(
        follow(&desk, gone).await.words(".toast-box.is-failed p").contains("There is no such dead letter any more.")
    );
}

#[tokio::test]
async fn a_retry_names_a_queue_where_nothing_else_does() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_somewhere()).await;
    sort(&desk).await;
    let path = group_of(&desk, id).await;
    let asked = desk.page(&format!("{path}?all=retry")).await;
    assert_eq!(asked.count(".confirm-box input[name=queue][required]"), 1);
    let refused = Form::of(&asked, "Retry 1").press(&desk).await;
    let told = refused.words(".toast-box.is-failed p");
    assert!(told.contains("Not done: nothing in the message says which queue"), "{told}");
    Form::of(&asked, "Retry 1").fill("queue", "orders").press(&desk).await;
    assert_eq!(desk.status(id).await, Status::Scheduled);
}

#[tokio::test]
async fn blanks_around_the_name_of_a_queue_are_none_of_it() {
    let desk = Desk::open().await;
    let ids = desk.receive_from(MAIN, [dead_somewhere(), dead_somewhere()]).await;
    sort(&desk).await;
    let page = desk.page(&format!("/letters/{}", ids[0])).await;
    Form::of(&page, "Retry now").fill("queue", " orders").press(&desk).await;
    let asked = desk.page(&format!("{}?all=retry", group_of(&desk, ids[1]).await)).await;
    assert!(asked.words(".confirm-box").contains("A retry can be cancelled until it is sent, not after that."));
    Form::of(&asked, "Retry 1").fill("queue", "orders ").press(&desk).await;
    for id in ids {
        assert_eq!(desk.store.waiting_retry(id).await.unwrap().unwrap().queue, "orders");
    }
}

#[tokio::test]
async fn a_note_is_written_changed_and_removed() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 1).await;
    let path = group_of(&desk, ids[0]).await;
    let write = async |text: &str| {
        let page = Form::of(&desk.page(&path).await, "Save the note").fill("note", text).press(&desk).await;
        assert_eq!(page.words(".toast-box p"), "Note saved.");
        page
    };
    write("with <b>the vendor</b>").await;
    desk.clock.advance(MINUTE);
    let page = desk.page(&path).await;
    assert_eq!(page.words(".note-text"), "with <b>the vendor</b>");
    assert!(page.words("main").contains("by local user , 1 min ago"), "{}", page.words("main"));
    assert!(desk.page("/groups").await.words(".list-row .row-note").contains("with <b>the vendor</b>"));
    let page = write("\nsecond\u{202e} thoughts").await;
    assert_eq!(page.words(".note-text"), "second\u{2066}‹U+202E›\u{2069} thoughts");
    let page = Form::of(&page, "Remove the note").press(&desk).await;
    assert_eq!((page.words(".toast-box p"), page.count(".note-text")), ("Note removed.".to_owned(), 0));
    let longest = page.one("textarea[name=note]").attr("maxlength").unwrap().parse::<usize>().unwrap();
    // A browser counts a line break once, and sends it as two characters.
    let long = "x".repeat(longest - 2);
    write(&format!("x\r\n{long}")).await;
    submit(&desk, &format!("{path}/note"), &[("note", &format!("xx\r\n{long}"))]).await.expect(422);
}

/// Whoever follows the link of a notification, or was there before, finds what was noted.
#[tokio::test]
async fn the_page_of_a_group_whose_type_became_known_leads_to_the_new_one() {
    let desk = Desk::open().await;
    bring_lab(&desk).await;
    let ids = alike(&desk, "doors", "x", 2).await;
    let was = group_of(&desk, ids[0]).await;
    submit(&desk, &format!("{was}/note"), &[("note", "see the runbook")]).await.expect(303);
    let mapping = json!({"queue": "doors", "message_type": "lab.v1.DoorOpened"});
    desk.call(Method::POST, "/api/v1/mappings", &mapping).await.expect(201);
    sort(&desk).await;
    let is = group_of(&desk, ids[0]).await;
    assert_ne!(was, is);
    assert_eq!(desk.get(&was).await.expect(303).header("location"), is);
    assert_eq!(desk.page(&is).await.words(".note-text"), "see the runbook");
}

#[tokio::test]
async fn nothing_is_offered_for_none() {
    let desk = Desk::open().await;
    alike(&desk, "orders", "x", 1).await;
    for list in ["queue=nowhere", "status=discarded"] {
        for all in ["retry", "discard"] {
            let page = desk.page(&format!("/letters/all?{list}&all={all}")).await;
            assert_eq!(page.words("h1"), "Nothing matches");
            assert_eq!(page.one(".empty-state a").attr("href"), Some(&*format!("/letters?{list}")));
            assert_eq!(page.count("main form, main button, main input"), 0);
        }
    }
}

/// Who is asked about letters of groups is among the groups again.
#[tokio::test]
async fn a_question_about_letters_of_groups_leads_back_to_them() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 2).await;
    let group = group_of(&desk, ids[0]).await.replace("/groups/", "");
    let asked = [("id", &*group), ("action", "discard"), ("back", "/groups?queue=orders")];
    let question = submit(&desk, "/groups/actions", &asked).await.expect(303).header("location").to_owned();
    let page = desk.page(&question).await;
    assert_eq!(page.one(".confirm-box [data-close]").attr("href"), Some("/groups?queue=orders"));
    assert_eq!(page.words(".page-crumb"), "Error groups");
    assert_eq!(page.one("#side [aria-current=page]").attr("href"), Some("/groups"));
    let done = Form::of(&page, "Discard 2").send(&desk).await.expect(303).header("location").to_owned();
    assert_eq!(done, "/groups?queue=orders");
    desk.get(&question.replace("%2Fgroups", "https%3A%2F%2Fevil.example")).await.expect(400);
    assert_eq!(desk.page(&question).await.one(".empty-state a").attr("href"), Some("/groups?queue=orders"));
}

#[tokio::test]
async fn letters_are_narrowed_to_a_group() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 5).await;
    alike(&desk, "orders", "y", 2).await;
    desk.bring(ids[0], Status::Discarded).await;
    importance(&desk, &ids[1..3], Importance::Critical).await;
    let path = group_of(&desk, ids[0]).await;
    let group = path.strip_prefix("/groups/").unwrap();
    let page = desk.page(&format!("/letters?group={group}")).await;
    assert_eq!((page.count(".list-row"), page.words(".list-count")), (4, "4 dead letters".to_owned()));
    let chip = page.one(".chip-link.chip-narrowed");
    assert_eq!(words(chip), "Group orders: x Remove this filter: orders: x");
    assert_eq!(chip.values("a", "href"), [path.clone(), "/letters".to_owned()]);
    let counts: Vec<_> = page.all("a.chip-link").into_iter().map(words).collect();
    let expected =
        ["Open 4", "Scheduled 0", "Retried 0", "Discarded 1", "All 5", "critical 2", "high 0", "normal 2", "low 0"];
    assert_eq!(counts, expected);
    for chip in page.all("a.chip-link") {
        let leads_to = desk.page(chip.attr("href").unwrap()).await;
        assert_eq!(leads_to.count(".list-row").to_string(), words(chip.one("b")), "{}", words(chip));
    }
    let gone = desk.page(&format!("/letters?group={}", uuid::Uuid::max())).await;
    assert!(gone.words(".chip-link.chip-narrowed").contains("that is gone"));
    let typed = desk.page("/letters?type_glob=acme.*").await;
    assert!(typed.words(".chip-link.chip-narrowed").starts_with("Type like acme.*"));
    assert_eq!(typed.count(".list-row"), 0);
    assert_eq!(desk.page("/letters?type_unknown=true").await.count(".list-row"), 6);
    let listed = desk.get(&format!("/api/v1/letters?group={group}&status=all")).await.expect(200).json();
    assert_eq!((listed["total"].as_u64(), listed["items"].as_array().unwrap().len()), (Some(5), 5));
}

#[tokio::test]
async fn a_letter_leads_to_those_that_failed_alike() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 3).await;
    desk.bring(ids[2], Status::Discarded).await;
    let path = group_of(&desk, ids[0]).await;
    let page = desk.page(&format!("/letters/{}", ids[0])).await;
    assert_eq!(page.words(&format!("a[href='{path}']")), "3 in its error group, 2 open");
    assert_eq!(desk.letter(ids[0]).await["group"], path.strip_prefix("/groups/").unwrap());
    let alone = alike(&desk, "texts", "x", 1).await;
    let page = desk.page(&format!("/letters/{}", alone[0])).await;
    assert!(page.words(".letter-head").contains("no similar dead letters"), "{}", page.words(".letter-head"));
    let unsorted = desk.receive(dead_in("orders")).await;
    assert_eq!(desk.page(&format!("/letters/{unsorted}")).await.count(".letter-view a[href^='/groups']"), 0);
}

#[tokio::test]
async fn the_overview_names_groups_to_look_at_first() {
    let desk = Desk::open().await;
    for n in 0..8 {
        alike(&desk, &format!("queue-{n}"), "x", 1).await;
    }
    let critical = alike(&desk, "burning", "x", 1).await;
    importance(&desk, &critical, Importance::Critical).await;
    let page = desk.page("/").await;
    let listed = titles(&page);
    assert_eq!((listed.len(), &*listed[0]), (6, "burning"));
    let tiles: Vec<_> = page.all(".tile-box .text-sub").into_iter().map(words).collect();
    assert!(tiles[0].starts_with("1 group · oldest"), "{tiles:?}");
    assert!(tiles[2].starts_with("8 groups · oldest"), "{tiles:?}");
    assert_eq!(tiles[1], "none open");
    assert_eq!(page.values(".tile-box.is-critical .text-sub a", "href")[0], "/groups?importance=critical");
    assert!(page.words("#groups-title").ends_with("All 9"));
}

async fn ask_htmx(desk: &Desk, path: &str) -> Answer {
    desk.send(builder(Method::GET, path).header("hx-request", "true").body(Body::empty()).unwrap()).await.expect(200)
}

#[tokio::test]
async fn parts_are_what_the_whole_page_has_there() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 1).await;
    let whole = desk.page("/groups?queue=orders").await;
    let main = ask_htmx(&desk, "/groups?queue=orders&part=main").await;
    assert_eq!(main.header("hx-push-url"), "/groups?queue=orders");
    assert_eq!(main.page().one("#main").html(), whole.one("#main").html());
    let results = ask_htmx(&desk, "/groups?queue=orders&part=results").await.page();
    assert_eq!(results.one("#results").html(), whole.one("#results").html());
    alike(&desk, "orders", "y", 1).await;
    assert_eq!(desk.page("/groups?queue=orders").await.words("#count[data-fresh]"), "2 groups needing attention");
    let path = format!("{}?all=retry", group_of(&desk, ids[0]).await);
    let main = ask_htmx(&desk, &format!("{path}&part=main")).await;
    assert_eq!(main.header("hx-push-url"), path);
    assert_eq!(main.page().one("#main").html(), desk.page(&path).await.one("#main").html());
}

/// A job that its process left behind goes on in the next one, and stops when it is cancelled.
#[tokio::test]
async fn work_on_a_group_goes_on_after_a_restart() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 3).await;
    let triage = || {
        Triage::new(
            desk.store.clone(),
            desk.changes.clone(),
            desk.clock.clone(),
            RetryLimits::default(),
            desk.reader.clone(),
        )
    };
    let filter = LetterFilter { statuses: vec![Status::Open], ..LetterFilter::default() };
    let pacing = Pacing::default();
    let bulk = |command| Bulk {
        filter: filter.clone(),
        until: NOON,
        left: None,
        command,
        edit: None,
        pacing,
        by: Actor::named("Ann"),
    };
    let claimed = triage().begin(bulk(Command::SetImportance(Importance::Low))).await.unwrap();
    assert_eq!((claimed.job.total, claimed.job.state), (3, JobState::Running));
    let go = CancellationToken::new();
    triage().take_up(&go).await.unwrap();
    assert_eq!(desk.letter(ids[0]).await["importance"], "normal", "somebody works at it");
    desk.clock.advance(MINUTE);
    triage().take_up(&go).await.unwrap();
    let job = desk.store.job(claimed.job.id).await.unwrap().unwrap();
    assert_eq!((job.state, job.done, job.total), (JobState::Done, 3, 3));
    assert_eq!(desk.letter(ids[0]).await["importance"], "low");

    let stopped = CancellationToken::new();
    stopped.cancel();
    let claimed = triage().begin(bulk(Command::Discard { note: None })).await.unwrap();
    let job = triage().work_at(claimed, &stopped).await.unwrap();
    assert_eq!((job.state, desk.status(ids[0]).await), (JobState::Running, Status::Open));
    triage().take_up(&go).await.unwrap();
    assert_eq!(desk.status(ids[0]).await, Status::Discarded, "it is free at once");

    let again = Bulk { filter: LetterFilter::default(), ..bulk(Command::Reopen) };
    let claimed = triage().begin(again).await.unwrap();
    assert_eq!(triage().cancel(claimed.job.id, &Actor::local()).await.unwrap(), Ok(true));
    assert_eq!(triage().work_at(claimed, &go).await.unwrap().state, JobState::Cancelled);
}
