//! Hidden means hidden: a value that the configuration or a schema hides gets out by no way in, whatever its body is like.
//!
//! The ways in are read from the description of the API and from the routes of the pages, so that a new one is covered by
//! itself. Those that show hidden values are listed in [`REVEALING`]; each leaves a line in the history.

use std::{
    io::Write,
    sync::{Arc, LazyLock, Mutex},
};

use amqp_message::{error_report::ErrorReport, field::FieldValue, message::Properties};
use axum::{body::Body, http::Request};
use base64::{Engine, prelude::BASE64_STANDARD};
use dead_letter_office::domain::{command::Command, letter::LetterId};
use regex::Regex;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};

use super::{
    answer::Look,
    dead::dead_in,
    desk::{DECODE_MAX_BYTES, Desk, MAIN, builder},
    form::submit,
    groups::sort,
    openapi::calls,
    schemas::post_form,
};
use crate::support::soak;

const SECRET: &str = "4711-0815-1234";

const REVEALING: [&str; 3] =
    ["GET /api/v1/letters/{id}/body", "POST /api/v1/letters/{id}/reveal", "POST /letters/{id}/reveal"];
/// It has no end, and says only what has changed.
const ENDLESS: &str = "GET /events";

const SCHEMA: &str = "syntax = \"proto3\"; package lab.v1;
    message Person { string ssn = 1; string name = 2; }
    message Account { string code = 1 [debug_redact = true]; string name = 2; }
    message Door { string label = 1; string color = 2; }
    message Bank { Account one = 1; repeated Account list = 2; map<string, Account> by_name = 3; string code = 4; }
    message Nothing {}";

/// Its name, what the type property says, and the body.
type TestBody = (&'static str, Option<&'static str>, Vec<u8>);

