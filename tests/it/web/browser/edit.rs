//! A message that is mended and sent back.

use dead_letter_office::domain::letter::{LetterId, Status};
use serde_json::json;

use super::{
    super::desk::Desk,
    scene::{Scene, fresh},
    typing::Key,
};

#[tokio::test]
async fn a_message_is_mended_while_the_page_watches() {
    let desk = Desk::open().await;
    let id = desk.receive(fresh("orders", 5).body("{\n  \"state\": \"payed\",\n  \"n\": 1\n}")).await;
    let plain = desk.receive(fresh("orders", 6).body("by hand")).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    new_headers_have_rows_up_to_the_last_that_is_read(&scene, id).await;
    it_is_opened_by_a_key(&scene, id).await;
    changes_and_mistakes_are_seen_by_themselves(&scene).await;
    what_was_typed_is_not_left_without_a_question(&scene, id).await;
    the_copy_is_sent(&scene, &desk, id).await;
    scene.check_quiet().await;
    it_works_without_scripts(&scene, &desk, plain).await;
}

async fn new_headers_have_rows_up_to_the_last_that_is_read(scene: &Scene, id: LetterId) {
    const FILL: &str = "for (let n = 0; n < 60; n += 1) {
        const value = [...document.querySelectorAll('[data-new-header] input')].at(-1);
        value.value = n;
        value.dispatchEvent(new Event('input', { bubbles: true }));
    }";
    scene.open(&format!("/letters/{id}/edit")).await;
    scene.ask(FILL).await;
    scene.counts("[data-new-header]", 50).await;
    scene.ask("document.querySelector('#edit').reset()").await;
}

async fn it_is_opened_by_a_key(scene: &Scene, id: LetterId) {
    scene.open(&format!("/letters/{id}")).await;
    scene.press("e").await;
    scene.reads("h1", "Edit and retry").await;
    scene.reads("#check", "No changes yet").await;
}

async fn changes_and_mistakes_are_seen_by_themselves(scene: &Scene) {
    scene.types("#text", "{\n  \"state\": \"paid\",\n  \"n\": 1\n}").await;
    scene.reads("#check del", "- \"state\": \"payed\",").await;
    scene.reads("#check ins", "+ \"state\": \"paid\",").await;
    scene.reads("#check .btn-primary", "Retry the edited copy").await;
    assert_eq!(scene.ask(include_str!("contrast.js")).await, json!([]), "a difference");
    scene.types("#text", "{\n  \"state\": \"paid\",\n  \"n\": \n}").await;
    scene.reads("#check .edit-mistakes", "line 4, column 1").await;
    scene.counts("#check button", 0).await;
    assert_eq!(scene.ask(include_str!("contrast.js")).await, json!([]), "a mistake");
    assert_eq!(scene.ask("document.activeElement.id").await, "text", "whoever types goes on typing");
    scene.types("#text", "{\n  \"state\": \"paid\",\n  \"n\": 2\n}").await;
    scene.reads("#check .diff-block", "+ \"n\": 2").await;
}

const IS_HELD: &str = "!dispatchEvent(new Event('beforeunload', { cancelable: true }))";

async fn what_was_typed_is_not_left_without_a_question(scene: &Scene, id: LetterId) {
    let here = scene.address().await;
    assert_eq!(scene.ask(IS_HELD).await, true, "reload, back and closing");
    scene.press_key(Key::Escape).await;
    scene.press_key(Key::Escape).await;
    scene.reads("#unsaved[open]", "Discard your changes?").await;
    scene.press_key(Key::Escape).await;
    for leads_away in ["#edit .btn-link", ".page-crumb a", "#side a[href='/groups']"] {
        scene.click(leads_away).await;
        scene.reads("#unsaved[open]", "Discard your changes?").await;
        scene.click("#unsaved .btn-primary").await;
        scene.counts("#unsaved[open]", 0).await;
    }
    scene.types("#frame-search", "orders\n").await;
    scene.reads("#unsaved[open]", "Discard your changes?").await;
    scene.press_key(Key::Escape).await;
    scene.is_at(&here).await;
    scene.reads("#check .diff-block", "+ \"n\": 2").await;
    scene.click(".page-crumb a").await;
    scene.click("#unsaved [data-leave]").await;
    scene.is_at(&format!("/letters/{id}")).await;
    // Where nothing was changed, nothing is asked.
    scene.press("e").await;
    scene.reads("#check", "No changes yet").await;
    assert_eq!(scene.ask(IS_HELD).await, false);
    scene.press_key(Key::Escape).await;
    scene.is_at(&format!("/letters/{id}")).await;
    scene.open(&here).await;
    scene.types("#text", "{\n  \"state\": \"paid\",\n  \"n\": 2\n}").await;
    scene.reads("#check .diff-block", "+ \"n\": 2").await;
}

async fn the_copy_is_sent(scene: &Scene, desk: &Desk, id: LetterId) {
    scene.click("#check .btn-primary").await;
    scene.reads(".toast-box", "The edited copy is being retried").await;
    scene.reads("#payload", "\"state\": \"paid\"").await;
    let copy = scene.address().await.strip_prefix("/letters/").unwrap().parse::<LetterId>().unwrap();
    assert_ne!(copy, id);
    assert_eq!((desk.status(id).await, desk.status(copy).await), (Status::Discarded, Status::Scheduled));
    let letter = desk.store.letter(copy).await.unwrap().unwrap();
    assert_eq!(letter.message.body, b"{\n  \"state\": \"paid\",\n  \"n\": 2\n}");
}

async fn it_works_without_scripts(scene: &Scene, desk: &Desk, id: LetterId) {
    scene.disable_scripts().await;
    scene.open(&format!("/letters/{id}/edit")).await;
    scene.types("#text", "mended by hand").await;
    scene.click("#edit .no-js").await;
    scene.reads("#check ins", "mended by hand").await;
    scene.click("#check .btn-primary").await;
    scene.reads(".toast-box", "The edited copy is being retried").await;
    assert_eq!(desk.status(id).await, Status::Discarded);
}
