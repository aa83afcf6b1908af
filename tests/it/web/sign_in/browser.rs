//! Signing in, acting, being refused, and signing out, in a real browser.

use dead_letter_office::domain::{access::Role, actor::Actor, letter::Status};
use serde_json::json;

use super::{PASSWORD, oidc::SignOn};
use crate::{
    support::browser::Browser,
    web::{
        browser::{
            looks::{fits, is_readable},
            scene::{Scene, letters},
        },
        desk::Desk,
        run::serve,
    },
};

const ON_CALL: &str = "otto";

/// A desk whose database has an operator and a viewer with passwords, and a letter.
async fn desk() -> Desk {
    let desk = Desk::open().await;
    for (name, role) in [("ada", Role::Admin), (ON_CALL, Role::Operator), ("vera", Role::Viewer)] {
        desk.users.add(name, PASSWORD, (role, &[]), &Actor::command_line()).await.unwrap();
    }
    desk
}

async fn sign_in(scene: &Scene, name: &str) {
    scene.types("[name=user]", name).await;
    scene.types("[name=password]", PASSWORD).await;
    scene.click(".door-form button").await;
}

/// Discards the letter that is open.
async fn discard(scene: &Scene) {
    scene.click("form[action='/letters/actions'] button[value=discard]").await;
    scene.reads(".toast-box", "Discarded").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_password() {
    let desk = desk().await;
    let id = letters(&desk, "orders", 1).await[0];
    let Some(browser) = Browser::start().await else { return };
    let server = serve().with("--roles=web").set("DLO_DATABASE__URL", &desk.database_url());
    let scene = Scene::at(browser, server.set("DLO_AUTH__MODE", "password").open().await).await;
    let page = format!("/letters/{id}");
    scene.open(&page).await;
    scene.is_at(&format!("/sign-in?next={page}")).await;
    scene.types("[name=user]", ON_CALL).await;
    scene.types("[name=password]", "wrong horse!").await;
    scene.click(".door-form button").await;
    scene.reads("[role=alert]", "There is no such account, or the password is another.").await;
    scene.open(&format!("/sign-in?next={page}")).await;
    sign_in(&scene, ON_CALL).await;
    scene.is_at(&page).await;
    scene.reads(".side-who", "otto · operator").await;
    discard(&scene).await;
    assert_eq!(desk.status(id).await, Status::Discarded);
    scene.open("/policies").await;
    scene.sees("document.querySelector('#policy fieldset')?.disabled").await;
    scene.open("/users").await;
    scene.reads("main", "Your role, operator, may not").await;
    scene.click(".side-who button").await;
    scene.reads("h1", "Signed out").await;
    scene.open("/letters").await;
    scene.is_at("/sign-in?next=/letters").await;
    a_viewer_only_looks(&scene, &desk).await;
    a_session_that_is_ended_leads_out(&scene, &desk).await;
    scene.check_quiet().await;
}

/// To such an address browsers do not say what kind of site a form comes from, only which.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_password_without_tls_on_another_machine() {
    let desk = desk().await;
    let Some(browser) = Browser::start().await else { return };
    let server = serve()
        .with("--roles=web")
        .set("DLO_DATABASE__URL", &desk.database_url())
        .set("DLO_WEB__PUBLIC_URL", "http://dlo.test")
        .set("DLO_AUTH__MODE", "password");
    let mut server = server.open().await;
    server.url = server.url.replace("127.0.0.1", "dlo.test");
    let scene = Scene::at(browser, server).await;
    scene.open("/letters").await;
    scene.is_at("/sign-in?next=/letters").await;
    sign_in(&scene, ON_CALL).await;
    scene.is_at("/letters").await;
}

async fn a_viewer_only_looks(scene: &Scene, desk: &Desk) {
    let id = letters(desk, "mail", 1).await[0];
    scene.open(&format!("/letters/{id}")).await;
    sign_in(scene, "vera").await;
    scene.is_at(&format!("/letters/{id}")).await;
    scene.reads("#payload", "\"n\"").await;
    let enabled = "[...document.querySelectorAll('main form[method=post] button')].filter((it) => !it.matches(':disabled')).length";
    assert_eq!(scene.ask(enabled).await, 0);
    scene.press("d").await;
    assert_eq!(desk.status(id).await, Status::Open);
}