/// What may be in a body that has the secret in it.
fn bodies() -> Vec<TestBody> {
    let truncated = format!(r#"{{"name":"Zoe","ssn":"{SECRET}","n":"#);
    let large = format!(r#"{{"ssn":"{SECRET}","pad":"{}"}}"#, "o".repeat(DECODE_MAX_BYTES as usize));
    let class = r"App\Jobs\Pay";
    let command = format!("O:{}:\"{class}\":1:{{s:3:\"ssn\";s:{}:\"{SECRET}\";}}", class.len(), SECRET.len());
    let job = json!({"displayName": class, "job": "x", "data": {"commandName": class, "command": command}});
    let traceback = format!("Traceback: ValueError: no account for {SECRET}, declined");
    let actor = json!({"queue_name": "q", "actor_name": "pay", "args": [], "kwargs": {"ssn": SECRET},
        "options": {"retries": 3, "traceback": traceback}});
    let event = json!({"specversion": "1.0", "id": "1", "source": "/x", "type": "t", "ssn": SECRET, "data": {"n": 1}});
    let field = |number: u8, text: &str| [&[number << 3 | 2, text.len() as u8], text.as_bytes()].concat();
    let person = [field(1, SECRET), field(2, "Zoe")].concat();
    vec![
        ("json", None, format!(r#"{{"name":"Zoe","ssn":"{SECRET}"}}"#).into()),
        ("truncated", None, truncated.clone().into()),
        ("json in json", None, json!({"id": 1, "order": json!({"ssn": SECRET}).to_string()}).to_string().into()),
        ("truncated in json", None, json!({"id": 1, "order": truncated}).to_string().into()),
        ("php in json", None, job.to_string().into()),
        ("quoted in itself", None, actor.to_string().into()),
        ("beside a payload", None, event.to_string().into()),
        ("trailing comma", None, format!(r#"{{"ssn":"{SECRET}","n":1,}}"#).into()),
        ("escaped name", None, format!(r#"{{"\u0073sn":"{SECRET}","#).into()),
        ("large", None, large.into()),
        ("several", None, format!("{{\"a\":1}}\n{{\"ssn\":\"{SECRET}\"}}\n").into()),
        ("truncated in base64", None, BASE64_STANDARD.encode(&truncated).into()),
        ("form", None, format!("name=Zoe&ssn={SECRET}").into()),
        ("xml", None, format!("<p><ssn>{SECRET}</ssn></p>").into()),
        ("yaml", None, format!("name: Zoe\nssn: {SECRET}\n").into()),
        ("words", None, format!("the SSN is {SECRET}").into()),
        ("msgpack", None, [b"\x82\xa1n\x01\xa3ssn\xae", SECRET.as_bytes()].concat()),
        ("msgpack cut short", None, [b"\x83\xa1n\x01\xa3ssn\xae", SECRET.as_bytes(), b"\xa1"].concat()),
        ("message", Some("lab.v1.Person"), person.clone()),
        ("json of a type", Some("lab.v1.Account"), format!(r#"{{"name":"Zoe","code":"{SECRET}"}}"#).into()),
        ("message of no type", None, person.clone()),
        ("message cut short", Some("lab.v1.Person"), [&person[..], b"\x12\x20Zo"].concat()),
        ("message cut in the field", Some("lab.v1.Person"), person[..12].to_vec()),
        ("message of a wrong type", Some("lab.v1.Nothing"), person.clone()),
        ("message of an unknown type", Some("lab.v9.Unknown"), person),
    ]
}

async fn desk() -> Desk {
    with_schema(Desk::hiding(&["ssn"]).await).await
}

async fn with_schema(desk: Desk) -> Desk {
    post_form(&desk, "/api/v1/schemas", None, &[("lab.proto", SCHEMA.as_bytes())]).await.expect(201);
    desk
}

/// A letter whose error quotes the secret.
async fn letter(desk: &Desk, message_type: Option<&str>, body: Vec<u8>) -> LetterId {
    let kind = message_type.map(str::to_owned);
    let text = format!("no account for {SECRET}");
    let error = ErrorReport {
        kind: Some("NotFound".to_owned()),
        message: Some(text.clone()),
        stacktrace: Some(format!("{text}\n at main")),
    };
    let dead = dead_in("orders")
        .body(body)
        .properties(Properties { kind, ..Properties::default() })
        .header("x-exception-message", FieldValue::string(&text))
        .header("x-exception-stacktrace", FieldValue::string(format!("{text}\n at main")))
        .with(|arrival| {
            arrival.failure.error = Some(error);
            arrival.failure.message_type = message_type.map(str::to_owned);
        });
    desk.receive(dead).await
}

/// Every part of the secret that is long enough, as text, in hex and in base64.
static NEEDLES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&needles().iter().map(|one| regex::escape(one)).collect::<Vec<_>>().join("|")).unwrap()
});

fn needles() -> Vec<String> {
    const PART: usize = 7;
    let parts = SECRET.as_bytes().windows(PART).map(|part| String::from_utf8(part.to_vec()).unwrap());
    let hex = |separator: &str| {
        SECRET.as_bytes()[..5].iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(separator)
    };
    let in_base64 = (0..3).map(|before| {
        let text = BASE64_STANDARD.encode([&b"xxx"[..before], SECRET.as_bytes()].concat());
        text[4..text.len() - 4].to_owned()
    });
    parts.chain([hex(" "), hex(""), hex("").to_uppercase(), hex(" ").to_uppercase()]).chain(in_base64).collect()
}

/// What is told where nothing may be.
fn told(what: &str, text: &str) -> Option<String> {
    NEEDLES.find(text).map(|found| {
        let from = text.floor_char_boundary(found.start().saturating_sub(200));
        let to = text.ceil_char_boundary((found.start() + 100).min(text.len()));
        format!("{what} tells {}: …{}", found.as_str(), &text[from..to])
    })
}

/// The routes of a source file, as `GET /letters/{id}`.
fn routes(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for route in source.split(".route(").skip(1) {
        let Some((path, rest)) = route.trim_start().strip_prefix('"').and_then(|rest| rest.split_once('"')) else {
            continue;
        };
        let handlers = rest.split(".route(").next().unwrap().split(";").next().unwrap();
        for (word, method) in [("get(", "GET"), ("post(", "POST")] {
            if handlers.contains(word) {
                found.push(format!("{method} {path}"));
            }
        }
    }
    found
}

async fn ways_in(desk: &Desk) -> Vec<String> {
    let mut ways: Vec<String> = calls(desk).await.into_iter().collect();
    let pages = routes(include_str!("../../../src/web/pages/mod.rs"));
    assert!(pages.len() > 35 && pages.contains(&"POST /letters/{id}/edit".to_owned()), "{pages:?}");
    ways.extend(pages);
    ways.extend(routes(include_str!("../../../src/web/mod.rs")));
    ways.retain(|way| way != ENDLESS && !REVEALING.contains(&&**way));
    ways
}

/// All that a way in can be asked for.
fn queries(path: &str) -> Vec<String> {
    let encodings = ["", "encoding=none", "encoding=base64"];
    match path {
        "/letters/{id}" => {
            let views = ["json", "fields", "text", "hex"];
            let asked = |encoding: &&str| views.map(|view| format!("?view={view}&{encoding}"));
            [String::new()].into_iter().chain(encodings.iter().flat_map(asked)).collect()
        }
        "/api/v1/letters/{id}" => encodings.iter().map(|encoding| format!("?{encoding}")).collect(),
        _ => vec![String::new()],
    }
}

/// What a way in is asked with.
enum With {
    Nothing,
    Body(Value),
    Form(Vec<(&'static str, &'static str)>),
}

/// Something that it takes, and of that what has it show most. One that is new fails here until it is said.
fn with_what(way: &str, id: &str) -> With {
    let (method, path) = way.split_once(' ').unwrap();
    match path {
        _ if method == "GET" => With::Nothing,
        _ if method == "DELETE" => With::Nothing,
        _ if path.starts_with("/api/") => body_of(path, id),
        _ => With::Form(form_of(path)),
    }
}

fn body_of(path: &str, id: &str) -> With {
    let path = path.strip_prefix("/api/v1/").unwrap();
    With::Body(match path {
        "actions/preview" => json!({"action": "retry", "filter": {"status": "open"}, "merge_patch": {"name": "Q"}}),
        "actions" => json!({"action": "importance", "importance": "high", "filter": {"status": "open"}}),
        "decode" => json!({"body_base64": "e30=", "headers": {}}),
        "digests/preview" | "digests/send" => json!({}),
        "grouping-rules" | "grouping-rules/preview" => json!({"name": "account", "pattern": "for [^ ]+"}),
        "groups/actions" => json!({"action": "acknowledge", "ids": [id_or_none(id)]}),
        "groups/merge" => json!({"ids": [id_or_none(id)]}),
        "groups/{id}" | "letters/{id}" => json!({"note": "seen"}),
        "groups/{id}/acknowledge" | "groups/{id}/reopen" | "groups/{id}/resolve" | "groups/{id}/unmerge" => json!({}),
        "groups/{id}/join" => json!({}),
        "groups/{id}/snooze" => json!({"until": "1h"}),
        "groups/{id}/split" => json!({"field": "payload.ssn", "values": [null, "x"]}),
        "groups/{id}/split/preview" => json!({"field": "payload.ssn"}),
        "letters/{id}/discard" | "letters/{id}/reopen" => json!({}),
        "letters/{id}/retry" => json!({"delay": "1h"}),
        "mappings" | "mappings/{id}" => json!({"message_type": "lab.v1.Person", "queue": "elsewhere"}),
        "markers" => json!({"kind": "deploy", "title": "4711"}),
        "policies" | "policies/{id}" => json!({"queues": "elsewhere", "delays": ["10s"]}),
        "queues/{broker}/{queue}/pause" | "queues/{broker}/{queue}/resume" => json!({}),
        "rules" | "rules/{id}" => json!({"name": "zoe", "when": "payload.name == 'Zoe'", "importance": "low"}),
        "rules/order" => json!({"ids": []}),
        "rules/test" => json!({"when": "payload.name == 'Zoe'"}),
        "views" | "views/{id}" => json!({"name": "all", "query": "status=all"}),
        "jobs/{id}/cancel" | "jobs/{id}/pause" | "jobs/{id}/resume" | "jobs/{id}/undo" | "rules/apply" | "schemas" => {
            return With::Nothing;
        }
        other => panic!("say what {other} is asked with"),
    })
}

/// Where a way has no id in its path.
fn id_or_none(id: &str) -> &str {
    if id.is_empty() { "0198a000-0000-7000-8000-000000000000" } else { id }
}

fn form_of(path: &str) -> Vec<(&'static str, &'static str)> {
    const NOW: (&str, &str) = ("until", "1795262400000000");
    match path {
        "/letters/all" | "/scheduled/all" | "/groups/{id}/all" => {
            vec![("part", "edit"), ("action", "retry"), NOW, ("merge_patch", "{\"name\": \"Q\"}")]
        }
        "/letters/{id}/edit" => vec![("text", "{}")],
        "/groups/{id}/note" => vec![("note", "seen")],
        "/groups/actions" | "/letters/actions" => vec![("action", "note"), ("note", "seen")],
        "/rules/check" | "/rules/set" => vec![("name", "zoe"), ("expression", "true"), ("importance", "low")],
        "/groups/rules/check" | "/groups/rules/add" => vec![("name", "page"), ("pattern", "for [^ ]+")],
        "/groups/{id}/split" => vec![("field", "payload.ssn"), ("missing", "1")],
        "/letters/columns" => vec![("column", "payload.ssn"), ("back", "/letters")],
        "/markers/set" => vec![("kind", "deploy"), ("title", "4711")],
        "/views/set" => vec![("name", "page"), ("query", "status=all")],
        "/policies/set" => vec![("queues", "elsewhere"), ("delays", "10s")],
        "/schemas/map" => vec![("message_type", "lab.v1.Person"), ("queue", "elsewhere")],
        "/get-started/test"
        | "/groups/{id}/unmerge"
        | "/groups/{id}/join"
        | "/jobs/{id}/pause"
        | "/jobs/{id}/resume"
        | "/jobs/{id}/cancel"
        | "/jobs/{id}/undo"
        | "/queues/{broker}/{queue}/pause"
        | "/queues/{broker}/{queue}/resume"
        | "/policies/unset"
        | "/digests/send"
        | "/rules/remove"
        | "/rules/move"
        | "/rules/apply"
        | "/rules/cancel"
        | "/groups/rules/remove"
        | "/views/remove"
        | "/views/restore"
        | "/markers/remove"
        | "/schemas/upload"
        | "/schemas/remove"
        | "/schemas/unmap"
        | "/sign-in"
        | "/sign-out"
        | "/set-up"
        | "/account/password"
        | "/account/sessions"
        | "/account/tokens"
        | "/account/revoke"
        | "/users/add"
        | "/users/change"
        | "/users/revoke" => Vec::new(),
        other => panic!("say what {other} is asked with"),
    }
}

fn from_here(method: &str, path: &str) -> Request<Body> {
    let request = builder(method.parse().unwrap(), path).header("sec-fetch-site", "same-origin");
    request.body(Body::empty()).unwrap()
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_way_in_tells_what_is_hidden() {
    walk(false).await;
}

#[tokio::test]
async fn no_way_in_tells_what_is_hidden_on_postgres() {
    walk(true).await;
}

async fn walk(on_postgres: bool) {
    let log = Log::default();
    let writer = log.clone();
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::DEBUG).with_writer(move || writer.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let mut leaks = Vec::new();
    let mut bodies = bodies();
    if on_postgres {
        // Bodies are read alike on both; what differs is what the database is asked, and what stands in it.
        let every = soak(6, 1);
        bodies = bodies.into_iter().step_by(every).collect();
    }
    // In one database, or each where nothing else is.
    let together = soak(bodies.len(), 1);
    for bodies in bodies.chunks(together) {
        let (desk, database) = match on_postgres {
            false => (desk().await, None),
            true => match Desk::hiding_on_postgres(&["ssn"]).await {
                Some((desk, database)) => (with_schema(desk).await, Some(database)),
                None => return,
            },
        };
        leaks.extend(told_by_ways_in(&desk, bodies).await);
        let names: Vec<&str> = bodies.iter().map(|(name, ..)| *name).collect();
        let logged = std::mem::take(&mut *log.0.lock().unwrap());
        leaks.extend(told(&format!("{names:?}: the log"), &String::from_utf8_lossy(&logged)));
        let tables = match &database {
            None => tables_of_sqlite(&desk.database_url()).await,
            Some(database) => tables_of_postgres(&database.url).await,
        };
        assert!(tables.len() > 20);
        leaks.extend(tables.iter().filter_map(|(table, rows)| told(&format!("{names:?}: the table {table}"), rows)));
    }
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
}

/// Puts these in and asks each way in for each of them.
async fn told_by_ways_in(desk: &Desk, bodies: &[TestBody]) -> Vec<String> {
    let mut letters = Vec::new();
    for (name, message_type, body) in bodies {
        letters.push((*name, letter(desk, *message_type, body.clone()).await));
    }
    let mut leaks = Vec::from_iter(told("the list before", &desk.get("/api/v1/letters").await.expect(200).text()));
    sort(desk).await;
    // What only looks before what changes something.
    let mut ways = ways_in(desk).await;
    ways.sort_by_key(|way| !way.starts_with("GET"));
    let (mut found, mut taken) = (0, 0);
    for way in &ways {
        let (method, path) = way.split_once(' ').unwrap();
        for (name, id) in ids_for(desk, path, &letters).await {
            for query in queries(path) {
                let path = path.replace("{id}", &id).replace("{broker}", MAIN).replace("{queue}", "orders");
                let asked = format!("{path}{query}");
                let answer = match with_what(way, &id) {
                    With::Nothing if method == "GET" => desk.get(&asked).await,
                    With::Nothing => desk.send(from_here(method, &asked)).await,
                    With::Body(body) => desk.call(method.parse().unwrap(), &asked, &body).await,
                    With::Form(pairs) => submit(desk, &asked, &pairs).await,
                };
                found += usize::from(method == "GET" && answer.status == 200);
                taken += usize::from(method != "GET" && answer.status.as_u16() < 400);
                leaks.extend(told(&format!("{name}: {method} {asked}"), &answer.text()));
            }
        }
    }
    assert!(found > 10 + 15 * letters.len(), "only {found} answers");
    assert!(taken > 25, "only {taken} calls were taken");
    leaks
}

/// Whose name and id a way in is asked with, where it takes one: each letter's, or that of each group they are in.
async fn ids_for(desk: &Desk, path: &str, letters: &[(&'static str, LetterId)]) -> Vec<(&'static str, String)> {
    if !path.contains("{id}") {
        return vec![("all", String::new())];
    }
    let mut asked = Vec::new();
    for (name, id) in letters {
        let group = desk.store.summary(*id).await.unwrap().unwrap().group.unwrap();
        asked.push((*name, if path.contains("groups") { group.to_string() } else { id.to_string() }));
    }
    asked.sort_by(|one, other| one.1.cmp(&other.1));
    asked.dedup_by(|one, other| one.1 == other.1);
    asked
}

/// What notifications, digests and incidents are made of, as text. Messages themselves are in `contents`.
async fn tables_of_sqlite(url: &str) -> Vec<(String, String)> {
    let mut database = SqliteConnection::connect(url).await.unwrap();
    const TABLES: &str =
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'contents'";
    let tables: Vec<String> = sqlx::query_scalar(TABLES).fetch_all(&mut database).await.unwrap();
    let mut read = Vec::new();
    for table in tables {
        let columns: Vec<String> = sqlx::query_scalar("SELECT name FROM pragma_table_info($1)")
            .bind(&table)
            .fetch_all(&mut database)
            .await
            .unwrap();
        let all = columns.iter().map(|column| format!("quote(\"{column}\")")).collect::<Vec<_>>().join(" || ' ' || ");
        let select = AssertSqlSafe(format!("SELECT {all} FROM \"{table}\""));
        let rows: Vec<String> = sqlx::query_scalar(select).fetch_all(&mut database).await.unwrap();
        read.push((table, rows.join("\n")));
    }
    read
}

async fn tables_of_postgres(url: &str) -> Vec<(String, String)> {
    let mut database = PgConnection::connect(url).await.unwrap();
    const TABLES: &str =
        "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'contents'";
    let tables: Vec<String> = sqlx::query_scalar(TABLES).fetch_all(&mut database).await.unwrap();
    let mut read = Vec::new();
    for table in tables {
        let select = AssertSqlSafe(format!("SELECT rows::text FROM \"{table}\" AS rows"));
        let rows: Vec<String> = sqlx::query_scalar(select).fetch_all(&mut database).await.unwrap();
        read.push((table, rows.join("\n")));
    }
    read
}

#[tokio::test]
async fn whoever_reveals_or_downloads_it_is_written_down() {
    let desk = desk().await;
    for (name, message_type, body) in bodies() {
        let id = letter(&desk, message_type, body.clone()).await;
        let shown = desk.letter(id).await;
        assert_eq!(shown["payload"]["hidden"], true, "{name}");
        let got = desk.get(&format!("/api/v1/letters/{id}/body")).await.expect(200);
        assert_eq!(got.body, body, "{name}");
        let revealed = desk.post(&format!("/api/v1/letters/{id}/reveal"), &json!({})).await.expect(200).json();
        let quoted = revealed["error"]["message"].as_str().unwrap();
        assert!(quoted.contains(SECRET), "{name}: {quoted}");
        let page = submit(&desk, &format!("/letters/{id}/reveal"), &[("back", "/letters")]).await.expect(200);
        assert!(page.text().contains("4711-08") || name == "large", "{name}");
        let history = desk.letter(id).await["history"].to_string();
        assert_eq!(history.matches("\"revealed\"").count(), 3, "{name}: {history}");
    }
}

/// One after the other, letter by letter, would be enough to read it.
#[tokio::test]
async fn a_rule_that_is_tried_does_not_tell_what_is_hidden() {
    // In one database, where the answer is about all of them, or each where nothing else is.
    for bodies in bodies().chunks(soak(bodies().len(), 1)) {
        let names: Vec<&str> = bodies.iter().map(|(name, ..)| *name).collect();
        let desk = desk().await;
        for (_, message_type, body) in bodies {
            letter(&desk, *message_type, body.clone()).await;
        }
        let tell = async |guess: &str| {
            let mut told = Vec::new();
            for text in ["payload.ssn", "letter.error_message", "letter.headers['x-exception-message']"] {
                let expression = format!("{text}.contains('{guess}')");
                let answer = desk.post("/api/v1/rules/test", &json!({"when": expression})).await;
                told.push((answer.status, answer.json().to_string().replace(guess, "")));
            }
            told
        };
        let (right, wrong) = (tell("4711").await, tell("4712").await);
        assert_eq!(right, wrong, "{names:?}");
        sort(&desk).await;
        assert_eq!(tell("4711").await, wrong, "{names:?}");
    }
}

#[tokio::test]
async fn an_edit_does_not_tell_whether_a_guess_is_right() {
    let desk = desk().await;
    let (_, message_type, body) = bodies().into_iter().find(|(name, ..)| *name == "message").unwrap();
    let id = letter(&desk, message_type, body).await;
    let page = desk.page(&format!("/letters/{id}/edit")).await;
    let shown = page.one("#text").text().collect::<String>();
    assert!(shown.contains("•••1"), "{shown}");
    assert!(page.words(".remark-note").contains("keeps its value"), "{}", page.words(".remark-note"));
    let tell = async |guess: &str| {
        let text = shown.replace("•••1", guess);
        let answer = submit(&desk, &format!("/letters/{id}/edit"), &[("text", &text)]).await.expect(200).page();
        answer.words("#check").replace(guess, "GUESS")
    };
    let (right, wrong) = (tell(SECRET).await, tell("4711-0815-1235").await);
    assert!(right.contains("GUESS"), "{right}");
    assert_eq!(right, wrong);
    // The API sends it in either case.
    for guess in [SECRET, "4711-0815-1235"] {
        let desk = self::desk().await;
        let (_, message_type, body) = bodies().into_iter().find(|(name, ..)| *name == "message").unwrap();
        let id = letter(&desk, message_type, body).await;
        let json: serde_json::Value = serde_json::from_str(&shown.replace("•••1", guess)).unwrap();
        desk.post(&format!("/api/v1/letters/{id}/retry"), &json!({"json": json})).await.expect(200);
    }
}

/// Of a header that quotes what is hidden, neither the answer nor the letter says whether a guess is right.
#[tokio::test]
async fn an_edit_of_a_header_does_not_tell_whether_a_guess_is_right() {
    let tell = async |guess: &str| {
        let desk = desk().await;
        let body = format!(r#"{{"ssn":"{SECRET}"}}"#);
        let id = desk.receive(dead_in("orders").body(body).header("account", FieldValue::string(SECRET))).await;
        assert_eq!(desk.letter(id).await["headers"]["account"], "•••");
        let edit = json!({"headers": {"set": {"account": guess}}});
        let answer = desk.post(&format!("/api/v1/letters/{id}/retry"), &edit).await;
        (answer.status, answer.json()["detail"].clone())
    };
    assert_eq!(tell(SECRET).await, tell("4711-0815-1235").await);
}

/// Numbers as a whole, and bytes with a copy in them.
#[tokio::test]
async fn headers_of_all_types_lose_what_is_hidden() {
    let desk = Desk::hiding(&["ssn"]).await;
    let copies = vec![
        FieldValue::LongInt(47_110_815),
        FieldValue::LongUInt(47_110_815),
        FieldValue::LongLongInt(47_110_815),
        FieldValue::Timestamp(47_110_815),
        FieldValue::Double(47_110_815_f64.to_bits()),
        FieldValue::Float(4711.25_f32.to_bits()),
        FieldValue::Decimal { scale: 2, value: 471_125 },
        FieldValue::ByteArray(b"no 47110815".to_vec()),
    ];
    let n_copies = copies.len();
    let dead = dead_in("orders").body(r#"{"ssn": [47110815, 4711.25]}"#);
    let dead = dead.header("copies", FieldValue::Array(copies)).header("other", FieldValue::LongLongInt(471_108_150));
    let headers = desk.letter(desk.receive(dead).await).await["headers"].to_string();
    assert_eq!(headers.matches("•••").count(), n_copies, "{headers}");
    assert!(headers.contains("471108150"), "{headers}");
}

/// The JSON of a type hides what the type redacts, also within other messages, lists and maps.
#[tokio::test]
async fn what_a_type_redacts_is_hidden_in_its_json() {
    let desk = with_schema(Desk::open().await).await;
    let account = format!(r#"{{"name": "Zoe", "code": "{SECRET}"}}"#);
    let body = format!(r#"{{"one": {account}, "list": [{account}], "by_name": {{"a": {account}}}, "code": "open"}}"#);
    let id = letter(&desk, Some("lab.v1.Bank"), body.into()).await;
    let json = &desk.letter(id).await["payload"]["json"];
    let hidden = json!({"name": "Zoe", "code": "•••"});
    assert_eq!(json, &json!({"one": hidden, "list": [hidden], "by_name": {"a": hidden}, "code": "open"}));
    let edited = json!({"json": {"code": "other"}});
    let detail = desk.post(&format!("/api/v1/letters/{id}/retry"), &edited).await.problem(422);
    assert!(detail.contains("reveal them"), "{detail}");
}

#[tokio::test]
async fn another_type_shows_no_more() {
    let account = [&b"\x0a\x0e"[..], SECRET.as_bytes(), b"\x12\x03Zoe"].concat();
    for (by_header, by_hand) in [
        (None, Some("lab.v1.Door")),
        (None, Some("lab.v1.Nothing")),
        (Some("lab.v1.Account"), Some("lab.v1.Door")),
        (Some("lab.v1.Account"), Some("lab.v1.Nothing")),
        (Some("lab.v1.Account"), Some("lab.v9.Unknown")),
        (Some("lab.v1.Account"), None),
    ] {
        let desk = Desk::open().await;
        post_form(&desk, "/api/v1/schemas", None, &[("lab.proto", SCHEMA.as_bytes())]).await.expect(201);
        let id = letter(&desk, by_header, account.clone()).await;
        if let Some(name) = by_hand {
            desk.command(id, Command::SetType(Some(name.to_owned()))).await;
        }
        for path in [format!("/api/v1/letters/{id}"), format!("/letters/{id}"), format!("/letters/{id}?view=hex")] {
            let shown = desk.get(&path).await.expect(200).text();
            assert_eq!(told(&format!("{by_header:?} {by_hand:?} {path}"), &shown), None);
        }
    }
    // Where the type is the right one, what it does not hide is shown.
    let desk = Desk::open().await;
    post_form(&desk, "/api/v1/schemas", None, &[("lab.proto", SCHEMA.as_bytes())]).await.expect(201);
    let id = letter(&desk, None, account).await;
    desk.command(id, Command::SetType(Some("lab.v1.Account".to_owned()))).await;
    assert_eq!(desk.letter(id).await["payload"]["json"]["name"], "Zoe");
}
