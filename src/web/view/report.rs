//! The result of a command, in words.

use std::time::Duration;

use super::{number, text, time};
use crate::domain::{
    command::{Command, Refusal},
    letter::{LetterId, Status},
};

/// What was done with so many letters, all of them of that status where it is known, and why not with others. The error
/// says why nothing was done.
pub fn told<'a>(
    command: &Command,
    status: Option<Status>,
    n_done: u64,
    n_refused: u64,
    reasons: impl IntoIterator<Item = &'a str>,
) -> Result<String, String> {
    if n_done == 0 {
        return Err(not_done(reasons));
    }
    let done = done(command, status, n_done);
    if n_refused == 0 {
        return Ok(done);
    }
    Ok(format!("{done} {}", others(n_refused, reasons)))
}

/// What is done with a letter that was edited.
pub fn edited(delay: Duration) -> String {
    let when = if delay.is_zero() {
        "is being retried".to_owned()
    } else {
        format!("will be retried in {}", time::span(delay))
    };
    format!("The edited copy {when}; the original is discarded.")
}

/// Why it was not done with so many others.
pub fn others<'a>(n_refused: u64, reasons: impl IntoIterator<Item = &'a str>) -> String {
    format!("{} not: {}.", number::thousands(n_refused), joined(reasons))
}

/// Why nothing was done.
pub fn not_done<'a>(reasons: impl IntoIterator<Item = &'a str>) -> String {
    format!("Not done: {}.", joined(reasons))
}

/// Each reason once, and only a few: they are alike more often than not. Those are alike that name different letters.
fn joined<'a>(reasons: impl IntoIterator<Item = &'a str>) -> String {
    const TOLD: usize = 3;
    let without_ids = |reason: &'a str| -> Vec<&'a str> {
        reason.split([' ', ',']).filter(|word| word.parse::<LetterId>().is_err()).collect()
    };
    let mut told: Vec<&str> = Vec::new();
    for reason in reasons {
        if told.len() < TOLD && told.iter().all(|one| without_ids(one) != without_ids(reason)) {
            told.push(reason);
        }
    }
    text::one_line(&told.join("; "))
}

/// What was done with so many dead letters.
pub fn done(command: &Command, status: Option<Status>, n: u64) -> String {
    let letters = number::plural(n, "dead letter");
    match command {
        Command::Retry { delay, queue } => {
            let queue = queue.as_ref().map(|queue| format!(" to {}", text::name(queue, 60)));
            let queue = queue.unwrap_or_default();
            if delay.is_zero() {
                format!("Retrying {letters}{queue}.")
            } else {
                format!("{letters} will be retried{queue} in {}.", time::span(*delay))
            }
        }
        Command::Discard { .. } => format!("Discarded {letters}."),
        Command::Reopen if status == Some(Status::Scheduled) => {
            format!("Stopped retrying {letters}; they are open now.")
        }
        Command::Reopen => format!("Reopened {letters}."),
        Command::SetImportance(importance) => format!("{letters} set to {importance}."),
        Command::ReleaseImportance => format!("The rules decide the importance of {letters} again."),
        Command::SetNote(note) if note.is_empty() => "Note removed.".to_owned(),
        Command::SetNote(_) => "Note saved.".to_owned(),
        Command::SetType(Some(name)) => format!("{letters} set to the type {}.", text::shortened(name, 80)),
        Command::SetType(None) => "The type is detected again.".to_owned(),
    }
}

/// A refusal that stands alone; it is a clause where it is joined with others.
pub fn sentence(refusal: &Refusal) -> String {
    format!("{}.", text::capitalized(&refusal.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_told_once() {
        let told = |n_done, reasons: &[&str]| {
            let n_refused = reasons.len() as u64;
            told(&Command::Reopen, None, n_done, n_refused, reasons.iter().copied())
        };
        assert_eq!(told(1, &[]), Ok("Reopened 1 dead letter.".to_owned()));
        assert_eq!(told(2, &["a", "b", "a"]), Ok("Reopened 2 dead letters. 3 not: a; b.".to_owned()));
        assert_eq!(told(0, &["a", "b", "c", "d"]), Err("Not done: a; b; c.".to_owned()));
        let [one, other] = [1, 2].map(|n| {
            let by = LetterId::from_uuid(uuid::Uuid::from_u128(n));
            Refusal::Replaced { by }.to_string()
        });
        assert_eq!(told(0, &[&one, &other]), Err(format!("Not done: {one}.")));
        assert_eq!(sentence(&Refusal::NotFound), "There is no such dead letter.");
    }
}
