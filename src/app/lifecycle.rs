//! From the first signal to an orderly end.

use std::{io, process::ExitCode, time::Duration};

use tokio::{
    runtime::Handle,
    signal::unix::{Signal, SignalKind, signal},
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use crate::services::{
    health::WorkerBoard,
    worker::{self, Worker},
};

/// How long workers may take to finish what they have begun.
const DRAIN: Duration = Duration::from_secs(20);

/// Starts the workers and ends them: the first signal lets them finish what they have begun, the second does not wait.
///
/// A worker that ends by itself takes the whole process down with a failing exit code, rather than leave half a
/// server running.
pub struct Lifecycle {
    stopping: CancellationToken,
    /// Cancelled by a worker that ended although nobody asked it to.
    died: CancellationToken,
    workers: TaskTracker,
    /// Where pages and API are answered: no worker keeps them waiting.
    pages: Handle,
    board: WorkerBoard,
    signals: Signals,
}

/// Ends with the next signal: for what is waited for before there is anything to stop.
pub(super) fn signalled() -> io::Result<impl Future<Output = ()>> {
    let mut signals = Signals::listen()?;
    Ok(async move { signals.next().await })
}

/// SIGINT and SIGTERM.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Listens from now on.
    fn listen() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

impl Lifecycle {
    /// Listens for SIGINT and SIGTERM from now on.
    pub fn start(pages: Handle) -> io::Result<Self> {
        Ok(Self {
            stopping: CancellationToken::new(),
            died: CancellationToken::new(),
            workers: TaskTracker::new(),
            pages,
            board: WorkerBoard::default(),
            signals: Signals::listen()?,
        })
    }

    /// Cancelled when workers are to finish.
    pub fn stopping(&self) -> CancellationToken {
        self.stopping.clone()
    }

    /// For work that ends by itself and is waited for all the same.
    pub fn tasks(&self) -> TaskTracker {
        self.workers.clone()
    }

    /// Starts a worker that works in rounds.
    pub fn start_worker<W: Worker + 'static>(&self, worker: W) {
        self.spawn(W::NAME, worker::run(worker, self.stopping(), self.board.begins(W::NAME)));
    }

    /// Where its workers report how their work goes.
    pub fn board(&self) -> WorkerBoard {
        self.board.clone()
    }

    pub fn spawn(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        self.spawn_on(name, work, &Handle::current());
    }

    /// Starts what answers pages and API.
    pub fn spawn_web(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        self.spawn_on(name, work, &self.pages);
    }

    fn spawn_on(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static, runtime: &Handle) {
        let died = self.died.clone().drop_guard();
        let stopping = self.stopping.clone();
        let work = async move {
            // Dropped by a panic too.
            let died: DropGuard = died;
            work.await;
            if stopping.is_cancelled() {
                died.disarm();
            } else {
                tracing::error!(worker = name, "a worker ended by itself");
            }
        };
        self.workers.spawn_on(work, runtime);
    }

    /// Waits for the first signal, or for a worker's death, and then for the workers.
    pub async fn run(mut self) -> ExitCode {
        let code = tokio::select! {
            () = self.died.cancelled() => ExitCode::FAILURE,
            () = self.signals.next() => ExitCode::SUCCESS,
        };
        tracing::info!("stopping: finishing work in progress; another signal stops at once");
        self.stopping.cancel();
        self.workers.close();
        tokio::select! {
            () = self.workers.wait() => {
                tracing::info!("stopped");
                code
            }
            () = self.signals.next() => ExitCode::FAILURE,
            () = tokio::time::sleep(DRAIN) => {
                tracing::error!("workers did not finish within {} s", DRAIN.as_secs());
                ExitCode::FAILURE
            }
        }
    }
}
