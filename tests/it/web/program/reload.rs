//! SIGHUP: what can be replaced is, and the log says what needs a restart.

use std::fs;

use super::super::run::{PATIENCE, Running, serve};
use crate::support::{http, process::wait_until};

const AT_FIRST: &str =
    "[retry]\ndelays = [\"10s\"]\n[auth.teams.pay]\nqueues = [\"pay.*\"]\n[web]\npublic_url = \"http://a.example\"";

async fn await_delays(server: &Running, expected: &str) {
    let is_so = async || {
        let all = server.json("/api/v1/policies").await;
        all["items"][0]["delays"] == serde_json::json!([expected])
    };
    wait_until(&format!("the delay {expected}"), PATIENCE, is_so).await;
}

#[tokio::test]
async fn what_can_be_is_replaced_and_what_is_broken_changes_nothing() {
    let program = serve().config(AT_FIRST).with("--roles=web");
    // The variable would go before the file.
    let server = program.unset("DLO_RETRY__DELAYS").open().await;
    await_delays(&server, "10s").await;
    let reload = |toml: &str| {
        fs::write(server.file("dlo.toml"), toml).unwrap();
        server.hang_up();
    };
    let changed = AT_FIRST.replace("10s", "7s").replace("pay.*", "bills.*").replace("a.example", "b.example");
    reload(&changed);
    server.says("in effect: auth.teams.pay.queues, retry.delays").await;
    server.says("needs a restart: web.public_url").await;
    await_delays(&server, "7s").await;
    reload(&changed.replace("7s", "soon"));
    server.says("what was in effect stays: the configuration is not usable: retry.delays").await;
    reload(&changed.replace("7s", "3s").replace("[web]", "[notify.slack]\nwebhook_url = \"nonsense\"\n[web]"));
    server.says("what was in effect stays: it makes nothing that can be used").await;
    // All of it or nothing: the next one still takes the delay for a new one.
    reload(&changed.replace("7s", "5s"));
    server.says("in effect: retry.delays").await;
    await_delays(&server, "5s").await;
    reload(&changed.replace("7s", "5s"));
    server.says("nothing that can change without a restart has changed").await;
    reload(AT_FIRST);
    await_delays(&server, "10s").await;
    reload(&format!("{AT_FIRST}\n[log]\nfilter = \"debug\""));
    server.says("in effect: log.filter").await;
    server.says("DEBUG").await;
}

/// The next mode needs no roles, which is no reason to take them from the one in effect.
#[tokio::test]
async fn roles_are_checked_against_the_mode_in_effect() {
    let by_proxy = "[auth]\nmode = \"proxy\"\n[auth.proxy]\nfrom = [\"127.0.0.1\"]\n[auth.roles]\nothers = \"viewer\"";
    let server = serve().config(by_proxy).with("--roles=web").open().await;
    let looks = async || {
        let page = http().build().unwrap().get(format!("{}/letters", server.url));
        page.header("x-forwarded-user", "ada").send().await.unwrap().status()
    };
    assert_eq!(looks().await, 200);
    fs::write(server.file("dlo.toml"), "[auth]\nmode = \"password\"").unwrap();
    server.hang_up();
    server.says("what was in effect stays: it makes nothing that can be used: auth.mode is").await;
    assert_eq!(looks().await, 200);
}

#[tokio::test]
async fn get_started_names_the_channels_in_effect() {
    let server = serve().config("").with("--roles=web").open().await;
    let page = async || server.get("/get-started").await.text().await.unwrap();
    let at_first = page().await;
    assert!(at_first.contains("They are set up in the configuration, [notify]."), "{at_first}");
    fs::write(server.file("dlo.toml"), "[notify.alertmanager]\nurl = \"http://127.0.0.1:1\"").unwrap();
    server.hang_up();
    server.says("notify.alertmanager.url").await;
    let told = page().await;
    assert!(told.contains("To alertmanager."), "{told}");
}
