//! `dlo list`, `show`, `retry` and the like: the API of a server, from a terminal.
//!
//! They ask no configuration and no database: only the server they are told of, as anybody else who has a token.

mod act;
mod client;
mod jobs;
mod letters;
mod text;

use std::{fmt, path::PathBuf, process::ExitCode};

use clap::{Args, Subcommand};
use uuid::Uuid;

use client::{Client, Refused};

use crate::cli::{USAGE_ERROR, fail};

#[derive(Debug, Subcommand)]
pub enum RemoteCommand {
    /// List dead letters, the newest first; those that are open unless something else is said
    List(letters::ListArgs),
    /// Find dead letters of any status, in the words of the search box
    Search(letters::SearchArgs),
    /// Show a dead letter with all that is known of it
    Show(letters::ShowArgs),
    /// Send dead letters back to the queues they failed in
    Retry(act::RetryArgs),
    /// Set dead letters aside; the jobs page undoes it
    Discard(act::DiscardArgs),
    /// List error groups, the most important first
    Groups(letters::GroupsArgs),
    /// List what is done with many letters, or follow, stop or undo one such job
    Jobs(jobs::JobsArgs),
}

/// Which server, and how it answers.
#[derive(Debug, Args)]
pub struct Server {
    /// Address of the server
    #[arg(long, env = "DLO_URL", value_name = "URL", default_value = "http://127.0.0.1:8420")]
    url: String,
    /// What it takes to sign in, where that is asked for; better set in the environment, where other users do not see it
    #[arg(long, env = "DLO_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Certificate authorities to trust beside those of the system, as PEM
    #[arg(long, env = "DLO_CA_FILE", value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// JSON, one object in each line, in place of a table
    #[arg(long)]
    json: bool,
}

/// How much of a list.
#[derive(Debug, Args)]
struct ListOptions {
    /// So many at most
    #[arg(long, default_value_t = 50, value_parser = read_limit, allow_negative_numbers = true)]
    limit: usize,
}

fn read_limit(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|limit| *limit > 0).ok_or_else(|| "it takes a number from 1".to_owned())
}

fn read_id(text: &str) -> Result<Uuid, String> {
    text.parse().map_err(|_| "it takes an id as the lists show it".to_owned())
}

/// Why a command did not do what it was to do.
#[derive(Debug)]
enum Failure {
    /// The server says no.
    Refused(Refused),
    /// The arguments cannot be used.
    Usage(String),
    Other(anyhow::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refused) => refused.fmt(f),
            Self::Usage(why) => f.write_str(why),
            Self::Other(error) => write!(f, "{error:#}"),
        }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

impl Failure {
    /// A call that cannot be understood is a mistake of who gave the arguments.
    fn code(&self) -> u8 {
        match self {
            Self::Refused(refused) if refused.is_misunderstood() => USAGE_ERROR,
            Self::Usage(_) => USAGE_ERROR,
            _ => 1,
        }
    }
}

type Outcome = Result<ExitCode, Failure>;

/// Does what the command says, and says in the terminal why not.
pub fn run(command: &RemoteCommand) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error, 1),
    };
    runtime.block_on(execute(command)).unwrap_or_else(|failure| {
        // The words of somebody who is not known must not steer the terminal.
        fail(&text::lines(&failure.to_string()), failure.code())
    })
}

async fn execute(command: &RemoteCommand) -> Outcome {
    match command {
        RemoteCommand::List(asked) => letters::list(asked).await,
        RemoteCommand::Search(asked) => letters::search(asked).await,
        RemoteCommand::Show(asked) => letters::show(asked).await,
        RemoteCommand::Retry(asked) => act::retry(asked).await,
        RemoteCommand::Discard(asked) => act::discard(asked).await,
        RemoteCommand::Groups(asked) => letters::groups(asked).await,
        RemoteCommand::Jobs(asked) => jobs::jobs(asked).await,
    }
}
