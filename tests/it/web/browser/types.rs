//! A letter of a type that nobody knows, until somebody says it.

use super::{
    super::{
        desk::Desk,
        payload::{ACCOUNT, OPENED, SECRET, bring_lab},
    },
    scene::{Scene, fresh},
};

#[tokio::test]
async fn a_type_is_said_once_for_a_queue() {
    let desk = Desk::open().await;
    bring_lab(&desk).await;
    desk.receive(fresh("doors", 5).body(OPENED)).await;
    let account = desk.receive(fresh("accounts", 9).body(ACCOUNT)).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    a_queue_gets_its_type_beside_the_list(&scene).await;
    hidden_values_are_revealed_in_place(&scene).await;
    a_key_stands_only_beside_what_it_leads_to(&scene).await;
    for path in
        ["/letters?queue=doors".to_owned(), format!("/letters/{account}"), format!("/letters/{account}?view=hex")]
    {
        scene.open(&path).await;
        assert_eq!(scene.ask(include_str!("contrast.js")).await, serde_json::json!([]), "{path}");
    }
    scene.check_quiet().await;
}

async fn a_queue_gets_its_type_beside_the_list(scene: &Scene) {
    scene.open("/letters?queue=doors").await;
    scene.click(".list-row > a").await;
    scene.click("#pane .type-folded > summary").await;
    scene.reads("#pane .type-candidates", "Identical on the wire").await;
    scene.reads("#pane #payload", "2 varint 4711").await;
    assert_eq!(scene.ask(include_str!("contrast.js")).await, serde_json::json!([]), "candidates");
    scene.click("#pane .type-folded > ol > li > .type-choose button[formaction]").await;
    scene.reads(".toast-box", "Messages of queue doors have the type lab.v1.DoorOpened").await;
    scene.reads("#pane .payload-type", "mapping by queue doors").await;
    scene.reads("#pane #payload", "\"badge\": \"4711\"").await;
    assert_eq!(scene.count(".type-candidates").await, 0);
    assert!(scene.address().await.starts_with("/letters?queue=doors&letter="));
}

async fn hidden_values_are_revealed_in_place(scene: &Scene) {
    scene.open("/letters?queue=accounts").await;
    scene.click(".list-row > a").await;
    scene.reads("#pane .payload-reveal", "Reveal").await;
    let address = scene.address().await;
    assert_eq!(scene.ask(&format!("document.body.innerText.includes('{SECRET}')")).await, false);
    scene.click("#pane .payload-reveal button").await;
    scene.reads("#pane #payload", SECRET).await;
    scene.is_at(&address).await;
    scene.click("#pane .payload-reveal a").await;
    scene.reads("#pane .payload-reveal", "Reveal").await;
    scene.reads("#pane", "Hidden values revealed").await;
}

async fn a_key_stands_only_beside_what_it_leads_to(scene: &Scene) {
    scene.open("/schemas").await;
    scene.press("/").await;
    scene.sees("document.activeElement.matches('.search-field:has(kbd) input')").await;
    assert_eq!(scene.count(".search-field:has(kbd)").await, 1);
}
