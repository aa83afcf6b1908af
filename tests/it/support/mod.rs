//! Real servers for the integration tests and benchmarks: private, throw-away, on free loopback ports.
//!
//! What is not installed is skipped with a word on standard error, unless `DLO_TEST_REQUIRE=all` says that everything
//! has to be here. Whatever is started dies with this process, however that ends (see [`process::Leash`]).
//!
//! The servers themselves are started by the scripts in `tests/rig`, which `make demo` uses too.
#![allow(dead_code, reason = "tests and benchmarks include these modules and each uses a part of them")]
#![expect(
    clippy::expect_used,
    reason = "in helpers of tests a panic that says what was expected is the error handling"
)]

pub mod api_tools;
pub mod browser;
pub mod clients;
pub mod conventions;
pub mod databases;
pub mod delay_queues;
pub mod postgres;
pub mod process;
pub mod promtool;
pub mod rabbit;
pub mod slack_rules;
pub mod small_disk;

use std::{
    collections::{BTreeSet, HashMap},
    env,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
    sync::Mutex,
    time::Duration,
};

use process::Leashed;

/// A script of `tests/rig`.
pub fn rig_script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/rig").join(name)
}

/// A client for servers on loopback.
pub fn http() -> reqwest::ClientBuilder {
    // None of them speaks TLS, but without a provider there is no client. An error says that there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // And to read the certificates of this machine takes longer than most calls.
    reqwest::Client::builder().no_proxy().tls_certs_only([])
}

/// A new directory under `target/` for the data of one server, deleted when dropped.
fn scratch_dir(prefix: &str) -> tempfile::TempDir {
    tempfile::Builder::new().prefix(prefix).tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("target/tmp can be written")
}

/// How long a test waits for anything, a server's start too, before it fails. Nothing usually takes a tenth of it, but
/// all tests may compete for two cores, and with a compiler.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// What a server script of `tests/rig` told about itself before it said `READY`.
struct ServerFacts(HashMap<String, String>);

impl ServerFacts {
    /// Blocks until the server is ready.
    fn await_from(server: &Leashed) -> Self {
        server.line_with("READY", PATIENCE);
        let lines = server.lines();
        let facts = lines.iter().filter_map(|line| line.split_once('='));
        Self(facts.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    fn require(&self, key: &str) -> &str {
        self.get(key).unwrap_or_else(|| panic!("the server's script says nothing of {key}"))
    }
}

/// How much of something that a test does again and again: `few` in `make test`, enough for the point to be proven each
/// time, and `many` in `make soak`, for what comes up seldom.
pub fn soak<T>(few: T, many: T) -> T {
    if env::var_os("DLO_TEST_SOAK").is_some_and(|soak| soak == "1") { many } else { few }
}

/// What a random test begins with: `in_short` in `make test`, so that what is red there is so for everybody, another each time
/// in `make soak`, or what `DLO_TEST_SEED` says, to have the same happen again. A test says it.
pub fn seed(in_short: u64) -> u64 {
    let given = env::var("DLO_TEST_SEED").ok().map(|seed| seed.parse().expect("DLO_TEST_SEED is a number"));
    given.unwrap_or_else(|| soak(in_short, fastrand::u64(..)))
}

/// The path of a program that tests need, or `None` if it is not installed and tests may be skipped for it.
fn find_or_skip(program: &str) -> Option<PathBuf> {
    let found = Command::new(rig_script("find.sh"))
        .arg(program)
        .stderr(Stdio::inherit())
        .output()
        .expect("tests/rig/find.sh runs");
    if found.status.success() {
        let path = String::from_utf8(found.stdout).expect("the path is UTF-8");
        return Some(PathBuf::from(path.trim_end()));
    }
    skip(&format!("{program} is not installed here; `make setup` installs it"));
    None
}

/// The library that tells a program another time; `None` where tests may be skipped for it.
pub fn faketime() -> Option<PathBuf> {
    find_or_skip("faketime")
}

/// The script of axe-core, to be run in a page; `None` where tests may be skipped for it.
pub fn axe() -> Option<String> {
    let script = find_or_skip("axe")?;
    Some(std::fs::read_to_string(script).expect("axe-core can be read"))
}

/// Systemd's own tool, which knows what systemd takes; `None` where it may be skipped.
pub fn systemd_analyze() -> Option<PathBuf> {
    find_or_skip("systemd-analyze")
}

/// Tells why a test is skipped, or fails it where nothing may be skipped.
fn skip(why: &str) {
    assert!(
        env::var_os("DLO_TEST_REQUIRE").is_none_or(|required| required != "all"),
        "{why}, and DLO_TEST_REQUIRE=all allows no skipping"
    );
    // Not `eprintln!`: libtest would swallow it, since the test then passes.
    drop(writeln!(std::io::stderr(), "skipped: {why}"));
}

/// A port of loopback for a server that goes away and comes back: below the range from which Linux takes the ports of
/// outgoing connections, so that none of these takes it meanwhile, and never given twice.
pub fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let is_free = |port: &u16| {
        std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok() && GIVEN.lock().expect("no panic").insert(*port)
    };
    std::iter::repeat_with(|| fastrand::u16(10_000..32_000)).take(100).find(is_free).expect("a free port")
}

/// A name of letters and digits that nothing else has.
fn unique_name(prefix: &str) -> String {
    format!("{prefix}{}", uuid::Uuid::now_v7().simple())
}
