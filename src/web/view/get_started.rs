//! The steps of somebody who sets dlo up, each with how far it is.

use std::time::Duration;

use amqp_message::time::Timestamp;

use super::{broker::BrokerView, number, text, time::Moment};
use crate::{
    domain::{letter::Status, watch::DeadLetterPath},
    services::getting_started::{Look, LookError, ServiceQueue, TestRun},
};

/// What was rejected so long ago and is not here has gone elsewhere.
const LATE: Duration = Duration::from_secs(15);
/// Queues that are named.
const NAMED: usize = 3;

/// How far a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    Done,
    /// Something has to be done, or is under way.
    Waiting,
    Failed,
    /// It may be left out.
    Optional,
}

impl StepState {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Waiting => "waiting",
            Self::Failed => "failed",
            Self::Optional => "optional",
        }
    }
}

#[derive(Debug)]
pub struct Step {
    pub key: &'static str,
    pub title: &'static str,
    pub state: StepState,
    /// In sentences.
    pub about: String,
    /// When it came to be so.
    pub at: Option<Moment>,
    /// It is the one to do next.
    pub is_next: bool,
}

impl Step {
    const fn new(key: &'static str, title: &'static str, state: StepState, about: String) -> Self {
        Self { key, title, state, about, at: None, is_next: false }
    }

    fn at(self, at: Option<Moment>) -> Self {
        Self { at, ..self }
    }

    pub fn is_done(&self) -> bool {
        self.state == StepState::Done
    }

    /// Whether dlo reaches the broker.
    pub fn of_broker(broker: &BrokerView, look: &Look) -> Self {
        let (state, title) = match broker.is_in_trouble() {
            true => (StepState::Failed, "The broker cannot be used"),
            false => (StepState::Done, "Broker connected"),
        };
        let version = if look.version.is_empty() { String::new() } else { format!(", RabbitMQ {}", look.version) };
        let queues = look.queues.as_ref().map(|queues| format!(", {}", number::plural(queues.len() as u64, "queue")));
        let queues = queues.unwrap_or_default();
        let about = format!("{} at {}{version}{queues}: {}.", broker.name, broker.address, broker.state);
        Self::new("broker", title, state, text::one_line(&about)).at(broker.since.clone())
    }

    /// Whether some queue sends its dead letters here. `came` is how many have come that are no tests.
    pub fn of_queues(look: &Look, came: u64) -> Self {
        let step = |state, about| Self::new("queue", "Point a queue here", state, about);
        let letters = number::plural(came, "dead letter");
        let queues = match &look.queues {
            Ok(queues) => queues,
            Err(_) if came > 0 => return step(StepState::Done, format!("{letters} came.")),
            Err(LookError::NotConfigured) => {
                let about = "Where queues send their dead letters is not known: no management API is configured for this \
                             broker (management_url). It is done when the first dead letter is here.";
                return step(StepState::Waiting, about.to_owned());
            }
            Err(LookError::Failed(why)) => {
                return step(StepState::Failed, format!("RabbitMQ does not list its queues: {}.", text::one_line(why)));
            }
        };
        let here: Vec<&ServiceQueue> = queues.iter().filter(|queue| queue.path == DeadLetterPath::Here).collect();
        if here.is_empty() && came > 0 {
            return step(StepState::Done, format!("{letters} came, though no queue sends them here any more."));
        }
        if queues.is_empty() {
            return step(StepState::Waiting, "RabbitMQ has no queue of a service yet.".to_owned());
        }
        if here.is_empty() {
            let about = format!(
                "Of {} none sends its dead letters here yet. Pick one to get the command; RabbitMQ is asked every few \
                 seconds whether it was run.",
                number::plural(queues.len() as u64, "queue")
            );
            return step(StepState::Waiting, about);
        }
        let names: Vec<_> = here.iter().take(NAMED).map(|queue| text::one_line(&queue.name)).collect();
        let others = here.len() - names.len();
        let and = if others > 0 { format!(" and {others} more") } else { String::new() };
        let of = number::plural(queues.len() as u64, "queue");
        let about = format!("Dead letters of {} of {of} come here: {}{and}.", here.len(), names.join(", "));
        step(StepState::Done, about)
    }

