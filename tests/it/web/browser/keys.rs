//! By keyboard alone, and with the brush.

use dead_letter_office::domain::letter::Status;
use serde_json::json;

use super::{
    super::desk::Desk,
    scene::{Scene, letters},
    typing::Key,
};

#[tokio::test]
async fn everything_can_be_reached() {
    let desk = Desk::open().await;
    let Some(scene) = Scene::over(&desk).await else { return };
    rows_are_walked_and_opened(&scene, &desk).await;
    the_letter_beside_the_list_follows(&scene, &desk).await;
    a_key_that_is_held_walks_and_does_nothing_twice(&scene, &desk).await;
    selected_letters_are_discarded_and_taken_back(&scene, &desk).await;
    they_are_taken_back_from_any_page(&scene, &desk).await;
    checkboxes_select_too(&scene, &desk).await;
    the_open_letter_is_acted_on(&scene, &desk).await;
    what_cannot_be_seen_is_not_acted_on(&scene, &desk).await;
    the_search_is_reached_and_left(&scene, &desk).await;
    help_and_pages_are_a_key_away(&scene).await;
    the_brush_sets_the_time(&scene, &desk).await;
    the_brush_is_moved_by_keys_too(&scene).await;
    scene.check_quiet().await;
}

/// The number of the row that has the focus, from 0.
const FOCUSED: &str =
    "[...document.querySelectorAll('.list-row')].indexOf(document.activeElement.closest('.list-row'))";

async fn rows_are_walked_and_opened(scene: &Scene, desk: &Desk) {
    let ids = letters(desk, "walk", 3).await;
    scene.open("/letters?queue=walk").await;
    for (keys, row) in [("j", 0), ("j", 1), ("jj", 2), ("k", 1)] {
        scene.press(keys).await;
        scene.sees(&format!("{FOCUSED} === {row}")).await;
    }
    scene.check_focus().await;
    scene.press_key(Key::Enter).await;
    scene.sees(&format!("document.querySelector('#pane .letter-view')?.dataset.letter === '{}'", ids[1])).await;
    scene.is_at(&format!("/letters?queue=walk&letter={}", ids[1])).await;
    scene.press_key(Key::Escape).await;
    scene.sees("!document.querySelector('#pane .letter-view')").await;
    scene.back().await;
    scene.sees("document.querySelector('#pane .letter-view')").await;
}

/// Where somebody walks quickly, what they come past is not asked for.
async fn the_letter_beside_the_list_follows(scene: &Scene, desk: &Desk) {
    let ids = letters(desk, "beside", 8).await;
    let is_open = |n: usize| {
        let id = ids[n];
        format!("document.querySelector('#pane .letter-view')?.dataset.letter === '{id}' && {FOCUSED} === {n}")
    };
    scene.open(&format!("/letters?queue=beside&letter={}", ids[0])).await;
    scene.press("j").await;
    scene.sees(&is_open(1)).await;
    scene.press("j").await;
    scene.sees(&is_open(2)).await;
    scene.is_at(&format!("/letters?queue=beside&letter={}", ids[2])).await;
    scene.press("k").await;
    scene.sees(&is_open(1)).await;
    scene.check_focus().await;
    scene.ask("(window.asked = 0, document.addEventListener('htmx:beforeRequest', ({ detail }) => (window.asked += detail.target.id === 'pane')))").await;
    scene.freeze().await;
    scene.press("jjjjjj").await;
    scene.sees(&format!("{FOCUSED} === 7")).await;
    scene.thaw().await;
    scene.sees(&is_open(7)).await;
    assert!(scene.ask("window.asked").await.as_u64().unwrap() <= 2, "the first one and the last one");
    scene.press("]").await;
    scene.reads("#pane .letter-tabs [aria-current]", "Headers").await;
    scene.press("[").await;
    scene.reads("#pane .letter-tabs [aria-current]", "Payload").await;
    // Without a letter beside it nothing opens.
    scene.press_key(Key::Escape).await;
    scene.sees("!document.querySelector('#pane .letter-view')").await;
    scene.press("k").await;
    scene.sees(&format!("{FOCUSED} === 6 && !document.querySelector('#pane .letter-view')")).await;
}

/// Has a key come once more, as that of who holds it down.
async fn repeat(scene: &Scene, key: char) {
    let event = json!({"type": "keyDown", "key": key, "text": key, "autoRepeat": true});
    scene.browser.devtools("Input.dispatchKeyEvent", event).await;
}

