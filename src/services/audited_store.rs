//! The one way for every change that somebody makes.
//!
//! Each method takes who makes the change. It writes it and its line of activity in one transaction, says in the log
//! that it was made, and notifies pages and workers. Pages and API are given a [`StoreReader`] and the services that check
//! what is asked; those have nothing but this to change it with.

use std::{sync::Arc, time::Duration};

use amqp_message::death::Reason;
use uuid::Uuid;

use super::{
    audit_log::{log, log_letters},
    change_feed::ChangeFeed,
    wakeup::Wakeup,
};
use crate::{
    clock::Clock,
    domain::{
        activity::{Area, AuditEntry},
        actor::Actor,
        command::{Command, CommandReport, Refusal},
        group::{Group, GroupId, Note},
        job::{Bulk, Job},
        letter::LetterId,
        mapping::{ActiveMapping, Carrier, Mapping},
        policy::{ActivePolicy, Policy},
        rule::{ActiveRule, Rule, RuleId},
        rule_order::RulePlace,
        schema::{SchemaId, SchemaRecord},
        version::Expected,
    },
    store::{
        ChangeError, ClaimedBulk, EditOrder, GroupOrder, GroupReport, NewDigest, Order, OrderError, RuleChange,
        RuleSet, Store, StoreError, StoreReader,
    },
};

type Acted = Result<CommandReport, StoreError>;

/// Changes the database in somebody's name. Cheap to clone.
#[derive(Clone)]
pub struct AuditedStore {
    pub(super) store: Arc<Store>,
    pub(super) clock: Clock,
    pub(super) feed: ChangeFeed,
    wakeup: Wakeup,
}

impl AuditedStore {
    /// `feed` hears of letters and groups that were changed, `wakeup` of retries that are due.
    pub const fn new(store: Arc<Store>, clock: Clock, feed: ChangeFeed, wakeup: Wakeup) -> Self {
        Self { store, clock, feed, wakeup }
    }

    /// What can be asked of it.
    pub fn reader(&self) -> StoreReader {
        self.store.reader()
    }

    /// Carries out a command on each letter that takes it.
    pub(crate) async fn act(&self, order: &Order<'_>) -> Acted {
        let report = self.store.act(order).await?;
        self.acted(order, &report);
        Ok(report)
    }

