//! Whether a message that comes without our headers is one that was sent back.
//!
//! Some frameworks publish a new message for each try and drop its headers. Taken for a new letter, it would be retried
//! anew each time, without end.

use std::time::Duration;

use amqp_message::{message::Message, time::Timestamp};
use failure_conventions::identity;

use crate::domain::{
    content_key::ContentKey,
    letter::{LetterId, Status},
    policy::Decision,
};

/// How much longer than all its delays together a message may take to come back: its queue may be long.
pub const MARGIN: Duration = Duration::from_secs(30 * 60);

/// A message that was sent back to a queue.
#[derive(Clone, Debug)]
pub struct SentBack {
    pub key: ContentKey,
    /// Its letter, or what was written into its header `dlo-id`.
    pub id: LetterId,
    pub queue: String,
    pub sent_at: Timestamp,
    /// How often a policy has sent it.
    pub automatic: u64,
    /// How often it had come here by then.
    pub rounds: u64,
    /// Its letter; `None` where it waited in RabbitMQ.
    pub letter: Option<SentLetter>,
}

impl SentBack {
    /// Not a message, but that the framework at `queue` retries by itself, as was seen `at`. It is kept among what was sent
    /// back, for as long.
    pub fn own_retries(queue: &str, at: Timestamp, number: u64) -> Self {
        Self {
            key: ContentKey::of_own_retries(queue),
            id: LetterId::from_uuid(uuid::Uuid::nil()),
            queue: queue.to_owned(),
            sent_at: at,
            automatic: 0,
            rounds: number,
            letter: None,
        }
    }
}

/// Why a message is not retried by itself where [`SentBack::own_retries`] holds.
pub const OWN_RETRIES: &str = "its framework retries by itself as well, and what both retry is processed twice; switch one \
    of the two off, for Symfony Messenger by max_retries: 0 in its retry_strategy";

#[derive(Clone, Debug)]
pub struct SentLetter {
    /// It has not been seen since it was sent.
    pub is_away: bool,
    pub message: Option<Message>,
}

/// Whether a letter that stands so, with so many claims of its retry, has been sent and not been seen since.
pub fn is_away(status: Status, claims: u64) -> bool {
    status == Status::Retried || (status == Status::Scheduled && claims > 0)
}

/// What a message is that came without our headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recognised {
    /// A letter that was sent back.
    Letter(LetterId),
    /// One that waited in RabbitMQ, with that id, and had come here so often.
    Waited { id: LetterId, rounds: u64 },
    /// One that has been sent back as often as its policy allows, each time as another message.
    Stopped { retries: u64, identities: usize },
    /// One that was not here before, as far as anybody can tell.
    New,
}

/// Compares `message`, which failed in `queue` at `now`, with all that was `sent` of the same content, the newest first.
pub fn recognise(
    message: &Message,
    queue: &str,
    now: Timestamp,
    decision: Option<&Decision>,
    sent: &[SentBack],
) -> Recognised {
    let span = decision.map_or(Duration::MAX, |decision| decision.span().saturating_add(MARGIN));
    let is_away = |sent: &&SentBack| {
        sent.queue == queue
            && now.since(sent.sent_at) <= span
            && sent.letter.as_ref().is_none_or(|letter| letter.is_away)
    };
    let away: Vec<&SentBack> = sent.iter().filter(is_away).collect();
    if let Some(found) = away.iter().find(|sent| sent.may_be(message)) {
        return match &found.letter {
            Some(_) => Recognised::Letter(found.id),
            None => Recognised::Waited { id: found.id, rounds: found.rounds },
        };
    }
    let (identities, retries) = (away.len(), away.iter().map(|sent| sent.automatic).sum());
    match decision.map(Decision::retries) {
        Some(granted) if granted > 0 && retries >= granted as u64 => Recognised::Stopped { retries, identities },
        _ => Recognised::New,
    }
}

