//! Groups worked through by keys alone, and one that comes again.

use super::{
    super::{
        desk::{Desk, MAIN},
        groups::{failed_with, group_of, sort},
    },
    scene::{Scene, fresh, told_to_other_processes},
    typing::Key,
};
use dead_letter_office::domain::{
    group::{GroupFilter, GroupId},
    group_state::Phase,
    letter::{LetterId, Status},
};

const FOCUSED: &str =
    "[...document.querySelectorAll('.list-row')].indexOf(document.activeElement.closest('.list-row'))";

/// One letter in each of so many groups, the newest group the first.
async fn groups(desk: &Desk, n: u64) -> Vec<LetterId> {
    let dead = |place: u64| failed_with(fresh(&format!("q{place}"), 60 + place), "no disk");
    let ids = desk.receive_all(MAIN, (0..n).map(dead).collect()).await;
    sort(desk).await;
    ids
}

async fn phase(desk: &Desk, letter: LetterId) -> Phase {
    let id: GroupId = group_of(desk, letter).await.trim_start_matches("/groups/").parse().unwrap();
    desk.store.groups_by_id(&[id]).await.unwrap()[0].state.phase()
}

async fn is_at_row(scene: &Scene, row: usize) {
    scene.sees(&format!("{FOCUSED} === {row}")).await;
}

#[tokio::test]
async fn ten_groups_are_worked_through_by_keys() {
    let desk = Desk::open().await;
    let ids = groups(&desk, 10).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    scene.open("/groups").await;
    scene.counts(".list-row", 10).await;
    // The first two are taken, together.
    scene.press("jx").await;
    scene.press("jx").await;
    scene.reads(".list-count", "2 selected").await;
    scene.press("a").await;
    scene.reads(".toast-box", "Acknowledged 2 groups.").await;
    scene.counts(".mark-phase.is-acknowledged", 2).await;
    is_at_row(&scene, 1).await;
    // The third is mine.
    scene.press("j").await;
    is_at_row(&scene, 2).await;
    scene.press("m").await;
    scene.reads(".toast-box", "Assigned 1 group to local user.").await;
    // What is resolved or snoozed leaves the list, and the next row takes its place.
    scene.press("j").await;
    scene.press("s").await;
    scene.reads(".toast-box", "Resolved 1 group.").await;
    scene.counts(".list-row", 9).await;
    is_at_row(&scene, 3).await;
    scene.press("z").await;
    scene.reads(".toast-box", "Snoozed 1 group for 1 h.").await;
    scene.counts(".list-row", 8).await;
    scene.press("u").await;
    scene.reads(".toast-box", "Undone for 1 group.").await;
    scene.counts(".list-row", 9).await;
    // The last ones are discarded: that asks first.
    scene.press("jjjjj").await;
    is_at_row(&scene, 8).await;
    scene.press("x").await;
    scene.press("k").await;
    scene.press("x").await;
    scene.press("d").await;
    scene.reads("#asking-title", "Discard 2 open dead letters of 2 error groups?").await;
    scene.click(".confirm-box .btn-danger").await;
    scene.reads(".toast-box", "Discarded 2 dead letters.").await;
    scene.press("gu").await;
    scene.counts(".list-row", 7).await;
    // One is retried from its own page, and one acknowledged there.
    scene.press("jjjj").await;
    is_at_row(&scene, 3).await;
    scene.press_key(Key::Enter).await;
    scene.reads(".group-what", "q").await;
    scene.press("a").await;
    scene.reads(".state-said", "acknowledged by local user").await;
    scene.press("r").await;
    scene.reads("#asking-title", "Retry 1 of q").await;
    scene.press_key(Key::Escape).await;
    scene.check_quiet().await;
    use Phase::{Acknowledged, Open, Resolved};
    let mut phases = Vec::new();
    for id in &ids {
        phases.push(phase(&desk, *id).await);
    }
    assert_eq!(phases, [Acknowledged, Acknowledged, Open, Resolved, Acknowledged, Open, Open, Open, Open, Open]);
    let discarded = [desk.status(ids[8]).await, desk.status(ids[9]).await];
    assert_eq!(discarded, [Status::Discarded; 2]);
    assert_eq!(desk.store.count_groups(&GroupFilter::default()).await.unwrap().to_do, 7);
}