async fn a_session_that_is_ended_leads_out(scene: &Scene, desk: &Desk) {
    scene.open("/groups").await;
    desk.users.disable("vera", true, &Actor::command_line()).await.unwrap();
    scene.is_at("/sign-in?next=/groups").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_pages_fit_and_are_readable() {
    let desk = desk().await;
    let Some(browser) = Browser::start().await else { return };
    let server = serve().with("--roles=web").set("DLO_DATABASE__URL", &desk.database_url());
    let scene = Scene::at(browser, server.set("DLO_AUTH__MODE", "password").open().await).await;
    look_at(&scene, "/sign-in?next=/letters").await;
    scene.open("/sign-in").await;
    sign_in(&scene, "ada").await;
    scene.reads(".side-who", "ada · admin").await;
    scene.open("/account").await;
    scene.types("[name=name]", "deploy hook").await;
    scene.click("[name=scope][value=act]").await;
    scene.click("form[action='/account/tokens'] button").await;
    scene.reads("#token", "dlo_").await;
    for path in ["/account", "/users", "/nowhere"] {
        look_at(&scene, path).await;
    }
    scene.check_quiet().await;
}

async fn look_at(scene: &Scene, path: &str) {
    scene.open(path).await;
    for theme in ["light", "dark"] {
        scene.browser.set_media_feature("prefers-color-scheme", theme).await;
        for (width, height) in [(390, 844), (1280, 900)] {
            scene.browser.set_viewport(width, height).await;
            fits(scene, path, width).await;
            is_readable(scene, path, theme).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_an_openid_provider() {
    let desk = Desk::open().await;
    let id = letters(&desk, "orders", 1).await[0];
    let Some(browser) = Browser::start().await else { return };
    let Some(SignOn { provider, server }) = SignOn::open(Some(&desk.database_url())).await else { return };
    let scene = Scene::at(browser, server).await;
    scene.open(&format!("/letters/{id}")).await;
    scene.click("a.btn-primary").await;
    scene.sees("document.querySelector('[name=login]')").await;
    scene.types("[name=login]", ON_CALL).await;
    scene.types("[name=password]", "any").await;
    scene.click("button[type=submit]").await;
    scene.sees("document.querySelector('form [name=prompt][value=consent]')").await;
    scene.click("button[type=submit]").await;
    scene.is_at(&format!("/letters/{id}")).await;
    scene.reads(".side-who", "otto · operator").await;
    discard(&scene).await;
    assert_eq!(desk.status(id).await, Status::Discarded);
    scene.open("/users").await;
    scene.reads("main", "Your role, operator, may not").await;
    disable(&desk, true).await;
    scene.is_at("/sign-in?next=/users").await;
    disable(&desk, false).await;
    // The provider still knows who it is.
    scene.click("a.btn-primary").await;
    scene.is_at("/users").await;
    scene.reads(".side-who", "otto · operator").await;
    scene.click(".side-who button").await;
    // On to the provider, which asks whether one signs out there, too.
    scene.sees(&format!("location.origin === {}", json!(provider.issuer))).await;
    scene.open("/letters").await;
    scene.is_at("/sign-in?next=/letters").await;
}

async fn disable(desk: &Desk, is_disabled: bool) {
    desk.users.disable(ON_CALL, is_disabled, &Actor::command_line()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_a_proxy() {
    let desk = Desk::open().await;
    let id = letters(&desk, "orders", 1).await[0];
    let Some(browser) = Browser::start().await else { return };
    let server = serve()
        .with("--roles=web")
        .set("DLO_DATABASE__URL", &desk.database_url())
        .set("DLO_AUTH__MODE", "proxy")
        .set("DLO_AUTH__PROXY__FROM", "127.0.0.1")
        .set("DLO_AUTH__ROLES__OPERATOR", "user:otto");
    let scene = Scene::at(browser, server.open().await).await;
    let says = async |name: &str| {
        scene.browser.devtools("Network.enable", json!({})).await;
        let headers = json!({"headers": {"X-Forwarded-User": name}});
        scene.browser.devtools("Network.setExtraHTTPHeaders", headers).await;
    };
    scene.open("/").await;
    scene.reads("body", "The proxy does not say who you are").await;
    says("eve").await;
    scene.open("/").await;
    scene.reads("main", "eve has no role here").await;
    says(ON_CALL).await;
    scene.open(&format!("/letters/{id}")).await;
    scene.reads(".side-who", "otto · operator").await;
    assert_eq!(scene.count(".side-who button").await, 0, "the proxy signs out");
    discard(&scene).await;
    assert_eq!(desk.status(id).await, Status::Discarded);
    scene.open("/users").await;
    scene.reads("main", "Your role, operator, may not").await;
    disable(&desk, true).await;
    scene.open("/").await;
    scene.reads("main", "otto may not come in any more").await;
}
