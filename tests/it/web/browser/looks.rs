//! How it looks, to whom it looks so, and how much it takes.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use amqp_message::field::FieldValue;
use axum::http::Method;
use dead_letter_office::{
    clock::Clock,
    domain::{letter::Importance, retry::RetryOutcome},
};
use serde_json::json;

use super::{
    super::{
        desk::Desk,
        groups::{alike, failed_with, group_of, sort},
        payload::{ACCOUNT, OPENED, bring_lab},
        watch::{looks, lost_for},
    },
    scene::{Scene, fresh, letters},
    typing::Key,
};
use crate::support::{PATIENCE, axe, process::wait_until, soak};

#[tokio::test]
async fn every_page_fits_is_readable_and_light() {
    let desk = Desk::watching().await;
    let paths = furnish(&desk).await;
    let (Some(scene), Some(axe)) = (Scene::watching(&desk).await, axe()) else { return };
    scene.browser.devtools("Network.enable", json!({})).await;
    trouble_would_be_heard_of(&scene).await;
    let screenshots = std::env::var_os("DLO_TEST_SCREENSHOTS").map(PathBuf::from);
    let appearances = if screenshots.is_some() { &APPEARANCES } else { soak(&APPEARANCES[..2], &APPEARANCES) };
    println!("{:>8} {:>8} {:>6}  page", "bytes", "requests", "CLS");
    let mut barriers = Vec::new();
    for (n, path) in paths.iter().enumerate() {
        println!("{}", weighs_little_and_comes_from_here(&scene, path).await);
        for width in soak(&[390, 768, 1280][..], &ALL_WIDTHS) {
            scene.browser.set_viewport(*width, 900).await;
            fits(&scene, path, *width).await;
        }
        scene.ask(&axe).await;
        // Nothing here takes as long, so in short each second page is looked at narrow, and the others wide.
        for width in soak(&[390, 1280][n % 2..=n % 2], &ALL_WIDTHS) {
            // What a bar at the edge of the window covers counts as too small to be hit: here none covers anything.
            scene.browser.set_viewport(*width, 10_000).await;
            barriers.extend(barriers_of(&scene, path, *width).await);
        }
        for (theme, width) in appearances {
            scene.browser.set_media_feature("prefers-color-scheme", theme).await;
            scene.browser.set_viewport(*width, 900).await;
            is_readable(&scene, path, theme).await;
            if let Some(folder) = &screenshots {
                keep_screenshot(&scene, folder, path, (theme, *width)).await;
            }
        }
    }
    assert!(barriers.is_empty(), "{}", barriers.join("\n"));
    the_first_tab_leads_past_the_navigation(&scene).await;
    every_stop_of_the_tab_key_is_seen(&scene).await;
    scene.check_quiet().await;
}

/// Of phones, of tablets and small windows, and of desktops.
const ALL_WIDTHS: [u32; 5] = [390, 768, 1024, 1280, 1920];

/// The first two have each theme, and each set of parts that a narrow or a wide page shows.
const APPEARANCES: [(&str, u32); 4] = [("light", 1280), ("dark", 390), ("light", 390), ("dark", 1280)];

/// Where somebody wants to look at all pages, see `make screenshots`.
async fn keep_screenshot(scene: &Scene, folder: &Path, path: &str, (theme, width): (&str, u32)) {
    let name: String = path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(60).collect();
    let file = folder.join(format!("{name}-{width}-{theme}.png"));
    std::fs::create_dir_all(folder).unwrap();
    scene.browser.screenshot(&file).await;
}

/// What opens from a button is in sight, wherever the button is.
#[tokio::test]
async fn every_menu_opens_within_the_page() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "no rate", 3).await;
    desk.fails(fresh("mail", 1), 1).await;
    bring_lab(&desk).await;
    let guessed = desk.receive(fresh("doors", 6).body(OPENED)).await;
    sort(&desk).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    let paths = ["/letters".to_owned(), "/scheduled".to_owned(), format!("/letters?letter={}", ids[0])];
    let mut menus = 0;
    for path in paths.into_iter().chain([format!("/letters/{}", ids[0]), format!("/letters/{guessed}")]) {
        scene.open(&path).await;
        for (width, height) in [(390, 844), (820, 1024), (1280, 900)] {
            scene.browser.set_viewport(width, height).await;
            let opened = scene.ask(OUT_OF_SIGHT).await;
            assert_eq!(opened["outside"], json!([]), "{path} at {width}");
            menus += opened["menus"].as_u64().unwrap();
        }
    }
    assert!(menus > 30, "{menus} menus");
}

