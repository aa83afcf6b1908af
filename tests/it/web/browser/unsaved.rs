//! Forms that are left before they were sent.

use super::{super::desk::Desk, scene::Scene, typing::Key};

const LEADS_AWAY: &str = "#side a[href='/groups']";
const CHANGED: [(&str, &str); 4] = [
    ("/rules", "#rule-form [name=name]"),
    ("/policies", "#policy [name=queues]"),
    ("/groups/rules", "#grouping-form [name=name]"),
    ("/markers", "#main [name=title]"),
];

#[tokio::test]
async fn what_was_typed_is_not_left_without_a_question() {
    let desk = Desk::open().await;
    let Some(scene) = Scene::over(&desk).await else { return };
    for (path, field) in CHANGED {
        scene.open(path).await;
        scene.types(field, "half").await;
        scene.click(LEADS_AWAY).await;
        scene.reads("#unsaved[open]", "Discard your changes?").await;
        scene.press_key(Key::Escape).await;
        scene.counts("#unsaved[open]", 0).await;
        let typed = format!("document.querySelector({field:?}).value");
        assert_eq!(scene.ask(&typed).await, "half", "{path}");
        scene.click(LEADS_AWAY).await;
        scene.click("#unsaved [data-leave]").await;
        scene.is_at("/groups").await;
        // Where nothing was typed, nothing is asked.
        scene.open(path).await;
        scene.click(LEADS_AWAY).await;
        scene.is_at("/groups").await;
    }
    what_was_refused_is_not_lost_either(&scene).await;
    scene.check_quiet().await;
}

/// Nor by what leads to the same page with another form on it.
async fn what_was_refused_is_not_lost_either(scene: &Scene) {
    scene.open("/policies").await;
    scene.types("#policy [name=queues]", "orders").await;
    scene.types("#policy [name=delays]", "soon").await;
    scene.click("#policy .btn-primary").await;
    scene.reads("#policy .form-wrong", "soon").await;
    scene.click(".table-policies a[href*='#set']").await;
    scene.reads("#unsaved[open]", "Discard your changes?").await;
    scene.click("#unsaved [data-leave]").await;
    scene.sees("document.querySelector('#policy [name=queues]').value != 'orders'").await;
    scene.counts("#policy .form-wrong", 0).await;
}
