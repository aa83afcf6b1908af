//! Sending one delivery.

use reqwest::Client;

use super::{Channel, Delivery, Outcome, Patience, Reach, SetupError, answer::Answer, client, fault, request, verdict};
use crate::clock::Clock;

/// Sends deliveries, one at a time or many at once; built once and shared.
#[derive(Clone, Debug)]
pub struct Sender {
    pub(super) client: Client,
    pub(super) patience: Patience,
    clock: Clock,
}

impl Sender {
    /// Reads the system's certificate authorities, which blocks for some milliseconds.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn new(clock: Clock, reach: &Reach) -> Result<Self, SetupError> {
        Self::with_patience(clock, reach, Patience::default())
    }

    /// # Errors
    /// When TLS cannot be set up.
    pub fn with_patience(clock: Clock, reach: &Reach, patience: Patience) -> Result<Self, SetupError> {
        Ok(Self { client: client::client_within(patience, reach)?, patience, clock })
    }

    /// Sends it once. It takes no longer than [`Patience::total`] and never fails but by its outcome.
    pub async fn send(&self, channel: &Channel, delivery: &Delivery) -> Outcome {
        let request = match request::build(&self.client, channel, delivery, self.clock.now()) {
            Ok(request) => request,
            Err(why) => return Outcome::Refused { why: why.to_owned() },
        };
        match self.client.execute(request).await {
            Ok(response) => verdict::outcome(channel, &Answer::read(response, self.clock.now()).await),
            Err(error) => Outcome::TryAgain { why: fault::clause(channel, &error, self.patience), after: None },
        }
    }

    pub(super) async fn ask(&self, channel: &Channel, request: reqwest::RequestBuilder) -> Result<Answer, String> {
        match request.send().await {
            Ok(response) => Ok(Answer::read(response, self.clock.now()).await),
            Err(error) => Err(fault::clause(channel, &error, self.patience)),
        }
    }
}
