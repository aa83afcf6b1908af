//! A server that goes away under an open page, is slow, or fails: the page says so, keeps what was entered, and tries again
//! when it is told to.

use std::sync::Arc;

use dead_letter_office::domain::letter::LetterId;
use sqlx::{AssertSqlSafe, Connection, Executor, SqliteConnection};

use super::{
    super::{
        desk::Desk,
        groups::{alike, group_of},
        run::{Running, serve},
    },
    scene::{Scene, letters},
};
use crate::support::{browser::Browser, free_port};

const TRY_AGAIN: &str = ".toast-box.is-failed [data-try-again]";

/// A server that comes back at the address it had.
struct Stage {
    desk: Arc<Desk>,
    port: u16,
    scene: Scene,
}

impl Stage {
    async fn open(desk: Desk) -> Option<Self> {
        let browser = Browser::start().await?;
        let (desk, port) = (Arc::new(desk), free_port());
        let server = start(&desk, port).await;
        Some(Self { desk, port, scene: Scene::at(browser, server).await })
    }

    async fn stop(&mut self) {
        self.scene.server.stop().await;
        self.scene.sees("!document.querySelector('#connection').hidden").await;
    }

    async fn start(&mut self) {
        self.scene.server = start(&self.desk, self.port).await;
    }

    /// Changes the database beside the server.
    async fn alter(&self, statement: &str) {
        let mut database = SqliteConnection::connect(&self.desk.database_url()).await.unwrap();
        database.execute(AssertSqlSafe(statement.to_owned())).await.unwrap();
    }

    /// Tries again what has failed, once all has that was asked for.
    async fn again(&mut self) {
        self.scene.rests().await;
        self.start().await;
        self.scene.click(TRY_AGAIN).await;
    }
}

async fn start(desk: &Desk, port: u16) -> Running {
    let address = format!("127.0.0.1:{port}");
    serve()
        .with("--roles=web")
        .set("DLO_DATABASE__URL", &desk.database_url())
        .set("DLO_WEB__LISTEN", &address)
        .open()
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_gone_slow_or_ill_is_told_and_nothing_entered_is_lost() {
    let desk = Desk::open().await;
    let letter = letters(&desk, "orders", 3).await[0];
    let Some(mut stage) = Stage::open(desk).await else { return };
    a_click_says_that_the_server_is_gone_until_it_is_back(&mut stage).await;
    a_form_within_the_page_keeps_what_was_entered(&mut stage, letter).await;
    a_form_that_leads_to_another_page_keeps_it_too(&mut stage).await;
    a_slow_answer_is_waited_for_in_sight(&stage).await;
    a_failure_of_the_server_can_be_tried_again(&stage).await;
    what_a_page_asks_for_by_itself_fails_without_a_word(&stage).await;
}

async fn a_click_says_that_the_server_is_gone_until_it_is_back(stage: &mut Stage) {
    stage.scene.open("/letters").await;
    stage.stop().await;
    stage.scene.reads("#connection", "No connection to the server").await;
    stage.scene.click("#side a[href='/groups']").await;
    stage.scene.reads(".toast-box.is-failed", "The server did not answer.").await;
    for width in [390, 1280] {
        stage.scene.browser.set_viewport(width, 900).await;
        stage.scene.sees(IS_APART).await;
    }
    stage.scene.click(".toast-box [data-dismiss]").await;
    stage.scene.is_at("/letters").await;
    stage.scene.click(".list-row > a").await;
    stage.scene.reads(".toast-box.is-failed", "The server did not answer.").await;
    stage.scene.rests().await;
    stage.start().await;
    stage.scene.sees("document.querySelector('#connection').hidden").await;
    stage.scene.counts(".toast-box", 0).await;
    stage.scene.click(".list-row > a").await;
    stage.scene.reads("#pane .letter-view", "orders").await;
}

/// The toast and what is said of the server, both within the window.
const IS_APART: &str = "(() => {
    const [toast, notice] = ['.toast-box', '#connection'].map((part) => document.querySelector(part).getBoundingClientRect());
    const isSeen = ({ top, bottom, height }) => height > 0 && top >= 0 && bottom <= innerHeight;
    return isSeen(toast) && isSeen(notice) && (toast.bottom <= notice.top || notice.bottom <= toast.top
        || toast.right <= notice.left || notice.right <= toast.left);
})()";

