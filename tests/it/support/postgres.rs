//! A private PostgreSQL, and a database of its own for each test.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Lines, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use super::{
    PATIENCE, ServerFacts, find_or_skip,
    process::{Leash, Leashed, wait_until},
    rig_script, scratch_dir,
    small_disk::SmallDisk,
    unique_name,
};

/// Enough for the server to drop its connections and to give back its shared memory.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// A private PostgreSQL server. It stops when dropped or when this process ends.
pub struct Postgres {
    admin: Admin,
    /// Its end is the server's end.
    server: Leashed,
    dir: PathBuf,
    options: Options,
    /// Where its tables are, if it has such a disk.
    disk: Option<SmallDisk>,
    /// Only held, after the server: the data outlive its deaths.
    _data: Leashed,
}

/// Arguments of `postgres.sh`.
type Options = &'static [&'static str];

const DURABLE: Options = &["--durable"];

impl Postgres {
    /// The server that all tests share, started by the first to ask; `None` where tests for it may be skipped.
    /// It never waits for the disk.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Postgres>> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[], None)).as_ref()
    }

    /// A server of one's own that syncs to disk as a real one does, for benchmarks and to be killed.
    pub fn durable() -> Option<Self> {
        Self::start(DURABLE, None)
    }

    /// The same with its tables on a small disk; `None` where nothing may be mounted, too.
    pub fn on_small_disk() -> Option<Self> {
        let dir = scratch_dir("small-disk-").keep();
        SmallDisk::at(&dir).and_then(|disk| Self::start(DURABLE, Some(disk)))
    }

    /// A server of one's own that can be stopped, started again and frozen.
    pub fn doomed() -> Option<DoomedPostgres> {
        Self::start(&[], None).map(|server| DoomedPostgres { server, is_up: true })
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

    /// Kills the server as a crash would. Its other processes die with the first.
    pub fn kill(&mut self) {
        let status = Command::new("sh").args(["-c", "kill -KILL \"$0\"", &self.pid()]).status();
        assert!(status.is_ok_and(|status| status.success()), "SIGKILL could not be sent");
        self.server.kill();
        self.admin.sessions().clear();
    }

    fn pid(&self) -> String {
        let file = std::fs::read_to_string(self.dir.join("data/postmaster.pid")).expect("the server runs");
        file.lines().next().expect("a process id").to_owned()
    }

    /// Starts the killed server again, on the same port and with the data it had.
    pub fn start_again(&mut self) {
        self.server = self.leash(&[]).spawn();
        ServerFacts::await_from(&self.server);
    }

    /// Gives it a standby, without which it commits nothing from now on.
    pub async fn standby(&self) -> Standby {
        let dir = scratch_dir("postgres-").keep();
        let data = Leash::keeping(&dir).spawn();
        let primary = self.admin.server_url();
        let server = leash(&dir, self.options, None, &["--standby-of", &primary]).spawn();
        let facts = ServerFacts::await_from(&server);
        self.admin.execute("ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.admin.execute("SELECT pg_reload_conf()");
        let is_sync =
            async || self.admin.ask("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1";
        wait_until("the standby to follow", PATIENCE, is_sync).await;
        Standby { url: facts.require("POSTGRES_URL").to_owned(), server, dir, data }
    }

    /// Kills it and has its standby take over, by another address.
    pub fn fail_over(&mut self, standby: Standby) {
        self.kill();
        *self.admin.server_url.lock().unwrap_or_else(PoisonError::into_inner) = standby.url;
        (self.server, self.dir, self._data) = (standby.server, standby.dir, standby.data);
        self.admin.execute("SELECT pg_promote()");
    }

    /// Without a database.
    pub fn url(&self) -> String {
        self.admin.server_url()
    }

    pub const fn disk(&self) -> Option<&SmallDisk> {
        self.disk.as_ref()
    }

    fn start(options: Options, disk: Option<SmallDisk>) -> Option<Self> {
        find_or_skip("postgres")?;
        // Deleted by the leash: a server in a `static` is never dropped.
        let dir = scratch_dir("postgres-").keep();
        let data = Leash::keeping(&dir).spawn();
        let server = leash(&dir, options, disk.as_ref(), &[]).spawn();
        let facts = ServerFacts::await_from(&server);
        let server_url = Arc::new(Mutex::new(facts.require("POSTGRES_URL").to_owned()));
        let admin = Admin { psql: facts.require("PSQL").into(), server_url, sessions: Arc::default() };
        Some(Self { admin, server, dir, options, disk, _data: data })
    }

    fn leash(&self, more: &[&str]) -> Leash {
        leash(&self.dir, self.options, self.disk.as_ref(), more)
    }

    fn create_database(&self, template: &str) -> PostgresDatabase {
        let name = unique_name("test_");
        self.admin.execute(&format!("create database {name} template {template}"));
        PostgresDatabase { url: self.admin.database_url(&name), name, admin: self.admin.clone() }
    }
}

/// A server that follows another.
pub struct Standby {
    url: String,
    server: Leashed,
    dir: PathBuf,
    data: Leashed,
}

/// A server that goes down and comes back, with the data it had.
pub struct DoomedPostgres {
    server: Postgres,
    is_up: bool,
}

impl DoomedPostgres {
    /// The address of a new, empty database, which goes with the server.
    pub fn database_url(&self) -> String {
        let (admin, name) = (&self.server.admin, unique_name("test_"));
        admin.execute(&format!("create database {name}"));
        admin.database_url(&name)
    }

    /// Ends it as a crash would.
    pub fn stop(&mut self) {
        self.server.kill();
        self.is_up = false;
    }

    /// Starts it again, on the same port.
    pub fn start(&mut self) {
        self.server.start_again();
        self.is_up = true;
    }

    /// From now on it takes connections and answers nothing.
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    pub fn thaw(&self) {
        self.signal("CONT");
    }

    /// To the server, which begins nothing more when it is stopped, and then to all that serve a connection. One of these that
    /// has ended meanwhile needs none.
    fn signal(&self, signal: &str) {
        let server = self.server.pid();
        let send = |to: &[&str]| {
            Command::new("sh").args(["-c", "kill -\"$0\" \"$@\"", signal]).args(to).stderr(Stdio::null()).status()
        };
        let is_sent = send(&[&server]).is_ok_and(|status| status.success());
        assert!(is_sent, "SIG{signal} could not be sent");
        let children = std::fs::read_to_string(format!("/proc/{server}/task/{server}/children")).expect("it runs");
        let children: Vec<&str> = children.split_whitespace().collect();
        _ = send(&children);
    }
}

impl Drop for DoomedPostgres {
    fn drop(&mut self) {
        if self.is_up {
            // A frozen one would not hear that it is to end.
            self.thaw();
        }
    }
}

fn leash(dir: &Path, options: Options, disk: Option<&SmallDisk>, more: &[&str]) -> Leash {
    let mut script = Command::new(rig_script("postgres.sh"));
    script.arg(dir).args(options).args(more);
    if let Some(disk) = disk {
        script.arg("--tables-in").arg(disk.dir());
        script = disk.within(&script);
    }
    Leash::on(script).grace(STOP_GRACE)
}

/// A database for one test, dropped with this value even if something is still connected to it.
pub struct PostgresDatabase {
    pub url: String,
    name: String,
    admin: Admin,
}

impl PostgresDatabase {
    /// Gives it another name. Whoever is connected to it is so no longer, and does not find it again.
    pub fn rename(&mut self) {
        let (old, new) = (&self.name, unique_name("test_"));
        self.admin.leave(old);
        self.admin.execute_all(
            "postgres",
            &[
                format!("alter database {old} allow_connections false"),
                format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{old}'"),
                format!("alter database {old} rename to {new}"),
                format!("alter database {new} allow_connections true"),
            ],
        );
        (self.url, self.name) = (self.admin.database_url(&new), new);
    }

    pub fn execute(&self, statement: &str) {
        self.ask(&[statement.to_owned()]);
    }

    /// All that these statements answer, one line for each row.
    pub fn ask(&self, statements: &[String]) -> Vec<String> {
        self.admin.execute_all(&self.name, statements)
    }
}

impl Drop for PostgresDatabase {
    fn drop(&mut self) {
        self.admin.leave(&self.name);
        self.admin.execute(&format!("drop database {} with (force)", self.name));
    }
}

/// Creates and drops databases. It does so with `psql`, which needs no runtime and so works in `Drop`.
#[derive(Clone)]
struct Admin {
    psql: PathBuf,
    /// Without a database. It is another one after a failover.
    server_url: Arc<Mutex<String>>,
    /// Those that are at leisure, by their database.
    sessions: Arc<Mutex<HashMap<String, Vec<Session>>>>,
}

/// A `psql` that goes on: to start one takes longer than most of what it is asked for. It ends when it is dropped.
struct Session {
    psql: Child,
    statements: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Session {
    const DONE: &str = "-- done --";

    fn begin(psql: &Path, url: &str) -> Self {
        let mut command = Command::new(psql);
        command.args(["--no-psqlrc", "--quiet", "--tuples-only", "--set=ON_ERROR_STOP=1"]).arg(url);
        let mut psql = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("psql runs");
        let (statements, answers) = (psql.stdin.take().expect("a pipe"), psql.stdout.take().expect("a pipe"));
        Self { psql, statements, answers: BufReader::new(answers).lines() }
    }

    /// What it answers; `None` where that was not carried out, and it is of no use any more.
    fn execute(&mut self, statement: &str) -> Option<Vec<String>> {
        writeln!(self.statements, "{statement};\n\\echo '{}'", Self::DONE).ok()?;
        let mut answer = Vec::new();
        for line in self.answers.by_ref().map_while(Result::ok) {
            match line.trim() {
                Self::DONE => return Some(answer),
                "" => {}
                row => answer.push(row.to_owned()),
            }
        }
        None
    }
}

impl Admin {
    fn database_url(&self, name: &str) -> String {
        format!("{}/{name}", self.server_url())
    }

    fn server_url(&self) -> String {
        self.server_url.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What a statement answers.
    fn ask(&self, statement: &str) -> String {
        let output = Command::new(&self.psql)
            .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--command", statement])
            .arg(self.database_url("postgres"))
            .output()
            .expect("psql runs");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn execute(&self, statement: &str) {
        self.execute_all("postgres", &[statement.to_owned()]);
    }

    /// One after the other, each in a transaction of its own. Returns all that they answer.
    fn execute_all(&self, database: &str, statements: &[String]) -> Vec<String> {
        let mut session =
            self.idle_session(database).unwrap_or_else(|| Session::begin(&self.psql, &self.database_url(database)));
        let answers: Option<Vec<_>> = statements.iter().map(|statement| session.execute(statement)).collect();
        if let Some(answers) = answers {
            self.sessions().entry(database.to_owned()).or_default().push(session);
            return answers.concat();
        }
        // A panic while a test panics already would abort all the others.
        assert!(std::thread::panicking(), "psql failed: {statements:?}");
        Vec::new()
    }

    /// One that no test has cut off.
    fn idle_session(&self, database: &str) -> Option<Session> {
        let pop = || self.sessions().get_mut(database).and_then(Vec::pop);
        std::iter::from_fn(pop).find_map(|mut session| session.execute("select").map(|_| session))
    }

    /// Nobody is connected to a database any more.
    fn leave(&self, database: &str) {
        let left = self.sessions().remove(database);
        drop(left);
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Vec<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        _ = self.psql.kill();
        _ = self.psql.wait();
    }
}
