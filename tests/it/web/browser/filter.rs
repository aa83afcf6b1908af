//! The filter above a list.

use serde_json::json;

use super::{
    super::desk::Desk,
    scene::{Scene, letters},
};

/// To the browser it is a change and a submit, one right after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn enter_in_a_field_brings_the_list_once() {
    const COUNT: &str = "window.brought = 0;
        document.addEventListener('htmx:afterSwap', ({ detail }) => (brought += detail.target.id === 'results'));";
    let desk = Desk::open().await;
    letters(&desk, "orders", 2).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    for page in ["/letters", "/groups", "/scheduled", "/activity"] {
        scene.open(page).await;
        scene.ask(COUNT).await;
        scene.types("form[role=search] .filter-search input", "orders\n").await;
        scene.sees("location.search.includes('=orders')").await;
        assert_eq!(scene.ask("brought").await, json!(1), "{page}");
    }
    scene.check_quiet().await;
}
