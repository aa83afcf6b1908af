//! A database or a broker that goes away under an open page: the page says so by itself, and no more when it is back.

use std::sync::Arc;

use dead_letter_office::{
    clock::Clock,
    domain::{access::Role, actor::Actor},
    services::{change_feed::ChangeFeed, sign_in::Users},
    store::Store,
};

use super::{
    super::{
        desk::{Desk, MAIN},
        run::{Running, serve},
        sign_in::PASSWORD,
    },
    scene::{Scene, letters},
};
use crate::support::{
    browser::Browser,
    postgres::{DoomedPostgres, Postgres},
    rabbit::Rabbit,
};

const NO_DATABASE: &str = "The database cannot be used at the moment. Nothing is lost; dlo keeps trying.";
const STATE: &str = "document.querySelector('#live').dataset.state";
const SAYS: &str = "[...document.querySelectorAll('.page-notices .health-item')].filter((it) => it.checkVisibility())
    .some((it) => it.innerText.includes('The database does not answer'))";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_goes_away_is_told_by_the_open_page() {
    let Some(mut postgres) = Postgres::doomed() else { return };
    let Some(browser) = Browser::start().await else { return };
    let url = postgres.database_url();
    let scene = Scene::at(browser, server(&url, "none").await).await;
    goes_and_comes_back(&scene, &mut postgres).await;
}

/// Who looks is in the database, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_has_signed_in_is_told_as_well() {
    let Some(mut postgres) = Postgres::doomed() else { return };
    let Some(browser) = Browser::start().await else { return };
    let url = postgres.database_url();
    let scene = Scene::at(browser, server(&url, "password").await).await;
    let store = Arc::new(Store::open(&url).await.unwrap());
    let users = Users::new(store, Clock::system(), ChangeFeed::default());
    users.add("ada", PASSWORD, (Role::Admin, &[]), &Actor::command_line()).await.unwrap();
    scene.open("/sign-in?next=/markers").await;
    scene.types("[name=user]", "ada").await;
    scene.types("[name=password]", PASSWORD).await;
    scene.click(".door-form button").await;
    scene.is_at("/markers").await;
    goes_and_comes_back(&scene, &mut postgres).await;
}

async fn server(url: &str, mode: &str) -> Running {
    serve().with("--roles=web").set("DLO_DATABASE__URL", url).set("DLO_AUTH__MODE", mode).open().await
}

async fn goes_and_comes_back(scene: &Scene, postgres: &mut DoomedPostgres) {
    scene.open("/markers").await;
    scene.sees(&format!("{STATE} === 'live' && !{SAYS}")).await;
    scene.ask("window.stays = true").await;
    postgres.stop();
    scene.sees(&format!("{SAYS} && {STATE} === 'away'")).await;
    a_click_says_what_is_wrong(scene).await;
    postgres.start();
    scene.sees(&format!("!{SAYS} && {STATE} === 'live'")).await;
    scene.click(".toast-box.is-failed [data-try-again]").await;
    scene.sees("!document.querySelector('.toast-box.is-failed') && location.search === '?kind=deploy'").await;
    scene.sees("window.stays").await;
    scene.check_quiet().await;
}

/// In our own words, and without a word of htmx in the console, where what fails of ours would be lost.
async fn a_click_says_what_is_wrong(scene: &Scene) {
    scene.click("#side a[href='/queues']").await;
    scene.reads(".toast-box.is-failed", NO_DATABASE).await;
    scene.click(".toast-box [data-dismiss]").await;
    scene.click("main a[href*='kind=deploy']").await;
    scene.reads(".toast-box.is-failed", NO_DATABASE).await;
    scene.is_at("/markers").await;
    scene.check_quiet().await;
}

/// Where what somebody reads and presses is.
const TOP: &str = "document.querySelector('#main').getBoundingClientRect().top";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_goes_away_is_told_by_the_open_page() {
    let Some(mut rabbit) = Rabbit::doomed().await else { return };
    let Some(browser) = Browser::start().await else { return };
    let vhost = rabbit.vhost();
    let desk = Desk::open().await;
    letters(&desk, "orders", 1).await;
    let server =
        serve().set("DLO_DATABASE__URL", &desk.database_url()).set("DLO_BROKERS__MAIN__URL", &vhost.amqp_url());
    let scene = Scene::at(browser, server.open().await).await;
    scene.open("/letters").await;
    scene.sees("!document.querySelector('#health .health-item')").await;
    // It said so before it was connected, which has kept its room.
    scene.open("/letters").await;
    let top = scene.ask(TOP).await;
    rabbit.stop().await;
    scene.reads("#health", &format!("No connection to broker {MAIN}")).await;
    assert_eq!(scene.ask(TOP).await, top, "what was read has moved");
    scene.sees("!document.querySelector('#health').innerText.includes('dlo keeps trying')").await;
    scene.click("#health [data-details]").await;
    scene.sees("document.querySelector('#health').innerText.includes('dlo keeps trying')").await;
    scene.open("/letters").await;
    let top_below_notice = scene.ask(TOP).await;
    assert_ne!(top_below_notice, top, "the next page has room for it");
    rabbit.start().await;
    scene.sees("!document.querySelector('#health .health-item')").await;
    assert_eq!(scene.ask(TOP).await, top_below_notice, "what was read has moved");
    scene.check_quiet().await;
}
