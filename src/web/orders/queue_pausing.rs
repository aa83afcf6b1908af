//! Pausing and resuming retries into a queue, for its page and for the API.

use crate::{
    domain::{access::Right, actor::Actor},
    web::{
        error::{WebError, codes::FaultCode},
        query::queue_path::QueuePath,
        shared::queue_details::QueueDetails,
        state::AppState,
        visitor::Visitor,
    },
};

pub async fn pause(
    app: &AppState,
    path: &QueuePath,
    until_consumers: bool,
    note: String,
    by: &Actor,
) -> Result<(), WebError> {
    need(app, path).await?;
    if until_consumers && !app.settings.watch.contains_key(&path.broker) {
        let why = "consumers are not known: the management API of this broker is not set up";
        return Err(WebError::field("until_consumers", FaultCode::Choice, why));
    }
    Ok(app.triage.pause_queue((&path.broker, &path.queue), until_consumers, note, by).await?)
}

/// The answer is whether it was paused.
pub async fn resume(app: &AppState, path: &QueuePath, by: &Actor) -> Result<bool, WebError> {
    need(app, path).await?;
    Ok(app.triage.resume_queue(&path.broker, &path.queue, by).await?)
}

/// Refuses who may not act on it, and what is not there for them.
async fn need(app: &AppState, path: &QueuePath) -> Result<(), WebError> {
    let facets = app.store().facets().await?;
    QueueDetails::load(app, path.clone(), &facets).await?;
    Visitor::need(Right::Act)
}
