//! `dlo user` and `dlo token`, also while a server runs.

use std::path::Path;

use reqwest::{Client, redirect};

use super::PASSWORD;
use crate::{
    store::database::TestDatabase,
    support::http,
    web::run::{Ended, dlo, serve},
};

fn run(database: &Path, arguments: &[&str], input: &str) -> Ended {
    let url = format!("sqlite://{}", database.display());
    let program = dlo(arguments).set("DLO_DATABASE__URL", &url).set("DLO_AUTH__MODE", "password");
    program.input(input.as_bytes()).run()
}

fn client() -> Client {
    http().redirect(redirect::Policy::none()).build().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_and_programs_are_added_listed_and_kept_out() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("database.db");
    let line = format!("{PASSWORD}\n");
    assert_eq!(
        run(&database, &["user", "add", "ada", "--role", "admin"], &line).expect(0).stdout,
        "added ada as admin\n"
    );
    let again = run(&database, &["user", "add", "ada"], &line).expect(1).stderr;
    assert!(again.contains("there is a user \"ada\" already"), "{again}");
    let short = run(&database, &["user", "add", "bob"], "short\n").expect(1).stderr;
    assert!(short.contains("at least 12 characters"), "{short}");
    run(&database, &["user", "add", "bob", "--role", "king"], &line).expect(2);
    let server = serve()
        .with("--roles=web")
        .set("DLO_DATABASE__URL", &format!("sqlite://{}", database.display()))
        .set("DLO_AUTH__MODE", "password")
        // With sign-in, it may listen anywhere.
        .set("DLO_WEB__LISTEN", "0.0.0.0:0")
        .open()
        .await;
    assert!(!server.lines().iter().any(|line| line.contains("set-up?link=")));
    let url = server.url.replace("0.0.0.0", "127.0.0.1");
    run(&database, &["user", "add", "otto", "--role", "operator"], &line).expect(0);
    let sign_in = async |password: &str| {
        let body = format!("user=otto&password={password}");
        let request = client().post(format!("{url}/sign-in")).body(body);
        request.header("content-type", "application/x-www-form-urlencoded").send().await.unwrap()
    };
    let welcome = sign_in("correct+horse").await;
    assert_eq!(welcome.status(), 303);
    let cookie = welcome.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let look = async || client().get(format!("{url}/letters")).header("cookie", &cookie).send().await.unwrap().status();
    assert_eq!(look().await, 200);
    run(&database, &["user", "role", "otto", "viewer"], "").expect(0);
    run(&database, &["user", "reset", "otto"], "battery staple\n").expect(0);
    assert_eq!(look().await, 303);
    assert_eq!(sign_in("battery+staple").await.status(), 303);
    run(&database, &["user", "disable", "otto"], "").expect(0);
    assert_eq!(sign_in("battery+staple").await.status(), 401);
    let last = run(&database, &["user", "disable", "ada"], "").expect(1).stderr;
    assert!(last.contains("the only admin"), "{last}");
    let listed = run(&database, &["user", "list"], "").expect(0).stdout;
    let words: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words, [vec!["ada", "admin", "password"], vec!["otto", "viewer", "password", "disabled"]]);
    let token =
        run(&database, &["token", "add", "grafana", "--scopes", "read", "--expires", "30d"], "").expect(0).stdout;
    let ended = run(&database, &["token", "add", "gone", "--scopes", "read", "--expires", "0d"], "").expect(2).stderr;
    assert!(ended.contains("it would have ended already"), "{ended}");
    let endless = run(&database, &["token", "add", "old", "--expires", "99999d"], "").expect(1).stderr;
    assert!(endless.contains("3650 days at most"), "{endless}");
    let ask = async || client().get(format!("{url}/metrics")).bearer_auth(token.trim()).send().await.unwrap().status();
    assert_eq!(ask().await, 200);
    let listed = run(&database, &["token", "list"], "").expect(0).stdout;
    assert!(listed.contains("grafana") && !listed.contains(token.trim()), "{listed}");
    run(&database, &["token", "remove", "grafana"], "").expect(0);
    assert_eq!(ask().await, 401);
    run(&database, &["token", "remove", "grafana"], "").expect(1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_long_as_there_is_nobody_the_log_says_how_to_begin() {
    let server = serve().with("--roles=web").set("DLO_AUTH__MODE", "password").open().await;
    server.says("/set-up?link=").await;
    let line = server.lines().into_iter().find(|line| line.contains("/set-up?link=")).unwrap();
    let link = line.split("/set-up").nth(1).unwrap().split_whitespace().next().unwrap();
    let page = client().get(format!("{}/set-up{link}", server.url)).send().await.unwrap();
    assert_eq!(page.status(), 200);
    assert!(page.text().await.unwrap().contains("The first admin"));
}

/// Servers of that version may be using it.
#[tokio::test]
async fn an_older_database_is_not_migrated() {
    for database in [Some(TestDatabase::sqlite().await), TestDatabase::postgres().await].into_iter().flatten() {
        database.tamper("DELETE FROM _sqlx_migrations WHERE version > 1").await;
        for command in [["user", "list"], ["token", "list"]] {
            let program = dlo(&command).set("DLO_DATABASE__URL", database.url()).set("DLO_AUTH__MODE", "password");
            let refused = { program }.run().expect(1).stderr;
            assert!(refused.contains("run `dlo migrate`"), "{refused}");
        }
        assert_eq!(database.number("SELECT max(version) FROM _sqlx_migrations").await, 1);
    }
}
