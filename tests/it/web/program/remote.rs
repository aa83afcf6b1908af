//! A server from a terminal.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
};

use dead_letter_office::{
    clock::Clock,
    domain::letter::{LetterId, Status},
};
use serde_json::Value;
use uuid::Uuid;

use crate::{
    store::{
        database::TestDatabase,
        make::{Make, an_arrival},
    },
    support::process,
    web::run::{Ended, Program, Running, dlo, serve},
};

struct Site {
    database: TestDatabase,
    server: Running,
}

/// A server with these letters, whose broker is away.
async fn site(bodies: &[&str]) -> (Site, Vec<LetterId>) {
    let database = TestDatabase::sqlite().await;
    let mut ids = Vec::new();
    for body in bodies {
        ids.push(database.take_in_new(an_arrival().body(*body)).await);
    }
    let server = serve().set("DLO_DATABASE__URL", database.url()).set("DLO_BROKERS__MAIN__URL", "amqp://127.0.0.1:1");
    (Site { server: server.open().await, database }, ids)
}

impl Site {
    fn dlo(&self, arguments: &[&str]) -> Program {
        // It works also where the configuration does not.
        dlo(arguments).config("[nonsense]").set("DLO_URL", &self.server.url)
    }

    fn says(&self, arguments: &[&str], code: i32) -> Ended {
        self.dlo(arguments).run().expect(code)
    }