    /// Whether a message that was rejected on purpose has come; `arrived` is the newest that has, and how it stands.
    pub fn of_test(run: Option<&TestRun>, arrived: Option<(Timestamp, Status)>, now: Timestamp) -> Self {
        let step = |state, about: String| Self::new("test", "Send a test dead letter", state, about);
        let since = arrived.map(|(at, _)| at);
        let run = run.filter(|run| since.is_none_or(|at| at < run.at));
        match (run, arrived) {
            (Some(TestRun { outcome: Err(why), at, .. }), _) => {
                step(StepState::Failed, format!("It could not be sent: {}.", text::one_line(why)))
                    .at(Some(Moment::new(*at, now)))
            }
            (Some(run), _) if now.since(run.at) >= LATE => step(
                StepState::Failed,
                "RabbitMQ took it and it was rejected, but it is not here. Is the dead-letter queue of dlo bound to the \
                 dead-letter exchange, and does dlo consume it?"
                    .to_owned(),
            )
            .at(Some(Moment::new(run.at, now))),
            (Some(run), _) => step(StepState::Waiting, "It was rejected, and is on its way here.".to_owned())
                .at(Some(Moment::new(run.at, now))),
            (None, Some((at, status))) => {
                let is_kept = if status == Status::Open { "It can be discarded." } else { "It was dealt with." };
                let about = format!("The test dead letter came by way of RabbitMQ, as any other does. {is_kept}");
                step(StepState::Done, about).at(Some(Moment::new(at, now)))
            }
            (None, None) => step(
                StepState::Waiting,
                "A message is published to dlo.test, a queue of dlo, and rejected there. RabbitMQ dead-letters it as any \
                 other. RabbitMQ deletes the queue a minute later."
                    .to_owned(),
            ),
        }
    }

    /// Whether there are schemas.
    pub fn of_schemas(n_schemas: usize, n_types: usize) -> Self {
        let (state, about) = if n_schemas > 0 {
            let (schemas, types) = (number::plural(n_schemas as u64, "schema"), number::plural(n_types as u64, "type"));
            (StepState::Done, format!("{schemas} with {types}."))
        } else {
            let about = "With protobuf descriptors, binary payloads become readable and searchable. JSON, MessagePack and \
                         many others are read without.";
            (StepState::Optional, about.to_owned())
        };
        Self::new("schemas", "Upload schemas", state, about)
    }

    /// Whether somebody is notified; `waiting` is since when a notification waits.
    pub fn of_notifications(channels: &[String], waiting: Option<Timestamp>, now: Timestamp) -> Self {
        let step = |state, about| Self::new("notify", "Notifications", state, about);
        if channels.is_empty() {
            let about = "Slack, PagerDuty, Alertmanager or a webhook hear of critical error groups at once, and Slack of the \
                         rest once a day. They are set up in the configuration, [notify].";
            return step(StepState::Optional, about.to_owned());
        }
        match waiting.filter(|since| now.since(*since) > LATE) {
            Some(since) => {
                let about = format!("{}: the oldest notification is not delivered yet.", channels.join(", "));
                step(StepState::Failed, about).at(Some(Moment::new(since, now)))
            }
            None => step(StepState::Done, format!("To {}.", channels.join(", "))),
        }
    }
}

/// What is to be known of a queue before it is pointed here: sentences.
pub fn cautions(queue: &ServiceQueue) -> Vec<String> {
    let mut cautions = Vec::new();
    match &queue.path {
        DeadLetterPath::Here => cautions.push("It sends its dead letters here already.".to_owned()),
        DeadLetterPath::Elsewhere(exchange) => {
            let exchange = text::one_line(exchange);
            let how = if queue.by_argument {
                format!(
                    "by an argument of the queue, which no policy changes. Bind dlo's dead-letter queue to {exchange:?}, or \
                     declare the queue anew without the argument."
                )
            } else {
                "by a policy. With the command they come here instead.".to_owned()
            };
            cautions.push(format!("Its dead letters go to the exchange {exchange:?} now, {how}"));
        }
        DeadLetterPath::Dropped => {}
    }
    if let Some(policy) = queue.policy.as_deref().filter(|_| queue.path != DeadLetterPath::Here) {
        cautions.push(format!(
            "The RabbitMQ policy {:?} applies to it now. RabbitMQ applies one policy to a queue, so the one of the command \
             takes its place: add what it sets to the command, or add dead-letter-exchange to it.",
            text::one_line(policy)
        ));
    }
    cautions
}

