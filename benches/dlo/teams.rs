//! What the pages of a team take at a million letters in two thousand queues, of which forty globs are the team's, against
//! the same pages for who sees all.

use std::sync::Arc;

use dead_letter_office::{
    clock::Clock,
    domain::{
        access::{Membership, Role},
        actor::Actor,
    },
    services::{change_feed::ChangeFeed, sign_in::Users},
};
use reqwest::{
    header::{COOKIE, HeaderMap, HeaderValue, ORIGIN, SET_COOKIE},
    redirect::Policy,
};

use crate::{
    database::TestDatabase,
    full::fill_queues,
    pages::MANY,
    server::Server,
    support::{http, postgres::Postgres, rabbit::Rabbit},
};

const QUEUES: u32 = 2_000;
/// Each is of ten queues.
const GLOBS: u32 = 40;
const PASSWORD: &str = "correct horse";
/// Milliseconds at p95.
const PROMISED: f64 = 50.0;

const REQUESTS: [&str; 8] = [
    "/",
    "/letters",
    "/letters?queue_glob=service-10*&importance=critical",
    "/groups",
    "/queues",
    "/scheduled",
    "/api/v1/letters?status=open",
    "/api/v1/groups",
];

pub async fn run() {
    let Some(rabbit) = Rabbit::shared() else { return };
    println!("\nteams: {GLOBS} globs over {MANY} letters in {QUEUES} queues");
    measure("SQLite", rabbit, fill_queues::<QUEUES>(TestDatabase::sqlite().await, MANY).await).await;
    if let Some(postgres) = Postgres::durable() {
        measure("Postgres", rabbit, fill_queues::<QUEUES>(TestDatabase::postgres(&postgres).await, MANY).await).await;
    }
}

async fn measure(name: &str, rabbit: &Rabbit, database: TestDatabase) {
    let users = Users::new(Arc::clone(&database.store), Clock::system(), ChangeFeed::default());
    let membership = Membership { team: "some".to_owned(), role: None };
    let by = Actor::command_line();
    for (user, role, teams) in [("all", Role::Operator, vec![]), ("team", Role::Operator, vec![membership])] {
        users.add(user, PASSWORD, (role, &teams), &by).await.expect("a user");
    }
    let globs: Vec<String> = (10..10 + GLOBS).map(|number| format!("service-{number}?.events")).collect();
    let settings = [
        ("DLO_AUTH__MODE", "password"),
        ("DLO_AUTH__TEAMS__SOME__QUEUES", &*globs.join(",")),
        // The copies are not in the index; to put them there takes a core for as long as this takes.
        ("DLO_SEARCH__ENABLED", "false"),
    ];
    let vhost = rabbit.vhost();
    let mut server = Server::open(&database, &vhost, &settings);
    for path in REQUESTS {
        sign_in(&mut server, "all").await;
        let all = server.time(path).await;
        sign_in(&mut server, "team").await;
        let team = server.time(path).await;
        println!(
            "{:<66} {:>6.2} ms (p95 {:.2}) ratio {:>5.2}  promised p95 {PROMISED:.0}  {}",
            format!("{path}, {name}"),
            team.median,
            team.p95,
            team.median / all.median,
            if team.p95 <= PROMISED { "kept" } else { "MISSED" },
        );
    }
}

/// Has everything asked in somebody's name from now on.
async fn sign_in(server: &mut Server, user: &str) {
    let client = http().redirect(Policy::none()).build().expect("a client");
    let form = format!("user={user}&password={}", PASSWORD.replace(' ', "+"));
    let request = client.post(format!("{}/sign-in", server.url)).header(ORIGIN, &server.url);
    let request = request.header("content-type", "application/x-www-form-urlencoded").body(form);
    let answer = request.send().await.expect("an answer");
    let cookies = answer.headers().get_all(SET_COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
    let cookies: Vec<&str> = cookies.filter_map(|cookie| cookie.split(';').next()).collect();
    let mut headers = HeaderMap::new();
    headers.insert(COOKIE, HeaderValue::from_str(&cookies.join("; ")).expect("a cookie"));
    server.visitor.client = http().default_headers(headers).build().expect("a client");
}
