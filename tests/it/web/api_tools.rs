//! The API as programs see it that nobody here wrote: validators, generated clients, and one that tries everything.

use std::{fs, path::Path, process::Command};

use dead_letter_office::store::{AckState, IntakeBatch, Store};
use uuid::Uuid;

use super::{
    dead::{NOON, dead_in},
    desk::{Desk, MAIN},
    run::{Running, serve},
};
use crate::support::{api_tools::ApiTools, databases, soak};

/// Runs to the end, which has to be a good one.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success(), "{command:?}: {text}");
    text
}

async fn write_description(file: &Path) {
    let description = Desk::open().await.get("/api/openapi.json").await.expect(200).body;
    fs::write(file, description).unwrap();
}

/// A server with five letters.
async fn with_letters(url: Option<&str>) -> Running {
    let server = serve();
    let server = match url {
        Some(url) => server.set("DLO_DATABASE__URL", url),
        None => server,
    };
    let running = server.open().await;
    let file = format!("sqlite://{}", running.file("dlo.db").display());
    let store = Store::open(url.unwrap_or(&file)).await.unwrap();
    let arrivals: Vec<_> = ["a", "b", "c", "a,b", "*"].map(|queue| dead_in(queue).body("{\"a\": 1}").arrival()).into();
    let batch = IntakeBatch {
        id: Uuid::now_v7(),
        broker: MAIN,
        queue: "dlo.obituaries",
        session: Uuid::now_v7(),
        is_cut: &|| false,
        is_first: false,
        recorded_at: NOON,
        arrivals: &arrivals,
        settled: AckState::default(),
    };
    store.record(&batch).await.unwrap();
    running
}

#[tokio::test]
async fn the_description_is_valid() {
    let Some(tools) = ApiTools::find() else { return };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("openapi.json");
    write_description(&file).await;
    run(tools.python("openapi-spec-validator").arg(&file));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_generated_python_client_works() {
    let Some(tools) = ApiTools::find() else { return };
    let directory = tempfile::tempdir().unwrap();
    let (file, client) = (directory.path().join("openapi.json"), directory.path().join("client"));
    write_description(&file).await;
    let mut generate = tools.python("openapi-python-client");
    generate.args(["generate", "--meta", "none", "--fail-on-warning", "--config"]);
    generate.arg(ApiTools::file("python-client.yml")).arg("--path").arg(&file);
    run(generate.arg("--output-path").arg(&client));
    let server = with_letters(None).await;
    let mut program = tools.python("python");
    program.arg(ApiTools::file("clients/api_client.py")).arg(directory.path()).arg(&server.url);
    assert!(run(&mut program).ends_with("done\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn generated_types_of_typescript_hold() {
    let Some(tools) = ApiTools::find() else { return };
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    write_description(&folder.join("openapi.json")).await;
    run(tools.node("openapi-typescript").current_dir(folder).args(["openapi.json", "-o", "schema.d.ts"]));
    fs::copy(ApiTools::file("clients/api_client.ts"), folder.join("client.ts")).unwrap();
    fs::write(folder.join("package.json"), "{\"type\": \"module\"}").unwrap();
    std::os::unix::fs::symlink(tools.modules(), folder.join("node_modules")).unwrap();
    let options = ["--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom"];
    // That the libraries of TypeScript itself hold is not asked: they take most of its time.
    let mut check = tools.node("tsc");
    run(check.current_dir(folder).args(options).args(["--skipDefaultLibCheck", "client.ts"]));
    let server = with_letters(None).await;
    assert_eq!(run(Command::new("node").current_dir(folder).args(["client.js", &server.url])), "done\n");
}

/// What is refused is so before any database hears of it, and `api_mistakes` has each field and parameter refused, `openapi`
/// each method. So in short that is tried at random, and on one database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_found_on_sqlite() {
    try_everything(None, soak(AT_RANDOM, EVERYTHING)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_found_on_postgres() {
    let Some(database) = databases::on_postgres(databases::Users::Servers) else { return };
    // It takes fewer of the values at the edges, and not what SQLite takes.
    try_everything(Some(&database.url), soak(AT_THE_EDGES, EVERYTHING)).await;
}

/// Phases of schemathesis, what it asks for in them, and how much where that is at random.
type Extent = [&'static str; 3];

const AT_RANDOM: Extent = ["--phases=examples,fuzzing", "--mode=all", "--max-examples=4"];
const AT_THE_EDGES: Extent = ["--phases=examples,coverage", "--mode=positive", "--max-examples=4"];
const EVERYTHING: Extent = ["--phases=examples,coverage,fuzzing", "--mode=all", "--max-examples=200"];

/// Has schemathesis make requests of all kinds from the description, and compare the answers with it.
async fn try_everything(url: Option<&str>, extent: Extent) {
    let Some(tools) = ApiTools::find() else { return };
    let server = with_letters(url).await;
    let directory = tempfile::tempdir().unwrap();
    let config = ApiTools::file("schemathesis.toml");
    let mut program = tools.python("schemathesis");
    program.current_dir(directory.path()).arg("--config-file").arg(config).arg("run");
    program.arg(format!("{}/api/openapi.json", server.url)).arg("--url").arg(&server.url).args(extent);
    program.args(["--seed", "1", "--no-color", "--continue-on-failure", "--generation-deterministic"]);
    run(&mut program);
    assert!(!server.lines().iter().any(|line| line.contains("ERROR")), "{:?}", server.lines());
}
