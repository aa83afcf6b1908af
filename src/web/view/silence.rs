//! Jobs whose server is not heard of.

use std::time::Duration;

use amqp_message::time::Timestamp;

use super::time;
use crate::{
    domain::{
        job::{JobLetters, JobRecord, JobState},
        number::exact,
    },
    services::{scheduler, triage::bulk},
};

/// A server that works at a job, or sends letters of it, says nothing: most likely it has died.
pub struct Silence {
    /// It is that which sends letters.
    is_of_letters: bool,
    since: Duration,
    /// Another takes over then.
    pub until: Timestamp,
}

impl Silence {
    /// A server that lives is heard of more often.
    const LEAST: Duration = Duration::from_secs(15);

    pub fn of(record: &JobRecord, letters: &JobLetters, now: Timestamp) -> Option<Self> {
        let JobRecord { job, bulk, progress, .. } = record;
        let is_worked_at = bulk.is_some() && job.state == JobState::Running && progress.next_at.is_none();
        let of = |is_of_letters, claimed_until: Option<Timestamp>, lease| {
            let until = claimed_until.filter(|until| *until > now)?;
            let since = Duration::from_secs(now.since(until.minus(lease)).as_secs());
            (since >= Self::LEAST).then_some(Self { is_of_letters, since, until })
        };
        let of_letters = of(true, letters.claimed_until, scheduler::LEASE);
        of_letters.or_else(|| of(false, progress.claimed_until.filter(|_| is_worked_at), bulk::LEASE))
    }
}

/// In a sentence; empty where there is nothing to say.
pub fn told(record: &JobRecord, letters: &JobLetters, now: Timestamp) -> String {
    let Some(silence) = Silence::of(record, letters, now) else { return String::new() };
    let (who, what) = match silence.is_of_letters {
        true => ("that is sending some of them", "sends them"),
        false => ("that carries it out", "goes on"),
    };
    let until = time::format(silence.until, "%H:%M:%S UTC");
    format!("The server {who} has not been heard of for {}; another {what} after {until}.", exact(silence.since))
}
