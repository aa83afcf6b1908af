//! Every link of every page, and the way back: a page stays one page.

use std::collections::{BTreeSet, HashMap, VecDeque};

use serde_json::{Value, json};

use super::{
    super::{
        api_groups::ended,
        dead::dead_somewhere,
        desk::Desk,
        groups::{alike, sort},
    },
    scene::{Scene, letters},
    typing::Key,
};
use crate::support::soak;

const PAGES: [&str; 10] =
    ["/", "/letters", "/groups", "/scheduled", "/queues", "/schemas", "/rules", "/digests", "/activity", "/jobs"];

/// The addresses in the main part that are pages, without what is saved or belongs to others; and with each, what htmx goes
/// by when it is clicked on, of its own and of what it is in.
const LINKS: &str = "(() => {
    const said = (it) => [...it.attributes].filter(({ name }) => name.startsWith('hx-')).map(({ name, value }) => name + value);
    const goesBy = (link) => { const all = []; for (let it = link; it; it = it.parentElement) all.push(...said(it)); return all; };
    return [...document.querySelectorAll('#main a[href]')]
        .filter((link) => link.origin === location.origin && !link.hasAttribute('download') && !link.target)
        .filter((link) => !link.hash || link.pathname !== location.pathname)
        .filter((link) => !/^\\/(api|assets|docs)\\//.test(link.pathname))
        .map((link) => [link.getAttribute('href'), goesBy(link).join(' ').replace(/[0-9a-f-]{36}/g, 'ID')]);
})()";

/// One main part with something in it, one navigation, and no element twice.
const IS_ONE_PAGE: &str = "(() => {
    const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
    const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
    const mains = document.querySelectorAll('main, [role=main]').length;
    const navs = document.querySelectorAll('.side-brand').length;
    const said = document.querySelector('#main')?.innerText.trim().length ?? 0;
    return mains === 1 && navs === 1 && twice.length === 0 && said > 0
        ? '' : `${mains} main parts, ${navs} navigations, ${said} characters, twice: ${twice.slice(0, 5)}`;
})()";

const HEADING: &str = "document.querySelector('#main h1')?.innerText";

/// What only says which of the same things are shown.
const FILTERS: [&str; 13] = [
    "broker",
    "queue",
    "importance",
    "status",
    "sort",
    "since",
    "until",
    "group",
    "type",
    "reason",
    "view",
    "cursor",
    "column",
];

/// An address without what differs from letter to letter and from filter to filter: `/letters/ID?all`.
fn shape(address: &str) -> String {
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let is_id = |part: &&str| part.len() == 36 && part.matches('-').count() == 4;
    let path: Vec<&str> = path.split('/').map(|part| if is_id(&part) { "ID" } else { part }).collect();
    let names: BTreeSet<&str> = query.split('&').map(|pair| pair.split('=').next().unwrap_or_default()).collect();
    let filters = BTreeSet::from(FILTERS);
    let names = names.difference(&filters);
    format!("{}?{}", path.join("/"), names.copied().collect::<Vec<_>>().join("&"))
}

async fn check(scene: &Scene, how: &str) {
    assert_eq!(scene.ask(IS_ONE_PAGE).await, "", "{how}");
}

async fn links(scene: &Scene) -> Vec<(String, String)> {
    serde_json::from_value(scene.ask(LINKS).await).unwrap()
}

