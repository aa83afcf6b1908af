//! Whether there is a database at all.

use std::{sync::Arc, time::Duration};

use sqlx::{Connection, PgConnection, postgres::PgConnectOptions};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

use crate::crash_point;

/// How long Postgres may take to greet.
const PATIENCE: Duration = crash_point::patience(Duration::from_millis(300));
/// For so long an answer holds.
const FRESH: Duration = Duration::from_millis(250);

/// Asks a Postgres whether it is there, on a connection of its own and not more often than there is reason to. Cheap to
/// clone.
#[derive(Clone, Default)]
pub(crate) struct Presence(Arc<Mutex<Option<(Instant, bool)>>>);

impl Presence {
    pub(crate) async fn ask(&self, options: &PgConnectOptions) -> bool {
        let mut last = self.0.lock().await;
        if let Some((at, is_there)) = *last
            && at.elapsed() < FRESH
        {
            return is_there;
        }
        let connected = timeout(PATIENCE, PgConnection::connect_with(options)).await;
        let is_there = match connected {
            Ok(Ok(connection)) => {
                // It says farewell, so that the other side does not log a loss.
                drop(timeout(PATIENCE, connection.close()).await);
                true
            }
            _ => false,
        };
        *last = Some((Instant::now(), is_there));
        is_there
    }
}
