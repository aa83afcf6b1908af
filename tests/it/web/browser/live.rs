//! Pages that change by themselves, and stand still where somebody is at them or wants it.

use dead_letter_office::domain::{
    command::Command,
    letter::{Importance, LetterId, Status},
};
use serde_json::json;

use super::{
    super::{
        desk::Desk,
        groups::{alike, group_of, sort},
    },
    looks::SHIFTS,
    scene::{Scene, letters, told_to_other_processes},
    typing::Key,
};

#[tokio::test]
async fn a_page_is_brought_up_to_date_under_the_eyes_of_its_reader() {
    let desk = Desk::open().await;
    let Some(scene) = Scene::over(&desk).await else { return };
    figures_change_in_place(&scene, &desk).await;
    what_does_not_match_any_more_leaves_the_list(&scene, &desk).await;
    nothing_leaves_from_under_the_pointer(&scene, &desk).await;
    what_stands_last_leaves_too(&scene, &desk).await;
    a_page_that_is_paused_stands_still(&scene, &desk).await;
    what_changes_while_it_asks_is_not_missed(&scene, &desk).await;
    an_open_letter_tells_what_others_did(&scene, &desk).await;
    what_somebody_was_at_follows_when_they_leave(&scene, &desk).await;
    the_state_of_a_group_does_so_too(&scene, &desk).await;
    fields_follow_unless_somebody_has_changed_them(&scene, &desk).await;
    what_calls_for_attention_is_seen_from_another_tab(&scene, &desk).await;
    times_are_local_or_not(&scene, &desk).await;
    scene.check_quiet().await;
}

/// Discards a letter as another user would.
async fn discard(scene: &Scene, id: LetterId) {
    let call = format!(
        "fetch('/api/v1/actions', {{ method: 'POST', headers: {{ 'content-type': 'application/json' }},
            body: JSON.stringify({{ action: 'discard', ids: ['{id}'] }}) }}).then((answer) => answer.ok)"
    );
    assert_eq!(scene.ask(&call).await, json!(true));
}

const OPEN: &str = "Number(document.querySelector('#statuses b').textContent)";

async fn figures_change_in_place(scene: &Scene, desk: &Desk) {
    let ids = letters(desk, "figures", 3).await;
    scene.open("/").await;
    scene.sees(&format!("{OPEN} === 3")).await;
    scene
        .ask("(document.querySelector('#statuses').marked = true, document.querySelector('#statuses a').focus())")
        .await;
    discard(scene, ids[0]).await;
    scene.sees(&format!("{OPEN} === 2")).await;
    scene.sees("document.querySelector('#statuses').marked && document.activeElement.matches('#statuses a')").await;
    scene.sees("document.querySelector('#side [data-go=l] .text-count').textContent.startsWith('2')").await;
}

async fn what_does_not_match_any_more_leaves_the_list(scene: &Scene, desk: &Desk) {
    let ids = letters(desk, "leaving", 3).await;
    scene.open("/letters?queue=leaving").await;
    scene.sees("document.querySelector('#live').dataset.state === 'live'").await;
    discard(scene, ids[1]).await;
    scene.counts(".list-row", 2).await;
    scene.counts(&format!("#row-{}", ids[1]), 0).await;
    let shifts = scene.ask(SHIFTS).await;
    assert!(shifts["sum"].as_f64().unwrap() < 0.02, "what stayed jumped: {shifts}");
    // And the last one leaves what an empty page says.
    discard(scene, ids[0]).await;
    discard(scene, ids[2]).await;
    scene.reads(".list-box", "Show all dead letters").await;
    scene.counts(".list-row", 0).await;
}

/// Whoever points at the list, or works with it, sees what has left, but nothing moves.
async fn nothing_leaves_from_under_the_pointer(scene: &Scene, desk: &Desk) {
    let ids = letters(desk, "pointer", 3).await;
    scene.open("/letters?queue=pointer").await;
    scene.click(&format!("#row-{} > input", ids[2])).await;
    discard(scene, ids[1]).await;
    scene.counts(&format!("#row-{}.is-gone", ids[1]), 1).await;
    scene.counts(".list-row", 3).await;
    scene.counts(&format!("#row-{} > input:checked", ids[2]), 1).await;
}

