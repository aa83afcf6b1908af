//! Child processes that cannot outlive this one, and waiting for things to come about.

use std::{
    ffi::{OsStr, OsString},
    fmt::Debug,
    io::{BufRead, BufReader, PipeReader, PipeWriter},
    os::unix::process::CommandExt,
    panic::Location,
    path::Path,
    process::{Child, Command, ExitStatus},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::{PATIENCE, rig_script};

/// How to run a command that surely dies when this process dies, even by SIGKILL.
///
/// `tests/rig/leash.sh` runs the command and ends it, with all it started, when the pipe that is its standard input
/// closes. This process holds the only other end of that pipe.
pub struct Leash {
    command: Command,
    options: Vec<OsString>,
}

impl Leash {
    /// Takes program, arguments, environment and directory of `command`. Its input is empty; both of its outputs go to
    /// [`Leashed::line_with`].
    pub fn on(command: Command) -> Self {
        let options = Vec::new();
        Self { command, options }
    }

    /// A command that does nothing, for [`Leash::then_remove`] to delete a directory that several others use.
    pub fn keeping(dir: &Path) -> Self {
        let mut command = Command::new("sleep");
        command.arg("infinity");
        Self::on(command).then_remove(dir)
    }

    /// Lets the command tidy up after a SIGTERM before it is killed; without this there is only the SIGKILL.
    pub fn grace(mut self, grace: Duration) -> Self {
        let seconds = grace.as_secs().to_string();
        self.options.extend(["--grace".into(), seconds.into()]);
        self
    }

    /// Deletes a directory when everything is dead; this happens even when the test process was killed.
    pub fn then_remove(mut self, dir: &Path) -> Self {
        self.options.extend(["--remove".into(), dir.into()]);
        self
    }

    /// # Panics
    /// When the machine cannot start a process.
    pub fn spawn(self) -> Leashed {
        let (output, sink) = std::io::pipe().expect("a pipe for the output");
        let (leash_end, lifeline) = std::io::pipe().expect("a pipe for the leash");
        let child = self
            .into_leash_command()
            .stdin(leash_end)
            .stdout(sink.try_clone().expect("the pipe's end can be shared"))
            .stderr(sink)
            // A signal to the whole group of this process, as from Ctrl-C or a test runner, must not hit the leash.
            .process_group(0)
            .spawn()
            .expect("tests/rig/leash.sh runs");
        Leashed { child, lifeline: Some(lifeline), output: Output::of(output) }
    }

    fn into_leash_command(self) -> Command {
        let mut leash = Command::new(rig_script("leash.sh"));
        leash.args(self.options);
        copied(&self.command, leash)
    }
}

/// The program under test. It has no settings but those that a test gives it, whatever is set where the tests are run.
pub fn dlo() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dlo"));
    for name in std::env::vars_os().map(|(name, _)| name).filter(|name| is_setting(name)) {
        command.env_remove(name);
    }
    command
}

/// Whether a program reads that variable. Those of the tests are theirs too: a seed, or where to die.
fn is_setting(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"DLO_") && !name.starts_with(b"DLO_TEST_")
}

/// Has `by` run that command, as its last arguments and in its environment and directory.
pub fn copied(command: &Command, mut by: Command) -> Command {
    by.arg(command.get_program()).args(command.get_args());
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => by.env(key, value),
            None => by.env_remove(key),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        by.current_dir(dir);
    }
    by
}

/// A running command on its leash. Dropping it kills the command and all it started, and waits until they are dead.
pub struct Leashed {
    child: Child,
    /// Closing this is what ends the command.
    lifeline: Option<PipeWriter>,
    output: Arc<Output>,
}

impl Leashed {
    /// Blocks until the command has printed a line that contains `needle`, and returns the first such line.
    ///
    /// # Panics
    /// With all output so far, when the line is not there in time or the output ends without it.
    #[track_caller]
    pub fn line_with(&self, needle: &str, timeout: Duration) -> String {
        let is_it = |line: &&String| line.contains(needle);
        let output =
            self.output.wait_while(timeout, |output| !output.ended && !output.lines.iter().any(|line| is_it(&line)));
        match output.lines.iter().find(is_it) {
            Some(line) => line.clone(),
            None => panic!("no line with {needle:?} within {timeout:?}, only:\n{}", output.lines.join("\n")),
        }
    }