/// A page comes in parts: what is shown of it does not move when the rest is there.
#[tokio::test]
async fn a_list_has_its_place_before_the_letter_beside_it_has_come() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "no rate", 3).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    scene.browser.set_viewport(1280, 900).await;
    for path in [format!("/letters?letter={}", ids[0]), "/letters".to_owned()] {
        scene.open(&path).await;
        let widths = scene.ask(WIDTHS_WITHOUT_PANE).await;
        assert_eq!(widths["then"], widths["now"], "{path}");
    }
}

/// On a narrow page a letter takes the place of the list, and of what stands above that.
#[tokio::test]
async fn on_a_narrow_page_nothing_is_shown_that_goes_when_the_letter_comes() {
    let desk = Desk::open().await;
    let ids = alike(&desk, "orders", "no rate", 3).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    scene.browser.set_viewport(390, 900).await;
    for ends_before in
        ["<div id=\"results\"", "<div id=\"received\"", "<section class=\"list-box\"", "<div id=\"pane\""]
    {
        scene.open(&format!("/letters?letter={}", ids[0])).await;
        let shown = scene.ask(&SHOWN_BEFORE_PANE.replace("ENDS", ends_before)).await;
        assert_eq!(shown, json!([]), "{ends_before}");
    }
    scene.open("/letters").await;
    let shown = scene.ask(&SHOWN_BEFORE_PANE.replace("ENDS", "<div id=\"pane\"")).await;
    assert_eq!(shown.as_array().unwrap().len(), 4, "{shown}");
}

/// What is seen of a list as long as nothing behind it had come.
const SHOWN_BEFORE_PANE: &str = "(async () => {
    const whole = await (await fetch(location.href)).text();
    const [begin, rest] = whole.split('ENDS');
    const come = new DOMParser().parseFromString(rest ? begin : '', 'text/html');
    document.body.innerHTML = come.body.innerHTML;
    const parts = document.querySelectorAll('.filter-form, .letters-tools, .chart-panel, .list-box');
    return [...parts].filter((part) => part.checkVisibility()).map((part) => part.className);
})()";

/// Chips that are more than a line beside what is done with them.
#[tokio::test]
async fn chips_have_their_places_before_the_rest_has_come() {
    let desk = Desk::open().await;
    let long = "very.long-name.of-a-queue.".repeat(4);
    let id = desk.receive(failed_with(fresh(&long, 6), "no rate")).await;
    sort(&desk).await;
    let group = group_of(&desk, id).await.replace("/groups/", "group=");
    let Some(scene) = Scene::over(&desk).await else { return };
    for width in [1024, 1280] {
        scene.browser.set_viewport(width, 900).await;
        for ends_before in
            ["<a class=\"chip-clear\"", "<details class=\"menu-box menu-end letters-save\"", "<div id=\"received\""]
        {
            scene.open(&format!("/letters?{group}&queue={long}")).await;
            let places = scene.ask(&PLACES_OF_CHIPS.replace("ENDS", ends_before)).await;
            assert_eq!(places["then"], places["now"], "{ends_before} at {width}");
        }
    }
}

/// Where they are now, and were as long as nothing behind that had come.
const PLACES_OF_CHIPS: &str = "(async () => {
    const place = (part) => { const { left, top } = part.getBoundingClientRect(); return [left, top]; };
    const places = () => [...document.querySelectorAll('.chip-groups > *')].map(place);
    const now = places();
    const whole = await (await fetch(location.href)).text();
    const come = new DOMParser().parseFromString(whole.split('ENDS')[0], 'text/html');
    document.body.innerHTML = come.body.innerHTML;
    const then = places();
    return { now: now.slice(0, then.length), then };
})()";

