//! A rule, from the first mistake in it until letters change.

use dead_letter_office::domain::letter::{Importance, LetterId};

use super::{
    super::{
        desk::Desk,
        rules_at_work::{add, evaluated},
        run::{PATIENCE, serve},
    },
    scene::{Scene, fresh},
};
use crate::support::{browser::Browser, process::wait_until};

#[tokio::test]
async fn a_rule_is_written_mended_tried_and_applied() {
    let desk = Desk::open().await;
    let eu = desk.receive(fresh("campaigns", 5).body("{\"region\": \"eu\", \"total\": 3}")).await;
    let us = desk.receive(fresh("campaigns", 9).body("{\"region\": \"us\", \"total\": 0}")).await;
    add(&desk, "everything", "true", Importance::Low).await;
    let Some(browser) = Browser::start().await else { return };
    // Rules are tried on letters by whoever takes letters in; no broker is needed for that.
    let server = serve()
        .with("--roles=web,intake")
        .set("DLO_DATABASE__URL", &desk.database_url())
        .set("DLO_BROKERS__MAIN__URL", "amqp://guest:guest@127.0.0.1:1/%2f")
        .open()
        .await;
    let scene = Scene::at(browser, server).await;
    is_evaluated(&desk, eu, (Importance::Low, "rule:everything")).await;

    scene.open("/rules").await;
    a_mistake_is_told_while_typing(&scene).await;
    what_is_refused_is_marked_until_it_is_changed(&scene).await;
    what_it_would_take_is_seen(&scene).await;
    it_is_saved_and_letters_change(&scene, &desk, eu, us).await;
    an_example_is_taken_into_the_editor(&scene).await;
    scene.check_quiet().await;
}

type Evaluated<'a> = (Importance, &'a str);

async fn is_evaluated(desk: &Desk, letter: LetterId, expected: Evaluated<'_>) {
    let is = async || {
        let (importance, by) = evaluated(desk, letter).await;
        (importance, &*by) == expected
    };
    wait_until(&format!("{expected:?}"), PATIENCE, is).await;
}

async fn a_mistake_is_told_while_typing(scene: &Scene) {
    scene.types("#rule [name=name]", "the EU").await;
    scene.types("#rule textarea", "letter.quue == \"campaigns\"").await;
    scene.reads("#preview", "line 1, column 8").await;
    scene.reads("#preview mark", "quue").await;
    scene.reads("#preview pre", "^^^^").await;
    assert_eq!(scene.ask(include_str!("contrast.js")).await, serde_json::json!([]), "a mistake");
}

async fn what_is_refused_is_marked_until_it_is_changed(scene: &Scene) {
    scene.click("#rule .btn-primary").await;
    scene.reads("#mistakes", "line 1, column 8").await;
    scene.counts("#rule [aria-invalid]", 1).await;
    scene.types("#rule textarea", "true").await;
    scene.counts("#rule [aria-invalid], #mistakes", 0).await;
}

async fn what_it_would_take_is_seen(scene: &Scene) {
    scene.types("#rule textarea", "letter.queue == \"campaigns\" && payload.region == \"eu\"").await;
    // It comes after the rule that takes everything.
    scene.reads("#preview", "1 more matches it, but an earlier rule applies.").await;
    scene.click("#rule select[name=place] option[value='1']").await;
    scene.click("#rule select[name=importance] option:first-child").await;
    scene.reads("#preview", "It matches 1 of the latest 2 dead letters.").await;
    scene.reads("#preview", "1 from low to critical").await;
    scene.reads("#preview table", "campaigns").await;
    assert_eq!(scene.ask(include_str!("contrast.js")).await, serde_json::json!([]), "a trial");
}

async fn it_is_saved_and_letters_change(scene: &Scene, desk: &Desk, eu: LetterId, us: LetterId) {
    scene.click("#rule button[value=apply]").await;
    scene.reads(".toast-box", "Saved the rule the EU. The rules are being applied to 2 dead letters.").await;
    scene.reads("table.table-rules tbody tr:first-child", "the EU").await;
    is_evaluated(desk, eu, (Importance::Critical, "rule:the EU")).await;
    is_evaluated(desk, us, (Importance::Low, "rule:everything")).await;
    scene.open(&format!("/letters/{eu}")).await;
    scene.reads(".facts-list", "critical, rule the EU").await;
    scene.click(".facts-list a[href^='/rules?rule=']").await;
    scene.reads("#meant", "the EU").await;
}

async fn an_example_is_taken_into_the_editor(scene: &Scene) {
    scene.open("/rules").await;
    scene.click(".rule-examples li:nth-child(2) a").await;
    scene.sees("document.querySelector('#rule textarea').value.includes('payload.region')").await;
    scene.reads("#preview", "It matches none of the latest 2 dead letters.").await;
}
