//! Carrying out what a person decided.

use std::collections::{HashMap, HashSet};

use sqlx::QueryBuilder;
use uuid::Uuid;

use super::{
    Store, StoreError, activity,
    db::{Tx, on},
    facets::{FacetKey, FacetScope},
    history::{self, NewEntry},
    id_list::push_ids,
    jobs,
    schedule::{self, NewRetry, unschedule},
    standing::{self, Standing, to_status},
};
use crate::domain::{
    activity::{Area, Deed},
    actor::Actor,
    command::{Command, CommandReport, Refusal},
    history::Event,
    inner_body::InnerBodies,
    letter::{LetterId, Status, TypeSource},
    time::Timestamp,
};

/// Rows in one statement.
const CHUNK: usize = 1_000;

/// A command with who gave it and when.
pub struct Order<'a> {
    pub ids: &'a [LetterId],
    pub command: &'a Command,
    pub by: &'a Actor,
    pub at: Timestamp,
    /// They settle some of the dangers for which letters are not retried.
    pub bodies: &'a InnerBodies,
    /// It is one of several orders that together are one.
    pub is_portion: bool,
}

impl Store {
    /// Carries out a command on each letter that takes it, all in one commit.
    pub async fn act(&self, order: &Order<'_>) -> Result<CommandReport, StoreError> {
        let mut tx = self.db.begin().await?;
        let mut scope = self.facet_scope();
        let report = carry_out(&mut tx, &mut scope, order).await?;
        tx.commit().await?;
        scope.committed();
        Ok(report)
    }

    /// The same, leaving a job behind that tells what came of it.
    pub async fn act_as_job(&self, job: Uuid, order: &Order<'_>) -> Result<CommandReport, StoreError> {
        let mut tx = self.db.begin().await?;
        let mut scope = self.facet_scope();
        let report = carry_out(&mut tx, &mut scope, order).await?;
        jobs::insert_finished(&mut tx, job, order, &report).await?;
        tx.commit().await?;
        scope.committed();
        Ok(report)
    }
}

async fn carry_out(tx: &mut Tx, scope: &mut FacetScope<'_>, order: &Order<'_>) -> Result<CommandReport, StoreError> {
    let mut report = CommandReport::default();
    let standings = standing::lock(tx, order.ids).await?;
    let mut accepted = Vec::new();
    let mut seen = HashSet::new();
    let mut revived = HashMap::new();
    for id in order.ids.iter().filter(|id| seen.insert(**id)) {
        match standings.get(id).ok_or(Refusal::NotFound).and_then(|standing| accept(standing, order, &mut revived)) {
            Ok(standing) => accepted.push(standing),
            Err(refusal) => report.refused.push((*id, refusal)),
        }
    }
    write_history(tx, &accepted, order).await?;
    write_activity(tx, &accepted, order).await?;
    apply(tx, scope, &accepted, order).await?;
    report.done = accepted.iter().map(|standing| standing.id).collect();
    Ok(report)
}

/// `revived` are families of which this order has reopened one already, with that one.
fn accept<'a>(
    standing: &'a Standing,
    order: &Order<'_>,
    revived: &mut HashMap<LetterId, LetterId>,
) -> Result<&'a Standing, Refusal> {
    let status = standing.key.status;
    if !order.command.allowed_in().contains(&status) {
        return Err(Refusal::WrongStatus { command: order.command.name(), status });
    }
    let moves = matches!(order.command, Command::Retry { .. } | Command::Discard { .. } | Command::Reopen);
    if moves && standing.claimed_until.is_some_and(|until| until > order.at) {
        return Err(Refusal::InFlight);
    }
    if matches!(order.command, Command::Retry { .. } | Command::Reopen) {
        let first = |family| *revived.entry(family).or_insert(standing.id);
        if let Some(by) = standing.rival.or_else(|| standing.family.map(first).filter(|one| *one != standing.id)) {
            return Err(Refusal::Replaced { by });
        }
    }
    let Command::Retry { queue, .. } = order.command else { return Ok(standing) };
    let danger = standing.danger.filter(|danger| !danger.is_settled(&standing.key.queue, order.bodies));
    match danger {
        Some(danger) => Err(Refusal::Dangerous(danger)),
        None if standing.target(queue.as_deref()).is_none() => Err(Refusal::QueueUnknown),
        None => Ok(standing),
    }
}

