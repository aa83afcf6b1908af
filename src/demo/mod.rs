//! `dlo demo`: dlo, and a small world that keeps it busy.
//!
//! Three services of ours fail in the typical ways: one cannot process some orders, and says so as this or that
//! framework does or only rejects them, one is too slow for the time
//! its messages have, one has a queue that is too small. Some of what is sent back to the first succeeds. The schema of
//! what they send lies in a folder, where dlo finds it. Some rules say what matters, and stand-ins for Slack and
//! PagerDuty show whom dlo told what. A page of the demo says all this, and mends and breaks services.

mod control;
mod events;
mod people;
mod queues;
mod services;
pub mod stand_ins;
mod styles;
mod switches;
mod types;
mod world;

use std::{process::ExitCode, time::Duration};

use amqp_message::death::Reason;
use tokio::runtime::Handle;

use people::People;
use switches::Switches;

use crate::{
    app::{self, Lifecycle, Roles},
    config::{Config, RetryConfig, values::Secret},
};

/// Longer than the demo's retries wait.
const SUCCEEDED_AFTER: Duration = Duration::from_secs(60);

/// Serves with a database of its own, which begins empty and is deleted at the end.
pub async fn run(mut config: Config, pages: Handle) -> anyhow::Result<ExitCode> {
    let directory = std::env::temp_dir().join(format!("dlo-demo-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    config.database.url = Secret::new(format!("sqlite://{}", directory.join("database.db").display()));
    config.database.auto_migrate = true;
    let schemas = directory.join("acme");
    types::Types::publish(&schemas)?;
    config.schemas.folder = schemas.display().to_string();
    // Nobody watches for an hour.
    config.groups.succeeded_after = config.groups.succeeded_after.min(SUCCEEDED_AFTER);
    if config.retry == RetryConfig::default() {
        config.retry = retries();
    }
    let people = People::gather().await?;
    people.subscribe(&mut config)?;
    people::prepare(&config).await?;
    let switches = Switches::default();
    let (page, _server) = control::open(switches.clone(), config.web.public_url.clone()).await?;
    tracing::info!("the demo's services: what they do, and how to mend and break them, at {page}");
    config.web.demo = Some(page);
    let lifecycle = Lifecycle::start(pages)?;
    let brokers = config.brokers.clone();
    app::open(config, &Roles::all(), &lifecycle).await?;
    for (name, broker) in brokers {
        lifecycle.spawn("demo world", world::run(name, broker, switches.clone(), lifecycle.stopping()));
    }
    let code = lifecycle.run().await;
    std::fs::remove_dir_all(&directory)?;
    Ok(code)
}

/// Shorter than by default, so that one can watch; what a full queue refused is not sent back into it.
fn retries() -> RetryConfig {
    let never = RetryConfig { delays: Some(Vec::new()), ..RetryConfig::default() };
    RetryConfig {
        delays: Some([5, 20].map(Duration::from_secs).to_vec()),
        reasons: [(Reason::MaxLen.as_str().to_owned(), never)].into(),
        ..RetryConfig::default()
    }
}
