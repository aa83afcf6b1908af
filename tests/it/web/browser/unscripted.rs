//! With JavaScript disabled.

use dead_letter_office::domain::letter::Status;

use super::{
    super::desk::Desk,
    scene::{Scene, letters},
};

#[tokio::test]
async fn what_matters_works() {
    let desk = Desk::open().await;
    let Some(scene) = Scene::over(&desk).await else { return };
    scene.disable_scripts().await;
    letters_are_read(&scene, &desk).await;
    a_letter_is_retried(&scene, &desk).await;
    letters_are_discarded_together_and_taken_back(&scene, &desk).await;
    the_filter_is_set_by_its_button(&scene, &desk).await;
}

async fn letters_are_read(scene: &Scene, desk: &Desk) {
    let id = letters(desk, "read", 1).await[0];
    scene.open("/letters?queue=read").await;
    assert_eq!(scene.ask("document.documentElement.className").await, "", "scripts are off");
    scene.click(".list-row > a").await;
    scene.reads("#payload", "\"n\"").await;
    scene.is_at(&format!("/letters?queue=read&letter={id}")).await;
    for useless in [".js-only", "#news a"] {
        let shown = format!("[...document.querySelectorAll('{useless}')].filter((it) => it.checkVisibility()).length");
        assert_eq!(scene.ask(&shown).await, 0, "{useless}");
    }
}

async fn a_letter_is_retried(scene: &Scene, desk: &Desk) {
    let id = letters(desk, "retry", 1).await[0];
    scene.open(&format!("/letters/{id}")).await;
    scene.click("button[data-key=r]").await;
    scene.reads(".toast-box", "1 dead letter").await;
    assert_eq!(desk.status(id).await, Status::Scheduled);
}

async fn letters_are_discarded_together_and_taken_back(scene: &Scene, desk: &Desk) {
    let ids = letters(desk, "discard", 3).await;
    scene.open("/letters?queue=discard").await;
    scene.click(".list-row:nth-child(1) > input").await;
    scene.click(".list-row:nth-child(2) > input").await;
    scene.click("#bulk .btn-danger").await;
    scene.reads(".toast-box", "Discarded 2 dead letters").await;
    scene.counts(".list-row", 1).await;
    assert_eq!(desk.status(ids[1]).await, Status::Discarded);
    scene.click(".toast-box [data-key=u]").await;
    scene.reads("[data-selected]", "3 dead letters").await;
}

async fn the_filter_is_set_by_its_button(scene: &Scene, desk: &Desk) {
    letters(desk, "filter.me", 1).await;
    scene.open("/letters").await;
    scene.types("input[name=queue_glob]", "filter.*").await;
    scene.click("form[role=search] .no-js").await;
    scene.counts(".list-row", 1).await;
    scene.reads(".list-row", "filter.me").await;
}
