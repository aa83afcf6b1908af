//! The page of one queue: its switch, in a browser.

use super::{
    super::{
        desk::Desk,
        groups::{alike, sort},
        watch::{looks, lost_for},
    },
    scene::{Scene, fresh},
};

#[tokio::test]
async fn retries_are_paused_and_resumed() {
    let desk = Desk::watching().await;
    desk.fails(fresh("texts.persist", 1), 1).await;
    alike(&desk, "texts.persist", "no rate", 3).await;
    sort(&desk).await;
    looks(&desk, lost_for(22)).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    scene.open("/queues").await;
    scene.click("th a[href='/queues/main/texts.persist']").await;
    scene.reads("h1", "texts.persist").await;
    scene.click("#main details summary").await;
    scene.click("#main details .btn-primary").await;
    scene.reads(".toast-box", "Nothing is retried into texts.persist.").await;
    scene.reads("section[aria-labelledby=pause-title]", "Paused by").await;
    scene.click("#main form[action$='/resume'] button").await;
    scene.reads(".toast-box", "Retries into texts.persist go on.").await;
    scene.check_quiet().await;
}
