//! What is done with jobs that are under way: written with its line of activity, as [every change](super::audited_store).

use uuid::Uuid;

use super::{
    audit_log::{log, log_letters},
    audited_store::AuditedStore,
};
use crate::{
    domain::{
        activity::{Area, AuditEntry, Concerns},
        actor::Actor,
        command::CommandReport,
    },
    store::{Advance, BulkAudit, BulkWork, HeldBack, Order, StoreError},
};

impl AuditedStore {
    /// Carries out a command on the next letters of a job; all of them together are one change, and its line in the log is
    /// [`ended`](Self::ended). Says whether the job goes on.
    pub(crate) async fn act_on_portion(
        &self,
        order: &Order<'_>,
        whole: &mut BulkAudit,
        work: &mut BulkWork<'_>,
    ) -> Result<bool, StoreError> {
        let report = self.store.act_on_portion(order, whole, work).await?;
        if let Some(report) = &report {
            self.announce(order.command, report);
        }
        Ok(report.is_some())
    }

    /// Sends the next letters of a job on their way; says whether it was as it was read.
    pub(crate) async fn release(
        &self,
        order: &Order<'_>,
        left_out: &CommandReport,
        held: &HeldBack,
        audit: BulkAudit,
        to: Advance,
    ) -> Result<bool, StoreError> {
        let report = self.store.release(order, left_out, held, audit, to).await?;
        if let Some(report) = &report {
            log_letters(order.command, order.by, report.done.len() as u64, report.refused.len() as u64);
            self.announce(order.command, report);
        }
        Ok(report.is_some())
    }

    /// Takes back what a job has not sent yet. The answer is how many letters.
    pub(crate) async fn take_back(&self, job: Uuid, order: &Order<'_>) -> Result<u64, StoreError> {
        let back = self.store.take_back(job, order).await?;
        self.feed.changed(back);
        Ok(back)
    }

    /// How a job stands has changed, and perhaps nothing else.
    pub(crate) fn announce_job(&self) {
        self.feed.changed(1);
    }

    pub(crate) async fn cancel_job(&self, job: Uuid, by: &Actor) -> Result<bool, StoreError> {
        let entry = self.control("cancel", job, by);
        let cancelled = self.store.cancel_job(job, &entry).await?;
        Ok(self.controlled(cancelled, &entry))
    }

    pub(crate) async fn pause_job(&self, job: Uuid, by: &Actor) -> Result<bool, StoreError> {
        let entry = self.control("pause", job, by);
        let paused = self.store.pause_job(job, &entry).await?;
        Ok(self.controlled(paused, &entry))
    }

    pub(crate) async fn resume_job(&self, job: Uuid, by: &Actor) -> Result<bool, StoreError> {
        let entry = self.control("resume", job, by);
        let resumed = self.store.resume_job(job, &entry).await?;
        Ok(self.controlled(resumed, &entry))
    }

    fn control(&self, action: &str, job: Uuid, by: &Actor) -> AuditEntry {
        AuditEntry {
            concerns: Concerns::All(by.concerned()),
            ..AuditEntry::new(self.clock.now(), by, Area::Letters, action, format!("job {job}"))
        }
    }

    fn controlled(&self, is_done: bool, entry: &AuditEntry) -> bool {
        if is_done {
            log(entry);
            self.announce_job();
        }
        is_done
    }
}
