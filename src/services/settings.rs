//! What people have set, kept in step with what other processes and files say.

use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    change_feed::Changes,
    group_splits::GroupSplits,
    grouping_rules::GroupingRules,
    policies::Policies,
    rules::Rules,
    schemas::Schemas,
    worker::{Next, Worker},
};
use crate::store::StoreError;

/// How soon a change is noticed that nobody announces: in the file of rules, on SQLite, or behind a pooler.
const POLL: Duration = Duration::from_secs(1);

/// Policies, rules of both kinds, split groups, mappings and schemas. While the database does not answer, what is known stays in force.
pub struct Settings {
    pub policies: Policies,
    pub rules: Rules,
    pub grouping_rules: GroupingRules,
    pub group_splits: GroupSplits,
    pub schemas: Schemas,
    pub changes: watch::Receiver<Changes>,
}

impl Worker for Settings {
    const NAME: &'static str = "reading settings";
    type Error = StoreError;

    fn every(&self) -> Duration {
        POLL
    }

    async fn round(&mut self, _stop: &CancellationToken) -> Result<Next, StoreError> {
        self.policies.reload().await?;
        self.rules.reload().await?;
        self.grouping_rules.reload().await?;
        self.group_splits.reload().await?;
        self.schemas.reload().await?;
        Ok(Next::Later)
    }

    async fn called(&mut self) {
        let known = self.changes.borrow_and_update().settings;
        if self.changes.wait_for(|changes| changes.settings != known).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
