//! The command line: what is asked for, and what is said in the terminal.
//!
//! Knows every command and how it ends. What a command does is done on the floors below; nothing there may know that it
//! was asked for from here.

mod decode;
mod people;
mod remote;
mod shell;

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use amqp_message::death::Reason;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use tokio::runtime::Handle;

use crate::{
    app::{self, ReadAgain, Roles, Runtimes, logging},
    config::{self, BrokerConfig, Config, ConfigError, Effective},
    demo,
    domain::policy::PolicyBook,
    rabbitmq::topology::Topology,
};

/// Exit code of a configuration or of arguments that are not usable.
const USAGE_ERROR: u8 = 2;

/// Keeps, explains and sends back the messages that RabbitMQ services could not process.
#[derive(Debug, Parser)]
#[command(name = "dlo", version)]
struct Cli {
    /// Configuration file; without it dlo.toml in the working directory, if there is one
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server
    Serve {
        /// What this process does, by comma: web, intake, retry, notify
        #[arg(long, default_value = "web,intake,retry,notify")]
        roles: Roles,
    },
    /// Print the configuration in effect, and from where each value comes; secrets are masked
    Config {
        /// Only what is not as it is by default
        #[arg(long)]
        set: bool,
    },
    /// Validate the configuration and reach database and brokers; exit code 1 if any fails
    Check,
    /// Ask the server of this configuration whether it is alive; exit code 1 if it is not
    Health {
        /// Whether it takes messages in and sends them back, too
        #[arg(long)]
        ready: bool,
    },
    /// Bring the database to this version
    Migrate,
    /// Copy the SQLite database into a new file, also while dlo runs; for Postgres there is pg_dump
    Backup {
        /// The copy; a file that is not there yet
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Write all that is in the database as lines of JSON, for `dlo import`, also while dlo runs
    Export {
        /// A file that is not there yet; `-` for standard output
        #[arg(value_name = "FILE", default_value = "-")]
        file: PathBuf,
    },
    /// Read what `dlo export` has written, from SQLite or Postgres, into an empty database; all of it or nothing
    Import {
        /// What was exported; `-` for standard input
        #[arg(value_name = "FILE", default_value = "-")]
        file: PathBuf,
    },
    #[command(flatten)]
    Remote(remote::RemoteCommand),
    /// Print what RabbitMQ needs to dead-letter queues here: policies, exchange and queues, as definitions and as
    /// commands
    Topology(TopologyArgs),
    /// Decode a message without a server, or say of which types it could be
    Decode(decode::DecodeArgs),
    /// Who may sign in, where auth.mode is "password"
    #[command(subcommand)]
    User(people::UserCommand),
    /// What programs sign in with
    #[command(subcommand)]
    Token(people::TokenCommand),
    /// Run the server with a database of its own, and failing services on the configured broker
    Demo,
    /// Print the script that completes commands and options in a shell
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Write the man pages, as packages have them
    #[command(hide = true)]
    Man {
        /// Where to; made if it is not there
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
}

#[derive(Debug, Args)]
struct TopologyArgs {
    /// Their names; one that begins with a dash comes after --
    #[arg(required = true, value_name = "QUEUE")]
    queues: Vec<String>,
    /// Which of the configured brokers; may be left out where there is one
    #[arg(long, value_name = "NAME")]
    broker: Option<String>,
    /// Have RabbitMQ itself delay the retries; for quorum queues of RabbitMQ 4.3 and later
    #[arg(long)]
    native: bool,
    /// Only the definitions
    #[arg(long)]
    json: bool,
}

/// Parses the arguments, does what they say and returns the exit code.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    match without_configuration(&cli.command) {
        None => {}
        Some(Ok(code)) => return code,
        Some(Err(error)) => return fail(&error, 1),
    }
    let (config, effective) = match read(cli.config.as_deref()) {
        Ok(read) => read,
        Err(error) => return fail(&error, USAGE_ERROR),
    };
    if notifies(&cli.command)
        && let Err(error) = app::check_channels(&config)
    {
        return fail(&error, USAGE_ERROR);
    }
    let filter = match logging::start(&config.log) {
        Ok(filter) => filter,
        Err(error) => return fail(&error, USAGE_ERROR),
    };
    let again = ReadAgain { read: Box::new(move || read(cli.config.as_deref())), effective, filter };
    let runtimes = match Runtimes::start() {
        Ok(runtimes) => runtimes,
        Err(error) => return fail(&error, 1),
    };
    let ended = runtimes.background.block_on(execute(cli.command, config, again, runtimes.pages.handle()));
    runtimes.end();
    match ended {
        Ok(code) => code,
        Err(error) => fail(&format_args!("{error:#}"), 1),
    }
}

