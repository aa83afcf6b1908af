//! What is done with all letters that a filter lets through: it outlives the request that asked for it.

use std::sync::Arc;

use tokio::sync::oneshot;
use uuid::Uuid;

use crate::{
    domain::job::{Bulk, Job},
    store::StoreError,
    web::state::AppState,
};

/// Work that was begun.
pub struct Begun {
    /// The job that tells how far it is.
    pub job: Uuid,
    /// What comes of it, for whoever waits for the end.
    pub ended: oneshot::Receiver<Result<Job, StoreError>>,
}

/// Begins it.
pub async fn begin(app: &Arc<AppState>, bulk: Bulk) -> Result<Begun, StoreError> {
    let claimed = app.triage.begin(bulk).await?;
    let (job, (tell, ended)) = (claimed.job.id, oneshot::channel());
    let worker = Arc::clone(app);
    let work = async move {
        let job = worker.triage.work_at(claimed, &worker.settings.closing).await;
        // Nobody waits for it any more.
        if let Err(Err(error)) = tell.send(job) {
            tracing::error!(error = %error, "a bulk action was interrupted; it continues");
        }
    };
    app.tasks.spawn_on(work, &app.background);
    Ok(Begun { job, ended })
}