    fn lines(&self, arguments: &[&str]) -> Vec<Value> {
        let text = self.says(&[&arguments[..1], &["--json"], &arguments[1..]].concat(), 0).stdout;
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Begins to run in a terminal, where it may ask.
    fn asks(&self, arguments: &[&str]) -> Child {
        let mut program = process::dlo();
        program.args(arguments).env("DLO_URL", &self.server.url);
        let mut terminal = Command::new("sh");
        terminal.args(["-c", "exec script -qec \"$*\" /dev/null", "sh"]);
        process::copied(&program, terminal).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    async fn statuses(&self, ids: &[LetterId]) -> Vec<Status> {
        let mut statuses = Vec::new();
        for id in ids {
            statuses.push(self.database.status(*id).await);
        }
        statuses
    }
}

#[tokio::test]
async fn letters_are_listed_shown_and_dealt_with() {
    let (site, ids) = site(&["{\"n\":1.50}", "two\u{1b}[31m", "{\"a\":\"cut \\ud83d\"}", "4", "5"]).await;
    let names: Vec<String> = ids.iter().map(LetterId::to_string).collect();
    let table = site.says(&["list"], 0).stdout;
    assert!(table.starts_with("ID") && table.lines().count() == 6, "{table}");
    assert!(names.iter().all(|id| table.contains(id)));
    assert_eq!(site.lines(&["list", "--limit", "2"]).len(), 2);
    assert_eq!(site.lines(&["list", "--queue", "ord*", "--since", "2000-01-01T00:00:00Z"]).len(), 5);
    assert_eq!(site.lines(&["list", "--status", "discarded"]).len(), 0);
    assert_eq!(site.lines(&["search", "--limit", "4", "queue:orders", "-queue:texts"]).len(), 4);
    let misplaced = site.says(&["search", "queue:orders", "--limit", "4"], 2).stderr;
    assert!(misplaced.contains("options come before the words"), "{misplaced}");
    let page = site.says(&["show", &names[0]], 0).stdout;
    assert!(page.contains("queue            orders") && page.contains("  {\n    \"n\": 1.50\n  }"), "{page}");
    assert!(page.contains("\nproperties\n") && page.contains("importance_by    default"), "{page}");
    assert!(site.says(&["show", "--json", &names[0]], 0).stdout.contains("1.50"), "as it was written");
    assert!(!site.says(&["show", &names[1]], 0).stdout.contains('\u{1b}'));
    assert_eq!(site.says(&["show", &names[1], "--body"], 0).stdout, "two\u{1b}[31m");
    assert_eq!(site.lines(&["show", &names[0]])[0]["id"], names[0]);

    assert!(site.says(&["show", &names[2]], 0).stdout.contains("cut \u{fffd}"));

    let done = site.says(&["discard", &names[0], "--note", "a test"], 0).stdout;
    assert_eq!(done, "1 dead letter discarded\n");
    let again = site.says(&["discard", &names[0], &names[1]], 1);
    assert_eq!(again.stdout, "1 dead letter discarded, 1 dead letter refused\n");
    assert!(again.stderr.contains(&format!("dlo: {}: ", names[0])), "{}", again.stderr);
    let listed = site.says(&["list", "--json", "--limit", "1", "--sort", "oldest"], 0).stdout;
    let retried = site.dlo(&["retry", "-", "--delay", "1h"]).input(listed.as_bytes()).run().expect(0).stdout;
    assert_eq!(retried, "1 dead letter to be retried\n");
    let (gone, waits, open) = (Status::Discarded, Status::Scheduled, Status::Open);
    assert_eq!(site.statuses(&ids).await, [gone, gone, waits, open, open]);

    // Those that wait for a retry are not meant, as they are not listed.
    let unasked = site.says(&["discard", "--queue", "orders"], 2).stderr;
    assert!(unasked.contains("2 match; --yes does it without a question"), "{unasked}");
    let scheduled = site.says(&["discard", "--q", "queue:orders status:scheduled"], 2).stderr;
    assert!(scheduled.contains("1 match"), "{scheduled}");
    let followed = site.says(&["discard", "--queue", "orders", "--yes"], 0);
    assert_eq!(followed.stdout, "discard done: 2 of 2\n");
    assert!(followed.stderr.ends_with("2 of 2\n"), "{}", followed.stderr);
    assert_eq!(site.statuses(&ids).await, [gone, gone, waits, gone, gone]);
    let jobs = site.lines(&["jobs"]);
    assert_eq!((jobs.len(), &jobs[0]["done"]), (1, &2.into()));
    let job = jobs[0]["id"].as_str().unwrap();
    assert!(site.says(&["jobs", job, "--undo"], 0).stdout.contains(": 2 of 2\n"));
    assert_eq!(site.statuses(&ids).await, [gone, gone, waits, open, open]);
    assert!(site.says(&["jobs", job, "--cancel"], 1).stderr.contains("The job has ended"));
    assert!(site.says(&["groups"], 0).stdout.starts_with("ID"));
}

#[tokio::test]
async fn what_comes_in_before_the_answer_was_not_asked_about() {
    let (site, mut ids) = site(&["1", "2"]).await;
    let mut asking = site.asks(&["discard", "--queue", "orders"]);
    let (mut keyboard, mut screen) = (asking.stdin.take().unwrap(), asking.stdout.take().unwrap());
    let mut said: Vec<u8> = Vec::new();
    while !said.ends_with(b"discard 2 dead letters? [y/N] ") {
        let mut next = [0; 1];
        assert_eq!(screen.read(&mut next).unwrap(), 1, "it asks nothing: {}", String::from_utf8_lossy(&said));
        said.extend(next);
    }
    assert_eq!(site.lines(&["list"]).len(), 2);
    ids.push(site.database.take_in_new(an_arrival().received(Clock::system().now())).await);
    keyboard.write_all(b"y\n").unwrap();
    let mut rest = String::new();
    screen.read_to_string(&mut rest).unwrap();
    assert!(asking.wait().unwrap().success() && rest.contains("discard done: 2 of 2"), "{rest}");
    assert_eq!(site.statuses(&ids).await, [Status::Discarded, Status::Discarded, Status::Open]);
}

#[tokio::test]
async fn a_refusal_says_where_and_what_to_do() {
    let (site, ids) = site(&["1"]).await;
    let id = ids[0].to_string();
    let mistakes = site.says(&["list", "--status", "opne", "--reason", "x"], 2).stderr;
    assert!(mistakes.contains("\n  status: ") && mistakes.contains("\n  reason: "), "{mistakes}");
    let mistake = site.says(&["retry", &id, "--delay", "soon"], 2).stderr;
    assert!(mistake.contains(": delay: ") && mistake.matches("30s").count() == 1, "{mistake}");
    let unknown = "00000000-0000-7000-8000-000000000000";
    assert!(site.says(&["show", unknown], 1).stderr.starts_with("dlo: "));
    let unusable: [&[&str]; 6] = [
        &["retry"],
        &["retry", "x"],
        &["retry", &id, "--queue", "a"],
        &["retry", &id, "--rate", "3"],
        &["show", "nope"],
        &["list", "--limit", "0"],
    ];
    for arguments in unusable {
        site.says(arguments, 2);
    }
    assert!(site.says(&["list", "--queue", "nope"], 0).stderr.contains("nothing is found"));
    let no_file = site.says(&["list", "--ca-file", "nowhere.pem"], 1).stderr;
    assert!(no_file.contains("nowhere.pem"), "{no_file}");
    let nobody = dlo(&["list", "--url", "http://127.0.0.1:1"]).run().expect(1).stderr;
    assert!(nobody.contains("no answer from http://127.0.0.1:1/"), "{nobody}");
    for url in ["ftp://127.0.0.1", "127.0.0.1:8420", ""] {
        let mistake = dlo(&["list", "--url", url]).run().expect(2).stderr;
        assert!(mistake.contains("it takes http:// or https://"), "{mistake}");
    }
    let mistake = dlo(&["list", "--token", "a b"]).run().expect(2).stderr;
    assert!(mistake.contains("--token or DLO_TOKEN"), "{mistake}");
}

#[tokio::test]
async fn who_has_to_sign_in_needs_a_token() {
    let database = TestDatabase::sqlite().await;
    database.take_in_many(4).await;
    let run = |program: Program| program.set("DLO_DATABASE__URL", database.url()).set("DLO_AUTH__MODE", "password");
    let token = run(dlo(&["token", "add", "shell"])).run().expect(0).stdout;
    let acting = run(dlo(&["token", "add", "hook", "--scopes", "act"])).run().expect(0).stdout;
    let server = run(serve()).set("DLO_BROKERS__MAIN__URL", "amqp://127.0.0.1:1").open().await;
    let list = |token: Option<&str>| {
        let mut program = dlo(&["list", "--json"]).set("DLO_URL", &server.url);
        match token {
            Some(token) => program.set("DLO_TOKEN", token).run(),
            None => program.run(),
        }
    };
    assert!(list(None).expect(1).stderr.contains("--token or DLO_TOKEN"));
    let listed = list(Some(&format!("{}\n", token.trim()))).expect(0).stdout;
    let letters: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [one, other, ..] = &letters[..] else { panic!("{listed}") };
    // One that may not read is told only that it was done, or has begun.
    let acts =
        |arguments: &[&str]| dlo(arguments).set("DLO_URL", &server.url).set("DLO_TOKEN", acting.trim()).run().expect(0);
    let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"].clone();
    assert_eq!(acts(&["discard", one["id"].as_str().unwrap()]).stdout, "1 dead letter discarded\n");
    assert_eq!(id(&acts(&["retry", "--json", "--delay", "1h", other["id"].as_str().unwrap()]).stdout), other["id"]);
    let begun = acts(&["discard", "--queue", "orders", "--yes"]);
    let why = "dlo: it has begun. This token may not read: it has the scope act.\n";
    assert!(begun.stderr.ends_with(why), "{}", begun.stderr);
    let job = begun.stdout.trim();
    let await_job =
        |job: &str| dlo(&["jobs", job]).set("DLO_URL", &server.url).set("DLO_TOKEN", token.trim()).run().expect(0);
    await_job(job);
    let undone = acts(&["jobs", job, "--undo"]).stdout;
    assert!(undone.trim() != job && undone.trim().parse::<Uuid>().is_ok(), "{undone}");
    await_job(undone.trim());
    let paced = acts(&["retry", "--queue", "orders", "--delay", "1h", "--rate", "1", "--yes", "--no-wait"]).stdout;
    assert_eq!(id(&acts(&["jobs", paced.trim(), "--cancel", "--json"]).stdout), paced.trim());
}

#[tokio::test]
async fn a_reader_that_goes_away_is_no_failure() {
    let (site, _) = site(&[&"x".repeat(300_000)]).await;
    let id = site.lines(&["list"])[0]["id"].as_str().unwrap().to_owned();
    let mut command = process::dlo();
    command.args(["show", &id, "--body"]).env("DLO_URL", &site.server.url);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 1];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success() && ended.stderr.is_empty(), "{}", String::from_utf8_lossy(&ended.stderr));
    let mut checking = process::dlo();
    checking
        .arg("check")
        .env("DLO_BROKERS__MAIN__URL", "amqp://127.0.0.1:1")
        .env("DLO_DATABASE__URL", "sqlite:///nowhere/dlo.db");
    let mut child = checking.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{}", String::from_utf8_lossy(&ended.stderr));
}