    /// Carries out several commands on one letter, or none of them.
    pub(crate) async fn act_on_one(&self, id: LetterId, orders: &[Order<'_>], expected: &Expected) -> Acted {
        let report = self.store.act_on_one(id, orders, expected).await?;
        orders.iter().for_each(|order| self.acted(order, &report));
        Ok(report)
    }

    /// The same, leaving a job behind that reports the result.
    pub(crate) async fn act_as_job(&self, job: Uuid, order: &Order<'_>) -> Acted {
        let report = self.store.act_as_job(job, order).await?;
        self.acted(order, &report);
        Ok(report)
    }

    /// Writes down a job on all letters of a filter. Its line of activity is written with the first of them.
    pub(crate) async fn begin_bulk(&self, job: Job, bulk: Bulk, lease: Duration) -> Result<ClaimedBulk, StoreError> {
        let begun = self.clock.now();
        self.store.add_bulk(&job, &bulk, begun, lease).await?;
        Ok(ClaimedBulk { job, bulk, begun })
    }

    /// Logs the result of such a job.
    pub(crate) fn ended(job: &Job, bulk: &Bulk) {
        log_letters(&bulk.command, &bulk.by, job.done, job.failed);
    }

    pub(crate) async fn retry_edited(&self, order: &EditOrder<'_>) -> Result<Result<LetterId, Refusal>, StoreError> {
        let edited = self.store.retry_edited(order).await?;
        if edited.is_ok() {
            tracing::info!(letter = %order.letter, copy = %order.copy, by = %order.by, "a letter was edited");
            self.feed.changed(2);
            self.wakeup.notify();
        }
        Ok(edited)
    }

    /// Nobody else has to know of it: pages that are open show what they showed.
    pub(crate) async fn reveal(&self, id: LetterId, by: &Actor) -> Result<bool, StoreError> {
        let at = self.clock.now();
        let is_there = self.store.reveal(id, by, at).await?;
        log(&AuditEntry::new(at, by, Area::Letters, "reveal", id.to_string()));
        Ok(is_there)
    }

    pub(crate) async fn set_group_note(
        &self,
        id: GroupId,
        text: &str,
        expected: &Expected,
        by: &Actor,
    ) -> Result<bool, ChangeError<Note>> {
        let at = self.clock.now();
        let is_there = self.store.set_group_note(id, text, expected, by, at).await?;
        if is_there {
            log(&AuditEntry::new(at, by, Area::Groups, "note", id.to_string()));
            self.feed.changed(1);
        }
        Ok(is_there)
    }

    /// Carries out a command on each group that takes it.
    pub(crate) async fn act_on_groups(
        &self,
        order: &GroupOrder<'_>,
        expected: &Expected,
    ) -> Result<GroupReport, ChangeError<Group>> {
        let report = self.store.act_on_groups(order, expected).await?;
        let entry =
            |id: &GroupId| AuditEntry::new(order.at, order.by, Area::Groups, order.command.name(), id.to_string());
        report.done.iter().for_each(|id| log(&entry(id)));
        self.feed.changed(report.done.len() as u64);
        Ok(report)
    }

    pub(crate) async fn set_policy(
        &self,
        policy: &Policy,
        expected: &Expected,
        by: &Actor,
    ) -> Result<(), ChangeError<ActivePolicy>> {
        let at = self.clock.now();
        self.store.set_policy(policy, expected, by, at).await?;
        self.log_setting(&AuditEntry::new(at, by, Area::Policies, "set", &*policy.queues));
        Ok(())
    }

    pub(crate) async fn unset_policy(
        &self,
        queues: &str,
        reason: Option<Reason>,
        expected: &Expected,
        by: &Actor,
    ) -> Result<bool, ChangeError<ActivePolicy>> {
        let at = self.clock.now();
        let unset = self.store.unset_policy(queues, reason, expected, by, at).await?;
        if unset {
            self.log_setting(&AuditEntry::new(at, by, Area::Policies, "remove", queues));
        }
        Ok(unset)
    }

    pub(crate) async fn set_rule(
        &self,
        id: RuleId,
        rule: &Rule,
        place: Option<&RulePlace>,
        change: &RuleChange<'_>,
    ) -> Result<RuleSet, ChangeError<ActiveRule>> {
        let set = self.store.set_rule(id, rule, place, change).await?;
        if set == RuleSet::Yes {
            self.log_setting(&AuditEntry::new(change.at, change.by, Area::Rules, "set", &*rule.name));
        }
        Ok(set)
    }

    /// The answer is the rule's name, if there was such a rule.
    pub(crate) async fn remove_rule(
        &self,
        id: RuleId,
        change: &RuleChange<'_>,
    ) -> Result<Option<String>, ChangeError<ActiveRule>> {
        let removed = self.store.remove_rule(id, change).await?;
        if let Some(name) = &removed {
            self.log_setting(&AuditEntry::new(change.at, change.by, Area::Rules, "remove", &**name));
        }
        Ok(removed)
    }

    pub(crate) async fn order_rules(&self, order: &[RuleId], change: &RuleChange<'_>) -> Result<(), OrderError> {
        let ordered = self.store.order_rules(order, change).await;
        ordered.inspect(|()| self.log_setting(&AuditEntry::new(change.at, change.by, Area::Rules, "order", "")))
    }

    /// Begins a job that tries the rules on all its letters.
    pub(crate) async fn apply_rules(&self, job: &Job, by: &Actor) -> Result<(), StoreError> {
        let at = self.clock.now();
        let entry = AuditEntry { letters: job.total, ..AuditEntry::new(at, by, Area::Rules, "apply", "") };
        self.store.begin_job(job, &entry).await?;
        log(&entry);
        Ok(())
    }

    /// For rules that were changed in a file, whose owner is not known.
    pub(crate) async fn forget_rule_failures(&self, rules: &[String]) -> Result<(), StoreError> {
        self.store.forget_rule_failures(rules).await
    }

    /// The answer is the id under which these descriptors are kept. Who adds them stands in the record.
    pub(crate) async fn add_schema(&self, record: &SchemaRecord, bytes: &[u8]) -> Result<SchemaId, StoreError> {
        let added = self.store.add_schema(record, bytes).await?;
        if added.is_new {
            let (at, by) = (record.uploaded_at, &record.uploaded_by);
            self.log_setting(&AuditEntry::new(at, by, Area::Schemas, "upload", &*record.name));
        }
        Ok(added.id)
    }

    pub(crate) async fn remove_schema(&self, id: SchemaId, by: &Actor) -> Result<bool, StoreError> {
        let at = self.clock.now();
        let removed = self.store.remove_schema(id, by, at).await?;
        if let Some(name) = &removed {
            self.log_setting(&AuditEntry::new(at, by, Area::Schemas, "remove", &**name));
        }
        Ok(removed.is_some())
    }

    pub(crate) async fn set_mapping(
        &self,
        mapping: &Mapping,
        expected: &Expected,
        by: &Actor,
    ) -> Result<(), ChangeError<ActiveMapping>> {
        let at = self.clock.now();
        self.store.set_mapping(mapping, expected, by, at).await?;
        self.log_setting(&AuditEntry::new(at, by, Area::Mappings, "set", &*mapping.pattern));
        Ok(())
    }

    pub(crate) async fn unset_mapping(
        &self,
        broker: Option<&str>,
        carrier: Carrier,
        pattern: &str,
        expected: &Expected,
        by: &Actor,
    ) -> Result<bool, ChangeError<ActiveMapping>> {
        let at = self.clock.now();
        let unset = self.store.unset_mapping(broker, carrier, pattern, expected, by, at).await?;
        if unset {
            self.log_setting(&AuditEntry::new(at, by, Area::Mappings, "remove", pattern));
        }
        Ok(unset)
    }

    /// The answer is whether the digest is made by this: another process may have made that of the same slot.
    pub(crate) async fn add_digest(&self, new: &NewDigest<'_>) -> Result<bool, StoreError> {
        let is_ours = self.store.add_digest(new).await?;
        if is_ours {
            log(&AuditEntry::new(new.made_at, new.by, Area::Digests, "send", new.name));
        }
        Ok(is_ours)
    }

    /// All processes read it anew.
    pub(super) fn log_setting(&self, entry: &AuditEntry) {
        log(entry);
        self.feed.settings_changed();
    }

    fn acted(&self, order: &Order<'_>, report: &CommandReport) {
        log_letters(order.command, order.by, report.done.len() as u64, report.refused.len() as u64);
        self.announce(order.command, report);
    }

    pub(super) fn announce(&self, command: &Command, report: &CommandReport) {
        self.feed.changed(report.done.len() as u64);
        if matches!(command, Command::Retry { .. }) {
            self.wakeup.notify();
        }
    }
}
