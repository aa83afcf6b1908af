//! Rows of one group that are shown as one, by mouse and by keys; and what charts say of their bars.

use super::{
    super::{
        desk::Desk,
        groups::{alike, sort},
    },
    scene::{Scene, letters},
    typing::Key,
};

#[tokio::test]
async fn a_run_of_one_group_is_one_row() {
    let desk = Desk::open().await;
    letters(&desk, "mail", 1).await;
    let ids = alike(&desk, "orders", "no rate", 6).await;
    sort(&desk).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    scene.open("/letters").await;
    let open = "document.querySelector('.list-run .run-rows').checkVisibility()";
    scene.sees(&format!("!{open}")).await;
    scene.click(".run-head > input").await;
    scene.reads(".list-count", "6 selected").await;
    scene.click(".run-head > a").await;
    scene.sees(open).await;
    scene.click(&format!("#row-{} > input", ids[0])).await;
    scene.reads(".list-count", "5 selected").await;
    scene.sees("document.querySelector('.run-head > input').indeterminate").await;
    scene.click(".run-head > a").await;
    scene.sees(&format!("!{open} && document.querySelector('.run-head > a').ariaExpanded === 'false'")).await;
    by_keys(&scene, open).await;
    a_bar_is_told(&scene).await;
    scene.check_quiet().await;
}

/// `j` comes past the run in one step while it is folded; Enter opens it, `x` selects all of it.
async fn by_keys(scene: &Scene, open: &str) {
    scene.open("/letters").await;
    let is_at_run = "document.activeElement.matches('.run-head > a')";
    for _ in 0..2 {
        if scene.ask(is_at_run).await != true {
            scene.press("j").await;
        }
    }
    scene.sees(is_at_run).await;
    scene.press("x").await;
    scene.reads(".list-count", "6 selected").await;
    scene.press("x").await;
    scene.press_key(Key::Enter).await;
    scene.sees(open).await;
    scene.press("j").await;
    scene.sees("document.activeElement.closest('.run-rows')").await;
}

async fn a_bar_is_told(scene: &Scene) {
    scene.open("/letters").await;
    scene.ask("document.querySelector('.chart-bars').focus()").await;
    let told = "[...document.querySelectorAll('.chart-bars a')]
        .some((bar) => bar.ariaLabel === document.querySelector('.chart-tip').textContent)";
    // The newest letter is in the last bar, or came just before that began.
    for _ in 0..2 {
        if scene.ask(told).await != true {
            scene.press_key(Key::Left).await;
        }
    }
    scene.sees(told).await;
}