/// An answer to a call that is carried out, and one where it is cut off.
const DONE: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
const CUT_OFF: &str = "";

/// An answer that has nothing but the kind of an error.
fn conflict(code: &str) -> String {
    let body = format!("{{\"code\":\"{code}\"}}");
    format!("HTTP/1.1 409 Conflict\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// Stands in for a server that gives these answers and cuts off all further calls: its address, and the keys of calls.
fn answering(answers: Vec<String>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (told, keys) = mpsc::channel();
    thread::spawn(move || {
        let mut answers = answers.into_iter();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            if told.send(key_of(&stream)).is_err() {
                break;
            }
            stream.write_all(answers.next().unwrap_or_default().as_bytes()).unwrap();
        }
    });
    (url, keys)
}

/// The `Idempotency-Key` of a call, which is read to its end.
fn key_of(stream: &TcpStream) -> String {
    let (mut call, mut key, mut length) = (BufReader::new(stream), String::new(), 0);
    loop {
        let mut line = String::new();
        call.read_line(&mut line).unwrap();
        match line.trim_end().split_once(": ") {
            Some(("idempotency-key", value)) => key = value.to_owned(),
            Some(("content-length", value)) => length = value.parse().unwrap(),
            _ if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    call.read_exact(&mut vec![0; length]).unwrap();
    key
}

#[test]
fn where_the_server_answers_no_more_it_is_told_what_was_done() {
    let ids = [1, 2, 3, 4].map(|n| format!("00000000-0000-7000-8000-00000000000{n}"));
    let arguments: Vec<&str> = ["retry"].into_iter().chain(ids.iter().map(String::as_str)).collect();
    let (url, keys) = answering(vec![DONE.to_owned(); 2]);
    let ended = dlo(&arguments).set("DLO_URL", &url).run().expect(1);
    let told = format!("2 dead letters to be retried before {}\n", ids[2]);
    assert!(ended.stderr.contains(&told) && ended.stderr.contains("no answer from"), "{}", ended.stderr);
    let keys: Vec<String> = keys.try_iter().collect();
    assert!(keys.len() == 4 && keys.iter().all(|key| !key.is_empty()), "{keys:?}");
    assert!(keys[0] != keys[1] && keys[2] == keys[3], "one that got no answer is made once more: {keys:?}");
}

/// A proxy cuts off the first call while the server is at work, and the server ends during the second.
#[test]
fn what_may_be_done_is_not_told_as_refused() {
    let ids = [1, 2, 3].map(|n| format!("00000000-0000-7000-8000-00000000000{n}"));
    let arguments: Vec<&str> = ["retry"].into_iter().chain(ids.iter().map(String::as_str)).collect();
    let [in_use, ended] = ["idempotency_key_in_use", "idempotency_key_cut_off"].map(conflict);
    let answers = vec![CUT_OFF.to_owned(), in_use, DONE.to_owned(), CUT_OFF.to_owned(), ended];
    let (url, keys) = answering(answers);
    let ended = dlo(&arguments).set("DLO_URL", &url).run().expect(1);
    let told = format!("1 dead letter to be retried before {}\n", ids[1]);
    assert!(ended.stderr.contains(&told) && ended.stderr.contains("no answer from"), "{}", ended.stderr);
    let keys: Vec<String> = keys.try_iter().collect();
    assert_eq!(keys.len(), 5, "nothing is done behind what may be done: {keys:?}");
    assert!(keys[0] == keys[1] && keys[1] == keys[2] && keys[2] != keys[3] && keys[3] == keys[4], "{keys:?}");
}

#[tokio::test]
async fn a_database_goes_to_another_one_as_lines() {
    let database = TestDatabase::sqlite().await;
    database.take_in_many(3).await;
    let exported = dlo(&["export"]).set("DLO_DATABASE__URL", database.url()).run().expect(0).stdout;
    assert_eq!(exported.lines().filter(|line| line.starts_with("{\"letters\":")).count(), 3);
    let mut into = dlo(&["import"]).input(exported.as_bytes());
    into.run().expect(0);
    let url = format!("sqlite://{}", into.file("dlo.db").display());
    assert_eq!(dlo(&["export", "-"]).set("DLO_DATABASE__URL", &url).run().expect(0).stdout, exported);
    let again =
        dlo(&["import", "file"]).holds("file", exported.as_bytes()).set("DLO_DATABASE__URL", &url).run().expect(1);
    assert!(again.stderr.contains("an import takes an empty database"), "{}", again.stderr);
    let broken = dlo(&["import"]).input(&exported.as_bytes()[..exported.len() - 20]).run().expect(1).stderr;
    assert!(broken.contains(&format!("line {}: ", exported.lines().count())), "{broken}");
    assert!(dlo(&["import", "nothing"]).run().expect(1).stderr.contains("nothing"));
    let mut to_file = dlo(&["export", "all.ndjson"]).set("DLO_DATABASE__URL", database.url());
    to_file.run().expect(0);
    assert_eq!(std::fs::read_to_string(to_file.file("all.ndjson")).unwrap(), exported);
    assert!(dlo(&["export"]).run().expect(1).stderr.contains("does not exist"));
}