async fn apply(
    tx: &mut Tx,
    scope: &mut FacetScope<'_>,
    accepted: &[&Standing],
    order: &Order<'_>,
) -> Result<(), StoreError> {
    let ids: Vec<LetterId> = accepted.iter().map(|standing| standing.id).collect();
    hand_over(tx, &ids, order.at).await?;
    match order.command {
        Command::Retry { delay, queue } => {
            schedule(tx, accepted, order, order.at.plus(*delay), queue.as_deref()).await?;
            set(tx, &ids, "problem", None).await?;
            standing::change_facets(tx, scope, accepted, order.at, to_status(Status::Scheduled)).await?;
        }
        Command::Discard { note } => {
            if let Some(note) = note {
                set(tx, &ids, "note", Some(note)).await?;
            }
            unschedule(tx, &ids).await?;
            standing::change_facets(tx, scope, accepted, order.at, to_status(Status::Discarded)).await?;
        }
        Command::Reopen => {
            unschedule(tx, &ids).await?;
            standing::change_facets(tx, scope, accepted, order.at, to_status(Status::Open)).await?;
        }
        Command::SetImportance(importance) => {
            set(tx, &ids, "importance_by", Some("manual")).await?;
            let change = |_: &Standing, key: &mut FacetKey| key.importance = *importance;
            standing::change_facets(tx, scope, accepted, order.at, change).await?;
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
    standings: &[&Standing],
    order: &Order<'_>,
    due_at: Timestamp,
    queue: Option<&str>,
) -> Result<(), StoreError> {
    let retry = |standing: &&Standing| NewRetry {
        letter: standing.id,
        broker: standing.key.broker.clone(),
        due_at,
        queue: standing.target(queue).unwrap_or_default().to_owned(),
        by: order.by.as_str().to_owned(),
    };
    schedule::schedule(tx, &standings.iter().map(retry).collect::<Vec<_>>()).await
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

async fn write_history(tx: &mut Tx, accepted: &[&Standing], order: &Order<'_>) -> Result<(), StoreError> {
    let entries: Vec<NewEntry<'_>> = accepted
        .iter()
        .map(|standing| {
            let (event, detail) = describe(order.command, standing);
            NewEntry { letter: standing.id, at: order.at, event, by: order.by.as_str(), detail }
        })
        .collect();
    history::append(tx, &entries).await
}

/// Portions of a larger order are written down once, by whoever gives it.
async fn write_activity(tx: &mut Tx, accepted: &[&Standing], order: &Order<'_>) -> Result<(), StoreError> {
    let Some(first) = accepted.first().filter(|_| !order.is_portion) else { return Ok(()) };
    let (event, detail) = describe(order.command, first);
    let is_one = accepted.len() == 1;
    let subject = if is_one { first.id.to_string() } else { String::new() };
    let deed = Deed {
        letters: accepted.len() as u64,
        detail: if is_one || event == Event::Discarded { detail } else { order.command.detail() },
        ..Deed::new(order.at, order.by, Area::Letters, order.command.name(), subject)
    };
    activity::append(tx, &deed).await
}

fn describe(command: &Command, standing: &Standing) -> (Event, String) {
    match command {
        Command::Retry { delay, queue } => {
            let queue = standing.target(queue.as_deref()).unwrap_or_default();
            (Event::RetryScheduled, format!("to {queue}, {}", schedule::in_time(*delay)))
        }
        Command::Discard { note } => (Event::Discarded, note.clone().unwrap_or_default()),
        Command::Reopen if standing.key.status == Status::Scheduled && !standing.waits => {
            let detail = "the scheduled retry was cancelled; an earlier try was cut short, so it may have arrived";
            (Event::Reopened, detail.to_owned())
        }
        Command::Reopen if standing.key.status == Status::Scheduled => {
            (Event::Reopened, "the scheduled retry was cancelled".to_owned())
        }
        Command::Reopen => (Event::Reopened, "the discard was undone".to_owned()),
        Command::SetImportance(importance) => {
            (Event::ImportanceSet, format!("from {} to {importance}", standing.key.importance))
        }
        Command::SetNote(note) => (Event::NoteSet, note.clone()),
        Command::SetType(message_type) => (Event::TypeSet, message_type.clone().unwrap_or_default()),
    }
}