impl SentBack {
    fn may_be(&self, message: &Message) -> bool {
        let sent = self.letter.as_ref().and_then(|letter| letter.message.as_ref());
        sent.is_none_or(|sent| !identity::are_different(sent, message))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::policy::{ActivePolicy, Delays, Origin, Policy, Via};
    use amqp_message::message::Properties;

    fn message(id: Option<&str>) -> Message {
        let properties = Properties { message_id: id.map(str::to_owned), ..Properties::default() };
        Message { properties, body: b"a body that says enough".to_vec(), ..Message::default() }
    }

    fn sent(id: u128, message: Message) -> SentBack {
        SentBack {
            key: ContentKey(1),
            id: LetterId::from_uuid(uuid::Uuid::from_u128(id)),
            queue: "orders".to_owned(),
            sent_at: Timestamp::default(),
            automatic: 1,
            rounds: 2,
            letter: Some(SentLetter { is_away: true, message: Some(message) }),
        }
    }

    fn in_broker(sent: SentBack) -> SentBack {
        SentBack { letter: None, ..sent }
    }

    fn back(sent: SentBack) -> SentBack {
        let letter = sent.letter.map(|letter| SentLetter { is_away: false, ..letter });
        SentBack { letter, ..sent }
    }

    fn policy(retries: usize) -> Decision {
        let policy = Policy {
            queues: "*".to_owned(),
            reason: None,
            delays: Delays::Listed(vec![Duration::from_secs(10); retries]),
            jitter: 0.0,
            via: Via::Database,
            keep_routing_key: false,
        };
        Decision::new(Some(Arc::new(ActivePolicy { policy, origin: Origin::Configuration })), 0.5)
    }

    fn check(id: Option<&str>, sent: &[SentBack], expected: Recognised) {
        let now = Timestamp::default().plus(Duration::from_secs(60));
        assert_eq!(recognise(&message(id), "orders", now, Some(&policy(2)), sent), expected, "{sent:?}");
    }

    #[test]
    fn the_newest_that_is_away_and_may_be_it() {
        let [one, two] = [1, 2].map(|id| LetterId::from_uuid(uuid::Uuid::from_u128(id)));
        check(None, &[], Recognised::New);
        check(None, &[sent(2, message(None)), sent(1, message(None))], Recognised::Letter(two));
        check(None, &[back(sent(2, message(None))), sent(1, message(None))], Recognised::Letter(one));
        check(Some("a"), &[sent(2, message(Some("b"))), sent(1, message(Some("a")))], Recognised::Letter(one));
        check(Some("a"), &[sent(1, message(None))], Recognised::Letter(one));
        check(None, &[in_broker(sent(1, message(None)))], Recognised::Waited { id: one, rounds: 2 });
        check(None, &[SentBack { queue: "other".to_owned(), ..sent(1, message(None)) }], Recognised::New);
    }

    #[test]
    fn another_identity_each_time_ends_with_the_policy() {
        let others = ["a", "b"].map(|id| sent(1, message(Some(id))));
        check(Some("c"), &others, Recognised::Stopped { retries: 2, identities: 2 });
        check(Some("c"), &others[..1], Recognised::New);
        let twice = [SentBack { automatic: 2, ..others[0].clone() }];
        check(Some("c"), &twice, Recognised::Stopped { retries: 2, identities: 1 });
        check(Some("c"), &others.clone().map(back), Recognised::New);
        check(Some("c"), &others.map(|sent| SentBack { automatic: 0, ..sent }), Recognised::New);
    }

    #[test]
    fn what_is_long_ago_is_another_matter() {
        let late = |seconds| {
            let now = Timestamp::default().plus(MARGIN).plus(Duration::from_secs(seconds));
            recognise(&message(None), "orders", now, Some(&policy(2)), &[sent(1, message(None))])
        };
        assert!(matches!(late(20), Recognised::Letter(_)));
        assert_eq!(late(21), Recognised::New);
    }
}
