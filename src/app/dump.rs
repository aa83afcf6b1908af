//! `dlo export` and `dlo import`: all that is in the database as lines, for another one.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, BufWriter},
    path::Path,
    process::ExitCode,
    time::Duration,
};

use anyhow::Context;

use crate::{
    config::Config,
    domain::number::plural,
    store::{Store, StoreError},
};

/// Stands for standard input and output.
const STANDARD: &str = "-";

/// Writes all into `file`, or to standard output.
///
/// # Errors
/// Where there is no database yet, where the file is there already, and where a reader goes away before the end: what it has
/// is not whole.
pub async fn export(config: &Config, file: &Path) -> anyhow::Result<ExitCode> {
    let url = config.database.url.reveal();
    if let Some(missing) = Store::missing_file(url) {
        anyhow::bail!("{} does not exist", missing.display());
    }
    let store = open(config).await?;
    let rows = match file == Path::new(STANDARD) {
        true => store.export(&mut BufWriter::new(io::stdout())).await?,
        false => store.export_to(file).await?,
    };
    tracing::info!(rows, "the database is exported");
    Ok(ExitCode::SUCCESS)
}

/// A statement that reads a whole table takes long, and nobody has to be told.
async fn open(config: &Config) -> Result<Store, StoreError> {
    Store::open_logging(config.database.url.reveal(), Duration::MAX).await
}

/// Reads all from `file`, or from standard input, into a database that is empty. It is made, and brought to this version,
/// where it is not there.
///
/// # Errors
/// Where a line is not as it was written, or the database is not empty; nothing has changed then.
pub async fn import(config: &Config, file: &Path) -> anyhow::Result<ExitCode> {
    let mut lines: Box<dyn BufRead + Send> = match file == Path::new(STANDARD) {
        true => Box::new(BufReader::new(io::stdin())),
        false => Box::new(BufReader::new(File::open(file).with_context(|| format!("{}", file.display()))?)),
    };
    let store = open(config).await?;
    store.lock()?;
    store.migrate().await?;
    let rows = store.import(&mut lines).await?;
    tracing::info!("the database has {}", plural(rows, "row"));
    Ok(ExitCode::SUCCESS)
}