/// How wide the list is now, and was as long as nothing behind it had come.
const WIDTHS_WITHOUT_PANE: &str = "(async () => {
    const width = () => document.querySelector('.list-box').getBoundingClientRect().width;
    const now = width();
    const whole = await (await fetch(location.href)).text();
    const come = new DOMParser().parseFromString(whole.split('<div id=\"pane\"')[0], 'text/html');
    document.body.innerHTML = come.body.innerHTML;
    return { now, then: width() };
})()";

/// Opens one menu after the other: those that are not between the edges of the page.
const OUT_OF_SIGHT: &str = "(() => {
    const menus = [...document.querySelectorAll('#main details.menu-box')].filter((menu) => menu.getClientRects().length);
    const outside = menus.filter((menu) => {
        menu.open = true;
        const { left, right } = menu.querySelector('.menu-sheet').getBoundingClientRect();
        menu.open = false;
        return left < 0 || right > document.documentElement.clientWidth;
    });
    return { menus: menus.length, outside: outside.map((menu) => menu.innerText) };
})()";

/// Styles that a message brought in would not apply, and this test would hear of it.
async fn trouble_would_be_heard_of(scene: &Scene) {
    scene.open("/").await;
    scene.ask("document.querySelector('h1').setAttribute('style', 'color: red')").await;
    scene.sees("sessionStorage.trouble?.startsWith('CSP: style-src-attr')").await;
    scene.ask("sessionStorage.removeItem('trouble')").await;
}

/// Puts in what is hard to show, and says where it is shown.
async fn furnish(desk: &Desk) -> Vec<String> {
    letters(desk, "orders", 60).await;
    let long = "very-long-words-without-any-space.".repeat(7);
    let odd = fresh(&long, 5).of(Importance::Critical).published_to(&long, &long).remark(&long);
    let odd = odd.header(&long, FieldValue::string("x".repeat(2_000))).body(format!("{{\"{long}\": \"{long}\"}}"));
    let id = desk.receive(odd).await;
    let growing = json!({"queues": long, "initial": "1s", "attempts": 50, "via": "broker", "keep_routing_key": true});
    desk.call(Method::POST, "/api/v1/policies", &growing).await.expect(201);
    for queue in ["orders", "orders", &long] {
        desk.fails(fresh(queue, 1), 1).await;
    }
    let grouped = desk.receive(failed_with(fresh(&long, 6), &long)).await;
    sort(desk).await;
    desk.retry_ends(grouped, RetryOutcome::Confirmed).await;
    alike(desk, &long, &long, 2).await;
    let group = group_of(desk, grouped).await;
    let groups = [
        "/groups".to_owned(),
        "/groups?queue=none".to_owned(),
        group.clone(),
        format!("{group}?all=discard"),
        format!("{group}/split?field=payload.n"),
        format!("/letters?{}", group.replace("/groups/", "group=")),
        format!("/queues/main/{long}"),
        "/queues/main/texts.persist".to_owned(),
    ];
    let pages = ["/", "/get-started", "/letters", "/letters?queue=none", "/api/docs", "/nowhere"].map(str::to_owned);
    let waits = [
        "/scheduled",
        "/scheduled?all=discard",
        "/jobs",
        "/letters/all?all=retry",
        "/queues",
        "/policies",
        "/activity",
        "/markers",
        "/views",
        "/policies?kind=listed&queues=a&delays=x",
        "/schemas",
        "/digests?ask=digest",
        "/rules",
        "/rules?expression=letter.quue&name=a",
    ];
    let marker = json!({"kind": "deploy", "title": long[..100], "service": "billing", "queues": [long], "at": "5m"});
    desk.post("/api/v1/markers", &marker).await.expect(201);
    let view = json!({"name": long[..80], "query": format!("queue={long}"), "shared": true});
    desk.post("/api/v1/views", &view).await.expect(201);
    let rule = json!({"name": long[..100], "when": format!("letter.queue == \"{long}\""), "importance": "low"});
    desk.post("/api/v1/rules", &rule).await.expect(201);
    bring_lab(desk).await;
    let begun = Clock::system().now().minus(Duration::from_secs(23 * 60));
    desk.clock.advance(begun.since(desk.clock.now()));
    looks(desk, lost_for(22)).await;
    let guessed = desk.receive(fresh(&long, 6).body(OPENED)).await;
    let hidden = fresh("accounts", 7).of(Importance::Low).body(ACCOUNT);
    let hidden = desk.receive(failed_with(hidden, "no such account")).await;
    sort(desk).await;
    let types = [
        format!("/letters/{guessed}"),
        format!("/letters/{guessed}?view=fields"),
        format!("/letters?letter={hidden}"),
        format!("/letters/{id}/edit"),
        format!("/letters/{guessed}/edit"),
        "/schemas/types/lab.v1.Account".to_owned(),
    ];
    let views = [format!("/letters/{id}"), format!("/letters/{id}?view=hex"), format!("/letters?letter={id}")];
    pages.into_iter().chain(groups).chain(views).chain(types).chain(waits.map(str::to_owned)).collect()
}

