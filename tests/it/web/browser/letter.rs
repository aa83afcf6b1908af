//! The page of a letter: read, walked and acted on by keys, by pointer, and on a phone.

use dead_letter_office::domain::letter::{Importance, LetterId, Status};
use serde_json::json;

use super::{
    super::{
        desk::{Desk, MAIN},
        groups::{group_of, sort},
        run::PATIENCE,
    },
    looks::{fits, is_readable},
    scene::{Scene, fresh, letters},
    typing::Key,
};
use crate::support::process::wait_until;

const BODY: &str = r#"{"order": {"number": "44", "total": {"cents": 1842000, "currency": "ISK"}}, "items": [{"sku": "ISK-1"}, {"sku": "b"}], "note": null}"#;

/// What was last put on the clipboard, which no test has.
const TAKE_COPIES: &str = "navigator.clipboard.writeText = async (text) => void (window.copied = text)";

#[tokio::test]
async fn a_letter_is_read_walked_and_acted_on() {
    let desk = Desk::open().await;
    let ids = desk.receive_all(MAIN, (0..3).map(|n| fresh("billing", 10 + n).body(BODY)).collect()).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    let list = format!("/letters/{}?list=%2Fletters%3Fqueue%3Dbilling", ids[0]);
    its_payload_is_above_the_fold(&scene, &list).await;
    its_payload_is_searched_folded_and_copied(&scene, &list).await;
    its_parts_and_neighbours_are_keys_away(&scene, &ids).await;
    it_is_retried_later_by_keys(&scene, &desk, ids[1]).await;
    its_importance_is_set_as_it_is_chosen(&scene, &desk, ids[2]).await;
    nothing_takes_the_focus_by_itself(&scene, &desk).await;
    shortcuts_are_shown_where_they_work(&scene, &list).await;
    scene.check_quiet().await;
}

async fn its_payload_is_above_the_fold(scene: &Scene, path: &str) {
    scene.browser.set_viewport(1280, 800).await;
    scene.open(path).await;
    let top = scene.ask("document.querySelector('#payload').getBoundingClientRect().top").await.as_f64().unwrap();
    assert!(top < 400.0, "the payload begins at {top}");
    scene.ask("scrollTo(0, document.body.scrollHeight)").await;
    scene.sees("document.querySelector('button[data-key=r]').getBoundingClientRect().top >= 0").await;
}

const LINES: &str =
    "[...document.querySelectorAll('#payload .code-line')].filter((line) => line.checkVisibility()).length";

async fn its_payload_is_searched_folded_and_copied(scene: &Scene, path: &str) {
    scene.open(path).await;
    scene.ask(TAKE_COPIES).await;
    scene.sees(&format!("{LINES} === 18")).await;
    let text = scene.ask("JSON.stringify(JSON.parse(document.querySelector('#payload').textContent))").await;
    assert_eq!(text, BODY.replace(": ", ":").replace(", ", ","), "lines change nothing of what it says");
    scene.press("f").await;
    scene.press("isk").await;
    scene.reads("[data-found]", "1 of 2").await;
    scene.press_key(Key::Enter).await;
    scene.reads("[data-found]", "2 of 2").await;
    scene.sees("[...CSS.highlights.get('found-now')].map(String).join() === 'ISK'").await;
    scene.click("[data-fold]").await;
    scene.sees(&format!("{LINES} === 5")).await;
    scene.press("f").await;
    scene.press_key(Key::Enter).await;
    scene.reads("[data-found]", "1 of 2").await;
    scene.sees(&format!("{LINES} > 5")).await;
    scene.click("[data-fold]").await;
    scene.click("[data-fold]").await;
    scene.sees(&format!("{LINES} === 18")).await;
    // Chosen by keys, line by line: the currency is the fifth.
    scene.ask("document.querySelector('#payload').focus()").await;
    for _ in 0..6 {
        scene.press_key(Key::Down).await;
    }
    scene.reads("#payload-path code", "order.total.currency").await;
    for (button, copied) in [("path", "order.total.currency"), ("value", "ISK")] {
        scene.click(&format!("[data-copies={button}]")).await;
        scene.sees(&format!("window.copied === {}", json!(copied))).await;
        scene.reads("#said", "Copied").await;
    }
    scene.click("#payload .code-line:nth-child(9) .code-k").await;
    scene.reads("#payload-path code", "items").await;
    scene.click("[data-copies=value]").await;
    scene.sees("JSON.parse(window.copied)[1].sku === 'b'").await;
    for (n, part) in [(1, "currency"), (2, "curl -fsS "), (3, "-")] {
        scene.click(".payload-tools .menu-box > summary").await;
        scene.click(&format!(".payload-tools .menu-sheet button:nth-of-type({n})")).await;
        scene.sees(&format!("window.copied.includes({})", json!(part))).await;
        scene.press_key(Key::Escape).await;
    }
}