/// Unlike what newer rows have pushed to the next page.
async fn what_stands_last_leaves_too(scene: &Scene, desk: &Desk) {
    let ids = letters(desk, "last", 6).await;
    let row = |n: usize| format!("#row-{}:not(.is-gone)", ids[n]);
    scene.open("/letters?queue=last&limit=2").await;
    discard(scene, ids[1]).await;
    scene.counts(".list-row", 1).await;
    scene.counts(&row(0), 1).await;
    // Where none is left of those that were shown, the next ones take their place.
    discard(scene, ids[0]).await;
    scene.counts(&row(2), 1).await;
    scene.counts(&row(3), 1).await;
    letters(desk, "last", 2).await;
    scene.reads("#about", "6 open").await;
    assert_eq!(scene.count(&row(2)).await + scene.count(&row(3)).await, 2);
}

async fn a_page_that_is_paused_stands_still(scene: &Scene, desk: &Desk) {
    let ids = letters(desk, "paused", 2).await;
    scene.open("/letters?queue=paused").await;
    scene.click("#live").await;
    scene.reads("#live", "Paused").await;
    // A listener of its own hears of it when the page would.
    let heard = "new Promise((heard) => { const events = new EventSource('/events'); let told = null;
        events.addEventListener('changes', ({ data }) => { if (told && told !== data) { events.close(); heard(true); } told = data; }); })";
    scene.ask(&format!("void (window.heard = {heard})")).await;
    discard(scene, ids[0]).await;
    scene.ask("window.heard").await;
    assert_eq!(scene.count(".list-row:not(.is-gone)").await, 2, "it was to stand still");
    scene.click("#live").await;
    scene.counts(".list-row", 1).await;
    scene.reads("#live", "Live").await;
}

async fn what_changes_while_it_asks_is_not_missed(scene: &Scene, desk: &Desk) {
    let ids = letters(desk, "asking", 4).await;
    scene.open("/letters?queue=asking").await;
    // The answer to the first is held up until the page was told of the second.
    scene
        .ask(
            "(() => {
                const ask = window.fetch;
                const held = new Promise((release) => (window.release = release));
                window.told = window.asked = 0;
                document.body.addEventListener('dlo:changes', () => (window.told += 1));
                window.fetch = async (address, options) => {
                    const answer = await ask(address, options);
                    if (options?.headers?.['dlo-refresh']) {
                        window.asked += 1;
                        await held;
                    }
                    return answer;
                };
            })()",
        )
        .await;
    discard(scene, ids[0]).await;
    scene.sees("window.asked === 1").await;
    discard(scene, ids[1]).await;
    scene.sees("window.told >= 2").await;
    scene.ask("window.release()").await;
    scene.counts(".list-row", 2).await;
}

async fn an_open_letter_tells_what_others_did(scene: &Scene, desk: &Desk) {
    let id = letters(desk, "opened", 1).await[0];
    scene.open(&format!("/letters/{id}")).await;
    scene.reads("#letter-head .mark-state", "open").await;
    discard(scene, id).await;
    scene.reads("#letter-head .mark-state", "discarded").await;
    scene.reads("#timeline", "Discarded").await;
    assert_eq!(desk.status(id).await, Status::Discarded);
}

async fn what_somebody_was_at_follows_when_they_leave(scene: &Scene, desk: &Desk) {
    let id = letters(desk, "at", 1).await[0];
    scene.open(&format!("/letters/{id}")).await;
    scene.ask("document.querySelector('.letter-actions button[data-key=r]').focus()").await;
    discard(scene, id).await;
    scene.reads("#letter-head .mark-state", "discarded").await;
    assert_eq!(scene.count(".letter-actions button[data-key=r]").await, 1, "somebody is at it");
    scene.ask("document.activeElement.blur()").await;
    scene.counts(".letter-actions button[data-key=r]", 0).await;
    scene.counts(".letter-actions button[value=reopen]", 1).await;
}

async fn the_state_of_a_group_does_so_too(scene: &Scene, desk: &Desk) {
    let id = alike(desk, "state", "no disk", 1).await[0];
    let group = group_of(desk, id).await;
    scene.open(&group).await;
    let watch = "addEventListener('htmx:beforeSwap', ({ detail }) => (window.isRefused ||= !detail.shouldSwap))";
    scene.ask(watch).await;
    scene.click("#group-state details:has([name=custom_until]) > summary").await;
    scene.sees("document.activeElement.matches('#group-state [name=until]')").await;
    let acknowledge = format!("fetch('/api/v1{group}/acknowledge', {{ method: 'POST' }}).then((answer) => answer.ok)");
    assert_eq!(scene.ask(&acknowledge).await, json!(true));
    scene.sees("window.isRefused").await;
    scene.press_key(Key::Escape).await;
    scene.ask("document.activeElement.blur()").await;
    scene.reads("#group-state .mark-phase", "acknowledged").await;
}

