//! The page of the API: a call is found, written as a command, and made.

use super::{
    super::desk::Desk,
    scene::{Scene, letters},
};

#[tokio::test]
async fn a_call_is_found_filled_in_and_made() {
    let desk = Desk::open().await;
    let id = letters(&desk, "orders", 3).await[0];
    let Some(scene) = Scene::over(&desk).await else { return };
    // A link to a call opens it.
    scene.open("/api/docs#list_letters").await;
    scene.types("#list_letters [name=limit]", "2").await;
    scene.reads("#list_letters .command-box code", "/api/v1/letters?limit=2").await;
    scene.click("#list_letters .api-send button").await;
    scene.reads("#list_letters .api-answer", "200 OK").await;
    scene.reads("#list_letters .api-answer pre", "\"total\": 3").await;
    what_can_be_chosen_is_a_choice(&scene).await;
    // What is not there is an answer, too.
    scene.types("#api-find", "discard_letter").await;
    scene.counts(".api-call:not([hidden])", 1).await;
    scene.click("#discard_letter summary").await;
    scene.types("#discard_letter [name=id]", &id.to_string()).await;
    scene.click("#discard_letter .api-send button").await;
    scene.reads("#discard_letter .api-answer", "200 OK").await;
    scene.click("#discard_letter .api-send button").await;
    scene.reads("#discard_letter .api-answer", "409").await;
    scene.check_quiet().await;
}

async fn what_can_be_chosen_is_a_choice(scene: &Scene) {
    let options = "[...document.querySelectorAll('#list_letters [name=sort] option')].map(({ value }) => value).join()";
    assert_eq!(scene.ask(options).await, ",newest,oldest,importance,attempts,size");
    let choose = "(() => { const sort = document.querySelector('#list_letters [name=sort]'); sort.value = 'oldest';
        sort.dispatchEvent(new Event('input', { bubbles: true })); })()";
    scene.ask(choose).await;
    scene.reads("#list_letters .command-box code", "sort=oldest&limit=2").await;
    // Some may be given several times.
    scene.click("#list_letters [name=status][value=open]").await;
    scene.click("#list_letters [name=status][value=scheduled]").await;
    scene.reads("#list_letters .command-box code", "status=open&status=scheduled").await;
    scene.click("#list_letters .api-send button").await;
    scene.reads("#list_letters .api-answer pre", "\"total\": 3").await;
}