async fn its_parts_and_neighbours_are_keys_away(scene: &Scene, ids: &[LetterId]) {
    scene.open("/letters?queue=billing").await;
    scene.press("j").await;
    scene.press_key(Key::Enter).await;
    scene.click("a[title='Full width']").await;
    scene.reads("main.letter-page h1", "ejected by its consumer").await;
    for (key, tab) in [("]", "headers"), ("]", "timeline"), ("]", "similar"), ("[", "timeline")] {
        scene.press(key).await;
        scene.sees(&format!("document.querySelector('.letter-tabs [aria-current]').id === 'tab-{tab}'")).await;
    }
    for (key, n) in [("j", 1), ("j", 2), ("j", 2), ("k", 1)] {
        scene.press(key).await;
        scene.sees(&format!("document.querySelector('.letter-view').dataset.letter === '{}'", ids[n])).await;
        scene.sees("document.querySelector('#tab-timeline').ariaCurrent === 'page'").await;
    }
    scene.back().await;
    scene.sees(&format!("document.querySelector('.letter-view').dataset.letter === '{}'", ids[2])).await;
    scene.press("k").await;
    scene.sees(&format!("document.querySelector('.letter-view').dataset.letter === '{}'", ids[1])).await;
    scene.press("e").await;
    scene.reads("h1", "Edit and retry").await;
    scene.press_key(Key::Escape).await;
    scene.sees(&format!("document.querySelector('.letter-view')?.dataset.letter === '{}'", ids[1])).await;
    scene.press_key(Key::Escape).await;
    scene.is_at("/letters?queue=billing").await;
    scene.press("j").await;
    scene.sees(&format!("document.activeElement.closest('.list-row')?.id === 'row-{}'", ids[2])).await;
}

async fn it_is_retried_later_by_keys(scene: &Scene, desk: &Desk, id: LetterId) {
    scene.open(&format!("/letters/{id}")).await;
    scene.press("R").await;
    scene.sees("document.activeElement.matches('[data-later] [name=delay]:checked')").await;
    scene.press_key(Key::Right).await;
    scene.press_key(Key::Enter).await;
    scene.reads("#letter-head", "retry due in").await;
    assert_eq!(desk.status(id).await, Status::Scheduled);
}

async fn its_importance_is_set_as_it_is_chosen(scene: &Scene, desk: &Desk, id: LetterId) {
    for page in [format!("/letters/{id}"), format!("/letters?queue=billing&letter={id}")] {
        scene.open(&page).await;
        for (nth, importance) in [(1, Importance::Critical), (4, Importance::Low)] {
            scene.click(&format!(".letter-marks option:nth-child({nth})")).await;
            scene.reads(".toast-box", &format!("{importance}")).await;
            let is_set = async || desk.store.summary(id).await.unwrap().unwrap().importance == importance;
            wait_until("the importance to be set", PATIENCE, is_set).await;
        }
    }
}

