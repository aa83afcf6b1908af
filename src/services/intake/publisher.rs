//! Publishing beside the intake, over a connection that is built when it is needed.

use super::Intake;
use crate::{
    domain::retry::OutgoingRetry,
    rabbitmq::{PublishOutcome, PublishingSession, SessionError},
};

/// Uses one lane, so that what waits together goes into one bundle, and comes out in its order.
pub(crate) struct Publisher<'a> {
    intake: &'a Intake,
    session: Option<PublishingSession>,
    /// The last window was cut short, and nobody knows by which message.
    cut_short: bool,
    /// The user may not publish, by all that is known.
    is_forbidden: bool,
}

impl<'a> Publisher<'a> {
    pub const fn new(intake: &'a Intake) -> Self {
        Self { intake, session: None, cut_short: false, is_forbidden: false }
    }

    /// Publishes a window; the answers are in the order of its messages. After one that was cut short they go one by one:
    /// a message that the broker closes the channel over is reported so when it is alone. Where the user may not publish, one
    /// is tried.
    pub async fn publish(&mut self, window: &[OutgoingRetry]) -> Vec<PublishOutcome> {
        let size = if self.cut_short || self.is_forbidden { 1 } else { window.len().max(1) };
        self.cut_short = false;
        let mut outcomes = Vec::with_capacity(window.len());
        for part in window.chunks(size) {
            outcomes.extend(self.publish_together(part).await);
            if self.cut_short || self.is_forbidden {
                break;
            }
        }
        let forbidden = outcomes.last().filter(|_| self.is_forbidden).cloned();
        outcomes.resize(window.len(), forbidden.unwrap_or(PublishOutcome::NotSent));
        outcomes
    }

    async fn publish_together(&mut self, window: &[OutgoingRetry]) -> Vec<PublishOutcome> {
        let outcomes = match self.try_to_publish(window).await {
            Ok(outcomes) => outcomes,
            Err(error) => {
                tracing::warn!(broker.name = self.intake.broker, error = %error, "nothing can be published yet");
                vec![PublishOutcome::NotSent; window.len()]
            }
        };
        if outcomes.iter().any(|outcome| matches!(outcome, PublishOutcome::Unknown | PublishOutcome::NotSent)) {
            self.session = None;
            self.cut_short = true;
        }
        self.note_forbidden(&outcomes);
        outcomes
    }

    fn note_forbidden(&mut self, outcomes: &[PublishOutcome]) {
        let was_forbidden = self.is_forbidden;
        self.is_forbidden = false;
        let Some(PublishOutcome::Forbidden(why)) = outcomes.last() else { return };
        self.is_forbidden = true;
        if !was_forbidden {
            tracing::error!(broker.name = self.intake.broker, why, "nothing can be published");
            self.intake.board.doubt_publishing(&self.intake.broker);
        }
    }

    async fn try_to_publish(&mut self, window: &[OutgoingRetry]) -> Result<Vec<PublishOutcome>, SessionError> {
        if self.session.as_ref().is_none_or(|session| !session.connection().is_connected()) {
            self.session = Some(PublishingSession::open(&self.intake.broker, &self.intake.config).await?);
        }
        let lane = self.session.as_mut().and_then(|session| session.lanes().next());
        match lane {
            Some(lane) => Ok(lane.publish(window).await),
            None => Ok(vec![PublishOutcome::NotSent; window.len()]),
        }
    }
}
