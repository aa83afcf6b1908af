//! Whether there is a database at all.

use std::{
    sync::{Arc, Mutex as SyncMutex, PoisonError},
    time::Duration,
};

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
/// So long ago an answer was given lately.
const LATELY: Duration = Duration::from_secs(5);

/// Asks a Postgres whether it is there, on a connection of its own and not more often than there is reason to. Cheap to
/// clone.
#[derive(Clone, Default)]
pub(crate) struct Presence {
    /// Held by whoever asks.
    asking: Arc<Mutex<()>>,
    last: Arc<SyncMutex<Option<(Instant, bool)>>>,
}

impl Presence {
    /// Whether it was there when it was asked last, which was lately. Waits for nothing.
    pub(crate) fn was_there(&self) -> bool {
        self.last(LATELY).unwrap_or(false)
    }

    fn last(&self, within: Duration) -> Option<bool> {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.filter(|(at, _)| at.elapsed() < within).map(|(_, is_there)| is_there)
    }

    pub(crate) async fn ask(&self, options: &PgConnectOptions) -> bool {
        let _asking = self.asking.lock().await;
        if let Some(is_there) = self.last(FRESH) {
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
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), is_there));
        is_there
    }
}