async fn weighs_little_and_comes_from_here(scene: &Scene, path: &str) -> String {
    // Before the last page's entries are gone and with nothing kept from it.
    scene.browser.devtools("Network.setCacheDisabled", json!({"cacheDisabled": true})).await;
    answer_after(scene, LATENCY).await;
    scene.open(path).await;
    scene.sees(HAS_ITS_SCRIPTS).await;
    let weight = scene.ask(WEIGHT).await;
    let shifts = scene.ask(SHIFTS).await;
    answer_after(scene, 0).await;
    assert_eq!(weight["foreign"], 0, "{path}");
    let (size, requests) = (weight["size"].as_u64().unwrap(), &weight["parts"].as_array().unwrap().len());
    let moved = shifts["sum"].as_f64().unwrap();
    let most = if path == "/api/docs" { 100_000 } else { 60_000 };
    assert!((1..most).contains(&size), "{path}: {size} bytes over the wire: {}", weight["parts"]);
    assert!(moved < 0.02, "{path}: its parts move while it loads: {shifts}");
    format!("{size:>8} {requests:>8} {moved:>6.3}  {path:.60}")
}

/// Those that only some pages have are fetched when the page is at rest already.
const HAS_ITS_SCRIPTS: &str = "(() => {
    const needed = { chart: '.chart-bars', edit: '#text', pace: '.pace-box', payload: '#payload', unsaved: '[data-unsaved]' };
    const fetched = performance.getEntriesByType('resource').map(({ name }) => name.split('/').pop());
    return Object.entries(needed).every(([name, at]) => !document.querySelector(at) || fetched.includes(`${name}.js`));
})()";

/// The page and what it consists of; not what it asks for later, because something has changed.
const WEIGHT: &str = "(() => {
    const resources = performance.getEntriesByType('resource').filter(({ initiatorType }) => !/^(fetch|xmlhttprequest)$/.test(initiatorType));
    const all = performance.getEntriesByType('navigation').concat(resources);
    return {
        foreign: all.filter(({ name }) => new URL(name).origin !== location.origin).length,
        size: all.reduce((sum, { transferSize }) => sum + transferSize, 0),
        parts: all.map(({ name, transferSize }) => `${transferSize} ${name.split('/').pop()}`),
    };
})()";

/// Milliseconds. Near by, scripts come before the first paint, and what they move is not seen.
const LATENCY: u32 = 150;

async fn answer_after(scene: &Scene, milliseconds: u32) {
    let conditions =
        json!({"offline": false, "latency": milliseconds, "downloadThroughput": -1, "uploadThroughput": -1});
    scene.browser.devtools("Network.emulateNetworkConditions", conditions).await;
}

/// How much of the page has moved by itself (<https://web.dev/articles/cls>).
pub const SHIFTS: &str = "new Promise((done) => {
    let sum = 0;
    const moved = new Set();
    const name = ({ node }) => node?.id || node?.className || node?.localName;
    const add = ({ value, hadRecentInput, sources }) => {
        if (hadRecentInput) return;
        sum += value;
        sources.map(name).forEach((name) => moved.add(name));
    };
    const observer = new PerformanceObserver((list) => list.getEntries().forEach(add));
    observer.observe({ type: 'layout-shift', buffered: true });
    requestAnimationFrame(() => setTimeout(() => done({ sum, moved: [...moved] })));
})";

