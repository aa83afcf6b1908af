//! Waiting for a broker that may be in alarm: it answers late then, and is not to blame.

use std::time::Duration;

use lapin::Connection;

use super::{STEP_TIMEOUT, SessionError};

/// How often a wait looks whether the broker is in alarm.
const TICK: Duration = Duration::from_millis(250);

/// Ends once the connection has been out of alarm for `limit` altogether.
pub(super) async fn unblocked_for(connection: &Connection, limit: Duration) {
    let mut waited = Duration::ZERO;
    while waited < limit {
        tokio::time::sleep(TICK).await;
        // A lost connection is in no alarm, whatever was reported of it last.
        if !connection.status().blocked() || !connection.status().connected() {
            waited += TICK;
        }
    }
}

/// Waits for the broker's answer as [`step`](super::step) does, but through an alarm.
pub(super) async fn patient_step<T>(
    connection: &Connection,
    what: &str,
    answer: impl Future<Output = lapin::Result<T>>,
) -> Result<T, SessionError> {
    tokio::select! {
        answered = answer => answered.map_err(|source| SessionError::Refused { what: what.to_owned(), source }),
        () = unblocked_for(connection, STEP_TIMEOUT) => Err(SessionError::Timeout { what: what.to_owned() }),
    }
}
