//! What is not yours is not there: two teams, and every route there is, asked by one of them about what is the other's.
//!
//! The routes are those of the table. One that is new fails here until it is said what it shows.

use std::{collections::BTreeMap, time::Duration};

use amqp_message::{error_report::ErrorReport, field::FieldValue};
use axum::http::Method;
use dead_letter_office::{
    config::{AuthConfig, TeamConfig},
    domain::{
        access::{Role, Scope, read_memberships, write_memberships},
        activity::ActivityFilter,
        actor::Actor,
        broker::ConnectionState,
        command::Command,
        job::JobState,
        letter::{LetterId, Status},
        pacing::Stage,
    },
    services::sign_in::WantedToken,
    web::routes,
};
use serde_json::{Value, json};

use super::{
    answer::{Answer, Look},
    dead::{NOON, dead_in},
    desk::{Desk, MAIN},
    events::next_change,
    groups::sort,
    search::index,
    sign_in::{PASSWORD, Visit, by_password, signed_in, tokens},
    watch::looks,
};
use crate::support::{databases::Lent, process::wait_until};

/// In all that is the other team's.
const THEIRS: &str = "bravo";

/// What a route with an id in it is about.
enum About {
    /// What each team has its own of.
    Letter,
    Group,
    Job,
    Queue,
    Marker,
    View,
    /// Of all queues, so that who sees only some sees none.
    Digest,
    /// Rules, policies, types: they hold for all queues and are seen by everybody.
    Everybody,
}

/// What each route shows, by how its path begins.
fn about(path: &str) -> About {
    let path = path.strip_prefix("/api/v1").unwrap_or(path);
    match path.split('/').nth(1).unwrap_or_default() {
        "letters" => About::Letter,
        "groups" => About::Group,
        "jobs" => About::Job,
        "markers" => About::Marker,
        "views" => About::View,
        "queues" => About::Queue,
        "digests" => About::Digest,
        "rules" | "grouping-rules" | "policies" | "mappings" | "schemas" | "assets" | "docs" => About::Everybody,
        other => panic!("say of {path} what {other} is about"),
    }
}

/// Without an id: what shows counts and lists, which must not change by what the other team has.
fn shows_counts(method: &str, path: &str) -> bool {
    match path {
        // Without end; asked in a test of its own.
        "/events" => false,
        // What is one's own, and what anybody sees.
        "/account" | "/users" | "/login" | "/sign-in" | "/sign-in/start" | "/sign-in/callback" | "/set-up"
        | "/healthz" | "/readyz" | "/metrics" => false,
        _ => method == "GET" && !path.contains('{'),
    }
}

/// What else shows what there is, where it is asked for something: words that exist, and what would match.
const ASKED_FOR: [&str; 13] = [
    "/letters/completions?q=queue:",
    "/letters/completions?q=type:",
    "/letters/completions?q=payload.",
    "/letters/completions?q=payload.of:",
    "/letters/completions?q=header.",
    "/letters?q=boom",
    "/letters?q=-nothing&status=all",
    "/letters?queue_glob=*&status=all&sort=importance",
    "/letters/in-common?status=all",
    "/groups?queue_glob=*&state=all",
    "/queues?queue_glob=*",
    "/api/v1/letters?status=all&q=boom",
    "/api/v1/letters/export?format=ndjson&status=all",
];