/// A job about a group, which refuses its letter.
async fn refused_by_a_job(desk: &Desk) {
    let letter = desk.receive(dead_somewhere()).await;
    sort(desk).await;
    let order = json!({"action": "retry", "filter": {"group": desk.letter(letter).await["group"]}});
    ended(desk, desk.post("/api/v1/actions", &order).await.expect(202).json()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_link_leads_to_one_page_and_back() {
    let desk = Desk::open().await;
    alike(&desk, "orders", "no rate", 3).await;
    let ids = letters(&desk, "mail", 2).await;
    sort(&desk).await;
    desk.post(&format!("/api/v1/letters/{}/retry", ids[0]), &json!({"delay": "1h"})).await.expect(200);
    refused_by_a_job(&desk).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    let mut headings: HashMap<String, Value> = HashMap::new();
    let mut pages: VecDeque<String> = PAGES.iter().map(|page| (*page).to_owned()).collect();
    let (mut seen, mut clicked) = (BTreeSet::new(), BTreeSet::new());
    while let Some(page) = pages.pop_front() {
        if !seen.insert(shape(&page)) {
            continue;
        }
        scene.open(&page).await;
        check(&scene, &page).await;
        if let Some(heading) = headings.get(&page) {
            assert_eq!(scene.ask(HEADING).await, *heading, "of {page} where a link had led to it");
        }
        let here = scene.address().await;
        for (link, goes_by) in links(&scene).await {
            // What leads to the same by the same does so from each page.
            let from = soak(String::new(), shape(&page));
            if !clicked.insert((from, shape(&link), goes_by)) {
                continue;
            }
            let click = "(href) => [...document.querySelectorAll('#main a[href]')]
                .find((link) => link.getAttribute('href') === href)?.click() ?? true";
            scene.ask(&format!("({click})({})", json!(link))).await;
            check(&scene, &format!("{page}, then {link}")).await;
            let led_to = link.split('#').next().unwrap_or_default();
            let meant = scene.ask(&format!("decodeURIComponent({})", json!(led_to))).await;
            assert_eq!(json!(scene.address().await), meant, "from {page}");
            headings.insert(led_to.to_owned(), scene.ask(HEADING).await);
            pages.push_back(led_to.to_owned());
            if scene.address().await != here {
                scene.back().await;
                check(&scene, &format!("{page}, then {link}, and back")).await;
            }
            if scene.address().await != here {
                scene.open(&page).await;
            }
        }
    }
    assert!(clicked.len() > 40, "{} links", clicked.len());
    scene.check_quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_list_leads_to_one_page_too() {
    let desk = Desk::open().await;
    letters(&desk, "mail", 1).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    scene.open("/scheduled").await;
    scene.click("#main .empty-state a").await;
    scene.is_at("/policies").await;
    check(&scene, "/scheduled, then /policies").await;
    scene.check_quiet().await;
}

/// What asks once more is left by Escape and by Cancel, as often as one likes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_left_again() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "no rate", 3).await;
    sort(&desk).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    let group = desk.letter(ids[0]).await["group"].as_str().unwrap().to_owned();
    let page = format!("/groups/{group}");
    scene.open(&page).await;
    for key in ["r", "d", "r"] {
        scene.press(key).await;
        scene.sees("document.querySelector('.confirm-box')").await;
        check(&scene, key).await;
        scene.press_key(Key::Escape).await;
        scene.sees("!document.querySelector('.confirm-box')").await;
        check(&scene, "Escape").await;
        scene.press(key).await;
        scene.click(".confirm-box [data-close]").await;
        scene.sees("!document.querySelector('.confirm-box')").await;
        check(&scene, "Cancel").await;
        scene.is_at(&page).await;
        // What was left is not asked again on the way back.
        scene.back().await;
        scene.is_at(&page).await;
        assert_eq!(scene.count(".confirm-box").await, 0);
    }
    scene.check_quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_picked_is_picked_still_when_a_question_is_left() {
    let desk = Desk::open().await;
    let ids = letters(&desk, "picked", 3).await;
    alike(&desk, "orders", "no rate", 1).await;
    alike(&desk, "mail", "no rate", 1).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    scene.open("/letters?queue=picked&limit=2").await;
    scene.click(&format!("#row-{} > input", ids[1])).await;
    scene.click("#bulk .menu-box summary").await;
    scene.click("#bulk [name=ask]").await;
    leaves_the_question(&scene, "1 selected").await;
    scene.counts(&format!("#row-{} > input:checked", ids[1]), 1).await;
    scene.counts("[data-matching]:checked", 0).await;
    scene.click("[data-matching]").await;
    scene.press("d").await;
    leaves_the_question(&scene, "3 selected").await;
    scene.counts("[data-matching]:checked", 1).await;
    scene.open("/groups").await;
    scene.counts(".list-row", 3).await;
    scene.press("jxjxd").await;
    leaves_the_question(&scene, "2 selected").await;
    scene.counts(".list-row > :checked", 2).await;
    scene.check_quiet().await;
}

async fn leaves_the_question(scene: &Scene, selected: &str) {
    scene.sees("document.querySelector('.confirm-box')").await;
    scene.press_key(Key::Escape).await;
    scene.sees("!document.querySelector('.confirm-box')").await;
    scene.reads("[data-selected]", selected).await;
}
