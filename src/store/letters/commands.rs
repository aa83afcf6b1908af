//! Carrying out what a person decided.

use std::collections::{HashMap, HashSet};

use amqp_message::time::Timestamp;
use failure_conventions::inner_body::InnerBodies;
use sqlx::QueryBuilder;
use uuid::Uuid;

use super::{
    command_audit as lines,
    state::{self, LetterState, to_status},
};
use crate::{
    domain::{
        actor::Actor,
        command::{Command, CommandReport, Refusal},
        letter::{LetterId, Status, TypeSource},
    },
    store::{
        Store, StoreError,
        audit::BulkAudit,
        counts::facets::{FacetKey, FacetScope},
        db::{Tx, id_list::push_ids, on},
        jobs,
        retries::schedule::{self, NewRetry, unschedule},
    },
};

/// Rows in one statement.
const CHUNK: usize = 1_000;

/// What stands in `importance_by` where a person has said how important a letter is.
const BY_HAND: &str = "manual";

/// A command with who gave it and when.
pub struct Order<'a> {
    pub ids: &'a [LetterId],
    pub command: &'a Command,
    pub by: &'a Actor,
    pub at: Timestamp,
    /// They settle some of the dangers for which letters are not retried.
    pub bodies: &'a InnerBodies,
}

impl Store {
    /// Carries out a command on each letter that takes it, all in one commit.
    pub async fn act(&self, order: &Order<'_>) -> Result<CommandReport, StoreError> {
        let mut tx = self.db.begin().await?;
        let mut scope = self.facet_scope();
        let carried = carry_out(&mut tx, &mut scope, order).await?;
        lines::write_deed(&mut tx, &carried.changed, order).await?;
        tx.commit().await?;
        scope.committed();
        Ok(carried.report)
    }

    /// The same for one of several orders that together are one entry.
    pub async fn act_on_portion(&self, order: &Order<'_>, whole: &mut BulkAudit) -> Result<CommandReport, StoreError> {
        let mut tx = self.db.begin().await?;
        let mut scope = self.facet_scope();
        let carried = carry_out(&mut tx, &mut scope, order).await?;
        let seq = whole.append(&mut tx, carried.changed.len() as u64).await?;
        tx.commit().await?;
        scope.committed();
        whole.committed(seq);
        Ok(carried.report)
    }

    /// The same as [`act`](Self::act), leaving a job behind that tells what came of it.
    pub async fn act_as_job(&self, job: Uuid, order: &Order<'_>) -> Result<CommandReport, StoreError> {
        let mut tx = self.db.begin().await?;
        let mut scope = self.facet_scope();
        let carried = carry_out(&mut tx, &mut scope, order).await?;
        lines::write_deed(&mut tx, &carried.changed, order).await?;
        jobs::insert_finished(&mut tx, job, order, &carried.report).await?;
        tx.commit().await?;
        scope.committed();
        Ok(carried.report)
    }
}

/// What came of an order.
struct Carried {
    report: CommandReport,
    /// How those stood that it has changed, in the order in which they were named.
    changed: Vec<LetterState>,
}

async fn carry_out(tx: &mut Tx, scope: &mut FacetScope<'_>, order: &Order<'_>) -> Result<Carried, StoreError> {
    let mut report = CommandReport::default();
    let mut states = state::lock(tx, order.ids).await?;
    let mut seen = HashSet::new();
    let mut revived = HashMap::new();
    for id in order.ids.iter().filter(|id| seen.insert(**id)) {
        match states.get(id).ok_or(Refusal::NotFound).and_then(|state| accept(state, order, &mut revived)) {
            Ok(()) => report.done.push(*id),
            Err(refusal) => report.refused.push((*id, refusal)),
        }
    }
    let same = unchanged(tx, &states, &report.done, order.command).await?;
    let moved = report.done.iter().filter(|id| !same.contains(id));
    let changed: Vec<LetterState> = moved.filter_map(|id| states.remove(id)).collect();
    lines::write_history(tx, &changed, order).await?;
    apply(tx, scope, &changed.iter().collect::<Vec<_>>(), order).await?;
    Ok(Carried { report, changed })
}

/// Those of `ids` that are already as the command would have them: nothing is written down of them.
async fn unchanged(
    tx: &mut Tx,
    states: &HashMap<LetterId, LetterState>,
    ids: &[LetterId],
    command: &Command,
) -> Result<HashSet<LetterId>, StoreError> {
    let is_same = |state: &LetterState| match command {
        Command::SetImportance(to) => state.importance_by == BY_HAND && state.key.importance == *to,
        Command::SetType(to) => state.type_by_hand == *to,
        _ => false,
    };
    match command {
        Command::SetNote(note) => with_note(tx, ids, note).await,
        _ => Ok(ids.iter().copied().filter(|id| states.get(id).is_some_and(is_same)).collect()),
    }
}

/// Those of `ids` that have exactly this note; without any, where it is empty.
async fn with_note(tx: &mut Tx, ids: &[LetterId], note: &str) -> Result<HashSet<LetterId>, StoreError> {
    let mut found = HashSet::new();
    for chunk in ids.chunks(CHUNK) {
        let rows: Vec<Uuid> = on!(&mut *tx, |tx| {
            let mut select = QueryBuilder::new("SELECT id FROM letters WHERE coalesce(note, '') = ");
            select.push_bind(note).push(" AND id IN ");
            push_ids(&mut select, chunk);
            select.build_query_scalar().fetch_all(&mut **tx).await?
        });
        found.extend(rows.into_iter().map(LetterId::from_uuid));
    }
    Ok(found)
}

