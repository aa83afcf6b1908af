//! All that match, in the hands of a person: a canary that stops, a pause, a restart, and what can be undone.

use std::{sync::Arc, time::Duration};

use dead_letter_office::{
    clock::Clock,
    domain::{
        letter::{LetterId, Status},
        retry::RetryOutcome,
    },
};
use serde_json::json;

use super::{
    super::{
        dead::dead_in,
        desk::{Desk, MAIN},
        groups::failed_with,
        run::{Running, serve},
    },
    scene::{Scene, letters},
    typing::Key,
};
use crate::support::{PATIENCE, browser::Browser, free_port, process::wait_until};

const ALL: u64 = 60;

#[tokio::test]
async fn many_are_tried_on_a_few_and_held_back() {
    let desk = Arc::new(Desk::open().await);
    let Some(browser) = Browser::start().await else { return };
    letters(&desk, "orders", ALL).await;
    let port = free_port();
    let mut scene = Scene::at(browser, start(&desk, port).await).await;
    the_queue_that_is_named_is_looked_at(&scene, &desk).await;
    a_canary_stops_the_rest(&scene, &desk).await;
    what_is_paused_survives_a_restart(&mut scene, &desk, port).await;
    a_discard_of_all_is_undone(&scene, &desk).await;
    one_edit_is_made_to_all(&scene, &desk).await;
    those_that_were_picked_are_edited_and_tried_on_one(&scene, &desk).await;
    scene.check_quiet().await;
}

async fn start(desk: &Desk, port: u16) -> Running {
    let address = format!("127.0.0.1:{port}");
    let server = serve().with("--roles=web").set("DLO_DATABASE__URL", &desk.database_url());
    server.set("DLO_WEB__LISTEN", &address).open().await
}

async fn all_that_match(scene: &Scene, action: &str, number: u64) {
    scene.open("/letters?queue=orders").await;
    scene.click(".list-matching input").await;
    scene.reads(".list-count", &format!("{number} selected")).await;
    scene.reads(&format!("#bulk button[value={action}]"), &format!(" {number}")).await;
    scene.click(&format!("#bulk button[value={action}]")).await;
    scene.reads(".confirm-box", &format!("These {number} are meant, as they are now.")).await;
}

/// What the broker does: takes what is due, and confirms it.
async fn sent(desk: &Desk) -> Vec<LetterId> {
    let now = Clock::system().now();
    let claimed = desk.store.claim_due_retries(MAIN, now, Duration::from_secs(60), 99).await.unwrap();
    let ended: Vec<_> = claimed.iter().map(|retry| (retry, RetryOutcome::Confirmed)).collect();
    desk.store.finish_retries(&ended, now).await.unwrap();
    claimed.into_iter().map(|retry| retry.id).collect()
}

async fn the_queue_that_is_named_is_looked_at(scene: &Scene, desk: &Desk) {
    let switch = "/api/v1/queues/main/orders";
    desk.post(&format!("{switch}/pause"), &json!({})).await.expect(200);
    all_that_match(scene, "retry", ALL).await;
    scene.reads(".confirm-facts", "Retries into orders are paused").await;
    scene.counts("[name=pace]:checked", 0).await;
    scene.types("#send-to", "elsewhere").await;
    scene.sees("!document.querySelector('.confirm-facts').innerText.includes('orders')").await;
    scene.counts("[name=pace][value=all]:checked", 1).await;
    scene.types("#send-to", "orders").await;
    scene.reads(".confirm-facts", "Retries into orders are paused").await;
    scene.counts("[name=pace]:checked", 0).await;
    desk.post(&format!("{switch}/resume"), &json!({})).await.expect(200);
}

