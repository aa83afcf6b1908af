//! The program itself: run to its end, or serving.

use std::{
    fs,
    path::PathBuf,
    process::{Command, ExitStatus, Output},
};

use tempfile::TempDir;

pub use crate::support::PATIENCE;
use crate::support::{
    http,
    process::{self, Leash, Leashed, wait_until},
    small_disk::SmallDisk,
};

/// `dlo` with these arguments, in an empty directory of its own.
pub fn dlo(arguments: &[&str]) -> Program {
    let directory = tempfile::tempdir().unwrap();
    let mut command = process::dlo();
    command.args(arguments).current_dir(directory.path()).env("RUST_BACKTRACE", "0");
    Program { command, directory }
}

/// `dlo serve` on a free port; what fails is not retried by itself.
pub fn serve() -> Program {
    dlo(&["serve"]).set("DLO_WEB__LISTEN", "127.0.0.1:0").set("DLO_RETRY__DELAYS", "")
}

pub struct Program {
    command: Command,
    directory: TempDir,
}

impl Program {
    /// Sets a variable of the environment.
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn unset(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    pub fn with(mut self, argument: &str) -> Self {
        self.command.arg(argument);
        self
    }

    /// Has it find a small disk.
    pub fn within(mut self, disk: &SmallDisk) -> Self {
        self.command = disk.within(&self.command);
        self
    }

    pub fn with_all(self, arguments: &[&str]) -> Self {
        arguments.iter().fold(self, |program, argument| program.with(argument))
    }

    /// Puts a `dlo.toml` into its directory.
    pub fn config(self, toml: &str) -> Self {
        fs::write(self.file("dlo.toml"), toml).unwrap();
        self
    }

    /// Puts a file into its directory.
    pub fn holds(self, name: &str, bytes: &[u8]) -> Self {
        fs::write(self.file(name), bytes).unwrap();
        self
    }

    /// What comes in by standard input.
    pub fn input(self, bytes: &[u8]) -> Self {
        let mut program = self.holds("standard-input", bytes);
        program.command.stdin(fs::File::open(program.file("standard-input")).unwrap());
        program
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs to the end. For commands that end by themselves.
    pub fn run(&mut self) -> Ended {
        let Output { status, stdout, stderr } = self.command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ended { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// Begins to run, and goes on until it is told to stop or dropped.
    pub fn start(self) -> Running {
        Running { process: Leash::on(self.command).spawn(), url: String::new(), directory: self.directory }
    }

    /// Begins to serve, and waits until it does.
    pub async fn open(self) -> Running {
        let mut running = self.start();
        const SAID: &str = "listening on ";
        let said = async || running.process.lines().iter().any(|line| line.contains(SAID));
        wait_until("the server to open", PATIENCE, said).await;
        let line = running.process.line_with(SAID, PATIENCE);
        let address = line.split_once(SAID).unwrap().1;
        let host = address.find("://").unwrap() + "://".len();
        let end = address[host..].find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':');
        running.url = address[..end.map_or(address.len(), |end| host + end)].to_owned();
        running
    }
}

pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// Fails the test unless it ended with this code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        self
    }
}

/// A program that runs until it is told to stop. Dropped, it is killed.
pub struct Running {
    process: Leashed,
    pub url: String,
    directory: TempDir,
}

impl Running {
    pub fn lines(&self) -> Vec<String> {
        self.process.lines()
    }

    /// Waits for a line of its log.
    pub async fn says(&self, part: &str) {
        let said = async || self.process.lines().iter().any(|line| line.contains(part));
        wait_until(part, PATIENCE, said).await;
    }

    /// The first line with that in it, once it is said.
    pub async fn line(&self, part: &str) -> String {
        self.says(part).await;
        self.process.line_with(part, PATIENCE)
    }

    /// Sends SIGTERM and waits until it has ended.
    pub async fn stop(&mut self) -> ExitStatus {
        self.process.terminate();
        self.ended().await
    }

    /// Has it answer nothing.
    pub async fn freeze(&self) {
        self.process.freeze().await;
    }

    /// Has it go on.
    pub fn thaw(&self) {
        self.process.thaw();
    }

    /// Has it read its configuration again.
    pub fn hang_up(&self) {
        self.process.signal("HUP");
    }

    pub async fn ended(&mut self) -> ExitStatus {
        self.process.exited(PATIENCE).await
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub async fn get(&self, path: &str) -> reqwest::Response {
        client().get(format!("{}{path}", self.url)).send().await.unwrap()
    }

    pub async fn post(&self, path: &str, body: &serde_json::Value) -> reqwest::Response {
        self.call(reqwest::Method::POST, path, body).await
    }

    pub async fn call(&self, method: reqwest::Method, path: &str, body: &serde_json::Value) -> reqwest::Response {
        client().request(method, format!("{}{path}", self.url)).json(body).send().await.unwrap()
    }

    /// Waits until it takes in and sends back.
    pub async fn await_ready(&self) {
        wait_until("the server to be ready", PATIENCE, async || self.get("/readyz").await.status() == 200).await;
    }

    /// What the API answers.
    pub async fn json(&self, path: &str) -> serde_json::Value {
        self.get(path).await.json().await.unwrap()
    }

    /// Waits until the list of that query has so many letters, and returns the newest.
    pub async fn await_letters(&self, query: &str, expected: u64) -> serde_json::Value {
        let path = format!("/api/v1/letters?{query}");
        let there = async || self.json(&path).await["total"] == expected;
        wait_until(&format!("{expected} dead letters of {query}"), PATIENCE, there).await;
        self.json(&path).await["items"][0].clone()
    }

    /// Waits until the list of that query is empty.
    pub async fn await_none(&self, query: &str) {
        let path = format!("/api/v1/letters?{query}");
        let none = async || self.json(&path).await["total"] == 0;
        wait_until(&format!("no dead letter of {query}"), PATIENCE, none).await;
    }

    /// Waits until the only letter of that query is open again because its retry failed.
    pub async fn await_problem(&self, query: &str) {
        let path = format!("/api/v1/letters?status=open&{query}");
        let failed = async || self.json(&path).await["items"][0]["problem"].is_string();
        wait_until("a retry to fail", PATIENCE, failed).await;
    }
}

fn client() -> reqwest::Client {
    http().timeout(PATIENCE).build().unwrap()
}
