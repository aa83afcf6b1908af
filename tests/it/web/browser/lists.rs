//! Rows of one group that are shown as one, by mouse and by keys; and what charts say of their bars.

use amqp_message::field::FieldValue;

use super::{
    super::{
        desk::Desk,
        groups::{alike, sort},
    },
    scene::{Scene, fresh, letters},
    typing::Key,
};

#[tokio::test]
async fn a_run_of_one_group_is_one_row() {
    let desk = Desk::open().await;
    letters(&desk, "mail", 1).await;
    let ids = alike(&desk, "orders", "no rate", 6).await;
    sort(&desk).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    scene.open("/letters").await;
    let open = "document.querySelector('.list-run .run-rows').checkVisibility()";
    scene.sees(&format!("!{open}")).await;
    scene.click(".run-head > input").await;
    scene.reads(".list-count", "6 selected").await;
    scene.click(".run-head > a").await;
    scene.sees(open).await;
    scene.click(&format!("#row-{} > input", ids[0])).await;
    scene.reads(".list-count", "5 selected").await;
    scene.sees("document.querySelector('.run-head > input').indeterminate").await;
    scene.click(".run-head > a").await;
    scene.sees(&format!("!{open} && document.querySelector('.run-head > a').ariaExpanded === 'false'")).await;
    by_keys(&scene, open).await;
    a_bar_is_told(&scene).await;
    scene.check_quiet().await;
}

/// `j` comes past the run in one step while it is folded; Enter opens it, `x` selects all of it.
async fn by_keys(scene: &Scene, open: &str) {
    scene.open("/letters").await;
    let is_at_run = "document.activeElement.matches('.run-head > a')";
    for _ in 0..2 {
        if scene.ask(is_at_run).await != true {
            scene.press("j").await;
        }
    }
    scene.sees(is_at_run).await;
    scene.press("x").await;
    scene.reads(".list-count", "6 selected").await;
    scene.press("x").await;
    scene.press_key(Key::Enter).await;
    scene.sees(open).await;
    scene.press("j").await;
    scene.sees("document.activeElement.closest('.run-rows')").await;
}

async fn a_bar_is_told(scene: &Scene) {
    scene.open("/letters").await;
    scene.ask("document.querySelector('.chart-bars').focus()").await;
    let told = "[...document.querySelectorAll('.chart-bars a')]
        .some((bar) => bar.ariaLabel === document.querySelector('.chart-tip').textContent)";
    // The newest letter is in the last bar, or came just before that began.
    for _ in 0..2 {
        if scene.ask(told).await != true {
            scene.press_key(Key::Left).await;
        }
    }
    scene.sees(told).await;
}

/// Where a line of text stands: what is put behind it stands on the same line.
const BASELINE: &str = "((at) => {
    const mark = at.appendChild(document.createElement('span'));
    mark.style.display = 'inline-block';
    const { bottom } = mark.getBoundingClientRect();
    mark.remove();
    return bottom;
})";

/// Whether the last letter of a name is within what shows it.
const SHOWS_ITS_END: &str = "((at) => {
    const range = document.createRange();
    const text = at.firstChild;
    range.setStart(text, text.length - 1);
    range.setEnd(text, text.length);
    const [end, box] = [range.getBoundingClientRect(), at.parentElement.getBoundingClientRect()];
    return end.width > 0 && end.left >= box.left && end.right <= box.right + 1;
})";

#[tokio::test]
async fn chosen_columns_stand_on_the_line_of_their_row_and_are_told_apart() {
    const NAMES: [&str; 3] =
        ["x-tenant-of-the-whole-order", "x-tenant-of-the-whole-shop", "x-tenant-of-the-whole-region"];
    let desk = Desk::open().await;
    let dead = NAMES.iter().fold(fresh("orders", 1), |dead, name| dead.header(name, FieldValue::string("eu")));
    desk.receive(dead.body("{}")).await;
    let Some(scene) = Scene::over(&desk).await else { return };
    let columns: Vec<String> = NAMES.iter().map(|name| format!("column=header.{name}")).collect();
    scene.open(&format!("/letters?{}", columns.join("&"))).await;
    for at in [".row-what .row-name", ".row-field:first-child bdi:last-child", ".row-field:last-child bdi:last-child"] {
        let line = |at: &str| format!("{BASELINE}(document.querySelector('.list-row {at}'))");
        let apart = scene.ask(&format!("Math.abs({} - {})", line(at), line(".row-why bdi"))).await;
        assert!(apart.as_f64().unwrap() <= 1.0, "{at} is {apart} px off");
    }
    for width in [1060, 1280, 1920] {
        scene.browser.set_viewport(width, 900).await;
        let heads = "[...document.querySelectorAll('.list-heads .row-fields bdi')]";
        assert_eq!(scene.ask(&format!("{heads}.length")).await, 3);
        assert_eq!(scene.ask(&format!("{heads}.every({SHOWS_ITS_END})")).await, true, "at {width}");
        let titles = format!("{heads}.every((head) => head.closest('[title]').title === head.textContent)");
        assert_eq!(scene.ask(&titles).await, true);
    }
    scene.check_quiet().await;
}
