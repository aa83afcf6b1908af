//! `dlo backup`: a copy of the database while servers use it.

use std::{path::Path, process::ExitCode};

use crate::{config::Config, store::Store};

/// Copies the database into `file`.
///
/// # Errors
/// Where there is no database yet, where the file is there already, and on Postgres, which has a better way.
pub async fn backup(config: &Config, file: &Path) -> anyhow::Result<ExitCode> {
    let url = config.database.url.reveal();
    if let Some(missing) = Store::missing_file(url) {
        anyhow::bail!("{} does not exist", missing.display());
    }
    Store::open(url).await?.backup(file).await?;
    tracing::info!(file = %file.display(), "the database is copied");
    Ok(ExitCode::SUCCESS)
}
