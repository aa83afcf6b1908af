//! Carrying out what a user decided.

use std::collections::HashSet;

use uuid::Uuid;

use super::{apply, command_audit as lines, edits, lock, order::Order, reach::check_reach};
use crate::{
    domain::{
        command::{Command, CommandReport, Refusal},
        letter::LetterId,
        lifecycle::{LetterState, commands::Decider},
        version::Expected,
    },
    store::{
        Store, StoreError,
        counts::{facet_scope::FacetScope, tally::Tally},
        db::Tx,
        jobs,
    },
};

impl Store {
    /// Carries out a command on each letter that takes it, all in one commit.
    pub async fn act(&self, order: &Order<'_>) -> Result<CommandReport, StoreError> {
        let mut tx = self.db.begin().await?;
        let mut scope = self.facet_scope();
        let carried = carry_out(&mut tx, &mut scope, order, None).await?;
        lines::write_entry(&mut tx, &carried.changed, order).await?;
        tx.commit().await?;
        scope.committed();
        Ok(carried.report)
    }

    /// Carries out several commands on one letter, all in one commit or, where it refuses one of them, none. Only the first
    /// may move it. What is set by hand has to be as `expected`.
    pub async fn act_on_one(
        &self,
        id: LetterId,
        orders: &[Order<'_>],
        expected: &Expected,
    ) -> Result<CommandReport, StoreError> {
        let mut tx = self.db.begin().await?;
        if *expected != Expected::Anything {
            let letters = lock::lock(&mut tx, &[id]).await?;
            let by = orders.first().map(|order| order.by);
            let theirs = letters
                .get(&id)
                .filter(|letter| by.is_none_or(|by| check_reach(by, &letter.state, None) != Err(Refusal::NotFound)));
            if theirs.is_some_and(|letter| !expected.is_met(Some(&letter.state))) {
                return Ok(CommandReport { refused: vec![(id, Refusal::Changed)], ..CommandReport::default() });
            }
        }
        let mut scope = self.facet_scope();
        let mut report = CommandReport::default();
        for order in orders {
            let carried = carry_out(&mut tx, &mut scope, order, None).await?;
            lines::write_entry(&mut tx, &carried.changed, order).await?;
            report = carried.report;
            if !report.refused.is_empty() {
                return Ok(report);
            }
        }
        tx.commit().await?;
        scope.committed();
        Ok(report)
    }

    /// The same as [`act`](Self::act), leaving a job behind that reports the result.
    pub async fn act_as_job(&self, job: Uuid, order: &Order<'_>) -> Result<CommandReport, StoreError> {
        let mut tx = self.db.begin().await?;
        let mut scope = self.facet_scope();
        // The outcome is counted for what is sent.
        let sends = matches!(order.command, Command::Retry { .. }).then_some(job);
        let carried = carry_out(&mut tx, &mut scope, order, sends).await?;
        lines::write_entry(&mut tx, &carried.changed, order).await?;
        jobs::insert_finished(&mut tx, job, order, &carried.report).await?;
        tx.commit().await?;
        scope.committed();
        Ok(carried.report)
    }
}

/// The result of an order.
pub(crate) struct Carried {
    pub(crate) report: CommandReport,
    /// How those stood that it has changed, in the order in which they were named.
    pub(crate) changed: Vec<LetterState>,
}

pub(crate) async fn carry_out(
    tx: &mut Tx,
    scope: &mut FacetScope<'_>,
    order: &Order<'_>,
    job: Option<Uuid>,
) -> Result<Carried, StoreError> {
    let mut letters = lock::lock(tx, order.ids).await?;
    let mut report = CommandReport::default();
    let (mut moved, mut copied) = (Vec::new(), Vec::new());
    let mut decider = Decider::new(order.command, order.by, order.at, order.limits).of_job(job);
    let mut seen = HashSet::new();
    for id in order.ids.iter().filter(|id| seen.insert(**id)) {
        let letter = letters.get(id).ok_or(Refusal::NotFound);
        if letter.as_ref().is_ok_and(|letter| decider.is_no_matter_of_the_job(&letter.state)) {
            continue;
        }
        let theirs =
            letter.and_then(|letter| check_reach(order.by, &letter.state, order.command.queue()).map(|()| letter));
        if let (Ok(letter), Some(copy)) = (&theirs, order.copy_of(*id)) {
            copied.push((*letter, copy));
            continue;
        }
        match theirs.and_then(|letter| Ok((letter, decider.decide(&letter.state)?))) {
            Ok((letter, decision)) => {
                report.done.push(*id);
                moved.extend(decision.transition().map(|transition| (letter, transition)));
            }
            Err(refusal) => report.refused.push((*id, refusal)),
        }
    }
    let mut tally = Tally::default();
    moved.extend(edits::copy_all(tx, scope, &mut tally, order, &copied, job, &mut report).await?);
    apply::apply(tx, scope, &mut tally, &moved).await?;
    tally.apply(tx).await?;
    let changed: Vec<LetterId> = moved.iter().map(|(letter, _)| letter.state.id).collect();
    let changed = changed.iter().filter_map(|id| Some(letters.remove(id)?.state)).collect();
    Ok(Carried { report, changed })
}
