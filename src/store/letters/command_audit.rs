//! What the record of activity says of a command: one line, however many letters took it.

use std::{cmp::Reverse, collections::BTreeMap};

use super::order::Order;
use crate::{
    domain::{
        activity::{Area, AuditEntry, Concerns},
        command::Command,
        lifecycle::{self, LetterState},
        number::plural,
        rights::Right,
    },
    store::{StoreError, audit, db::Tx},
};

/// Where nothing has changed, nothing was done.
pub(crate) async fn write_entry(tx: &mut Tx, changed: &[LetterState], order: &Order<'_>) -> Result<(), StoreError> {
    let (subject, detail) = match changed {
        [] => return Ok(()),
        [only] => (only.id.to_string(), lifecycle::commands::describe(order.command, only).1),
        several => (String::new(), describe_all(order.command, several)),
    };
    let detail = if order.edits.is_some() { format!("payloads edited; {detail}") } else { detail };
    let entry = AuditEntry::new(order.at, order.by, Area::Letters, order.command.name(), subject);
    let queues = changed.iter().map(|state| (&*state.broker, state.queue.as_deref()));
    let concerns = Concerns::of(queues, order.by.scope(Right::Act));
    audit::append(tx, &AuditEntry { letters: changed.len() as u64, detail, concerns, ..entry }).await
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
    for queue in changed.iter().filter_map(|state| state.queue.as_deref()) {
        *counts.entry(queue).or_default() += 1;
    }
    let mut queues: Vec<(&str, usize)> = counts.into_iter().collect();
    queues.sort_by_key(|(queue, count)| (Reverse(*count), *queue));
    let named = queues.iter().take(NAMED).map(|(queue, _)| *queue).collect::<Vec<_>>().join(", ");
    match queues.len().saturating_sub(NAMED) as u64 {
        0 => named,
        others => format!("{named} and {}", plural(others, "other queue")),
    }
}
