//! The log: lines for a terminal, or JSON for a collector.

use std::io::IsTerminal;

use anyhow::Context;
use tracing_subscriber::{EnvFilter, reload::Handle};

use crate::config::{LogConfig, LogFormat};

/// Replaces the filter of the log.
pub type Refilter = Box<dyn Fn(EnvFilter) + Send>;

/// Starts logging to standard error. The answer replaces the filter.
///
/// # Errors
/// When `log.filter` is not a filter.
pub fn start(config: &LogConfig) -> anyhow::Result<Refilter> {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter(config)?)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    Ok(match config.format {
        LogFormat::Text => {
            let builder = builder.with_filter_reloading();
            let handle = builder.reload_handle();
            builder.init();
            refilter(handle)
        }
        LogFormat::Json => {
            let builder = builder.json().with_filter_reloading();
            let handle = builder.reload_handle();
            builder.init();
            refilter(handle)
        }
    })
}

/// # Errors
/// When `log.filter` is not a filter.
pub fn filter(config: &LogConfig) -> anyhow::Result<EnvFilter> {
    EnvFilter::try_new(&config.filter).with_context(|| {
        format!(
            "log.filter: {:?} is no filter; it takes words like info, debug or dead_letter_office=debug",
            config.filter
        )
    })
}

fn refilter<S: 'static>(handle: Handle<EnvFilter, S>) -> Refilter {
    Box::new(move |filter| {
        if let Err(error) = handle.reload(filter) {
            tracing::error!("the filter of the log cannot be replaced: {error}");
        }
    })
}
