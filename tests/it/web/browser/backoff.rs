//! Automatic retries, in the hands of a person.

use dead_letter_office::domain::{
    actor::Actor,
    letter::{LetterId, Status},
};

use super::{
    super::{desk::Desk, run::PATIENCE},
    scene::{Scene, fresh},
    typing::Key,
};
use crate::support::process::wait_until;

#[tokio::test]
async fn retries_are_tuned_seen_and_hurried() {
    let desk = Desk::open().await;
    // The spawned server retries nothing by itself unless a person says so.
    let every_queue = desk.policies.book().all()[0].policy.clone();
    desk.policies.set(&every_queue, &Actor::named("Ann")).await.unwrap();
    let Some(scene) = Scene::over(&desk).await else { return };
    a_policy_is_previewed_set_and_in_force(&scene, &desk).await;
    what_waits_is_walked_and_hurried_by_keys(&scene, &desk).await;
    the_count_follows_and_time_runs(&scene, &desk).await;
    all_of_a_queue_are_handed_over(&scene, &desk).await;
    scene.check_quiet().await;
    it_works_without_scripts(&scene, &desk).await;
}

async fn waiting<const N: usize>(desk: &Desk, queue: &str) -> [LetterId; N] {
    let mut ids = Vec::new();
    for n in 0..N {
        // The earlier it failed, the sooner it goes back.
        ids.push(desk.fails(fresh(queue, (N - n) as u64), 3).await);
    }
    ids.try_into().unwrap()
}

async fn a_policy_is_previewed_set_and_in_force(scene: &Scene, desk: &Desk) {
    waiting::<1>(desk, "tuned").await;
    scene.open("/queues").await;
    scene.reads("table.tuning", "after 10 s, 1 min 40 s, 16 min 40 s; then a person").await;
    scene.click("table.tuning td:nth-child(4) a").await;
    scene.reads("h1", "Policies").await;
    scene.types("#policy [name=delays]", "7s, 2m").await;
    scene.reads("#preview", "after 7 s, 2 min; then a person").await;
    scene.reads("#preview", "Rules then for tuned").await;
    scene.click("#policy .primary").await;
    scene.reads(".toast", "In force for tuned: after 7 s, 2 min; then a person.").await;
    scene.reads("table.policies", "local user").await;
    scene.open("/queues").await;
    scene.reads("table.tuning", "after 7 s, 2 min; then a person").await;
}

async fn what_waits_is_walked_and_hurried_by_keys(scene: &Scene, desk: &Desk) {
    let ids = waiting::<3>(desk, "walk").await;
    scene.open("/letters").await;
    scene.press("gb").await;
    scene.reads("h1", "In backoff").await;
    scene.open("/backoff?queue=walk").await;
    scene.press("jj").await;
    scene.check_focus().await;
    scene.press("r").await;
    scene.reads(".toast", "Sending 1 letter back").await;
    let now = "[...document.querySelectorAll('.row')].map((row) => row.innerText.includes('now'))";
    scene.sees(&format!("{now}.join() === 'true,false,false'")).await;
    assert_eq!(scene.ask("document.querySelector('.row input').value").await, ids[1].to_string(), "it is the next now");
    scene.press("jxh").await;
    scene.reads(".toast", "Reopened 1 letter").await;
    scene.counts(".row", 2).await;
    scene.press("jkk").await;
    scene.press_key(Key::Enter).await;
    scene.reads("#main .state", "scheduled").await;
    scene.reads(".actions", "Retry now").await;
    scene.back().await;
    scene.reads("h1", "In backoff").await;
}

async fn the_count_follows_and_time_runs(scene: &Scene, desk: &Desk) {
    waiting::<1>(desk, "count").await;
    scene.open("/backoff?queue=count").await;
    scene.reads("#count", "1 letter waits").await;
    // The server looks at what others do to its database from some moment on after somebody began to watch.
    let mut letters = 1;
    wait_until("the page to count again", PATIENCE, async || {
        waiting::<1>(desk, "count").await;
        letters += 1;
        scene.ask("document.querySelector('#count').innerText").await != "1 letter waits"
    })
    .await;
    scene.reads("#count", &format!("{letters} letters wait")).await;
    scene.sees("Number(document.querySelector('.row time').dataset.due) > 900").await;
    scene.reads(".row time", "in 16 min").await;
    let soon = "Object.assign(document.createElement('time'), {className: 'soon'})";
    scene.ask(&format!("document.querySelector('h1').append({soon})")).await;
    scene.ask("document.querySelector('.soon').dataset.due = '2'").await;
    scene.reads(".soon", "in 1 s").await;
    scene.reads(".soon", "now").await;
}

async fn all_of_a_queue_are_handed_over(scene: &Scene, desk: &Desk) {
    let ids = waiting::<3>(desk, "all").await;
    scene.open("/backoff?queue=all").await;
    scene.click(".bar > .menu summary").await;
    scene.click(".bar .sheet li:nth-child(2) a").await;
    scene.reads("#asking-title", "Hand 3 of all (3) over to a person?").await;
    assert_eq!(desk.status(ids[0]).await, Status::Scheduled, "asked first");
    scene.click(".asking button").await;
    scene.reads(".toast", "Handed 3 letters over").await;
    scene.reads("main", "Nothing waits there.").await;
    assert_eq!(desk.status(ids[2]).await, Status::Open);
}

async fn it_works_without_scripts(scene: &Scene, desk: &Desk) {
    let [id] = waiting::<1>(desk, "plain").await;
    scene.disable_scripts().await;
    scene.open("/backoff?queue=plain").await;
    scene.click(".row input").await;
    scene.click("#bulk [value=discard]").await;
    scene.reads(".toast", "Discarded 1 letter").await;
    assert_eq!(desk.status(id).await, Status::Discarded);
    scene.open("/policies?queues=plain").await;
    scene.click("#policy [formmethod=get]").await;
    scene.reads("#preview", "Rules then for").await;
    scene.click("#policy .primary").await;
    scene.reads(".toast", "In force for plain").await;
}