    /// All lines that the command has printed until now.
    pub fn lines(&self) -> Vec<String> {
        self.output.lock().lines.clone()
    }

    /// The process id of the command, which is the one that a child of the leash has started.
    ///
    /// # Panics
    /// When the command has ended.
    pub fn command_pid(&self) -> u32 {
        children(self.child.id())
            .into_iter()
            .find_map(|child| children(child).first().copied())
            .expect("the command runs")
    }

    /// Sends SIGTERM to the command itself, as an operator would.
    pub fn terminate(&self) {
        // The shell's own `kill`: the program of that name is not on every machine.
        let status = Command::new("sh").args(["-c", "kill -TERM \"$0\""]).arg(self.child.id().to_string()).status();
        assert!(status.is_ok_and(|status| status.success()), "SIGTERM could not be sent");
    }

    /// Has the command stand still, as if the machine had no time for it, and waits until all its threads do: one that runs
    /// when the signal is sent may still answer something.
    pub async fn freeze(&self) {
        self.signal("STOP");
        let pid = self.command_pid();
        wait_until("all threads to stand still", PATIENCE, async || stands_still(pid)).await;
    }

    /// Has it go on.
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    /// Sends it to the command itself.
    pub fn signal(&self, signal: &str) {
        let pid = self.command_pid().to_string();
        let status = Command::new("sh").args(["-c", "kill -\"$0\" \"$1\"", signal, &pid]).status();
        assert!(status.is_ok_and(|status| status.success()), "SIG{signal} could not be sent");
    }

    /// Waits until the command has ended by itself, and all is read that it has printed.
    ///
    /// # Panics
    /// When it has not in time.
    #[track_caller]
    pub fn exited(&mut self, timeout: Duration) -> impl Future<Output = ExitStatus> {
        wait_for("the process to end", timeout, async || {
            let status = self.child.try_wait().expect("the child can be waited for");
            status.filter(|_| self.output.lock().ended)
        })
    }

    /// Ends the command now, by SIGKILL unless it has a [`Leash::grace`], and waits until it is dead.
    ///
    /// # Panics
    /// When it does not die in time.
    pub fn kill(&mut self) -> ExitStatus {
        let status = self.let_go();
        status.unwrap_or_else(|| {
            panic!("process {} is not dead {DEATH_TIMEOUT:?} after its leash was let go", self.child.id())
        })
    }

    /// Lets go of the leash and waits until the command is dead; `None` when it does not die in time.
    #[expect(clippy::disallowed_methods, reason = "it is called in Drop too, where nothing can be awaited")]
    fn let_go(&mut self) -> Option<ExitStatus> {
        self.lifeline = None;
        let begin = Instant::now();
        while begin.elapsed() < DEATH_TIMEOUT {
            let status = self.child.try_wait().expect("the child can be waited for");
            if status.is_some() {
                return status;
            }
            thread::sleep(POLL_INTERVAL);
        }
        None
    }
}

impl Drop for Leashed {
    fn drop(&mut self) {
        // A panic while a test panics already would abort all the others.
        if !thread::panicking() {
            self.kill();
            return;
        }
        let id = self.child.id();
        let end = self.let_go().map_or_else(|| "does not die".to_owned(), |status| status.to_string());
        eprintln!("--- output of process {id} ({end}):\n{}", self.lines().join("\n"));
    }
}

/// The oldest first.
fn children(pid: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// What a command prints, kept by a thread that reads on, so that the command is never held up by a full pipe.
#[derive(Default)]
struct Output {
    so_far: Mutex<OutputSoFar>,
    grown: Condvar,
}

#[derive(Default)]
struct OutputSoFar {
    lines: Vec<String>,
    ended: bool,
}

impl Output {
    fn of(pipe: PipeReader) -> Arc<Self> {
        let output = Arc::new(Self::default());
        let for_reader = Arc::clone(&output);
        thread::spawn(move || for_reader.read_to_end(pipe));
        output
    }

    fn read_to_end(&self, pipe: PipeReader) {
        for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            self.lock().lines.push(line);
            self.grown.notify_all();
        }
        self.lock().ended = true;
        self.grown.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, OutputSoFar> {
        self.so_far.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, timeout: Duration, condition: impl Fn(&OutputSoFar) -> bool) -> MutexGuard<'_, OutputSoFar> {
        self.grown
            .wait_timeout_while(self.lock(), timeout, |output| condition(output))
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }
}