/// `revived` are families of which this order has reopened one already, with that one.
fn accept(state: &LetterState, order: &Order<'_>, revived: &mut HashMap<LetterId, LetterId>) -> Result<(), Refusal> {
    let status = state.key.status;
    if !order.command.allowed_in().contains(&status) {
        return Err(Refusal::WrongStatus { command: order.command.name(), status });
    }
    let moves = matches!(order.command, Command::Retry { .. } | Command::Discard { .. } | Command::Reopen);
    if moves && state.claimed_until.is_some_and(|until| until > order.at) {
        return Err(Refusal::InFlight);
    }
    if matches!(order.command, Command::Retry { .. } | Command::Reopen) {
        let first = |family| *revived.entry(family).or_insert(state.id);
        if let Some(by) = state.rival.or_else(|| state.family.map(first).filter(|one| *one != state.id)) {
            return Err(Refusal::Replaced { by });
        }
    }
    let Command::Retry { queue, .. } = order.command else { return Ok(()) };
    let danger = state.danger.filter(|danger| !danger.is_settled(&state.key.queue, order.bodies));
    match danger {
        Some(danger) => Err(Refusal::Dangerous(danger)),
        None if state.target(queue.as_deref()).is_none() => Err(Refusal::QueueUnknown),
        None => Ok(()),
    }
}

async fn apply(
    tx: &mut Tx,
    scope: &mut FacetScope<'_>,
    accepted: &[&LetterState],
    order: &Order<'_>,
) -> Result<(), StoreError> {
    let ids: Vec<LetterId> = accepted.iter().map(|state| state.id).collect();
    hand_over(tx, &ids, order.at).await?;
    match order.command {
        Command::Retry { delay, queue } => {
            schedule(tx, accepted, order, order.at.plus(*delay), queue.as_deref()).await?;
            set(tx, &ids, "problem", None).await?;
            state::change_facets(tx, scope, accepted, order.at, to_status(Status::Scheduled)).await?;
        }
        Command::Discard { note } => {
            if let Some(note) = note {
                set(tx, &ids, "note", Some(note)).await?;
            }
            unschedule(tx, &ids).await?;
            state::change_facets(tx, scope, accepted, order.at, to_status(Status::Discarded)).await?;
        }
        Command::Reopen => {
            unschedule(tx, &ids).await?;
            state::change_facets(tx, scope, accepted, order.at, to_status(Status::Open)).await?;
        }
        Command::SetImportance(importance) => {
            set(tx, &ids, "importance_by", Some(BY_HAND)).await?;
            let change = |_: &LetterState, key: &mut FacetKey| key.importance = *importance;
            state::change_facets(tx, scope, accepted, order.at, change).await?;
        }
        Command::SetNote(note) => set(tx, &ids, "note", Some(note.as_str()).filter(|note| !note.is_empty())).await?,
        Command::SetType(message_type) => {
            set(tx, &ids, "message_type", message_type.as_deref()).await?;
            set(tx, &ids, "type_source", message_type.as_ref().map(|_| TypeSource::Manual.as_str())).await?;
            // Without a person's word it is looked at again.
            look_again(tx, &ids).await?;
        }
    }
    Ok(())
}

async fn schedule(
    tx: &mut Tx,
    states: &[&LetterState],
    order: &Order<'_>,
    due_at: Timestamp,
    queue: Option<&str>,
) -> Result<(), StoreError> {
    let retry = |state: &&LetterState| NewRetry {
        letter: state.id,
        broker: state.key.broker.clone(),
        due_at,
        queue: state.target(queue).unwrap_or_default().to_owned(),
        by: order.by.as_str().to_owned(),
    };
    schedule::schedule(tx, &states.iter().map(retry).collect::<Vec<_>>()).await
}

/// What a person has touched is no longer the policy's alone.
async fn hand_over(tx: &mut Tx, ids: &[LetterId], at: Timestamp) -> Result<(), StoreError> {
    for chunk in ids.chunks(CHUNK) {
        on!(&mut *tx, |tx| {
            let mut update = QueryBuilder::new("UPDATE letters SET handed_over_at = ");
            update.push_bind(at.as_micros()).push(" WHERE handed_over_at IS NULL AND id IN ");
            push_ids(&mut update, chunk);
            update.build().execute(&mut **tx).await?;
        });
    }
    Ok(())
}

/// Sets one column of `letters`, which is named by us and never by a user.
async fn set(tx: &mut Tx, ids: &[LetterId], column: &'static str, value: Option<&str>) -> Result<(), StoreError> {
    for chunk in ids.chunks(CHUNK) {
        on!(&mut *tx, |tx| {
            let mut update = QueryBuilder::new("UPDATE letters SET ");
            update.push(column).push(" = ").push_bind(value).push(" WHERE id IN ");
            push_ids(&mut update, chunk);
            update.build().execute(&mut **tx).await?;
        });
    }
    Ok(())
}

async fn look_again(tx: &mut Tx, ids: &[LetterId]) -> Result<(), StoreError> {
    for chunk in ids.chunks(CHUNK) {
        on!(&mut *tx, |tx| {
            let mut update =
                QueryBuilder::new("UPDATE letters SET type_confidence = NULL, named_with = NULL WHERE id IN ");
            push_ids(&mut update, chunk);
            update.build().execute(&mut **tx).await?;
        });
    }
    Ok(())
}
