//! Grouping rules, written with who added or removed them.

use uuid::Uuid;

use super::audited_store::AuditedStore;
use crate::{
    domain::{
        actor::Actor,
        group::{GroupId, GroupKey},
        grouping_rule::GroupingRule,
    },
    store::{GroupingRuleAdded, StoreError},
};

impl AuditedStore {
    pub(crate) async fn add_grouping_rule(&self, rule: &GroupingRule) -> Result<GroupingRuleAdded, StoreError> {
        let added = self.store.add_grouping_rule(rule).await?;
        if added == GroupingRuleAdded::Yes {
            self.log_setting(&rule.entry("add", &rule.by, rule.set_at));
        }
        Ok(added)
    }

    pub(crate) async fn remove_grouping_rule(&self, id: Uuid, by: &Actor) -> Result<Option<GroupingRule>, StoreError> {
        let at = self.clock.now();
        let removed = self.store.remove_grouping_rule(id, by, at).await?;
        if let Some(rule) = &removed {
            self.log_setting(&rule.entry("remove", by, at));
        }
        Ok(removed)
    }

    /// The group of what will come in; it is merged at once, which is what is written down.
    pub(crate) async fn make_group(&self, id: GroupId, key: &GroupKey) -> Result<(), StoreError> {
        self.store.make_group(id, key, self.clock.now()).await
    }

    /// Writes down that the groups are as the rules want them that were there some time ago.
    pub(crate) async fn grouping_rules_are_applied(&self, known_after: std::time::Duration) -> Result<(), StoreError> {
        self.store.grouping_rules_are_applied(self.clock.now().minus(known_after)).await
    }
}