/// Calls that change nothing and show what they would be about.
fn previews() -> [(&'static str, Value); 3] {
    [
        ("/api/v1/actions/preview", json!({"action": "discard", "filter": {"status": "open"}})),
        ("/api/v1/digests/preview", json!({})),
        ("/api/v1/rules/test", json!({"when": "true"})),
    ]
}

struct World {
    desk: Desk,
    ours: LetterId,
    _kept: Option<Lent>,
}

pub fn teams() -> AuthConfig {
    let team = |glob: &str| TeamConfig { queues: vec![glob.to_owned()], ..TeamConfig::default() };
    let teams = BTreeMap::from([("alpha".to_owned(), team("alpha*")), (THEIRS.to_owned(), team("bravo*"))]);
    AuthConfig { teams, viewers_see_payloads: false, ..by_password() }
}

async fn letter_of(desk: &Desk, team: &str) -> LetterId {
    let error =
        ErrorReport { kind: Some(format!("{team}Error")), message: Some(format!("{team} boom")), stacktrace: None };
    let dead = dead_in(&format!("{team}-orders")).body(format!(r#"{{"of":"{team}-payload"}}"#)).with(|arrival| {
        arrival.failure.error = Some(error);
        arrival.failure.message_type = Some(format!("{team}.Order"));
    });
    desk.receive(dead).await
}

/// Ada acts in alpha, Ben in bravo; Vera looks at alpha; Dora acts in alpha and looks at bravo; Root sees all.
async fn worlds() -> Vec<World> {
    let mut worlds = Vec::new();
    for (desk, kept) in Desk::where_people_sign_in_on_both(&teams()).await {
        for (name, role, teams) in [
            ("ada", Role::Operator, "alpha"),
            ("ben", Role::Operator, THEIRS),
            ("vera", Role::Operator, "alpha=viewer"),
            ("dora", Role::Operator, "alpha, bravo=viewer"),
            ("root", Role::Admin, ""),
        ] {
            let teams = read_memberships(teams).unwrap();
            desk.users.add(name, PASSWORD, (role, &teams), &Actor::command_line()).await.unwrap();
        }
        let ours = letter_of(&desk, "alpha").await;
        sort(&desk).await;
        worlds.push(World { desk, ours, _kept: kept });
    }
    worlds
}

/// What the other team has.
struct Theirs {
    letter: LetterId,
    group: String,
    job: String,
    marker: String,
    view: String,
}

/// Letters of the other team in every status, a note on their group, a job and activity.
async fn bring_theirs(desk: &Desk) -> Theirs {
    let letter = letter_of(desk, THEIRS).await;
    for status in Status::ALL {
        let id = letter_of(desk, THEIRS).await;
        desk.bring(id, *status).await;
    }
    sort(desk).await;
    let ben = signed_in(desk, "ben").await;
    let group = desk.store.summary(letter).await.unwrap().unwrap().group.unwrap().to_string();
    ben.post(desk, &format!("/groups/{group}/note"), &[("note", "bravo note")]).await.expect(303);
    let action = json!({"action": "discard", "filter": {"group": group, "status": "scheduled"}, "note": "bravo done"});
    let token = token(desk, "ben", &[Scope::Read, Scope::Act, Scope::Markers]).await;
    let started = call(desk, &token, Method::POST, "/api/v1/actions", &action).await.expect(202).json();
    let job = started["job"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/jobs/{job}");
    let ended = async || token.get(desk, &path).await.expect(200).json()["state"] != "running";
    wait_until("the job to end", crate::support::PATIENCE, ended).await;
    let marker = json!({"kind": "deploy", "title": "bravo deploy", "queues": ["*"]});
    let marker = call(desk, &token, Method::POST, "/api/v1/markers", &marker).await.expect(201).json();
    let view = json!({"name": "bravo view", "query": "queue=bravo-orders", "shared": true});
    let view = call(desk, &token, Method::POST, "/api/v1/views", &view).await.expect(201).json();
    let id = |made: &Value| made["id"].as_str().unwrap().to_owned();
    Theirs { letter, group, job, marker: id(&marker), view: id(&view) }
}

async fn token(desk: &Desk, owner: &str, scopes: &[Scope]) -> Visit {
    let owner = desk.store.user(owner).await.unwrap();
    let lasts = Some(Duration::from_secs(3_600));
    let is_of_use = |scope: &Scope| owner.as_ref().is_none_or(|owner| owner.has_use_of(*scope));
    let scopes = scopes.iter().copied().filter(is_of_use).collect();
    let wanted = WantedToken { name: "hook", scopes, owner, teams: Vec::new(), lasts };
    Visit::bearer(&desk.tokens.add(wanted, &Actor::command_line()).await.unwrap())
}

async fn call(desk: &Desk, visit: &Visit, method: Method, path: &str, body: &Value) -> Answer {
    let visit = visit.clone().with("sec-fetch-site", "same-origin").with("origin", "http://127.0.0.1:8420");
    visit.ask(desk, method, path, "application/json", &body.to_string()).await
}

/// An answer without what differs from one request to the next.
fn told(answer: &Answer) -> String {
    const PREVIEW: &str = "/digests/";
    const ID: usize = 36;
    let text = answer.text();
    let text: String = text
        .split_inclusive(PREVIEW)
        .scan(false, |is_id, part| {
            let text = if *is_id { part.get(ID..).unwrap_or(part) } else { part };
            *is_id = part.ends_with(PREVIEW);
            Some(text)
        })
        .collect();
    let mut parts = text.split(" data-changes=\"");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once('"').map_or(part, |(_, rest)| rest).to_owned());
    format!("{} {}", answer.status, [first].into_iter().chain(rest).collect::<String>())
}

#[tokio::test]
async fn nothing_tells_what_another_team_has() {
    for World { desk, .. } in worlds().await {
        let asked: Vec<&str> =
            routes().filter(|(method, path, _)| shows_counts(method, path)).map(|(_, path, _)| path).collect();
        assert!(asked.len() > 20, "{asked:?}");
        let (ada, vera) = (signed_in(&desk, "ada").await, signed_in(&desk, "vera").await);
        let askers = [ada, vera, token(&desk, "ada", Scope::ALL).await];
        let ask_all = async || {
            let mut answers = Vec::new();
            for (n, visit) in askers.iter().enumerate() {
                for path in asked.iter().chain(&ASKED_FOR) {
                    answers.push((format!("{path} by {n}"), told(&visit.get(&desk, path).await)));
                }
                for (path, body) in previews() {
                    let answer = call(&desk, visit, Method::POST, path, &body).await;
                    answers.push((format!("{path} by {n}"), told(&answer)));
                }
            }
            answers
        };
        let before = ask_all().await;
        let shown = before.iter().filter(|(_, text)| text.starts_with("200")).count();
        assert!(shown > 50, "{shown}");
        bring_theirs(&desk).await;
        for ((path, before), (_, after)) in before.iter().zip(ask_all().await) {
            assert!(!after.to_lowercase().contains(THEIRS), "{path}: {after}");
            assert_eq!(*before, after, "{path}");
        }
        // The same is there for whom it is.
        let ben = signed_in(&desk, "ben").await;
        for path in ["/", "/letters", "/groups", "/queues", "/activity", "/scheduled"] {
            let page = ben.get(&desk, path).await.expect(200).text();
            assert!(!page.contains("alpha-orders"), "{path}");
            assert!(path == "/scheduled" || page.contains(THEIRS), "{path}");
        }
    }
}

/// What is known of a letter by who may see all.
async fn state(desk: &Desk, theirs: &Theirs) -> String {
    let letter = desk.store.summary(theirs.letter).await.unwrap().unwrap();
    let group = desk.store.groups_by_id(&[theirs.group.parse().unwrap()]).await.unwrap();
    let jobs = desk.store.jobs(&[], None, 100).await.unwrap();
    let entries = desk.store.activity(&ActivityFilter::default(), None, 1_000).await.unwrap().len();
    format!("{letter:?} {group:?} {jobs:?} {entries} {:?}", desk.store.history(theirs.letter).await.unwrap())
}

#[tokio::test]
async fn what_is_another_teams_is_answered_like_what_is_not_there() {
    for World { desk, .. } in worlds().await {
        let theirs = bring_theirs(&desk).await;
        let nothing = "0198a000-0000-7000-8000-000000000000";
        let before = state(&desk, &theirs).await;
        let (ada, of_ada) = (signed_in(&desk, "ada").await, token(&desk, "ada", Scope::ALL).await);
        let mut asked = 0;
        for (method, path, _) in routes().filter(|(_, path, _)| path.contains('{')) {
            let id = match about(path) {
                About::Letter => theirs.letter.to_string(),
                About::Group => theirs.group.clone(),
                About::Job => theirs.job.clone(),
                About::Marker => theirs.marker.clone(),
                About::View => theirs.view.clone(),
                About::Queue => format!("{THEIRS}-orders"),
                About::Digest => nothing.to_owned(),
                About::Everybody => continue,
            };
            for visit in [&ada, &of_ada] {
                let ask = async |id: &str| {
                    let path = path.replace("{id}", id).replace("{broker}", MAIN).replace("{queue}", id);
                    let answer = match (method, path.starts_with("/api")) {
                        ("GET", _) => visit.get(&desk, &path).await,
                        (_, true) => call(&desk, visit, method.parse().unwrap(), &path, &body_of(method, &path)).await,
                        (_, false) => visit.post(&desk, &path, &form_of(&path)).await,
                    };
                    (answer.status, told(&answer).replace(id, "ID"))
                };
                let (answer, to_nothing) = (ask(&id).await, ask(nothing).await);
                assert_eq!(answer, to_nothing, "{method} {path}");
                assert!(!answer.1.contains(THEIRS), "{method} {path}: {}", answer.1);
                assert!(answer.0 == 404 || answer.0 == 303 || answer.0 == 403, "{method} {path}: {}", answer.1);
                asked += 1;
            }
        }
        assert!(asked > 40, "{asked}");
        let letter = theirs.letter.to_string();
        ada.post(&desk, "/letters/actions", &[("action", "discard"), ("id", &letter)]).await.expect(303);
        ada.post(&desk, "/scheduled/all", &form_of("/scheduled/all")).await;
        for action in [
            json!({"action": "discard", "ids": [letter]}),
            json!({"action": "discard", "filter": {"queue": "bravo-orders", "status": "open"}}),
            json!({"action": "discard", "filter": {"group": theirs.group, "status": "open"}}),
        ] {
            let started = call(&desk, &of_ada, Method::POST, "/api/v1/actions", &action).await.expect(202).json();
            let path = format!("/api/v1/jobs/{}", started["job"].as_str().unwrap());
            let ended = async || of_ada.get(&desk, &path).await.expect(200).json()["state"] != "running";
            wait_until("the job to end", crate::support::PATIENCE, ended).await;
            assert_eq!(of_ada.get(&desk, &path).await.json()["done"], 0);
        }
        let after = state(&desk, &theirs).await;
        let without_jobs = |text: &str| text.split(" [JobRecord").next().unwrap_or_default().to_owned();
        assert_eq!(without_jobs(&before), without_jobs(&after));
        assert_eq!(desk.status(theirs.letter).await, Status::Open);
    }
}

/// What a changing call takes, so that it is not refused for its form.
fn body_of(method: &str, path: &str) -> Value {
    match path.rsplit('/').next().unwrap() {
        _ if method == "DELETE" => json!({}),
        _ if path.starts_with("/api/v1/views/") => json!({"name": "ours"}),
        "discard" | "reopen" | "retry" | "reveal" | "cancel" | "pause" | "undo" | "acknowledge" | "resolve"
        | "resume" | "unmerge" => json!({}),
        "join" => json!({}),
        "split" => json!({"field": "payload.note", "values": [null]}),
        "preview" => json!({"field": "payload.note"}),
        "snooze" => json!({"until": "1h"}),
        _ => json!({"note": "ours"}),
    }
}

fn form_of(path: &str) -> Vec<(&'static str, &'static str)> {
    match path.rsplit('/').next().unwrap() {
        "note" => vec![("note", "ours")],
        "all" => vec![("action", "discard"), ("until", "1795262400000000"), ("filter", "")],
        "edit" => vec![("text", "{}")],
        "split" => vec![("field", "payload.note"), ("missing", "1")],
        _ => vec![("back", "/letters")],
    }
}

#[tokio::test]
async fn what_one_sees_and_may_not_do_is_disabled_with_the_reason() {
    for World { desk, ours, .. } in worlds().await {
        let theirs = bring_theirs(&desk).await;
        let dora = signed_in(&desk, "dora").await;
        let gates = async |id: LetterId| {
            let page = dora.get(&desk, &format!("/letters/{id}")).await.expect(200).page();
            page.values("fieldset[data-gate]", "title")
        };
        assert_eq!(gates(ours).await, [""; 0]);
        let why = "Your role in the team of this queue may not retry, edit, discard or annotate.";
        assert!(gates(theirs.letter).await.contains(&why.to_owned()));
        dora.get(&desk, &format!("/letters/{}/edit", theirs.letter)).await.expect(403);
        let of_dora = token(&desk, "dora", Scope::ALL).await;
        let path = format!("/api/v1/letters/{}/discard", theirs.letter);
        call(&desk, &of_dora, Method::POST, &path, &json!({})).await.problem(403);
        of_dora.get(&desk, &format!("/api/v1/letters/{}/body", theirs.letter)).await.problem(403);
        let path = format!("/api/v1/groups/{}", theirs.group);
        call(&desk, &of_dora, Method::PATCH, &path, &json!({"note": "x"})).await.problem(403);
        assert_eq!(desk.status(theirs.letter).await, Status::Open);
        // One edit for all takes the right to see payloads, and is shown on what they may act on.
        let blind = token(&desk, "ada", &[Scope::Read, Scope::Act]).await;
        let edit = json!({"action": "retry", "filter": {"status": "open"}, "merge_patch": {"of": "new"}});
        for path in ["/api/v1/actions", "/api/v1/actions/preview"] {
            call(&desk, &blind, Method::POST, path, &edit).await.problem(403);
        }
        let told = call(&desk, &of_dora, Method::POST, "/api/v1/actions/preview", &edit).await.expect(200).json();
        assert_eq!(told["edit"]["letters"][0]["id"], ours.to_string());
        assert_eq!(told["edit"]["letters_tried"], 1);
        // A queue that is not there is said to be missing, and one that they do not see is not.
        looks(&desk, vec![Some(Vec::new())]).await;
        let trouble = async |order: Value| {
            let told = call(&desk, &of_dora, Method::POST, "/api/v1/actions/preview", &order).await.expect(200).json();
            told["queues"][0]["trouble"].clone()
        };
        let retry = json!({"action": "retry", "filter": {"status": "open"}});
        assert!(trouble(retry).await.as_str().unwrap().starts_with("There is no queue "));
        let elsewhere = json!({"action": "retry", "filter": {"status": "open"}, "queue": "bravo-orders"});
        assert_eq!(trouble(elsewhere).await, Value::Null);
        // Nor does it go to a queue that is not theirs to act on.
        let path = format!("/api/v1/letters/{ours}/retry");
        let to_theirs = call(&desk, &of_dora, Method::POST, &path, &json!({"queue": "bravo-orders"})).await;
        assert!(to_theirs.problem(422).contains("bravo-orders is not one of your teams"));
        call(&desk, &of_dora, Method::POST, &path, &json!({"delay": "1h"})).await.expect(200);
    }
}

#[tokio::test]
async fn payloads_are_withheld_from_viewers_where_it_is_said() {
    for World { desk, ours, .. } in worlds().await {
        let vera = signed_in(&desk, "vera").await;
        for view in ["", "?view=hex", "?view=text", "?view=fields"] {
            let page = vera.get(&desk, &format!("/letters/{ours}{view}")).await.expect(200);
            assert!(!page.text().contains("alpha-payload"), "{view}");
            assert!(page.page().words("#payload-part").contains("may not see payloads"), "{view}");
        }
        let api = token(&desk, "vera", Scope::ALL).await.get(&desk, &format!("/api/v1/letters/{ours}")).await;
        assert!(!api.text().contains("alpha-payload"));
        vera.get(&desk, &format!("/letters/{ours}/edit")).await.expect(403);
        let ada = signed_in(&desk, "ada").await.get(&desk, &format!("/letters/{ours}")).await.expect(200);
        assert!(ada.text().contains("alpha-payload"));
    }
}

/// Headers that repeat the arguments of a task can neither be asked for nor guessed.
#[tokio::test]
async fn arguments_in_headers_are_withheld_with_payloads() {
    for World { desk, .. } in worlds().await {
        let text = FieldValue::string;
        let task = dead_in("alpha-tasks").body("[[\"kestrel\"], {}, {}]").header("task", text("pay"));
        let id = desk.receive(task.header("id", text("1")).header("argsrepr", text("kestrel"))).await;
        index(&desk).await;
        let (vera, ada) = (signed_in(&desk, "vera").await, signed_in(&desk, "ada").await);
        for search in ["header.argsrepr:kestrel", "header.ArgsRepr:*"] {
            let rows = async |visit: &Visit| {
                visit.get(&desk, &format!("/letters?q={search}")).await.expect(200).page().count(".list-row")
            };
            assert_eq!((rows(&vera).await, rows(&ada).await), (0, 1), "{search}");
        }
        let blind = token(&desk, "ada", &[Scope::Read, Scope::Act]).await;
        let path = format!("/api/v1/letters/{id}/retry");
        for headers in [
            json!({"set": {"argsrepr": "kestrel"}}),
            json!({"set": {"argsrepr": "merlin"}}),
            json!({"remove": ["argsrepr"]}),
        ] {
            call(&desk, &blind, Method::POST, &path, &json!({"headers": headers})).await.problem(403);
        }
        let other = json!({"headers": {"set": {"tenant": "acme"}}, "delay": "1h"});
        call(&desk, &blind, Method::POST, &path, &other).await.expect(200);
    }
}

#[tokio::test]
async fn a_name_that_no_queue_can_have_is_not_there() {
    for World { desk, .. } in worlds().await {
        let ada = signed_in(&desk, "ada").await;
        for (length, status) in [(255, 200), (256, 404)] {
            let queue = format!("alpha{}", "x".repeat(length - "alpha".len()));
            desk.receive(dead_in(&queue)).await;
            ada.get(&desk, &format!("/queues/{MAIN}/{queue}")).await.expect(status);
        }
    }
}

#[tokio::test]
async fn who_does_not_see_all_does_not_see_how_much_happens() {
    let World { desk, ours, .. } = worlds().await.remove(0);
    let changes = async |name: &str| {
        let page = signed_in(&desk, name).await.get(&desk, "/account").await.expect(200).page();
        page.values("#side", "data-changes")
    };
    let (of_root, of_ada) = (changes("root").await, changes("ada").await);
    assert!(of_root[0].split('.').count() == 3 && of_ada[0].split('.').count() == 2, "{of_root:?} {of_ada:?}");
    letter_of(&desk, THEIRS).await;
    assert_eq!(changes("ada").await, of_ada, "of what she does not see");
    assert_ne!(changes("root").await, of_root);
    let ben = changes("ben").await;
    letter_of(&desk, "alpha").await;
    assert_ne!(changes("ada").await, of_ada);
    assert_eq!(changes("ben").await, ben);
    let of_ada = changes("ada").await;
    let note = [("action", "note"), ("note", "ask Ben"), ("id", &*ours.to_string())];
    signed_in(&desk, "ada").await.post(&desk, "/letters/actions", &note).await.expect(303);
    assert_ne!(changes("ada").await, of_ada, "also of what is done to them");
    let metrics = token(&desk, "ada", Scope::ALL).await.get(&desk, "/metrics").await;
    assert!(metrics.expect(403).text().contains("of all queues"));
}

/// The first event that is told is the first of what they see.
#[tokio::test]
async fn who_does_not_see_all_is_not_told_of_the_rest() {
    for World { desk, .. } in worlds().await {
        let mut stream = signed_in(&desk, "ada").await.stream(&desk, "/events").await;
        let begun = next_change(&mut stream).await;
        letter_of(&desk, THEIRS).await;
        desk.board_says(MAIN, ConnectionState::Lost { since: NOON, why: "gone".to_owned() });
        let told = next_change(&mut stream).await;
        let of_letters = |changes: &str| changes.split_once('.').unwrap().0.to_owned();
        assert_eq!(of_letters(&told), of_letters(&begun), "of the broker only");
        assert_ne!(told, begun);
        letter_of(&desk, "alpha").await;
        assert_ne!(of_letters(&next_change(&mut stream).await), of_letters(&begun));
    }
}

#[tokio::test]
async fn one_admin_puts_somebody_into_teams_and_out_of_them() {
    for World { desk, ours, .. } in worlds().await {
        let (root, ben) = (signed_in(&desk, "root").await, signed_in(&desk, "ben").await);
        let path = format!("/letters/{ours}");
        ben.get(&desk, &path).await.expect(404);
        let change = [("user", "ben"), ("change", "teams"), ("teams", "bravo, alpha=viewer")];
        root.post(&desk, "/users/change", &change).await.expect(303);
        ben.get(&desk, &path).await.expect(200);
        let viewer = [("user", "vic"), ("password", PASSWORD), ("role", "viewer"), ("teams", "alpha, bravo=operator")];
        root.post(&desk, "/users/add", &viewer).await.expect(303);
        let teams = desk.store.user("vic").await.unwrap().unwrap().teams;
        assert_eq!(write_memberships(&teams), "alpha, bravo=operator", "what is not said stays so");
        let unknown = [("user", "ben"), ("change", "teams"), ("teams", "charlie")];
        root.post(&desk, "/users/change", &unknown).await.expect(303);
        assert_eq!(desk.store.user("ben").await.unwrap().unwrap().teams.len(), 2);
        root.post(&desk, "/users/change", &[("user", "ben"), ("change", "teams"), ("teams", "")]).await.expect(303);
        ben.get(&desk, &path).await.expect(200);
        let entry = desk.store.activity(&ActivityFilter::default(), None, 1).await.unwrap().remove(0).entry;
        assert_eq!((&*entry.action, &*entry.subject, &*entry.detail), ("teams", "ben", "none"));
    }
}

#[tokio::test]
async fn in_a_team_without_a_role_one_is_what_one_becomes() {
    for World { desk, ours, .. } in worlds().await {
        let (root, ada) = (signed_in(&desk, "root").await, signed_in(&desk, "ada").await);
        let ours = ours.to_string();
        let discards = async || ada.post(&desk, "/letters/actions", &[("action", "discard"), ("id", &ours)]).await;
        let becomes = async |role| {
            let change = [("user", "ada"), ("change", "role"), ("role", role)];
            root.post(&desk, "/users/change", &change).await.expect(303);
        };
        becomes("viewer").await;
        discards().await.expect(403);
        let teams = desk.store.user("ada").await.unwrap().unwrap().teams;
        assert_eq!(write_memberships(&teams), "alpha");
        becomes("operator").await;
        discards().await.expect(303);
    }
}

/// Who acts in one team and looks at another stops and undoes what they began.
#[tokio::test]
async fn a_job_is_its_own_to_who_began_it() {
    for World { desk, .. } in worlds().await {
        let (dora, ben) = (token(&desk, "dora", Scope::ALL).await, token(&desk, "ben", Scope::ALL).await);
        let job = begin_slowly(&desk, &dora, "alpha-orders").await;
        let path = format!("/api/v1/jobs/{job}");
        ben.get(&desk, &path).await.expect(404);
        for what in ["pause", "resume", "cancel"] {
            call(&desk, &dora, Method::POST, &format!("{path}/{what}"), &json!({})).await.expect(200);
        }
        // What she only looks at is not hers to stop.
        letter_of(&desk, THEIRS).await;
        let theirs = begin_slowly(&desk, &ben, "bravo-orders").await;
        let path = format!("/api/v1/jobs/{theirs}");
        dora.get(&desk, &path).await.expect(200);
        let why = "queues in which you may not retry, edit, discard or annotate";
        for what in ["pause", "resume", "cancel", "undo"] {
            let refused = call(&desk, &dora, Method::POST, &format!("{path}/{what}"), &json!({})).await;
            assert_eq!(refused.json()["code"], "not_allowed", "{what}");
            assert!(refused.problem(403).contains(why), "{what}");
        }
        assert_eq!(ben.get(&desk, &path).await.expect(200).json()["state"], "running");
        // Nor does a second team keep her from taking back what is done.
        let hour = json!({"action": "retry", "filter": {"queue": "alpha-orders", "status": "open"}, "delay": "1h"});
        let job = call(&desk, &dora, Method::POST, "/api/v1/actions", &hour).await.expect(202).json();
        let path = format!("/api/v1/jobs/{}", job["job"].as_str().unwrap());
        ended(&desk, &dora, &path).await;
        call(&desk, &dora, Method::POST, &format!("{path}/undo"), &json!({})).await.expect(202);
    }
}

#[tokio::test]
async fn who_may_not_act_on_all_of_a_job_is_told_so_on_its_page() {
    for World { desk, .. } in worlds().await {
        letter_of(&desk, THEIRS).await;
        let job = begin_slowly(&desk, &token(&desk, "ben", Scope::ALL).await, "bravo-orders").await;
        let (path, buttons) = (format!("/jobs/{job}"), ".job-acts button");
        let gate = ".job-acts > fieldset[data-gate][disabled]";
        let (dora, ben) = (signed_in(&desk, "dora").await, signed_in(&desk, "ben").await);
        let why = "It acts on queues in which you may not retry, edit, discard or annotate: only who may in all of them \
            pauses, resumes, cancels or undoes it.";
        for page in ["/jobs", &path] {
            let seen = dora.get(&desk, page).await.expect(200).page();
            assert_eq!(seen.values(gate, "title"), [why], "{page}");
            let disabled = seen.count(&format!("{gate} button"));
            assert!(disabled > 0 && disabled == seen.count(buttons), "{page}");
            let theirs = ben.get(&desk, page).await.expect(200).page();
            assert_eq!((theirs.count(gate), theirs.count(buttons)), (0, disabled), "{page}");
        }
        for what in ["pause", "resume", "cancel", "undo"] {
            let refused = dora.post(&desk, &format!("{path}/{what}"), &[("back", &path)]).await.expect(403).page();
            assert!(refused.words("main").contains(why), "{what}: {}", refused.words("main"));
        }
        assert_eq!(desk.store.job(job.parse().unwrap()).await.unwrap().unwrap().state, JobState::Running);
        ben.post(&desk, &format!("{path}/cancel"), &[("back", &path)]).await.expect(303);
    }
}

/// It acts where it may, and is not told what it may not read.
#[tokio::test]
async fn a_token_that_only_acts_does_so_in_its_queues() {
    for World { desk, ours, .. } in worlds().await {
        let theirs = letter_of(&desk, THEIRS).await;
        let (bot, of_ada) =
            (tokens::token(&desk, "bot", &[Scope::Act]).await, token(&desk, "ada", &[Scope::Act]).await);
        let hour = json!({"delay": "1h"});
        for (what, body, status) in [
            ("retry", &hour, Status::Scheduled),
            ("reopen", &json!({}), Status::Open),
            ("discard", &json!({}), Status::Discarded),
        ] {
            let at = |id| format!("/api/v1/letters/{id}/{what}");
            let done = call(&desk, &of_ada, Method::POST, &at(ours), body).await.expect(204);
            assert_eq!((desk.status(ours).await, done.text()), (status, String::new()), "{what}");
            call(&desk, &of_ada, Method::POST, &at(theirs), body).await.problem(404);
        }
        let path = format!("/api/v1/letters/{ours}");
        call(&desk, &of_ada, Method::PATCH, &path, &json!({"note": "by a script"})).await.expect(204);
        assert_eq!(desk.note(ours).await.as_deref(), Some("by a script"));
        call(&desk, &of_ada, Method::PATCH, &path, &json!({})).await.problem(403);
        // All of a filter, and those that are named.
        for (visit, done) in [(&of_ada, 1), (&bot, 2)] {
            for (order, n) in [
                (json!({"action": "reopen", "ids": [ours.to_string()]}), 1),
                (json!({"action": "discard", "filter": {"status": "open"}}), done),
                (json!({"action": "reopen", "filter": {"status": "discarded"}}), done),
                (json!({"action": "discard", "filter": {"status": "open"}}), done),
            ] {
                let started = call(&desk, visit, Method::POST, "/api/v1/actions", &order).await.expect(202).json();
                let id = started["job"].as_str().unwrap().parse().unwrap();
                let job = async || desk.store.job(id).await.unwrap().unwrap();
                let has_ended = async || job().await.state != JobState::Running;
                wait_until("the job to end", crate::support::PATIENCE, has_ended).await;
                let ended = job().await;
                assert_eq!((ended.done, ended.failed, ended.skipped), (n, 0, 0), "{order}: {ended:?}");
            }
        }
        assert_eq!((desk.status(ours).await, desk.status(theirs).await), (Status::Discarded, Status::Discarded));
        // What answers with what there is takes the other scope, and says so.
        let group = desk.store.summary(ours).await.unwrap().unwrap().group.unwrap();
        let edit = json!({"headers": {"set": {"tenant": "acme"}}});
        for (path, body) in [
            (format!("/api/v1/letters/{ours}/retry"), &edit),
            ("/api/v1/actions/preview".to_owned(), &json!({"action": "discard", "filter": {"status": "open"}})),
            (format!("/api/v1/groups/{group}/resolve"), &json!({})),
            (format!("/api/v1/queues/{MAIN}/alpha-orders/pause"), &json!({})),
        ] {
            let why = call(&desk, &bot, Method::POST, &path, body).await.problem(403);
            assert_eq!(why, "This token may not read: it has the scope act.", "{path}");
        }
    }
}

/// A token that only acts sees no queue: what it does concerns those that it acts on, and not everybody.
#[tokio::test]
async fn what_a_token_that_only_acts_does_is_not_for_every_team() {
    for World { desk, .. } in worlds().await {
        let (ben, root) = (token(&desk, "ben", Scope::ALL).await, token(&desk, "root", Scope::ALL).await);
        let bot = tokens::token(&desk, "bot", &[Scope::Act]).await;
        let of_ada = token(&desk, "ada", &[Scope::Act]).await;
        for visit in [&bot, &of_ada] {
            let job = begin_slowly(&desk, visit, "alpha-orders").await;
            let path = format!("/api/v1/jobs/{job}");
            ben.get(&desk, &path).await.expect(404);
            call(&desk, &ben, Method::POST, &format!("{path}/cancel"), &json!({})).await.expect(404);
            // It does not learn by that how many letters there are either.
            for order in ["pause", "resume", "pause"] {
                let done = call(&desk, visit, Method::POST, &format!("{path}/{order}"), &json!({})).await.expect(204);
                assert_eq!(done.text(), "", "{order}");
            }
            let view = json!({"name": "a view of alpha", "query": "queue=alpha-orders", "shared": true});
            call(&desk, visit, Method::POST, "/api/v1/views", &view).await.expect(201);
            assert!(!ben.get(&desk, "/api/v1/jobs").await.expect(200).text().contains(&job));
            let activity = ben.get(&desk, "/api/v1/activity").await.expect(200).text();
            assert!(!activity.contains(&job) && !activity.contains("a view of alpha"), "{activity}");
            assert!(!ben.get(&desk, "/api/v1/views").await.expect(200).text().contains("a view of alpha"));
            let activity = root.get(&desk, "/api/v1/activity").await.expect(200).text();
            assert!(activity.contains(&job) && activity.contains("a view of alpha"), "{activity}");
            call(&desk, visit, Method::POST, &format!("{path}/cancel"), &json!({})).await.expect(204);
        }
    }
}

/// Begins a retry of what is open in a queue that takes its time; the answer is its job, whose letters are known.
async fn begin_slowly(desk: &Desk, visit: &Visit, queue: &str) -> String {
    let action = json!({"action": "retry", "filter": {"queue": queue, "status": "open"}, "rate": 1});
    let started = call(desk, visit, Method::POST, "/api/v1/actions", &action).await.expect(202).json();
    let job = started["job"].as_str().unwrap().to_owned();
    let is_known = async || {
        let record = desk.store.job_record(job.parse().unwrap()).await.unwrap().unwrap();
        record.progress.stage != Some(Stage::Freezing)
    };
    wait_until("the letters to be known", crate::support::PATIENCE, is_known).await;
    job
}

async fn ended(desk: &Desk, visit: &Visit, path: &str) {
    let has_ended = async || visit.get(desk, path).await.expect(200).json()["state"] != "running";
    wait_until("the job to end", crate::support::PATIENCE, has_ended).await;
}

#[tokio::test]
async fn the_activity_is_exported_whole_and_as_far_as_one_sees_it() {
    for World { desk, ours, .. } in worlds().await {
        bring_theirs(&desk).await;
        for n in 0..700 {
            let note = format!("=note {n}");
            desk.command(ours, Command::SetNote(note)).await;
        }
        let all = desk.store.activity(&ActivityFilter::default(), None, 10_000).await.unwrap().len();
        let (root, ada) = (signed_in(&desk, "root").await, signed_in(&desk, "ada").await);
        let lines = root.get(&desk, "/api/v1/activity.ndjson").await.expect(200).text();
        assert_eq!(lines.lines().count(), all);
        assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok_and(|line| line["by"].is_string())));
        let seen = ada.get(&desk, "/api/v1/activity.ndjson").await.expect(200).text();
        assert!(seen.lines().count() == 700 && !seen.contains(THEIRS), "{seen}");
        let table = ada.get(&desk, "/api/v1/activity.csv?area=letters").await.expect(200);
        assert_eq!(table.header("content-type"), "text/csv; charset=utf-8");
        let table = table.text();
        assert!(table.starts_with("id,at,by,via,address,area,action,subject,letters,detail,text\r\n"), "{table}");
        assert_eq!(table.lines().count(), 701);
        assert!(table.contains(",\"'=note 699\","), "a spreadsheet does not take it for a formula: {table}");
        let of_ben = root.get(&desk, "/api/v1/activity.ndjson?by=ben").await.expect(200).text();
        assert!(of_ben.lines().count() > 0 && of_ben.lines().all(|line| line.contains("\"by\":\"ben")), "{of_ben}");
    }
}