async fn a_form_within_the_page_keeps_what_was_entered(stage: &mut Stage, letter: LetterId) {
    const NOTE: &str = "textarea[name=note]";
    stage.scene.open(&format!("/letters?letter={letter}")).await;
    stage.scene.click(&format!("#pane details:has({NOTE}) > summary")).await;
    stage.scene.types(&format!("#pane {NOTE}"), "asked the shop").await;
    stage.stop().await;
    stage.scene.click(&format!("#pane form:has({NOTE}) button[value=note]")).await;
    stage.scene.reads(".toast-box.is-failed", "It is not known whether this was done").await;
    stage.scene.sees(&format!("document.querySelector('#pane {NOTE}').value === 'asked the shop'")).await;
    assert_eq!(stage.desk.note(letter).await, None);
    stage.again().await;
    stage.scene.reads("#pane", "asked the shop").await;
    assert_eq!(stage.desk.note(letter).await.as_deref(), Some("asked the shop"));
}

async fn a_form_that_leads_to_another_page_keeps_it_too(stage: &mut Stage) {
    stage.scene.open("/policies").await;
    stage.scene.types("#policy [name=queues]", "texts.*").await;
    stage.scene.reads("#preview", "Means:").await;
    stage.stop().await;
    stage.scene.click("#policy .btn-primary").await;
    stage.scene.reads(".toast-box.is-failed", "The server did not answer.").await;
    stage.scene.sees("document.querySelector('#policy [name=queues]').value === 'texts.*'").await;
    // A preview that fails later is not what is tried again.
    stage.scene.ask("document.querySelector('#policy').dispatchEvent(new Event('change'))").await;
    stage.again().await;
    stage.scene.sees("!document.querySelector('.toast-box.is-failed')").await;
    stage.scene.reads("main table", "texts.*").await;
}

/// That it works is not said for long: soon it says that it is slow.
const KEEP_WHAT_IS_SAID: &str = "((busy) => {
    window.said = [];
    new MutationObserver(() => said.push(busy.textContent)).observe(busy, { childList: true });
})(document.querySelector('#busy'))";

async fn a_slow_answer_is_waited_for_in_sight(stage: &Stage) {
    let scene = &stage.scene;
    scene.open("/letters").await;
    scene.sees("document.querySelector('#busy').hidden").await;
    scene.freeze().await;
    scene.ask(KEEP_WHAT_IS_SAID).await;
    scene.click(".list-row > a").await;
    scene.sees("said.some((it) => it.includes('Working'))").await;
    scene.reads("#busy", "The server is slow").await;
    scene.thaw().await;
    scene.reads("#pane .letter-view", "orders").await;
    scene.sees("document.querySelector('#busy').hidden").await;
}

async fn a_failure_of_the_server_can_be_tried_again(stage: &Stage) {
    let scene = &stage.scene;
    scene.open("/letters").await;
    stage.alter("ALTER TABLE facets RENAME TO gone").await;
    scene.click(".list-row > a").await;
    scene.reads(".toast-box.is-failed", "Internal error").await;
    stage.alter("ALTER TABLE gone RENAME TO facets").await;
    scene.click(TRY_AGAIN).await;
    scene.reads("#pane .letter-view", "orders").await;
}

/// So that what can be undone can be undone still.
async fn what_a_page_asks_for_by_itself_fails_without_a_word(stage: &Stage) {
    let scene = &stage.scene;
    let id = alike(&stage.desk, "removed", "no disk", 1).await[0];
    scene.open(&group_of(&stage.desk, id).await).await;
    stage.alter("DELETE FROM groups").await;
    let watch =
        "addEventListener('htmx:afterRequest', ({ detail }) => (window.isMissed ||= detail.xhr.status === 404))";
    scene.ask(watch).await;
    scene.ask("htmx.trigger(document.body, 'dlo:changes')").await;
    scene.sees("window.isMissed").await;
    assert_eq!(scene.count(".toast-box").await, 0);
}
