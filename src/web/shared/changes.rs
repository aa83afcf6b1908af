//! What has changed, as pages are told: it says that something has, never what. Who sees some queues only is not told what
//! happens in others, nor that something happens.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};

use crate::{
    domain::access::Right,
    services::change_feed::Changes,
    store::StoreError,
    web::{
        state::{AppState, seen_changes::Seen},
        visitor::Visitor,
    },
};

tokio::task_local! {
    static KNOWN: String;
}

/// Notes what had changed before anything is read for an answer: a page that says it knows more than it was made of would
/// never catch up.
pub async fn note(State(app): State<Arc<AppState>>, request: Request, next: Next) -> Response {
    let visitor = Visitor::current();
    let known = seen(&app, visitor.as_ref()).await;
    KNOWN.scope(known, next.run(request)).await
}

/// What the page that is made now knows; it has to act only on an event that says something else.
pub fn known() -> String {
    KNOWN.try_with(Clone::clone).unwrap_or_default()
}

/// All that has happened; who does not see all queues is told of what they see.
pub async fn seen(app: &AppState, visitor: Option<&Visitor>) -> String {
    let (Changes { received, changed, .. }, brokers) =
        (*app.feed.subscribe().borrow(), *app.brokers.changes().borrow());
    match visitor.filter(|visitor| visitor.is_confined()) {
        Some(visitor) => format!("{:x}.{brokers}", seen_by(app, visitor).await),
        None => format!("{received}.{changed}.{brokers}"),
    }
}

/// Stands for what `visitor` can see: it is another when something of that has changed, and only then. As long as the
/// database does not answer it stays as it was.
async fn seen_by(app: &AppState, visitor: &Visitor) -> u64 {
    let at = *app.feed.subscribe().borrow();
    let scope = visitor.grants.scope(Right::Read).written();
    let before = app.seen_changes.get(&scope);
    if let Some(seen) = before.filter(|seen| seen.at == at) {
        return seen.sum;
    }
    match look(app, visitor, at, before.map_or(0, |seen| seen.activity)).await {
        Ok(seen) => {
            app.seen_changes.put(scope, seen);
            seen.sum
        }
        Err(_) => before.map_or(0, |seen| seen.sum),
    }
}

/// Letters by queue, status and importance, groups by their state, and what people did.
async fn look(app: &AppState, visitor: &Visitor, at: Changes, activity: i64) -> Result<Seen, StoreError> {
    let store = app.store.whole().within(&visitor.grants);
    let letters = store.facets().await?;
    let groups = store.open_groups().await?;
    let activity = store.latest_activity().await?.map_or(activity, |latest| latest.max(activity));
    Ok(Seen { at, sum: app.seen_changes.sum((letters, groups, activity)), activity })
}
