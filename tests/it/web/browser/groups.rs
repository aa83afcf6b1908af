//! A group in the hands of a person, with a real RabbitMQ behind dlo.

use dead_letter_office::domain::letter::{Importance, Status};
use serde_json::{Value, json};

use super::{
    super::{
        desk::Desk,
        groups::{alike, group_of},
        run::{PATIENCE, serve},
        service::Service,
    },
    scene::{Scene, told_to_other_processes},
    typing::Key,
};
use crate::support::{browser::Browser, process::wait_until, rabbit::Rabbit};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_failed_alike_is_retried_together_and_heals() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let Some(browser) = Browser::start().await else { return };
    let vhost = rabbit.vhost();
    let server = serve().set("DLO_BROKERS__MAIN__URL", &vhost.amqp_url()).set("DLO_GROUPS__SUCCEEDED_AFTER", "1s");
    let server = server.open().await;
    server.await_ready().await;
    let service = Service::start(&vhost, "group").await;
    for n in 0..3 {
        service.fail(&format!("{{\"n\": {n}}}")).await;
    }
    let group = async || server.json("/api/v1/groups?queue=group").await["items"][0].clone();
    wait_until("a group of three", PATIENCE, async || group().await["open"] == 3).await;
    let path = format!("/groups/{}", group().await["id"].as_str().unwrap());
    let scene = Scene::at(browser, server).await;

    scene.open("/groups").await;
    scene.reads(".list-row", "group").await;
    scene.reads("#side", "Error groups 1").await;
    scene.click(".list-row > a").await;
    scene.reads(".group-what", "group").await;
    scene.is_at(&path).await;
    for place in ["/groups", &path] {
        scene.open(place).await;
        scene.press("jR").await;
        scene.sees("document.activeElement.matches('.confirm-box [name=delay]')").await;
        scene.press_key(Key::Escape).await;
        scene.counts(".confirm-box", 0).await;
        scene.is_at(place).await;
    }
    scene.press("r").await;
    scene.reads("#asking-title", "Retry 3 of group: rejected by its consumer, no reason recorded?").await;
    scene.sees("document.activeElement.matches('.confirm-box .btn-primary')").await;
    scene.press_key(Key::Enter).await;
    scene.reads(".toast-box", "Retrying 3 dead letters.").await;
    scene.is_at(&path).await;
    let mut bodies = [service.work().await, service.work().await, service.work().await];
    bodies.sort();
    assert_eq!(bodies, [0, 1, 2].map(|n| format!("{{\"n\": {n}}}")));
    let api = format!("/api/v1{path}");
    let succeeded = async || scene.server.json(&api).await["outcome"]["succeeded"] == 3;
    wait_until("three letters to have succeeded", PATIENCE, succeeded).await;
    scene.open(&path).await;
    scene.reads(".outcome-box", "3 succeeded").await;
    scene.reads(".outcome-box", "0 failed again").await;
    scene.open("/groups").await;
    scene.reads("main", "Nothing needs attention.").await;
    scene.check_quiet().await;
}

/// The field for the length of a snooze is as wide as what is chosen in it.
const IS_CHOICE_SEEN: &str = "(() => {
    const field = document.querySelector('#bulk [name=until]');
    const free = field.parentElement.appendChild(field.cloneNode(true));
    Object.assign(free.style, { fieldSizing: 'content', width: 'auto', position: 'absolute' });
    const wanted = free.offsetWidth;
    free.remove();
    return field.offsetWidth >= wanted;
})()";

#[tokio::test]
async fn groups_are_walked_noted_and_discarded_by_keys() {
    let desk = Desk::open().await;
    alike(&desk, "first", "x", 2).await;
    let ids = alike(&desk, "second", "x", 1).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    scene.open("/letters").await;
    scene.press("gu").await;
    scene.reads("h1", "Error groups").await;
    scene.press("jj").await;
    scene.check_focus().await;
    scene.press_key(Key::Enter).await;
    scene.reads(".group-what", "second").await;
    scene.is_at(&group_of(&desk, ids[0]).await).await;
    scene.click(".note-form summary").await;
    scene.types("textarea[name=note]", "with the vendor").await;
    scene.click(".note-form .btn-primary").await;
    scene.reads(".note-text", "with the vendor").await;
    scene.press("d").await;
    scene.reads("#asking-title", "Discard 1 of second: x?").await;
    scene.press_key(Key::Escape).await;
    scene.sees("!document.querySelector('.confirm-box')").await;
    assert_eq!(desk.status(ids[0]).await, Status::Open);
    scene.press("d").await;
    scene.click(".confirm-box .btn-danger").await;
    scene.reads(".toast-box", "Discarded 1 dead letter.").await;
    assert_eq!(desk.status(ids[0]).await, Status::Discarded);
    scene.open("/groups").await;
    scene.types("form[role=search] [name=queue_glob]", "fir*\n").await;
    scene.sees("location.search.includes('queue_glob=fir')").await;
    scene.click(".chip-groups li:nth-child(6) .chip-link").await;
    scene.sees("location.search.includes('status=all')").await;
    scene.reads("#count", "1 group").await;
    scene.browser.set_viewport(390, 900).await;
    scene.click(".list-row > input").await;
    scene.sees("document.querySelector('#bulk [name=until]').checkVisibility()").await;
    assert_eq!(scene.ask(IS_CHOICE_SEEN).await, true, "the length of a snooze");
    scene.check_quiet().await;
    scene.disable_scripts().await;
    scene.open(&format!("{}?all=reopen", group_of(&desk, ids[0]).await)).await;
    scene.click(".confirm-box .btn-primary").await;
    scene.reads(".toast-box", "Reopened 1 dead letter.").await;
    assert_eq!(desk.status(ids[0]).await, Status::Open);
}

