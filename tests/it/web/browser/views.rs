//! A marker, a cause that is added to the search, and the list saved under a name: as somebody works through them.

use super::{
    super::{desk::Desk, in_common::receive, search::index},
    scene::Scene,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cause_is_added_to_the_search_and_the_list_is_saved() {
    let desk = Desk::open().await;
    receive(&desk, 30).await;
    index(&desk).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    a_marker_is_set(&scene).await;
    a_cause_is_added(&scene).await;
    the_list_is_saved_and_removed(&scene).await;
    long_names_leave_room(&scene).await;
    scene.check_quiet().await;
}

async fn a_marker_is_set(scene: &Scene) {
    scene.open("/markers").await;
    scene.types("input[name=title]", "4711").await;
    scene.types("input[name=service]", "billing").await;
    scene.click("form[action='/markers/set'] .btn-primary").await;
    scene.reads(".toast-box", "Set the marker deploy 4711 of billing.").await;
    scene.reads(".table-markers", "deploy 4711 of billing").await;
}

async fn a_cause_is_added(scene: &Scene) {
    scene.open("/letters?q=error:rate").await;
    scene.counts(".list-row", 30).await;
    scene.click(".letters-causes summary").await;
    scene.reads(".common-table tbody tr:first-child", "payload.total.currency is missing").await;
    scene.reads(".common-box", "All 30 dead letters compared with 30 others of the same queues.").await;
    scene.click(".common-table tbody tr:first-child .common-found").await;
    scene.is_at("/letters?q=error:rate+-payload.total.currency:*").await;
    scene.counts(".list-row", 30).await;
    scene.counts(".search-parts li", 2).await;
}

async fn the_list_is_saved_and_removed(scene: &Scene) {
    scene.click(".letters-save summary").await;
    scene.sees("document.activeElement.matches('.letters-save [name=name]')").await;
    scene.types(".letters-save input[name=name]", "No currency").await;
    scene.click(".letters-save .btn-primary").await;
    scene.reads(".toast-box", "Saved the view No currency.").await;
    scene.reads("#views [aria-current]", "No currency 30").await;
    // What is refused stays as it was typed.
    scene.click(".letters-save summary").await;
    scene.types(".letters-save input[name=name]", "No currency").await;
    scene.click(".letters-save .btn-primary").await;
    scene.reads(".toast-box.is-failed", "There is a view of this name already.").await;
    scene.sees("document.querySelector('.letters-save[open] [name=name]').value === 'No currency'").await;
    scene.open("/views").await;
    scene.click(".table-views .btn-danger").await;
    scene.reads(".toast-box", "Removed the view No currency.").await;
    scene.click(".toast-box form button").await;
    scene.reads(".toast-box", "The view No currency is back.").await;
    scene.click("#views nav a").await;
    scene.is_at("/letters?q=error:rate+-payload.total.currency:*").await;
}

/// For the count of a view, and for who has set a marker.
async fn long_names_leave_room(scene: &Scene) {
    let long = "Unpaid invoices of shops in Iceland since the deploy of Monday".to_owned();
    let post = |path: &str, body: serde_json::Value| {
        format!(
            "fetch('/api/v1/{path}', {{ method: 'POST', headers: {{ 'content-type': 'application/json' }},
                body: JSON.stringify({body}) }}).then((answer) => answer.ok)"
        )
    };
    scene.open("/markers").await;
    let view = serde_json::json!({ "name": long, "query": "q=error:rate", "shared": true });
    assert_eq!(scene.ask(&post("views", view)).await, true);
    let marker = serde_json::json!({ "kind": "deploy", "title": "x".repeat(100), "at": "5m" });
    assert_eq!(scene.ask(&post("markers", marker)).await, true);
    scene.open("/markers").await;
    scene.reads("#views", "Unpaid").await;
    let cut = "((name) => name.scrollWidth > name.clientWidth && getComputedStyle(name).textOverflow === 'ellipsis')";
    scene.sees(&format!("{cut}(document.querySelector('#views nav a:last-child bdi'))")).await;
    let within = "(it, by) => it.getBoundingClientRect().width > 0 && it.getBoundingClientRect().right <= by.getBoundingClientRect().right";
    scene
        .sees(&format!(
            "({within})(document.querySelector('#views nav a:last-child .text-count'), document.querySelector('#views nav a:last-child'))"
        ))
        .await;
    scene.sees(&format!("document.querySelector('#views nav a:last-child').title.includes('{long}')")).await;
    scene
        .sees("document.querySelector('.table-markers [data-label=\"Set by\"]').getBoundingClientRect().width >= 80")
        .await;
}