/// What is brought up to date by itself leaves everybody where they are, also who is nowhere.
async fn nothing_takes_the_focus_by_itself(scene: &Scene, desk: &Desk) {
    let id = letters(desk, "focus", 1).await[0];
    scene.open("/letters?queue=focus").await;
    scene.sees("document.querySelector('#live').dataset.state === 'live'").await;
    scene.ask("document.activeElement.blur()").await;
    letters(desk, "focus", 1).await;
    scene.reads("#news", "1 new dead letter").await;
    assert_eq!(scene.ask("document.activeElement === document.body").await, true);
    sort(desk).await;
    scene.open(&group_of(desk, id).await).await;
    scene.sees("!document.querySelector('#in-common').hasAttribute('hx-trigger')").await;
    assert_eq!(scene.ask("document.activeElement === document.body").await, true);
    assert_eq!(desk.status(id).await, Status::Open);
}

async fn shortcuts_are_shown_where_they_work(scene: &Scene, letter: &str) {
    for (path, shown, hidden) in [
        (letter, "the next part of the dead letter", "select it"),
        ("/letters?queue=billing", "select it", "the next part of the dead letter"),
        ("/queues", "this list", "discard"),
    ] {
        scene.open(path).await;
        scene.press("?").await;
        scene.reads("#help", shown).await;
        let help = scene.ask("document.querySelector('#help').innerText").await;
        assert!(!help.as_str().unwrap().contains(hidden), "{path}: {help}");
        scene.press_key(Key::Escape).await;
    }
}

/// Where what opens from the bar of a letter stands, from the edges of the window.
const MENUS_OF_THE_BAR: &str = "[...document.querySelectorAll('.letter-actions details')].map((menu) => {
    menu.open = true;
    const { top, bottom } = menu.querySelector('.menu-sheet').getBoundingClientRect();
    menu.open = false;
    return { menu: menu.innerText, top, below: bottom - innerHeight };
})";

#[tokio::test]
async fn a_phone_on_call_reads_retries_and_discards() {
    let desk = Desk::open().await;
    let ids = desk.receive_all(MAIN, (0..2).map(|n| fresh("phone", 10 + n).body(BODY)).collect()).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    scene.browser.set_viewport(390, 844).await;
    scene.open("/").await;
    scene.counts("#side-menu:popover-open", 0).await;
    scene.click(".side-open").await;
    scene.sees("document.querySelector('#side-menu').matches(':popover-open')").await;
    fits(&scene, "the menu", 390).await;
    is_readable(&scene, "the menu", "light").await;
    scene.press_key(Key::Escape).await;
    scene.counts("#side-menu:popover-open", 0).await;
    scene.click(".side-open").await;
    scene.click("#side-menu a[href='/letters']").await;
    scene.click(".list-row > a").await;
    scene.reads("#pane #payload", "currency").await;
    for (tab, path) in [("headers", "tab=headers"), ("timeline", "tab=timeline"), ("similar", "tab=similar")] {
        scene.click(&format!("#tab-{tab}")).await;
        scene.sees(&format!("location.search.includes('{path}')")).await;
        fits(&scene, tab, 390).await;
        is_readable(&scene, tab, "light").await;
    }
    // The actions stand at the lower edge, wherever one reads.
    let bottom = "Math.round(document.querySelector('.letter-actions').getBoundingClientRect().bottom) <= innerHeight";
    scene.sees(bottom).await;
    scene.click("#tab-payload").await;
    scene.sees(bottom).await;
    for menu in scene.ask(MENUS_OF_THE_BAR).await.as_array().unwrap() {
        assert!(menu["top"].as_f64() >= Some(0.0) && menu["below"].as_f64() <= Some(0.0), "{menu}");
    }
    scene.click(".letter-actions button[value=discard]").await;
    scene.reads(".toast-box", "Discarded 1 dead letter.").await;
    assert_eq!(desk.status(ids[0]).await, Status::Discarded);
    scene.click("#letter-next").await;
    scene.sees(&format!("document.querySelector('#pane .letter-view')?.dataset.letter === '{}'", ids[1])).await;
    scene.click(".letter-actions button[data-key=r]").await;
    scene.reads("#pane .mark-state", "scheduled").await;
    assert_eq!(desk.status(ids[1]).await, Status::Scheduled);
    scene.disable_scripts().await;
    scene.open("/letters").await;
    scene.click(".side-open").await;
    scene.check_quiet().await;
}
