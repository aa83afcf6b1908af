//! What becomes of a letter when rules say how important it is.

use amqp_message::time::Timestamp;

use super::{ColumnChanges, HistoryLine, LetterState, Transition};
use crate::domain::{
    actor::Actor,
    history::Event,
    letter::{Importance, Status},
};

/// What the rules say of a letter as it stood when it was looked at.
#[derive(Clone, Copy, Debug)]
pub struct Evaluation<'a> {
    pub received_at: Timestamp,
    pub type_by_hand: Option<&'a str>,
    pub importance: Importance,
    /// `rule:<name>` or `default`.
    pub importance_by: &'a str,
}

/// `None` where the letter has changed since it was looked at, so that it has to be looked at again.
///
/// A user's choice outlives rules, and what is over is not evaluated anew.
pub fn evaluated<'a>(state: &'a LetterState, evaluation: Evaluation<'a>, at: Timestamp) -> Option<Transition<'a>> {
    if state.received_at != evaluation.received_at || state.type_by_hand.as_deref() != evaluation.type_by_hand {
        return None;
    }
    let awaits = matches!(state.status, Status::Open | Status::Scheduled);
    let is_ruled = state.importance_by != LetterState::BY_HAND && (awaits || state.enriched_at.is_none());
    let stay = Transition::stay(state.status, state.importance);
    if !is_ruled {
        return Some(stay);
    }
    let columns = ColumnChanges { importance_by: Some(evaluation.importance_by), ..stay.columns };
    let history = line(state, evaluation, at).into_iter().collect();
    Some(Transition { importance: evaluation.importance, columns, history, ..stay })
}

/// Whether it is known only now how important something is that needs attention since it came in.
pub fn begins_to_need_attention(state: &LetterState) -> bool {
    state.status == Status::Open && has_come(state)
}

/// Whether it has come in, or failed again, since it was enriched.
pub fn has_come(state: &LetterState) -> bool {
    state.enriched_at.is_none_or(|enriched_at| enriched_at < state.received_at)
}

/// That a new letter has an importance is no event; that it changes is.
fn line(state: &LetterState, evaluation: Evaluation<'_>, at: Timestamp) -> Option<HistoryLine<'static>> {
    if state.enriched_at.is_none() || state.importance == evaluation.importance {
        return None;
    }
    let by = match evaluation.importance_by.strip_prefix("rule:") {
        Some(rule) => format!("by the rule {rule:?}"),
        None => "since no rule matches".to_owned(),
    };
    let detail = format!("from {} to {}, {by}", state.importance, evaluation.importance);
    Some(HistoryLine { at, event: Event::ImportanceSet, by: Actor::SYSTEM, detail })
}
