//! What has changed for who sees some queues only: what happens in others is not told to them, nor that something happens.

use crate::{
    domain::access::Right,
    services::change_feed::Changes,
    store::StoreError,
    web::{
        security::Visitor,
        state::{AppState, seen_changes::Seen},
    },
};

impl AppState {
    /// Stands for what `visitor` can see: it is another when something of that has changed, and only then. As long as the
    /// database does not answer it stays as it was.
    pub(in crate::web) async fn seen_by(&self, visitor: &Visitor) -> u64 {
        let at = *self.feed.subscribe().borrow();
        let scope = visitor.grants.scope(Right::Read).written();
        let before = self.seen_changes.get(&scope);
        if let Some(seen) = before.filter(|seen| seen.at == at) {
            return seen.sum;
        }
        match self.look(visitor, at, before.map_or(0, |seen| seen.activity)).await {
            Ok(seen) => {
                self.seen_changes.put(scope, seen);
                seen.sum
            }
            Err(_) => before.map_or(0, |seen| seen.sum),
        }
    }

    /// Letters by queue, status and importance, groups by their state, and what people did.
    async fn look(&self, visitor: &Visitor, at: Changes, activity: i64) -> Result<Seen, StoreError> {
        let store = self.store.whole().within(&visitor.grants);
        let letters = store.facets().await?;
        let groups = store.open_groups().await?;
        let activity = store.latest_activity().await?.map_or(activity, |latest| latest.max(activity));
        Ok(Seen { at, sum: self.seen_changes.sum((letters, groups, activity)), activity })
    }
}
