//! What is written down of a command: a line in the history of each letter, and one line of activity.

use std::{cmp::Reverse, collections::BTreeMap};

use super::{
    commands::Order,
    history::{self, NewEntry},
    state::LetterState,
};
use crate::{
    domain::{
        activity::{Area, AuditEntry},
        command::{Command, in_time},
        history::Event,
        letter::Status,
        number::plural,
    },
    store::{StoreError, audit, db::Tx},
};

pub(crate) async fn write_history(tx: &mut Tx, changed: &[LetterState], order: &Order<'_>) -> Result<(), StoreError> {
    let entries: Vec<NewEntry<'_>> = changed
        .iter()
        .map(|state| {
            let (event, detail) = describe(order.command, state);
            NewEntry { letter: state.id, at: order.at, event, by: order.by.as_str(), detail }
        })
        .collect();
    history::append(tx, &entries).await
}

/// Where nothing has changed, nothing was done.
pub(crate) async fn write_deed(tx: &mut Tx, changed: &[LetterState], order: &Order<'_>) -> Result<(), StoreError> {
    let (subject, detail) = match changed {
        [] => return Ok(()),
        [only] => (only.id.to_string(), describe(order.command, only).1),
        several => (String::new(), describe_all(order.command, several)),
    };
    let entry = AuditEntry::new(order.at, order.by, Area::Letters, order.command.name(), subject);
    audit::append(tx, &AuditEntry { letters: changed.len() as u64, detail, ..entry }).await
}

fn describe(command: &Command, state: &LetterState) -> (Event, String) {
    match command {
        Command::Retry { delay, queue } => {
            let queue = state.target(queue.as_deref()).unwrap_or_default();
            (Event::RetryScheduled, format!("to {queue}, {}", in_time(*delay)))
        }
        Command::Discard { note } => (Event::Discarded, note.clone().unwrap_or_default()),
        Command::Reopen if state.key.status == Status::Scheduled && !state.waits => {
            let detail =
                "the scheduled retry was cancelled; an earlier attempt was interrupted, so it may have arrived";
            (Event::Reopened, detail.to_owned())
        }
        Command::Reopen if state.key.status == Status::Scheduled => {
            (Event::Reopened, "the scheduled retry was cancelled".to_owned())
        }
        Command::Reopen => (Event::Reopened, "the discard was undone".to_owned()),
        Command::SetImportance(importance) => {
            (Event::ImportanceSet, format!("from {} to {importance}", state.key.importance))
        }
        Command::SetNote(note) => (Event::NoteSet, note.clone()),
        Command::SetType(message_type) => (Event::TypeSet, message_type.clone().unwrap_or_default()),
    }
}

/// `of orders, texts.a and 2 other queues; in 10 min`
fn describe_all(command: &Command, changed: &[LetterState]) -> String {
    let of = Some(queues_of(changed)).filter(|queues| !queues.is_empty()).map(|queues| format!("of {queues}"));
    let detail = Some(command.detail()).filter(|detail| !detail.is_empty());
    of.into_iter().chain(detail).collect::<Vec<_>>().join("; ")
}

/// Those that most of the letters failed in, as far as they are known.
fn queues_of(changed: &[LetterState]) -> String {
    const NAMED: usize = 3;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for state in changed.iter().filter(|state| !state.key.queue.is_empty()) {
        *counts.entry(&state.key.queue).or_default() += 1;
    }
    let mut queues: Vec<(&str, usize)> = counts.into_iter().collect();
    queues.sort_by_key(|(queue, count)| (Reverse(*count), *queue));
    let named = queues.iter().take(NAMED).map(|(queue, _)| *queue).collect::<Vec<_>>().join(", ");
    match queues.len().saturating_sub(NAMED) as u64 {
        0 => named,
        others => format!("{named} and {}", plural(others, "other queue")),
    }
}
