//! The search box: typed, completed by keys, taken apart.

use super::{
    super::{
        desk::Desk,
        search::{index, order},
    },
    scene::Scene,
    typing::Key,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_is_typed_completed_and_taken_apart() {
    let desk = Desk::open().await;
    desk.receive(order("billing.invoices", r#"{"currency": "ISK"}"#, "no exchange rate")).await;
    desk.receive(order("texts", r#"{"currency": "EUR"}"#, "too long")).await;
    index(&desk).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    completed_by_keys(&scene).await;
    a_part_is_removed(&scene).await;
    escape_keeps_the_text(&scene).await;
    what_fits_no_more_is_not_taken(&scene).await;
    a_mistake_is_pointed_at(&scene).await;
    the_frame_has_one_too(&scene).await;
    a_search_that_the_next_one_takes_the_place_of_is_no_error(&scene).await;
    scene.check_quiet().await;
}

const TYPED: &str = "document.querySelector('#search').value";

async fn completed_by_keys(scene: &Scene) {
    scene.open("/letters").await;
    scene.counts(".list-row", 2).await;
    scene.press("/").await;
    scene.sees("document.activeElement.id === 'search'").await;
    scene.press("qu").await;
    scene.reads("#completions [aria-selected=true]", "queue:").await;
    scene.press_key(Key::Tab).await;
    scene.reads("#completions", "billing.invoices").await;
    scene.sees("document.activeElement.getAttribute('aria-activedescendant') === 'completion-0'").await;
    scene.press_key(Key::Down).await;
    scene.reads("#completions [aria-selected=true]", "texts").await;
    scene.press_key(Key::Up).await;
    scene.reads("#completions [aria-selected=true]", "billing.invoices").await;
    scene.press_key(Key::Tab).await;
    scene.sees(&format!("{TYPED} === 'queue:billing.invoices '")).await;
    scene.press("rate").await;
    scene.press_key(Key::Enter).await;
    scene.counts(".list-row", 1).await;
    scene.reads(".list-row", "billing.invoices").await;
    scene.is_at("/letters?q=queue:billing.invoices+rate").await;
    scene.counts(".search-parts li", 2).await;
}

async fn a_part_is_removed(scene: &Scene) {
    scene.open("/letters?q=queue:billing.invoices+long").await;
    scene.counts(".list-row", 0).await;
    scene.click(".search-parts li:first-child a").await;
    scene.counts(".list-row", 1).await;
    scene.reads(".list-row", "texts").await;
    scene.sees(&format!("{TYPED} === 'long'")).await;
}

async fn escape_keeps_the_text(scene: &Scene) {
    scene.open("/letters").await;
    scene.press("/").await;
    scene.press("stat").await;
    scene.reads("#completions", "status:").await;
    scene.press_key(Key::Escape).await;
    scene.counts("#completions", 0).await;
    assert_eq!(scene.ask(TYPED).await, "stat");
    scene.sees("document.activeElement.id === 'search'").await;
}

async fn what_fits_no_more_is_not_taken(scene: &Scene) {
    scene.open("/letters").await;
    scene.press("/").await;
    scene.press("stat").await;
    scene.reads("#completions", "status:").await;
    scene.press("ion").await;
    scene.press_key(Key::Tab).await;
    assert_eq!(scene.ask(TYPED).await, "station");
    // Nor where what it was to complete is gone.
    scene.types("#search", "rate stat").await;
    scene.reads("#completions", "status:").await;
    scene.types("#search", "ra").await;
    scene.press_key(Key::Tab).await;
    assert_eq!(scene.ask(TYPED).await, "ra");
}

async fn a_mistake_is_pointed_at(scene: &Scene) {
    scene.open("/letters").await;
    scene.types("#search", "rate status:opne\n").await;
    scene.reads(".search-mistake mark", "opne").await;
    scene.reads(".empty-state", "not carried out").await;
    scene.counts(".list-row", 0).await;
}

async fn the_frame_has_one_too(scene: &Scene) {
    scene.open("/queues").await;
    scene.press("/").await;
    scene.sees("document.activeElement.id === 'frame-search'").await;
    scene.press("isk").await;
    scene.press_key(Key::Enter).await;
    scene.is_at("/letters?q=isk").await;
    scene.counts(".list-row", 1).await;
}

async fn a_search_that_the_next_one_takes_the_place_of_is_no_error(scene: &Scene) {
    scene.open("/letters").await;
    scene.press("/").await;
    scene.freeze().await;
    scene.press("is\nk\n").await;
    scene.thaw().await;
    scene.is_at("/letters?q=isk").await;
    scene.counts(".list-row", 1).await;
    scene.counts(".toast-box", 0).await;
}