async fn a_key_that_is_held_walks_and_does_nothing_twice(scene: &Scene, desk: &Desk) {
    let ids = letters(desk, "held", 4).await;
    scene.open("/letters?queue=held").await;
    scene.press("j").await;
    repeat(scene, 'j').await;
    scene.sees(&format!("{FOCUSED} === 1")).await;
    scene.press("d").await;
    scene.reads(".toast-box", "Discarded").await;
    scene.counts(".list-row", 3).await;
    scene.sees(&format!("{FOCUSED} === 1")).await;
    for key in ['d', 'r'] {
        repeat(scene, key).await;
        assert_eq!(scene.count(".list-row").await, 3, "{key}");
    }
    assert_eq!((desk.status(ids[1]).await, desk.status(ids[2]).await), (Status::Discarded, Status::Open));
    scene.press("d").await;
    scene.counts(".list-row", 2).await;
}

async fn selected_letters_are_discarded_and_taken_back(scene: &Scene, desk: &Desk) {
    let ids = letters(desk, "select", 3).await;
    scene.open("/letters?queue=select").await;
    // A key that only groups know does nothing here.
    scene.press("jsxjx").await;
    scene.reads("[data-selected]", "2 selected").await;
    scene.reads("#bulk .btn-danger", "Discard 2").await;
    scene.press("d").await;
    scene.reads(".toast-box", "Discarded 2 dead letters").await;
    scene.counts(".list-row", 1).await;
    assert_eq!(desk.status(ids[0]).await, Status::Discarded);
    assert_eq!(desk.status(ids[2]).await, Status::Open);
    scene.press("u").await;
    scene.counts(".list-row", 3).await;
    assert_eq!(desk.status(ids[0]).await, Status::Open);
}

async fn they_are_taken_back_from_any_page(scene: &Scene, desk: &Desk) {
    let id = letters(desk, "anywhere", 1).await[0];
    let discard = format!(
        "fetch('/letters/actions', {{ method: 'POST', redirect: 'manual',
            body: new URLSearchParams({{ action: 'discard', id: '{id}' }}) }}).then(() => true)"
    );
    assert_eq!(scene.ask(&discard).await, true);
    scene.open("/policies").await;
    scene.reads(".toast-box", "Discarded 1 dead letter.").await;
    scene.press("u").await;
    scene.reads(".toast-box", "Reopened 1 dead letter.").await;
    scene.is_at("/letters").await;
    assert_eq!(desk.status(id).await, Status::Open);
}

async fn checkboxes_select_too(scene: &Scene, desk: &Desk) {
    letters(desk, "boxes", 3).await;
    scene.open("/letters?queue=boxes&limit=2").await;
    scene.click("[data-matching]").await;
    scene.reads("[data-selected]", "3 selected").await;
    scene.reads("#bulk .btn-danger", "Discard 3").await;
    // Without one of them it is not all any more, by whatever it was taken out.
    scene.press("jx").await;
    scene.reads("[data-selected]", "1 selected").await;
    scene.reads("#bulk .btn-danger", "Discard 1").await;
    scene.counts("[data-matching]:checked", 0).await;
    scene.click("[data-matching]").await;
    scene.click(".list-row:nth-child(2) > input").await;
    scene.reads("[data-selected]", "1 selected").await;
    scene.reads("#bulk .btn-danger", "Discard 1").await;
    scene.counts("[data-matching]:checked", 0).await;
    scene.open("/letters?queue=boxes").await;
    scene.click(".list-row:nth-child(1) > input").await;
    scene.click(".list-row:nth-child(3) > input").await;
    scene.reads("[data-selected]", "2 selected").await;
    scene.click("[data-selects-all]").await;
    scene.reads("[data-selected]", "3 selected").await;
    scene.click("#bulk .btn-danger").await;
    scene.reads(".toast-box", "Discarded 3 dead letters").await;
    scene.reads("main", "No dead letter matches this filter.").await;
}

async fn the_open_letter_is_acted_on(scene: &Scene, desk: &Desk) {
    let ids = letters(desk, "open", 2).await;
    scene.open(&format!("/letters?queue=open&letter={}", ids[0])).await;
    scene.press("d").await;
    scene.reads("#pane .mark-state", "discarded").await;
    assert_eq!(desk.status(ids[0]).await, Status::Discarded);
    assert_eq!(desk.status(ids[1]).await, Status::Open);
    scene.open(&format!("/letters/{}", ids[1])).await;
    scene.press("r").await;
    scene.reads("#main .mark-state", "scheduled").await;
}