async fn a_canary_stops_the_rest(scene: &Scene, desk: &Desk) {
    all_that_match(scene, "retry", ALL).await;
    scene.types("[name=first]", "5").await;
    scene.click(".pace-way:has([value=canary]) [name=pace]").await;
    scene.reads("[data-does]", "Send 5 first").await;
    scene.types("[name=wait]", "3d").await;
    scene.click("[data-does]").await;
    scene.reads(".toast-box.is-failed", "Canary, wait: it takes a time from 1s to 1d").await;
    scene.counts(".pace-box [aria-invalid]", 1).await;
    scene.sees("document.activeElement.matches('[name=wait][aria-invalid=true]')").await;
    scene.types("[name=wait]", "1h").await;
    scene.counts(".pace-box [aria-invalid]", 0).await;
    scene.click("[data-does]").await;
    scene.reads("#jobs", "of the first 5 sent").await;
    scene.browser.set_viewport(390, 900).await;
    assert_eq!(scene.ask(FIGURES_IN_LINES).await, json!([]));
    scene.browser.set_viewport(1280, 900).await;
    let mut first = Vec::new();
    while first.len() < 5 {
        first.extend(sent(desk).await);
        tokio::task::yield_now().await;
    }
    scene.reads("#jobs", "5 of the first 5 sent, 0 of them failed again so far.").await;
    fail_again(desk, "orders", b"{\"n\": 1}", &first[..3]).await;
    scene.reads("#jobs", "5 sent, 3 of them failed again: stopped; nothing else was sent.").await;
    scene.reads("#jobs", "The job was stopped before it came to them: they were left as they were").await;
    scene.browser.set_viewport(390, 900).await;
    assert_eq!(scene.ask(NUMBERS_OUT_OF_SIGHT).await, json!([]));
    scene.browser.set_viewport(1280, 900).await;
    assert_eq!(sent(desk).await, []);
}

/// What the tables of a job leave out.
const NUMBERS_OUT_OF_SIGHT: &str = "[...document.querySelectorAll('#jobs .table-number')]
    .filter((number) => !number.checkVisibility()).map((number) => number.innerText)";

/// Figures of a job that take more than one line.
const FIGURES_IN_LINES: &str = "[...document.querySelectorAll('.job-box .total-list li')].filter((li) => {
    const tops = [...li.childNodes].filter((part) => part.textContent.trim()).map((part) => {
        const range = document.createRange();
        range.selectNodeContents(part);
        return [...range.getClientRects()].map(({ bottom }) => bottom);
    }).flat();
    return Math.max(...tops) - Math.min(...tops) > 6;
}).map((li) => li.innerText)";

/// They come back with what was sent.
async fn fail_again(desk: &Desk, queue: &str, body: &[u8], ids: &[LetterId]) {
    let at = Clock::system().now();
    let dead = |id: &LetterId| {
        let dead = failed_with(dead_in(queue), "again").body(body).received(at);
        dead.with(|arrival| arrival.returning = Some(*id))
    };
    desk.receive_all(MAIN, ids.iter().map(dead).collect()).await;
}

async fn what_is_paused_survives_a_restart(scene: &mut Scene, desk: &Desk, port: u16) {
    // Two of the first five are away.
    all_that_match(scene, "retry", ALL - 2).await;
    scene.types("[name=rate]", "1").await;
    scene.click(".pace-way:has([value=rate]) [name=pace]").await;
    scene.click("[data-does]").await;
    scene.reads("#jobs", "1 per second").await;
    scene.reads("#jobs", "Cancel the rest").await;
    wait_until("one to be sent", PATIENCE, async || !sent(desk).await.is_empty()).await;
    a_button_stays_with_who_is_at_it(scene).await;
    scene.ask("document.querySelector('#jobs form[action$=pause] button').focus()").await;
    scene.press_key(Key::Enter).await;
    scene.reads("#jobs", "Paused:").await;
    scene.sees("document.activeElement.matches('#jobs form[action$=resume] button')").await;
    scene.check_focus().await;
    let job = scene.address().await;
    scene.leave().await;
    scene.server.stop().await;
    scene.server = start(desk, port).await;
    scene.open(&job).await;
    scene.reads("#jobs", "Paused:").await;
    assert_eq!(sent(desk).await, [], "nothing is sent while it is paused");
    scene.click("#jobs form[action$=resume] button").await;
    wait_until("one to be sent", PATIENCE, async || !sent(desk).await.is_empty()).await;
    scene.reads(".side-jobs", "Retry").await;
    scene.click("#jobs form[action$=cancel] button").await;
    scene.reads("#jobs", "cancelled").await;
    assert_eq!(sent(desk).await, []);
}

