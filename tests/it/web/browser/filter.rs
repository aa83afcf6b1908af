//! The filter above a list.

use serde_json::json;

use super::{
    super::desk::Desk,
    scene::{Scene, letters},
};

/// What the head of a page says of the list, and said if one opened it now, without times.
const HEAD: &str = "(async () => {
    const fresh = new DOMParser().parseFromString(await (await fetch(location.href)).text(), 'text/html');
    const said = (page) => page.querySelector('#about, #count')?.textContent.trim().split(' · ')[0] ?? null;
    return { said: said(document), fresh: said(fresh) };
})()";

/// To the browser it is a change and a submit, one right after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn enter_in_a_field_brings_the_list_once() {
    const COUNT: &str = "window.brought = 0;
        document.addEventListener('htmx:afterSwap', ({ target }) => (brought += target.id === 'results'));";
    let desk = Desk::open().await;
    letters(&desk, "orders", 2).await;
    letters(&desk, "mail", 1).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    for page in ["/letters", "/groups", "/scheduled", "/activity"] {
        scene.open(page).await;
        scene.ask(COUNT).await;
        scene.types("form[role=search] .filter-search input", "orders\n").await;
        scene.sees("location.search.includes('=orders')").await;
        assert_eq!(scene.ask("brought").await, json!(1), "{page}");
        let head = scene.ask(HEAD).await;
        assert_eq!(head["said"], head["fresh"], "{page}");
    }
    scene.check_quiet().await;
}
