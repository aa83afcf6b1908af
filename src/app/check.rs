//! `dlo check`: one line for each thing that has to be reached.

use std::process::ExitCode;

use crate::{
    broker::ConsumingSession,
    config::{BrokerConfig, Config},
    store::{Store, StoreError},
};

/// Reaches database and brokers and prints how that went.
pub async fn check(config: &Config) -> ExitCode {
    let mut failed = false;
    let mut tell = |what: String, outcome: Result<(), String>| {
        failed |= outcome.is_err();
        print(&what, outcome);
    };
    tell("configuration".to_owned(), Ok(()));
    tell("database".to_owned(), database(config).await.map_err(|error| error.to_string()));
    for (name, broker) in &config.brokers {
        tell(format!("broker {name} ({})", broker.address()), reach(name, broker).await);
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

async fn database(config: &Config) -> Result<(), StoreError> {
    let store = Store::open(config.database.url.reveal()).await?;
    store.ping().await?;
    if config.database.auto_migrate {
        return Ok(());
    }
    store.check_version().await
}

/// Nothing is declared by a mere check.
async fn reach(name: &str, broker: &BrokerConfig) -> Result<(), String> {
    ConsumingSession::check(name, broker).await.map_err(|error| error.to_string())
}

#[expect(clippy::print_stdout, reason = "the answer of the command")]
fn print(what: &str, outcome: Result<(), String>) {
    match outcome {
        Ok(()) => println!("ok    {what}"),
        Err(why) => println!("FAIL  {what}: {why}"),
    }
}