/// How a queue is listed.
pub fn option(queue: &ServiceQueue) -> String {
    let path = match &queue.path {
        DeadLetterPath::Here => "leads here".to_owned(),
        DeadLetterPath::Dropped => "no dead-letter exchange".to_owned(),
        DeadLetterPath::Elsewhere(exchange) => format!("leads to {exchange:?}"),
    };
    text::one_line(&format!("{} ({}, {path})", queue.name, queue.kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::queue_level::QueueKind;

    const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

    fn ago(seconds: u64) -> Timestamp {
        NOW.minus(Duration::from_secs(seconds))
    }

    #[test]
    fn a_test_is_late_failed_or_here() {
        fn check(
            run: Option<(u64, Result<(), &str>)>,
            arrived: Option<(u64, Status)>,
            expected: StepState,
            part: &str,
        ) {
            let run = run.map(|(seconds, outcome)| TestRun {
                at: ago(seconds),
                by: "ada".to_owned(),
                outcome: outcome.map_err(str::to_owned),
            });
            let step = Step::of_test(run.as_ref(), arrived.map(|(seconds, status)| (ago(seconds), status)), NOW);
            assert_eq!(step.state, expected, "{step:?}");
            assert!(step.about.contains(part), "{step:?}");
        }
        check(None, None, StepState::Waiting, "dlo.test");
        check(Some((2, Ok(()))), None, StepState::Waiting, "on its way");
        check(Some((20, Ok(()))), None, StepState::Failed, "not here");
        check(Some((2, Err("refused"))), None, StepState::Failed, "refused");
        check(Some((3, Ok(()))), Some((2, Status::Open)), StepState::Done, "can be discarded");
        check(Some((3, Ok(()))), Some((2, Status::Discarded)), StepState::Done, "dealt with");
        // The one that came is of a test before.
        check(Some((3, Err("refused"))), Some((60, Status::Open)), StepState::Failed, "refused");
        check(None, Some((60, Status::Open)), StepState::Done, "came");
    }

    #[test]
    fn a_queue_points_here_or_its_letters_have_come() {
        fn check(queues: Result<Vec<DeadLetterPath>, LookError>, came: u64, expected: StepState, part: &str) {
            let queue = |path| ServiceQueue {
                name: "orders".to_owned(),
                kind: QueueKind::Quorum,
                path,
                by_argument: false,
                policy: None,
            };
            let queues = queues.map(|paths| paths.into_iter().map(queue).collect());
            let step = Step::of_queues(&Look { at: NOW, version: String::new(), queues }, came);
            assert_eq!(step.state, expected, "{step:?}");
            assert!(step.about.contains(part), "{step:?}");
        }
        let elsewhere = || DeadLetterPath::Elsewhere("old".to_owned());
        check(Ok(vec![]), 0, StepState::Waiting, "no queue of a service yet");
        check(Ok(vec![DeadLetterPath::Dropped, elsewhere()]), 0, StepState::Waiting, "Of 2 queues none");
        check(Ok(vec![DeadLetterPath::Here, elsewhere()]), 0, StepState::Done, "1 of 2 queues");
        check(Ok(vec![elsewhere()]), 3, StepState::Done, "3 dead letters came");
        check(Err(LookError::NotConfigured), 0, StepState::Waiting, "management_url");
        check(Err(LookError::NotConfigured), 1, StepState::Done, "1 dead letter came");
        check(Err(LookError::Failed("no tag".to_owned())), 0, StepState::Failed, "no tag");
    }
}
