//! The bar above the rows of a list: at every width all of it is in sight, and no row moves for what comes into it.

use serde_json::json;

use super::{
    super::desk::Desk,
    scene::{Scene, letters},
};
use crate::support::soak;

/// What has no room beside the others: reaches out of the bar, lies over another part of it, or under something else.
const OUT_OF_PLACE: &str = "(() => {
    const bar = document.querySelector('.list-bar').getBoundingClientRect();
    const parts = [...document.querySelectorAll('.list-bar :is(.js-only input, p, .list-matching, .list-news, summary, .list-columns, button, select)')]
        .filter((part) => part.checkVisibility() && !part.closest('.menu-sheet'));
    const box = (part) => part.getBoundingClientRect();
    const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    const isCovered = (part) => {
        const { left, top, width, height } = box(part);
        return !part.contains(document.elementFromPoint(left + width / 2, top + height / 2));
    };
    const isOut = ({ left, right, top, bottom }) => left < bar.left || right > bar.right || top < bar.top || bottom > bar.bottom;
    return parts.filter((part, n) => isOut(box(part)) || isCovered(part) || parts.slice(n + 1).some((other) => meet(box(part), box(other))))
        .map((part) => (part.className || part.localName) + ' ' + part.innerText);
})()";

/// How far below the top of the bar the rows begin.
const TOP_OF_ROWS: &str = "document.querySelector('#rows').getBoundingClientRect().top
    - document.querySelector('.list-bar').getBoundingClientRect().top";

/// Those that are there whether something new has come or not.
const ALWAYS: [&str; 4] = ["[data-selects-all]", "[data-matching]", ".list-sort > summary", ".list-columns"];

/// How wide the page is, and whether a letter stands beside the list. The first four have each set of parts, the last of them
/// where they have the least room.
const WIDTHS: [(u32, bool); 7] =
    [(390, false), (820, false), (1280, false), (1181, true), (1280, true), (1440, true), (1920, true)];

#[tokio::test]
async fn all_of_it_is_in_sight_and_no_row_moves_for_it() {
    let desk = Desk::open().await;
    let ids = letters(&desk, "orders", 9).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    for &(width, beside) in soak(&WIDTHS[..4], &WIDTHS) {
        scene.browser.set_viewport(width, 900).await;
        let letter = if beside { format!("&letter={}", ids[1]) } else { String::new() };
        scene.open(&format!("/letters?queue=orders&limit=4{letter}")).await;
        let top = scene.ask(TOP_OF_ROWS).await;
        is_in_sight(&scene, &ALWAYS, width).await;
        letters(&desk, "orders", 1).await;
        scene.reads(".list-news", "1 new").await;
        is_in_sight(&scene, &ALWAYS, width).await;
        is_in_sight(&scene, &[".list-news"], width).await;
        assert_eq!(scene.ask(TOP_OF_ROWS).await, top, "something new has come, at {width}");
        scene.click(".list-row > input").await;
        scene.reads("[data-selected]", "1 selected").await;
        let actions = ["[data-selects-all]", "[data-matching]", ".list-bar .btn-danger", ".list-actions summary"];
        is_in_sight(&scene, &actions, width).await;
        assert_eq!(scene.ask(TOP_OF_ROWS).await, top, "one is selected, at {width}");
        scene.click("[data-matching]").await;
        scene.counts("[data-matching]:checked", 1).await;
        is_in_sight(&scene, &actions, width).await;
        assert_eq!(scene.ask(TOP_OF_ROWS).await, top, "all that match are selected, at {width}");
    }
    scene.check_quiet().await;
}

async fn is_in_sight(scene: &Scene, parts: &[&str], width: u32) {
    for part in parts {
        let shown = format!("document.querySelector({}).checkVisibility()", json!(part));
        assert_eq!(scene.ask(&shown).await, true, "{part} at {width}");
    }
    assert_eq!(scene.ask(OUT_OF_PLACE).await, json!([]), "at {width}");
}
