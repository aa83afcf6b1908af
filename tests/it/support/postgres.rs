//! A private PostgreSQL, and a database of its own for each test.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::Duration,
};

use super::{
    ServerFacts, find_or_skip,
    process::{Leash, Leashed},
    rig_script, scratch_dir, unique_name,
};

/// Enough for the server to drop its connections and to give back its shared memory.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// A private PostgreSQL server. It stops when dropped or when this process ends.
pub struct Postgres {
    admin: Admin,
    /// Only held: its end is the server's end.
    _server: Leashed,
}

impl Postgres {
    /// The server that all tests share, started by the first to ask; `None` where tests for it may be skipped.
    /// It never waits for the disk.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Postgres>> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[])).as_ref()
    }

    /// A server of one's own that syncs to disk as a real one does, for benchmarks.
    pub fn durable() -> Option<Self> {
        Self::start(&["--durable"])
    }

    /// A server of one's own that can be stopped, started again and frozen.
    pub fn doomed() -> Option<DoomedPostgres> {
        find_or_skip("postgres")?;
        let dir = scratch_dir("postgres-").keep();
        let data = Leash::keeping(&dir).spawn();
        let server = Self::in_dir(&dir, &[], Leash::on);
        let port = server.admin.server_url.rsplit(':').next().expect("a port").to_owned();
        Some(DoomedPostgres { server: Some(server), dir, port, _data: data })
    }

    /// A new, empty database.
    pub fn database(&self) -> PostgresDatabase {
        self.create_database("template0")
    }

    /// A new database with the content of another, to which nothing may be connected at that moment.
    pub fn copy_of(&self, template: &PostgresDatabase) -> PostgresDatabase {
        self.create_database(&template.name)
    }

    /// A new database with a dump of another, made and restored as the documentation says; `None` where the programs for it
    /// are not installed.
    pub fn dumped_and_restored(&self, url: &str) -> Option<PostgresDatabase> {
        let program = |name: &str| Some(self.admin.psql.with_file_name(name)).filter(|program| program.exists());
        let (Some(dump), Some(restore)) = (program("pg_dump"), program("pg_restore")) else {
            super::skip("pg_dump is not installed here");
            return None;
        };
        let directory = tempfile::tempdir().expect("a directory");
        let (file, restored) = (directory.path().join("dlo.dump"), self.database());
        let mut dumping = Command::new(dump);
        let dumped = dumping.arg("--format=custom").arg("--file").arg(&file).arg(url).status().expect("pg_dump runs");
        let mut restoring = Command::new(restore);
        let done = restoring.arg("--dbname").arg(&restored.url).arg(&file).status().expect("pg_restore runs");
        assert!(dumped.success() && done.success(), "a dump is made and restored");
        Some(restored)
    }

    fn start(options: &[&str]) -> Option<Self> {
        find_or_skip("postgres")?;
        // Deleted by the leash: a server in a `static` is never dropped.
        let dir = scratch_dir("postgres-").keep();
        Some(Self::in_dir(&dir, options, |script| Leash::on(script).then_remove(&dir)))
    }

    fn in_dir(dir: &Path, options: &[&str], leash: impl FnOnce(Command) -> Leash) -> Self {
        let mut script = Command::new(rig_script("postgres.sh"));
        script.arg(dir).args(options);
        let server = leash(script).grace(STOP_GRACE).spawn();
        let facts = ServerFacts::await_from(&server);
        Self {
            admin: Admin { psql: facts.require("PSQL").into(), server_url: facts.require("POSTGRES_URL").to_owned() },
            _server: server,
        }
    }

    fn create_database(&self, template: &str) -> PostgresDatabase {
        let name = unique_name("test_");
        self.admin.execute(&format!("create database {name} template {template}"));
        PostgresDatabase { url: self.admin.database_url(&name), name, admin: self.admin.clone() }
    }
}

/// A server that goes down and comes back, with the data it had.
pub struct DoomedPostgres {
    /// `None` while it is down.
    server: Option<Postgres>,
    dir: PathBuf,
    port: String,
    /// Only held, after the server: the data outlive its deaths.
    _data: Leashed,
}

impl DoomedPostgres {
    /// The address of a new, empty database, which goes with the server.
    pub fn database_url(&self) -> String {
        let (admin, name) = (&self.server.as_ref().expect("it runs").admin, unique_name("test_"));
        admin.execute(&format!("create database {name}"));
        admin.database_url(&name)
    }

    /// Ends it as a crash would.
    pub fn stop(&mut self) {
        self.server = None;
    }

    /// Starts it again, on the same port.
    pub fn start(&mut self) {
        self.server = Some(Postgres::in_dir(&self.dir, &["--port", &self.port], Leash::on));
    }

    /// From now on it takes connections and answers nothing.
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    pub fn thaw(&self) {
        self.signal("CONT");
    }

    /// To the server and to all that serve a connection.
    fn signal(&self, signal: &str) {
        let pid_file = std::fs::read_to_string(self.dir.join("data/postmaster.pid")).expect("it runs");
        let server = pid_file.lines().next().expect("its process");
        let children = std::fs::read_to_string(format!("/proc/{server}/task/{server}/children")).expect("it runs");
        let status = Command::new("sh")
            .args(["-c", "kill -\"$0\" \"$@\"", signal, server])
            .args(children.split_whitespace())
            .status();
        assert!(status.is_ok_and(|status| status.success()), "SIG{signal} could not be sent");
    }
}

impl Drop for DoomedPostgres {
    fn drop(&mut self) {
        if self.server.is_some() {
            // A frozen one would not hear that it is to end.
            self.thaw();
        }
    }
}

/// A database for one test, dropped with this value even if something is still connected to it.
pub struct PostgresDatabase {
    pub url: String,
    name: String,
    admin: Admin,
}

impl Drop for PostgresDatabase {
    fn drop(&mut self) {
        self.admin.execute(&format!("drop database {} with (force)", self.name));
    }
}

/// Creates and drops databases. It does so with `psql`, which needs no runtime and so works in `Drop`.
#[derive(Clone)]
struct Admin {
    psql: PathBuf,
    /// Without a database.
    server_url: String,
}

impl Admin {
    fn database_url(&self, name: &str) -> String {
        format!("{}/{name}", self.server_url)
    }

    fn execute(&self, statement: &str) {
        let status = Command::new(&self.psql)
            .args(["--no-psqlrc", "--quiet", "--command", statement])
            .arg(self.database_url("postgres"))
            .status()
            .expect("psql runs");
        // A panic while a test panics already would abort all the others.
        if !status.success() && !std::thread::panicking() {
            panic!("psql failed: {statement}");
        }
    }
}
