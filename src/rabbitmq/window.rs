//! One window of messages on one channel: sent together, and nothing else goes there until all is answered.

use std::{collections::HashMap, pin::pin, time::Duration};

use futures_util::{StreamExt, future::join_all, stream::FuturesOrdered};
use lapin::{Channel, Confirmation, Connection, message::BasicReturnMessage, options::BasicPublishOptions};

use super::{
    PublishOutcome, SessionError, convert, is_not_found, is_refused, patience::unblocked_for, publication::Publication,
    refusal, short, step,
};
use crate::{crash_point, domain::letter::LetterId};

/// How long the broker may take to confirm; while it is in alarm the clock stands still.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(30);
/// Messages that are handed to the client together. It says of each when it is written to the socket: one at a time, every
/// message would cost two switches of thread and a system call.
const BURST: usize = 100;

/// The outcome of one publication of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Outcome(PublishOutcome),
    /// No queue was there to take it, in the broker's words.
    Returned(String),
}

/// The answers to a window, in the order of its publications.
pub(super) struct Answered {
    pub answers: Vec<Answer>,
    /// An exchange was missing, and the broker closed the channel over it.
    pub exchange_missing: bool,
    /// Why the broker closed the channel, when that was because the user may not publish to the default exchange. It says
    /// nothing about any message.
    pub forbidden: Option<String>,
}

/// Publishes a window and awaits all of its confirms.
pub(super) async fn publish(connection: &Connection, channel: &Channel, publications: &[Publication<'_>]) -> Answered {
    let mut answers = Answers::to(publications.len());
    let overdue = tokio::select! {
        () = send_and_confirm(channel, publications, &mut answers) => false,
        () = unblocked_for(connection, CONFIRM_TIMEOUT) => true,
    };
    if overdue {
        // Late answers must not be taken for those of the next window.
        _ = step("closing a channel", channel.close(200, "confirms are overdue".into())).await;
    }
    answers.into_answered(publications, overdue)
}

/// What the broker has answered to a window.
struct Answers {
    outcomes: Vec<PublishOutcome>,
    /// Why it sent messages back, by letter.
    returned: HashMap<LetterId, String>,
    /// Why it closed the channel or the connection, when that was over a message.
    refusal: Option<String>,
    exchange_missing: bool,
    access_refused: bool,
}

impl Answers {
    fn to(messages: usize) -> Self {
        Self {
            outcomes: vec![PublishOutcome::NotSent; messages],
            returned: HashMap::new(),
            refusal: None,
            exchange_missing: false,
            access_refused: false,
        }
    }

    /// A returned message may ride on the confirm of another one (lapin keeps them in a queue of their own), so it is
    /// taken down by the id it carries, and whose confirm it came with is of no account.
    fn take_down(&mut self, position: usize, confirmation: lapin::Result<Confirmation>) {
        let confirmation = match confirmation {
            Ok(confirmation) => confirmation,
            Err(error) => {
                self.exchange_missing |= is_not_found(&error);
                self.access_refused |= is_refused(&error);
                self.refusal = refusal(&error);
                return;
            }
        };
        let outcome = match confirmation {
            Confirmation::Ack(_) => PublishOutcome::Confirmed,
            Confirmation::Nack(_) => {
                PublishOutcome::Full("the broker refused it: its queue is full, or is in trouble".to_owned())
            }
            Confirmation::NotRequested => PublishOutcome::Unknown,
        };
        self.outcomes[position] = outcome;
        if let Some(message) = confirmation.take_message() {
            self.take_down_returned(&message);
        }
    }

    fn take_down_returned(&mut self, message: &BasicReturnMessage) {
        let headers = message.delivery.properties.headers().as_ref().map(convert::table_from_lapin).unwrap_or_default();
        match LetterId::from_headers(&headers) {
            Some(id) => _ = self.returned.insert(id, format!("{} {}", message.reply_code, message.reply_text)),
            None => tracing::error!("the broker returned a message without the id it was sent with"),
        }
    }

    fn into_answered(self, publications: &[Publication], overdue: bool) -> Answered {
        let alone = publications.len() == 1;
        let goes_straight = |publication: &Publication| publication.route.exchange().is_empty();
        // Exchanges of their own may each be forbidden; the default one is everybody's.
        let is_forbidden = self.access_refused && publications.iter().all(goes_straight);
        let forbidden = self.refusal.clone().filter(|_| is_forbidden);
        let answer = |(publication, outcome): (&Publication, PublishOutcome)| {
            if let Some(words) = self.returned.get(&publication.id()) {
                return Answer::Returned(words.clone());
            }
            match (outcome, &self.refusal) {
                // A delay queue that confirms nothing is found out before it gets the next.
                (PublishOutcome::Unknown, _) if overdue && !publication.route.waits() => {
                    Answer::Outcome(PublishOutcome::Failed(overdue_reason()))
                }
                (PublishOutcome::Unknown, Some(refusal)) if alone && self.exchange_missing => {
                    Answer::Returned(refusal.clone())
                }
                (PublishOutcome::Unknown, Some(refusal)) if alone && is_forbidden => {
                    Answer::Outcome(PublishOutcome::Forbidden(refusal.clone()))
                }
                // With others in the window, nobody knows which of them it was about.
                (PublishOutcome::Unknown, Some(refusal)) if alone => {
                    Answer::Outcome(PublishOutcome::Failed(format!("the broker refused it: {refusal}")))
                }
                (outcome, _) => Answer::Outcome(outcome),
            }
        };
        let answers = publications.iter().zip(self.outcomes).map(answer).collect();
        Answered { answers, exchange_missing: self.exchange_missing, forbidden }
    }
}

fn overdue_reason() -> String {
    format!("the broker did not confirm it within {} s; it may have arrived", CONFIRM_TIMEOUT.as_secs())
}

async fn send_and_confirm(channel: &Channel, publications: &[Publication<'_>], answers: &mut Answers) {
    let mut confirms = FuturesOrdered::new();
    for (burst, first) in publications.chunks(BURST).zip((0..).step_by(BURST)) {
        if !channel.status().connected() {
            break;
        }
        // Before they are sent: whoever gives up waiting in the middle of it cannot know.
        answers.outcomes[first..first + burst.len()].fill(PublishOutcome::Unknown);
        let mut cut_short = None;
        for (position, sent) in
            (first..).zip(join_all(burst.iter().map(|publication| send(channel, publication))).await)
        {
            match sent {
                Ok(confirm) => confirms.push_back(async move { (position, confirm.await) }),
                Err(SendError::Message(why)) => answers.outcomes[position] = PublishOutcome::Failed(why),
                Err(SendError::Channel(error)) => cut_short = Some(error),
            }
        }
        if let Some(error) = cut_short {
            tracing::warn!(error = %error, "publishing was cut short");
            break;
        }
    }
    crash_point::point("published");
    let mut confirms = pin!(confirms);
    while let Some((position, confirmation)) = confirms.next().await {
        answers.take_down(position, confirmation);
    }
}

enum SendError {
    /// The message itself cannot be sent.
    Message(String),
    Channel(lapin::Error),
}

async fn send(channel: &Channel, publication: &Publication<'_>) -> Result<lapin::PublisherConfirm, SendError> {
    let refuse = |error: SessionError| SendError::Message(error.to_string());
    let exchange = short(publication.route.exchange()).map_err(refuse)?;
    let routing_key = short(publication.route.routing_key()).map_err(refuse)?;
    let (properties, body) = publication.contents().map_err(refuse)?;
    let mandatory = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
    channel.basic_publish(exchange, routing_key, mandatory, body, properties).await.map_err(SendError::Channel)
}
