//! Whose a letter is.

use crate::domain::{actor::Actor, command::Refusal, edit::EditPart, lifecycle::LetterState, rights::Right};

/// What is not somebody's is not there for them; what they see they may perhaps not touch, nor send to another's queue.
pub(crate) fn check_reach(by: &Actor, letter: &LetterState, target: Option<&str>) -> Result<(), Refusal> {
    let may = |right, queue| by.may_at(right, &letter.broker, queue);
    let queue = letter.queue.as_deref().unwrap_or_default();
    if !may(Right::Read, queue) {
        Err(Refusal::NotFound)
    } else if !may(Right::Act, queue) {
        Err(Refusal::NotAllowed)
    } else {
        match target.filter(|target| !may(Right::Act, target)) {
            Some(target) => {
                let why = format!("the queue {target} is not one of your teams");
                Err(Refusal::UnfitPart { part: EditPart::Queue, why })
            }
            None => Ok(()),
        }
    }
}