/// Changes a letter as another user would.
async fn change(scene: &Scene, id: LetterId, change: &str) {
    let call = format!(
        "fetch('/api/v1/letters/{id}', {{ method: 'PATCH', headers: {{ 'content-type': 'application/json' }},
            body: JSON.stringify({change}) }}).then((answer) => answer.ok)"
    );
    assert_eq!(scene.ask(&call).await, json!(true));
}

async fn fields_follow_unless_somebody_has_changed_them(scene: &Scene, desk: &Desk) {
    const MENU: &str = ".letter-marks summary";
    const SAYS: &str = "document.querySelector('.letter-marks textarea').value ===";
    let id = letters(desk, "fields", 1).await[0];
    scene.open(&format!("/letters/{id}")).await;
    change(scene, id, "{ note: 'theirs', importance: 'high' }").await;
    scene.sees(&format!("{SAYS} 'theirs'")).await;
    scene.sees("document.querySelector('.letter-marks select').value === 'high'").await;
    // The menu has the focus in its field.
    scene.click(MENU).await;
    scene.sees("document.activeElement.matches('.letter-marks textarea')").await;
    change(scene, id, "{ note: 'again' }").await;
    scene.sees(&format!("{SAYS} 'again'")).await;
    scene.sees("document.activeElement.matches('.letter-marks textarea')").await;
    scene.open(&format!("/letters/{id}")).await;
    scene.click(MENU).await;
    scene.types(".letter-marks textarea", "mine").await;
    change(scene, id, "{ note: 'once more' }").await;
    scene.reads("#letter-head .note-text", "once more").await;
    scene.sees(&format!("{SAYS} 'mine'")).await;
}

async fn what_calls_for_attention_is_seen_from_another_tab(scene: &Scene, desk: &Desk) {
    const ICON: &str = "document.querySelector('link[rel=icon]').href.includes";
    sort(desk).await;
    scene.open("/queues").await;
    scene.sees("document.querySelector('#live').dataset.state === 'live'").await;
    let title = scene.ask("document.title").await;
    let groups: u64 = title.as_str().unwrap()[1..].split(')').next().unwrap().parse().unwrap();
    scene.sees(&format!("!{ICON}('critical')")).await;
    let late = alike(desk, "attention", "no disk", 1).await[0];
    sort(desk).await;
    told_to_other_processes(desk).await;
    scene.sees(&format!("document.title.startsWith('({}) Queues')", groups + 1)).await;
    desk.command(late, Command::SetImportance(Importance::Critical)).await;
    scene.sees(&format!("{ICON}('critical')")).await;
}

async fn times_are_local_or_not(scene: &Scene, desk: &Desk) {
    let id = letters(desk, "times", 1).await[0];
    scene.browser.devtools("Emulation.setTimezoneOverride", json!({"timezoneId": "Asia/Kolkata"})).await;
    discard(scene, id).await;
    scene.open("/activity").await;
    scene.reads(".activity-at time", "UTC+5:30").await;
    scene.sees("/^.* UTC[+]5:30 · .* UTC$/.test(document.querySelector('.activity-at time').title)").await;
    assert_eq!(scene.ask("document.querySelector('#about').innerText.includes('UTC')").await, false);
    scene.open(&format!("/letters/{id}")).await;
    let time = "document.querySelector('#timeline time')";
    scene.sees(&format!("/^.* UTC[+]5:30 · .* UTC$/.test({time}.title)")).await;
    let local = scene.ask(&format!("{time}.textContent")).await;
    scene.reads("[data-times]", "Local time, UTC+5:30").await;
    scene.click("[data-times]").await;
    scene.reads("[data-times]", "Times in UTC").await;
    scene.sees(&format!("{time}.textContent !== {local} && /^[^·]* UTC$/.test({time}.title)")).await;
    // It is kept from page to page.
    scene.open("/letters?queue=times&status=all").await;
    scene.reads("[data-times]", "Times in UTC").await;
    scene.sees("/^[^·]* UTC$/.test(document.querySelector('.row-when time').title)").await;
}
