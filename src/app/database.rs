//! The database of a server that starts, which may be on its way up, too.

use std::{mem, time::Duration};

use tokio::time::{Instant, sleep};

use crate::{
    config::Config,
    store::{Store, StoreError},
};

/// How long a Postgres is waited for that takes no connections yet.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long after one try the next follows.
const PAUSE: Duration = Duration::from_millis(500);

/// Opens the database. One that is not there is tried again for a while, which is logged.
pub(super) async fn open(config: &Config) -> Result<Store, StoreError> {
    let (end, mut is_told) = (Instant::now() + PATIENCE, false);
    loop {
        match Store::open_logging(config.database.url.reveal(), config.database.slow_statement).await {
            Err(error @ StoreError::NoConnection { .. }) if error.is_outage() && Instant::now() < end => {
                if !mem::replace(&mut is_told, true) {
                    tracing::warn!("{error}; it is tried again for {} s", PATIENCE.as_secs());
                }
                sleep(PAUSE).await;
            }
            outcome => return outcome,
        }
    }
}