#[tokio::test]
async fn enter_sends_what_it_stands_in() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 1).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    scene.open(&group_of(&desk, ids[0]).await).await;
    scene.click("#group-state details:has([name=custom_until]) > summary").await;
    scene.types("#group-state [name=custom_until]", "90m\n").await;
    scene.reads("#group-state .mark-phase", "snoozed").await;
    scene.check_quiet().await;
}

#[tokio::test]
async fn the_actions_of_a_group_are_about_as_many_as_its_page_says() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 2).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    scene.open(&group_of(&desk, ids[0]).await).await;
    scene.reads(".group-actions", "Retry 2").await;
    let new = alike(&desk, "orders", "x", 1).await[0];
    told_to_other_processes(&desk).await;
    scene.reads("#about", "3 open").await;
    scene.reads(".group-actions", "Set importance of 3 open").await;
    scene.reads(".group-actions", "Retry 3").await;
    scene.ask("document.querySelector('.group-actions select').value = 'critical'").await;
    scene.click(".group-actions button[value=importance]").await;
    scene.reads(".toast-box", "3").await;
    let importance = async |id| desk.store.summary(id).await.unwrap().unwrap().importance;
    assert_eq!([importance(new).await, importance(ids[0]).await], [Importance::Critical; 2]);
    scene.check_quiet().await;
}

#[tokio::test]
async fn what_was_chosen_for_a_retry_stays_when_something_else_is_done() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 3).await;
    alike(&desk, "elsewhere", "y", 1).await;
    desk.post("/api/v1/queues/main/elsewhere/pause", &json!({})).await.expect(200);
    let Some(scene) = Scene::over(&desk).await else { return };
    scene.open(&group_of(&desk, ids[0]).await).await;
    scene.press("r").await;
    scene.types("[name=first]", "2").await;
    scene.click(".pace-way:has([value=canary]) [name=pace]").await;
    scene.reads("[data-does]", "Send 2 first").await;
    scene.types("#send-to", "elsewhere").await;
    scene.reads(".confirm-facts", "Retries into elsewhere are paused").await;
    scene.reads("[data-does]", "Send 2 first").await;
    scene.click("#group-state button[value=acknowledge]").await;
    scene.reads("#group-state .mark-phase", "acknowledged").await;
    // The queue is named still, and what is suggested for it takes nothing back.
    scene.reads(".confirm-facts", "Retries into elsewhere are paused").await;
    scene.reads("[data-does]", "Send 2 first").await;
    scene.sees("document.querySelector('[value=canary]').checked").await;
    scene.click(".confirm-edit > summary").await;
    scene.types("#merge-patch", "{\"paid\": true}").await;
    scene.reads("[data-does]", "Send 2 first, edited").await;
    scene.check_quiet().await;
}

#[tokio::test]
async fn a_note_that_is_being_written_outlives_a_question() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "x", 3).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    scene.open(&group_of(&desk, ids[0]).await).await;
    scene.click(".note-form > summary").await;
    scene.types(".note-form textarea", "Ask Zoë first").await;
    let is_there = "document.querySelector('.note-form textarea')?.value === 'Ask Zoë first'";
    scene.click(".group-actions a[data-key=d]").await;
    scene.reads("#asking-title", "Discard 3").await;
    scene.sees(is_there).await;
    scene.click("[data-close]").await;
    scene.counts("#asking-title", 0).await;
    scene.sees(is_there).await;
    scene.check_quiet().await;
}

/// Types both at one stroke, so that the second comes before the answer to the first.
const TYPED_AT_ONCE: &str = "[...'zj'].forEach((key) => {
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
})";

/// What comes in place of the page has a title of its own.
#[tokio::test]
async fn the_title_says_how_many_groups_need_attention_on_each_page() {
    let desk = Desk::open().await;
    alike(&desk, "a", "x", 1).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    scene.open("/groups").await;
    scene.sees("document.title.startsWith('(1) ')").await;
    scene.click(".list-row > a").await;
    scene.counts(".group-what", 1).await;
    scene.sees("document.title.startsWith('(1) ')").await;
}

#[tokio::test]
async fn no_row_is_passed_over_when_one_leaves_the_list() {
    let desk = Desk::open().await;
    for queue in ["a", "b", "c", "d", "e", "f"] {
        alike(&desk, queue, "x", 1).await;
    }
    let Some(scene) = Scene::over(&desk).await else { return };
    scene.open("/groups").await;
    scene.counts(".list-row", 6).await;
    let at = async |expected: &Value| {
        scene.sees(&format!("document.activeElement.href === {expected}")).await;
        scene.check_focus().await;
    };
    let hrefs = scene.ask("[...document.querySelectorAll('.list-row > a')].map(({ href }) => href)").await;
    // One that leaves the list gives its place to the next.
    scene.press("jj").await;
    at(&hrefs[1]).await;
    scene.press("z").await;
    scene.counts(".list-row", 5).await;
    at(&hrefs[2]).await;
    // Whoever has gone on meanwhile stays there.
    scene.ask(TYPED_AT_ONCE).await;
    scene.counts(".list-row", 4).await;
    at(&hrefs[3]).await;
    scene.press("j").await;
    at(&hrefs[4]).await;
    // One that stays in the list keeps the focus, wherever it stands then.
    scene.press("m").await;
    scene.reads(".toast-box", "Assigned 1 group to local user.").await;
    at(&hrefs[4]).await;
    scene.press("j").await;
    at(&hrefs[5]).await;
    // The last gives it to the one before.
    scene.press("s").await;
    scene.counts(".list-row", 3).await;
    at(&hrefs[4]).await;
    scene.press("k").await;
    at(&hrefs[3]).await;
    scene.check_quiet().await;
}