fn read(file: Option<&Path>) -> Result<(Config, Effective), ConfigError> {
    config::trace(file, std::env::vars_os().filter_map(utf8_pair))
}

/// What has to work also where the configuration does not, as where packages are made.
fn without_configuration(command: &Command) -> Option<std::io::Result<ExitCode>> {
    match command {
        Command::Completions { shell } => Some(print(&shell::completions(*shell))),
        Command::Man { folder } => Some(shell::man_pages(folder).map(|()| ExitCode::SUCCESS)),
        Command::Remote(command) => Some(Ok(remote::run(command))),
        _ => None,
    }
}

/// Whether it needs the channels: the others do without what is wrong with one.
const fn notifies(command: &Command) -> bool {
    matches!(command, Command::Serve { .. } | Command::Check | Command::Demo)
}

async fn execute(command: Command, config: Config, again: ReadAgain, pages: &Handle) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve { roles } => app::serve(config, roles, again, pages.clone()).await,
        Command::Config { set } => Ok(print(again.effective.text(set).as_bytes())?),
        Command::Check => Ok(app::check(&config).await),
        Command::Health { ready } => app::health(&config, ready).await,
        Command::Migrate => app::migrate(&config).await,
        Command::Backup { file } => app::backup(&config, &file).await,
        Command::Export { file } => app::export(&config, &file).await,
        Command::Import { file } => app::import(&config, &file).await,
        Command::Topology(asked) => Ok(match topology(&asked, &config) {
            Ok(text) => print(text.as_bytes())?,
            Err(error) => fail(&error, USAGE_ERROR),
        }),
        Command::Decode(asked) => decode::run(&asked, &config),
        Command::User(command) => people::user(command, &config).await,
        Command::Token(command) => people::token(command, &config).await,
        Command::Demo => demo::run(config, pages.clone()).await,
        // Done before there was a configuration.
        Command::Completions { .. } | Command::Man { .. } | Command::Remote(_) => Ok(ExitCode::SUCCESS),
    }
}

fn topology(asked: &TopologyArgs, config: &Config) -> Result<String, String> {
    let (name, broker) = broker(asked.broker.as_deref(), config)?;
    let topology = if asked.native {
        let book = PolicyBook::new(&config.retry.policies()?, Vec::new());
        // A message that is rejected with requeue is not dead-lettered; it is the rejection that the policy is about.
        let policy = |queue: &str| book.find(queue, Reason::Rejected).map(|active| &active.policy);
        Topology::native(broker, &asked.queues, policy)?
    } else {
        Topology::dead_lettering(broker, &asked.queues)?
    };
    if !asked.json {
        return Ok(topology.text(name));
    }
    topology.notes().for_each(say);
    Ok(format!("{:#}\n", topology.definitions()))
}

fn broker<'a>(name: Option<&str>, config: &'a Config) -> Result<(&'a str, &'a BrokerConfig), String> {
    let names = || config.brokers.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let mut found = config.brokers.iter().filter(|(its, _)| name.is_none_or(|name| name == *its));
    match (found.next(), found.next()) {
        (Some((name, broker)), None) => Ok((name, broker)),
        (Some(_), Some(_)) => Err(format!("there are several brokers; --broker takes one of {}", names())),
        (None, _) => Err(format!("there is no such broker; --broker takes one of {}", names())),
    }
}

/// A reader that goes away early, as `head` does, is no failure.
fn print(bytes: &[u8]) -> std::io::Result<ExitCode> {
    match std::io::stdout().write_all(bytes) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn utf8_pair((name, value): (std::ffi::OsString, std::ffi::OsString)) -> Option<(String, String)> {
    Some((name.into_string().ok()?, value.into_string().ok()?))
}

fn fail(error: &dyn std::fmt::Display, code: u8) -> ExitCode {
    say(error);
    ExitCode::from(code)
}

#[expect(clippy::print_stderr, reason = "the last word of a command goes to the terminal")]
fn say(word: impl std::fmt::Display) {
    eprintln!("dlo: {word}");
}