/// How long a command may take to die, with the grace it is given.
const DEATH_TIMEOUT: Duration = Duration::from_secs(180);

/// Whether all threads of a process are stopped.
fn stands_still(pid: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    tasks.flatten().all(|task| {
        // The name in brackets may have anything in it. A thread that ends meanwhile runs no more.
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('T'))
    })
}

/// How often something is looked at that is waited for: at first often enough not to slow a test down, then seldom
/// enough to leave the CPU to what it is waiting for.
const POLL_INTERVAL: Duration = Duration::from_millis(4);
const LONGEST_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// After a look that has itself taken long.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Waits until `check` says yes. This, [`wait_for`] and [`Leashed::kill`] are the only places where tests sleep.
///
/// # Panics
/// Naming `what` and the caller, when that has not happened in time.
#[track_caller]
pub fn wait_until(what: &str, timeout: Duration, mut check: impl AsyncFnMut() -> bool) -> impl Future<Output = ()> {
    wait_for(what, timeout, async move || check().await.then_some(()))
}

/// Waits until `check` has a value, and returns it.
///
/// # Panics
/// Naming `what` and the caller, when there is none in time.
#[track_caller]
pub fn wait_for<T>(
    what: &str,
    timeout: Duration,
    mut check: impl AsyncFnMut() -> Option<T>,
) -> impl Future<Output = T> {
    wait_to_see(what, timeout, async move || check().await.ok_or(()))
}

/// Waits until `check` has a value, and returns it. Until then it says what there is instead.
///
/// # Panics
/// Naming `what`, the caller and what there was last, when there is none in time.
#[track_caller]
pub fn wait_to_see<T, E: Debug>(
    what: &str,
    timeout: Duration,
    mut check: impl AsyncFnMut() -> Result<T, E>,
) -> impl Future<Output = T> {
    let caller = Location::caller();
    async move {
        let mut last = None;
        let polling = async {
            let mut pause = POLL_INTERVAL;
            loop {
                let begun = Instant::now();
                match check().await {
                    Ok(value) => return value,
                    Err(seen) => last = Some(seen),
                }
                // Whoever looks for long would leave no CPU to what it is waiting for.
                tokio::time::sleep(pause.max(begun.elapsed().min(LONGEST_PAUSE))).await;
                pause = LONGEST_POLL_INTERVAL.min(pause * 5 / 4);
            }
        };
        // Around the whole, so that a check that hangs is found out too.
        match tokio::time::timeout(timeout, polling).await {
            Ok(value) => value,
            Err(_) => panic!("{caller}: waited {timeout:?} in vain for {what}; last seen: {last:?}"),
        }
    }
}

/// Runs a future to its end in a runtime of its own, for places that cannot await, such as `Drop`.
pub fn block_on<T: Send>(future: impl Future<Output = T> + Send) -> T {
    // In a thread of its own, since a runtime must not be entered from within another.
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime can be built")
                .block_on(future)
        });
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[test]
fn the_program_gets_no_settings_of_who_runs_the_tests() {
    for inherited in ["DLO_CI", "DLO_WEB__LISTEN", "DLO_URL", "DLO_TOKEN"] {
        assert!(is_setting(OsStr::new(inherited)), "{inherited}");
    }
    for kept in ["DLO_TEST_REQUIRE", "DLO", "PATH", "SSL_CERT_FILE"] {
        assert!(!is_setting(OsStr::new(kept)), "{kept}");
    }
}

/// Until then it cannot be found by its session, which it may not have when its leash is let go at once.
#[test]
fn a_command_dies_that_has_no_session_yet() {
    use std::os::unix::fs::PermissionsExt;

    let slow = super::scratch_dir("slow-setsid-");
    let script = slow.path().join("setsid");
    std::fs::write(&script, "#!/bin/sh\nPATH=${PATH#*:}\nsleep 1\nexec setsid \"$@\"\n").expect("a script");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let path = std::env::var("PATH").expect("a PATH");
    let mut command = Command::new("sleep");
    command.arg("infinity").env("PATH", format!("{}:{path}", slow.path().display()));
    assert!(!Leash::on(command).spawn().kill().success());
}
