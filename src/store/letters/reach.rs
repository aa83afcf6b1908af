//! Whose a letter is.

use crate::domain::{actor::Actor, command::Refusal, edit::EditPart, lifecycle::LetterState, rights::Right};

/// What somebody may act on is theirs to act on, whether they may also read it or not. What they may only read they may not
/// touch, nothing else is there for them, and nothing goes to another's queue.
pub(crate) fn check_reach(by: &Actor, letter: &LetterState, target: Option<&str>) -> Result<(), Refusal> {
    let may = |right, queue| by.may_at(right, &letter.broker, queue);
    let queue = letter.queue.as_deref().unwrap_or_default();
    if !may(Right::Act, queue) {
        return Err(if may(Right::Read, queue) { Refusal::NotAllowed } else { Refusal::NotFound });
    }
    match target.filter(|target| !may(Right::Act, target)) {
        Some(target) => {
            let why = format!("the queue {target} is not one of your teams");
            Err(Refusal::UnfitPart { part: EditPart::Queue, why })
        }
        None => Ok(()),
    }
}
