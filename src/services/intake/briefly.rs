//! What must not hold up messages that wait in RabbitMQ.

use std::time::Duration;

use crate::{crash_point, store::StoreError};

/// How long what waits in RabbitMQ is held up by a database that does not answer.
pub(crate) const PATIENCE: Duration = crash_point::short_patience(Duration::from_secs(1));

/// Does what the messages do without where it takes too long: they are then retried once more than they should be.
pub(crate) async fn briefly(work: impl Future<Output = Result<(), StoreError>>) {
    let Ok(done) = tokio::time::timeout(PATIENCE, work).await else {
        return tracing::debug!("the database does not answer in time; what comes back is perhaps not recognised");
    };
    if let Err(error) = done {
        tracing::debug!(error = %error, "what comes back is perhaps not recognised");
    }
}