async fn a_button_stays_with_who_is_at_it(scene: &Scene) {
    let ask = "((button, figure) => {
        button.focus();
        button.marked = true;
        figure.textContent = 'before';
        htmx.trigger(document.body, 'dlo:changes');
    })(...['form[action$=pause] button', '.total-list b'].map((it) => document.querySelector(`#jobs ${it}`)))";
    scene.ask(ask).await;
    scene.sees("document.querySelector('#jobs .total-list b').textContent !== 'before'").await;
    assert_eq!(scene.ask("document.activeElement.marked").await, true);
}

async fn a_discard_of_all_is_undone(scene: &Scene, desk: &Desk) {
    let open = async || {
        let filter =
            dead_letter_office::domain::filter::LetterFilter { statuses: vec![Status::Open], ..Default::default() };
        desk.store.count(&filter).await.unwrap()
    };
    let number = open().await;
    all_that_match(scene, "discard", number).await;
    scene.click("[data-does]").await;
    scene.reads(".toast-box", "Discarded").await;
    assert_eq!(open().await, 0);
    scene.click(".toast-box form button").await;
    wait_until("all to be open again", PATIENCE, async || open().await == number).await;
}

async fn one_edit_is_made_to_all(scene: &Scene, desk: &Desk) {
    let ids = letters(desk, "edited", 1).await;
    scene.open("/letters?queue=edited").await;
    scene.open("/letters/all?queue=edited&all=retry").await;
    scene.click(".confirm-edit summary").await;
    scene.types("#merge-patch", "{\"fixed\": tru}").await;
    scene.reads("#edit-preview", "line 1, column").await;
    scene.types("#merge-patch", "{\"fixed\": true}").await;
    scene.reads("#edit-preview", "1 of the first 1 dead letter can be edited.").await;
    scene.reads("#edit-preview .diff-block", "+ \"fixed\": true").await;
    scene.click("[data-does]").await;
    scene.reads(".toast-box", "Retr").await;
    let copies = sent(desk).await;
    assert!(copies.len() == 1 && copies != ids, "{copies:?}");
    let body = desk.store.letter(copies[0]).await.unwrap().unwrap().message.body;
    assert!(String::from_utf8(body).unwrap().contains("\"fixed\""));
}

async fn those_that_were_picked_are_edited_and_tried_on_one(scene: &Scene, desk: &Desk) {
    let ids = letters(desk, "picked", 4).await;
    scene.open("/letters?queue=picked").await;
    for id in &ids[..3] {
        scene.click(&format!("#row-{id} > input")).await;
    }
    scene.click("#bulk .menu-box summary").await;
    scene.click("#bulk [name=ask]").await;
    scene.reads(".confirm-box", "Retry 3 open or scheduled dead letters, picked by hand?").await;
    scene.reads("h1", "Picked dead letters").await;
    scene.click(".confirm-edit summary").await;
    scene.types("#merge-patch", "{\"fixed\": true}").await;
    scene.reads("#edit-preview", "3 of the first 3 dead letters can be edited.").await;
    scene.types("[name=first]", "1").await;
    scene.click(".pace-way:has([value=canary]) [name=pace]").await;
    scene.click("[data-does]").await;
    scene.reads("#jobs", "of the first 1 sent").await;
    let mut first = Vec::new();
    wait_until("the first to be sent", PATIENCE, async || {
        first.extend(sent(desk).await);
        !first.is_empty()
    })
    .await;
    let body = desk.store.letter(first[0]).await.unwrap().unwrap().message.body;
    assert!(str::from_utf8(&body).unwrap().contains("\"fixed\""));
    fail_again(desk, "picked", &body, &first).await;
    scene.reads("#jobs", "1 sent, 1 of them failed again: stopped; nothing else was sent.").await;
    assert_eq!(sent(desk).await, []);
    let left = desk.store.letter(ids[3]).await.unwrap().unwrap().summary.status;
    assert_eq!(left, Status::Open, "nobody picked it");
}
