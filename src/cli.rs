//! The command line.

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

use crate::{
    app::{self, Roles},
    config::{self, Config},
    demo, logging,
};

/// Exit code of a configuration that is not usable.
const CONFIG_ERROR: u8 = 2;

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
    /// Validate the configuration and reach database and brokers; exit code 1 if any fails
    Check,
    /// Bring the database to this version
    Migrate,
    /// Run the server with a ledger of its own and a small world of failing services on the configured broker
    Demo,
}

/// Parses the arguments, does what they say and returns the exit code.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let config = match config::load(cli.config.as_deref(), std::env::vars_os().filter_map(utf8_pair)) {
        Ok(config) => config,
        Err(error) => return fail(&error, CONFIG_ERROR),
    };
    if let Err(error) = logging::start(&config.log) {
        return fail(&error, CONFIG_ERROR);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error, 1),
    };
    match runtime.block_on(execute(cli.command, config)) {
        Ok(code) => code,
        Err(error) => fail(&format_args!("{error:#}"), 1),
    }
}

async fn execute(command: Command, config: Config) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve { roles } => app::serve(config, roles).await,
        Command::Check => Ok(app::check(&config).await),
        Command::Migrate => app::migrate(&config).await,
        Command::Demo => demo::run(config).await,
    }
}

fn utf8_pair((name, value): (std::ffi::OsString, std::ffi::OsString)) -> Option<(String, String)> {
    Some((name.into_string().ok()?, value.into_string().ok()?))
}

#[expect(clippy::print_stderr, reason = "the last word of a command goes to the terminal")]
fn fail(error: &dyn std::fmt::Display, code: u8) -> ExitCode {
    eprintln!("dlo: {error}");
    ExitCode::from(code)
}