#[tokio::test]
async fn what_was_set_aside_comes_again_and_says_so() {
    let desk = Desk::open().await;
    let ids = groups(&desk, 2).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    let (snoozed, resolved) = (group_of(&desk, ids[0]).await, group_of(&desk, ids[1]).await);
    scene.open(&snoozed).await;
    scene.click(".state-line .menu-box:first-of-type summary").await;
    scene.types("input[name=custom_until]", "1 more").await;
    scene.click("button[value=snooze]").await;
    scene.reads(".toast-box", "Snoozed 1 group until 1 more dead letter comes.").await;
    scene.reads(".state-said", "0 of 1 more dead letter have come").await;
    scene.open(&resolved).await;
    scene.press("s").await;
    scene.reads(".state-said", "resolved by local user").await;
    scene.open("/groups").await;
    scene.reads("main", "Nothing needs attention.").await;
    // They fail again; the pages that are open hear of it.
    let dead = |queue: &str| failed_with(fresh(queue, 0), "no disk");
    desk.receive_all(MAIN, vec![dead("q0"), dead("q1")]).await;
    sort(&desk).await;
    told_to_other_processes(&desk).await;
    scene.click(".list-news").await;
    scene.counts(".mark-regressed", 2).await;
    scene.reads("main", "regressed after").await;
    scene.reads("main", "snooze over after").await;
    scene.open(&resolved).await;
    scene.reads(".state-said", "a dead letter came after it was resolved").await;
    // Another one acknowledges it; the page follows.
    let id: GroupId = resolved.trim_start_matches("/groups/").parse().unwrap();
    let by = dead_letter_office::domain::actor::Actor::named("ada");
    let command = dead_letter_office::domain::group_state::GroupCommand::Acknowledge;
    let expected = dead_letter_office::domain::version::Expected::Anything;
    let at = dead_letter_office::clock::Clock::system().now();
    let order = dead_letter_office::store::GroupOrder { ids: &[id], command: &command, by: &by, at };
    desk.store.act_on_groups(&order, &expected).await.unwrap();
    told_to_other_processes(&desk).await;
    scene.reads(".state-said", "acknowledged by ada").await;
    scene.check_quiet().await;
}

#[tokio::test]
async fn what_is_typed_into_what_has_opened_is_no_shortcut() {
    let desk = Desk::open().await;
    let ids = groups(&desk, 1).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    scene.open(&group_of(&desk, ids[0]).await).await;
    for (menu, field) in [(".state-line .menu-end", "[name=ticket]"), (".note-form", "[name=note]")] {
        scene.click(&format!("{menu} > summary")).await;
        scene.sees(&format!("document.activeElement.matches('{menu} {field}')")).await;
        scene.press("s").await;
        scene.sees(&format!("document.querySelector('{menu} {field}').value === 's'")).await;
        // Wherever the focus is.
        scene.ask("document.activeElement.blur()").await;
        scene.press("s").await;
        scene.press_key(Key::Escape).await;
        scene.counts(&format!("{menu}[open]"), 0).await;
        scene.sees(&format!("document.activeElement.matches('{menu} > summary')")).await;
    }
    scene.reads(".state-said", "open").await;
    assert_eq!(phase(&desk, ids[0]).await, Phase::Open);
    scene.check_quiet().await;
}

#[tokio::test]
async fn what_is_refused_leaves_the_page_as_it_was() {
    let desk = Desk::open().await;
    desk.receive_all(MAIN, vec![fresh("orders", 60), fresh("billing", 61)]).await;
    sort(&desk).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    scene.open("/groups").await;
    scene.counts(".list-row", 2).await;
    scene.press("jxjx").await;
    scene.reads(".list-count", "2 selected").await;
    scene.click("button[value=merge]").await;
    scene.reads(".toast-box", "Not done: only groups of one queue with the same reason can be merged.").await;
    scene.reads(".list-count", "2 selected").await;
}

#[tokio::test]
async fn groups_are_made_one_and_split_again() {
    let desk = Desk::open().await;
    let error = |text: &str, place| failed_with(fresh("orders", place), text);
    let dead = vec![error("no disk", 60), error("no disk", 61), error("disk is gone", 62)];
    let ids = desk.receive_all(MAIN, dead).await;
    sort(&desk).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    let (big, small) = (group_of(&desk, ids[0]).await, group_of(&desk, ids[2]).await);
    scene.open("/groups").await;
    scene.counts(".list-row", 2).await;
    scene.press("jxjx").await;
    scene.reads(".list-count", "2 selected").await;
    scene.click("button[value=merge]").await;
    scene.reads(".toast-box", "Merged 2 groups into one.").await;
    scene.counts(".list-row", 1).await;
    scene.reads(".row-open", "3 open").await;
    scene.press("u").await;
    scene.reads(".toast-box", "Undone for 1 group.").await;
    scene.counts(".list-row", 2).await;
    scene.click("[data-selects-all]").await;
    scene.click("button[value=merge]").await;
    scene.counts(".list-row", 1).await;
    // What comes is in the one, and so is the address of the other.
    desk.receive_all(MAIN, vec![error("disk is gone", 0)]).await;
    sort(&desk).await;
    scene.open(&small).await;
    scene.is_at(&big).await;
    scene.reads("#about", "4 open").await;
    scene.reads("#merged", "disk is gone").await;
    scene.reads("#merged", "merged by local user").await;
    scene.click("#merged button").await;
    scene.reads(".toast-box", "It is an error group of its own again.").await;
    scene.reads(".group-error", "disk is gone").await;
    scene.reads("#about", "2 open").await;
    scene.check_quiet().await;
    assert_eq!(group_of(&desk, ids[2]).await, small);
}