/// Where the window is narrow, a letter takes the place of the list, and of what is selected there.
async fn what_cannot_be_seen_is_not_acted_on(scene: &Scene, desk: &Desk) {
    let ids = letters(desk, "narrow", 3).await;
    scene.browser.set_viewport(1000, 900).await;
    scene.open("/letters?queue=narrow").await;
    scene.click(&format!("#row-{} > input", ids[0])).await;
    scene.click(&format!("#row-{} > a", ids[1])).await;
    scene.reads("#pane .letter-view", "narrow").await;
    scene.sees("!document.querySelector('.list-row').checkVisibility()").await;
    scene.press("R").await;
    scene.sees("document.activeElement.matches('[data-later] [name=delay]:checked')").await;
    scene.press_key(Key::Escape).await;
    scene.press("xd").await;
    scene.reads("#pane .mark-state", "discarded").await;
    let mut statuses = Vec::new();
    for id in ids {
        statuses.push(desk.status(id).await);
    }
    assert_eq!(statuses, [Status::Open, Status::Discarded, Status::Open]);
    scene.browser.set_viewport(1280, 900).await;
}

async fn the_search_is_reached_and_left(scene: &Scene, desk: &Desk) {
    letters(desk, "search.me", 1).await;
    scene.open("/letters").await;
    scene.press("/").await;
    scene.sees("document.activeElement.name === 'q'").await;
    scene.press("queue:search.*").await;
    scene.press_key(Key::Enter).await;
    scene.reads(".list-row", "search.me").await;
    scene.is_at("/letters?q=queue:search.*").await;
    scene.press("jd").await;
    assert_eq!(scene.count(".toast-box").await, 0, "dead letters that are typed do nothing");
}

async fn help_and_pages_are_a_key_away(scene: &Scene) {
    scene.open("/letters").await;
    scene.press("?").await;
    scene.sees("document.querySelector('#help').open").await;
    scene.press_key(Key::Escape).await;
    scene.sees("!document.querySelector('#help').open").await;
    for (keys, heading) in [
        ("go", "Overview"),
        ("gu", "Error groups"),
        ("gl", "Dead letters"),
        ("gb", "Scheduled retries"),
        ("gq", "Queues"),
        ("gp", "Policies"),
        ("ga", "API"),
    ] {
        scene.press(keys).await;
        scene.reads("h1", heading).await;
    }
}

/// Drags over the chart from one share of its width to another.
async fn drag(scene: &Scene, from: f64, to: f64) {
    scene.sees("document.querySelector('.chart-bars')").await;
    let edges = scene.ask("(({left, width, top, height}) => [left, width, top + height / 2])(document.querySelector('.chart-bars').getBoundingClientRect())").await;
    let edge = |n: usize| edges[n].as_f64().unwrap();
    for (kind, share) in [("mousePressed", from), ("mouseMoved", to), ("mouseReleased", to)] {
        let (x, y) = ((edge(0) + edge(1) * share).round(), edge(2).round());
        let event = json!({"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1});
        scene.browser.devtools("Input.dispatchMouseEvent", event).await;
    }
}

async fn the_brush_sets_the_time(scene: &Scene, desk: &Desk) {
    letters(desk, "brush", 2).await;
    scene.open("/letters?queue=brush").await;
    drag(scene, 0.5, 0.99).await;
    scene.sees("location.search.includes('until=')").await;
    let address = scene.address().await;
    assert!(address.starts_with("/letters?queue=brush&since=2"), "{address}");
    scene.sees("document.querySelector('.chart-panel summary[aria-current]')").await;
    scene.counts(".list-row", 2).await;
    scene.open("/letters?queue=brush").await;
    drag(scene, 0.1, 0.3).await;
    scene.reads("main", "No dead letter matches this filter.").await;
}

async fn the_brush_is_moved_by_keys_too(scene: &Scene) {
    scene.open("/letters?queue=brush").await;
    scene.ask("document.querySelector('.chart-bars').focus()").await;
    scene.press_key(Key::Left).await;
    scene.reads("[data-chart-said]", "UTC").await;
    // The letters may have come just before the last bar began.
    scene.press_key(Key::ShiftLeft).await;
    scene.press_key(Key::Enter).await;
    scene.sees("document.querySelector('.chart-panel summary[aria-current]')").await;
    // The last two bars end now.
    scene.counts(".list-row", 2).await;
}