pub async fn fits(scene: &Scene, path: &str, width: u32) {
    assert_eq!(scene.ask("innerWidth").await, width);
    let wide = scene.ask("document.scrollingElement.scrollWidth").await.as_u64().unwrap();
    assert!(wide <= u64::from(width), "{path} is {wide} wide at {width}");
    assert_eq!(scene.ask(OVERPRINTED).await, json!([]), "{path} at {width}");
    assert_eq!(scene.ask(IN_THE_WAY).await, json!([]), "{path} at {width}");
    assert_eq!(scene.ask(CUT).await, json!([]), "{path} at {width}");
}

/// Parts of rows that reach into the next one.
const IN_THE_WAY: &str = "[...document.querySelectorAll('.list-row')].flatMap((row) => {
    const parts = [...row.querySelectorAll(':scope > :not(a), :scope > a > *')].filter((part) => part.checkVisibility());
    const box = (part) => part.getBoundingClientRect();
    const over = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    return parts.filter((part, n) => parts.slice(n + 1).some((other) => over(box(part), box(other))));
}).map((part) => part.className + ': ' + part.innerText.slice(0, 40))";

/// Tables that are wider than what holds them, where nothing says that they go on.
const CUT: &str = "[...document.querySelectorAll('table')].filter((table) => {
    const scroll = table.closest('.table-scroll');
    return scroll && scroll.scrollWidth > scroll.clientWidth + 1 && getComputedStyle(scroll).backgroundImage === 'none';
}).map((table) => table.className)";

/// The labels of charts that reach over the next one.
const OVERPRINTED: &str = "[...document.querySelectorAll('.chart-axis')].flatMap((axis) => {
    const box = (label) => label.getBoundingClientRect();
    const labels = [...axis.children].filter((label) => box(label).width).sort((a, b) => box(a).left - box(b).left);
    return labels.filter((label, n) => n + 1 < labels.length && box(label).right > box(labels[n + 1]).left);
}).map((label) => label.textContent)";

/// Text has the contrast of WCAG 2.2 AA against what lies behind it.
pub async fn is_readable(scene: &Scene, path: &str, theme: &str) {
    let poor = scene.ask(include_str!("contrast.js")).await;
    assert_eq!(poor, serde_json::json!([]), "{path}, {theme}");
}

/// What keeps people from using the page by the rules of [axe-core](https://github.com/dequelabs/axe-core). Contrasts are
/// looked at [apart](is_readable), in less time.
async fn barriers_of(scene: &Scene, path: &str, width: u32) -> Vec<String> {
    let found = scene.ask(BARRIERS).await;
    found.as_array().unwrap().iter().map(|one| format!("{path} at {width}: {one}")).collect()
}

const BARRIERS: &str = "(async () => {
    const runOnly = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    const options = { runOnly, resultTypes: ['violations'], rules: { 'color-contrast': { enabled: false } } };
    const { violations } = await axe.run(document, options);
    return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(' ')}`);
})()";

async fn the_first_tab_leads_past_the_navigation(scene: &Scene) {
    scene.open("/letters").await;
    scene
        .ask("(window.stops = [], void addEventListener('focusin', ({ target }) => stops.push(target.className)))")
        .await;
    // A key that comes before the page takes any moves nothing, and one that it takes may move something later.
    wait_until("the key to be taken", PATIENCE, async || {
        scene.press_key(Key::Tab).await;
        scene.ask("stops.length > 0").await == json!(true)
    })
    .await;
    assert_eq!(scene.ask("stops[0]").await, "page-skip");
    scene.ask("document.querySelector('.page-skip').focus()").await;
    scene.press_key(Key::Enter).await;
    scene.sees("document.activeElement.id === 'main'").await;
}

async fn every_stop_of_the_tab_key_is_seen(scene: &Scene) {
    const STOPS: usize = 40;
    scene.open("/letters?queue=orders&limit=2").await;
    let mut seen = 0;
    wait_until("that many stops", PATIENCE, async || {
        scene.press_key(Key::Tab).await;
        if scene.ask("document.activeElement !== document.body").await == json!(true) {
            scene.check_focus().await;
            seen += 1;
        }
        seen == STOPS
    })
    .await;
}
