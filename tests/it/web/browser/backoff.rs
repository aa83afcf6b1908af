//! Automatic retries, in the hands of a person.

use dead_letter_office::domain::{
    actor::Actor,
    letter::{LetterId, Status},
    version::Expected,
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
    // The spawned server retries nothing by itself unless a user says so.
    let every_queue = desk.policies.book().all()[0].policy.clone();
    desk.policies.set(&every_queue, &Expected::Anything, &Actor::named("Ann")).await.unwrap();
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
    scene.reads("table.table-queues", "after 10 s, 1 min 40 s, 16 min 40 s; then needs attention").await;
    scene.click("table.table-queues td:nth-child(4) a").await;
    scene.reads("h1", "Policies").await;
    scene.types("#policy [name=delays]", "7s, 2m").await;
    scene.reads("#preview", "after 7 s, 2 min; then needs attention").await;
    scene.reads("#preview", "Applies to tuned").await;
    scene.click("#policy .btn-primary").await;
    scene.reads(".toast-box", "In force for tuned: after 7 s, 2 min; then needs attention.").await;
    scene.reads("table.table-policies", "local user").await;
    scene.open("/queues").await;
    scene.reads("table.table-queues", "after 7 s, 2 min; then needs attention").await;
}

async fn what_waits_is_walked_and_hurried_by_keys(scene: &Scene, desk: &Desk) {
    let ids = waiting::<3>(desk, "walk").await;
    scene.open("/letters").await;
    scene.press("gb").await;
    scene.reads("h1", "Scheduled retries").await;
    scene.open("/scheduled?queue=walk").await;
    scene.press("jj").await;
    scene.check_focus().await;
    scene.press("r").await;
    scene.reads(".toast-box", "Retrying 1 dead letter").await;
    let now = "[...document.querySelectorAll('.list-row')].map((row) => row.innerText.includes('now'))";
    scene.sees(&format!("{now}.join() === 'true,false,false'")).await;
    assert_eq!(
        scene.ask("document.querySelector('.list-row input').value").await,
        ids[1].to_string(),
        "it is the next now"
    );
    scene.press("jxh").await;
    scene.reads(".toast-box", "Reopened 1 dead letter").await;
    scene.counts(".list-row", 2).await;
    scene.press("jkk").await;
    scene.press_key(Key::Enter).await;
    scene.reads("#main .mark-state", "scheduled").await;
    scene.reads(".letter-actions", "Retry now").await;
    scene.back().await;
    scene.reads("h1", "Scheduled retries").await;
}

async fn the_count_follows_and_time_runs(scene: &Scene, desk: &Desk) {
    waiting::<1>(desk, "count").await;
    scene.open("/scheduled?queue=count").await;
    scene.reads("#count", "1 scheduled retry").await;
    // The server looks at what others do to its database from some moment on after somebody began to watch.
    let mut letters = 1;
    wait_until("the page to count again", PATIENCE, async || {
        waiting::<1>(desk, "count").await;
        letters += 1;
        scene.ask("document.querySelector('#count').innerText").await != "1 scheduled retry"
    })
    .await;
    scene.reads("#count", &format!("{letters} scheduled retries")).await;
    scene.sees("Number(document.querySelector('.list-row time').dataset.due) > 900").await;
    scene.sees("/^in 1[0-6] min$/.test(document.querySelector('.list-row time').innerText)").await;
    // A page that is busy may skip a second, but not the first and the last.
    scene
        .ask(
            "(() => {
                const time = document.createElement('time');
                window.texts = [];
                new MutationObserver(() => texts.push(time.textContent)).observe(time, { childList: true });
                time.dataset.due = '2';
                document.querySelector('h1').append(time);
            })()",
        )
        .await;
    scene.sees("texts.at(0) === 'in 2 s' && texts.at(-1) === 'now'").await;
}

async fn all_of_a_queue_are_handed_over(scene: &Scene, desk: &Desk) {
    let ids = waiting::<3>(desk, "all").await;
    scene.open("/scheduled?queue=all").await;
    scene.click(".list-bar > .menu-box summary").await;
    scene.click(".list-bar .menu-sheet li:nth-child(2) a").await;
    scene.reads("#asking-title", "Stop retrying 3 of all (3)?").await;
    assert_eq!(desk.status(ids[0]).await, Status::Scheduled, "asked first");
    scene.click(".confirm-box button").await;
    scene.reads(".toast-box", "Stopped retrying 3 dead letters").await;
    scene.reads("main", "No scheduled retries there.").await;
    assert_eq!(desk.status(ids[2]).await, Status::Open);
}

async fn it_works_without_scripts(scene: &Scene, desk: &Desk) {
    let [id] = waiting::<1>(desk, "plain").await;
    scene.disable_scripts().await;
    scene.open("/scheduled?queue=plain").await;
    scene.click(".list-row input").await;
    scene.click("#bulk [value=discard]").await;
    scene.reads(".toast-box", "Discarded 1 dead letter").await;
    assert_eq!(desk.status(id).await, Status::Discarded);
    scene.open("/policies?queues=plain").await;
    scene.click("#policy [formmethod=get]").await;
    scene.reads("#preview", "Applies to").await;
    scene.click("#policy .btn-primary").await;
    scene.reads(".toast-box", "In force for plain").await;
}
