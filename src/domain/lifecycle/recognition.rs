//! Whether a message that comes without our headers is one that was sent back.
//!
//! Some frameworks publish a new message for each try and drop its headers. Taken for a new letter, it would be retried
//! anew each time, without end.

mod shared_id;

use std::{cell::LazyCell, collections::BTreeMap, time::Duration};

use amqp_message::{message::Message, time::Timestamp};
use failure_conventions::identity::Identity;

use crate::domain::{
    content_key::ContentKey,
    letter::{LetterId, Status},
    policy::Decision,
};

pub use shared_id::messages_at_once;

/// How much longer than all its delays together a message may take to come back: its queue may be long.
pub const MARGIN: Duration = Duration::from_secs(30 * 60);

/// So much of what was sent back is looked at.
const MOST: u64 = 100;

/// A message that was sent back to a queue.
#[derive(Clone, Debug)]
pub struct SentBack {
    pub key: ContentKey,
    /// Its key by its `message_id`, where it has one.
    pub id_key: Option<ContentKey>,
    /// Its letter, or what was written into its header `dlo-id`.
    pub id: LetterId,
    pub queue: String,
    pub sent_at: Timestamp,
    /// The first time.
    pub first_sent_at: Timestamp,
    /// How often a policy has sent it.
    pub automatic: u64,
    /// How often it had come here by then.
    pub rounds: u64,
    /// It has failed as another message, which is not retried by itself.
    pub is_stopped: bool,
    /// Its letter; `None` where it waited in RabbitMQ.
    pub letter: Option<SentLetter>,
}

impl SentBack {
    /// Not a message, but that the framework at `queue` retries by itself, as was seen `at`. It is kept among what was sent
    /// back, for as long.
    pub fn own_retries(broker: &str, queue: &str, at: Timestamp, number: u64) -> Self {
        Self {
            key: ContentKey::of_own_retries(broker, queue),
            id_key: None,
            id: LetterId::from_uuid(uuid::Uuid::nil()),
            queue: queue.to_owned(),
            sent_at: at,
            first_sent_at: at,
            automatic: 0,
            rounds: number,
            is_stopped: false,
            letter: None,
        }
    }

    fn is_away(&self) -> bool {
        !self.is_stopped && self.letter.as_ref().is_none_or(|letter| letter.is_away)
    }

    fn identity(&self) -> Option<&Identity> {
        self.letter.as_ref()?.identity.as_ref()
    }

    fn superseded(&self) -> Superseded {
        Superseded { key: self.key, id: self.id, rounds: self.rounds, is_letter: self.letter.is_some() }
    }
}

/// Why a message is not retried by itself where [`SentBack::own_retries`] holds.
pub const OWN_RETRIES: &str = "its framework retries by itself as well, and what both retry is processed twice; switch one \
    of the two off, for Symfony Messenger by max_retries: 0 in its retry_strategy";

#[derive(Clone, Debug)]
pub struct SentLetter {
    /// It has not been seen since it was sent.
    pub is_away: bool,
    /// Read only where it is away.
    pub identity: Option<Identity>,
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
    /// One that waited in RabbitMQ, with that id, of which the last copy had come here so often. The copy that is back had
    /// come so often when it `left`; where none has left yet this is one more, or an equal message. It is not counted that
    /// this one was sent, where that was a second time.
    Waited { key: ContentKey, id: LetterId, left: Option<u64>, rounds: u64, is_counted: bool },
    /// One that has been sent back as often as its policy allows, each time as another message.
    Stopped { retries: u64, identities: usize, superseded: Vec<Superseded> },
    /// One that was not here before, as far as anybody can tell.
    New,
}

/// What was sent back and not seen since, because it came as another message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superseded {
    pub key: ContentKey,
    pub id: LetterId,
    pub rounds: u64,
    pub is_letter: bool,
}

/// What a message is compared with: all that was sent back lately, the newest first.
#[derive(Clone, Debug, Default)]
pub struct Compared<'a> {
    pub same_content: Vec<&'a SentBack>,
    /// Under the same `message_id`; nothing, where that tells nothing.
    pub same_id: Vec<&'a SentBack>,
    /// Under the same `message_id`, where so many messages, or copies of one, had it at once.
    pub shared_id: Vec<&'a SentBack>,
    pub sharing: u64,
}

/// Finds out which of `sent` the `message` is, which failed in `queue` at `now`.
pub fn recognise(
    message: &Message,
    queue: &str,
    now: Timestamp,
    decision: Option<&Decision>,
    sent: &Compared<'_>,
) -> Recognised {
    // Mostly there is nothing to compare it with.
    let message = LazyCell::new(|| Identity::of(message));
    let span = decision.map_or(Duration::MAX, |decision| decision.span().saturating_add(MARGIN));
    // As far as both say; in the one case the content is the same, in the other only the id.
    let may_be = |sent: &&SentBack| sent.identity().is_none_or(|its| !its.differs_from(&message));
    let may_be_by_id = |sent: &&SentBack| sent.identity().is_none_or(|its| its.has_same_id(&message));
    let is_lately = |sent: &&SentBack| sent.queue == queue && now.since(sent.sent_at) <= span;
    let same_content = || sent.same_content.iter().copied().filter(is_lately);
    let same_id = || sent.same_id.iter().copied().filter(is_lately);
    // What waits in RabbitMQ comes back after it was sent, and not before.
    let has_left = |sent: &&SentBack| sent.letter.is_some() || sent.sent_at <= now;
    let by_content = || same_content().filter(|sent| sent.is_away()).find(may_be);
    let by_id = || same_id().filter(|sent| sent.is_away()).filter(has_left).find(may_be_by_id);
    if let Some(found) = by_content().or_else(by_id) {
        return match &found.letter {
            Some(_) => Recognised::Letter(found.id),
            None => waited(found, same_content().filter(|sent| sent.is_away() && may_be(sent)), now),
        };
    }
    // What came as another message each time, and all that was ever sent under its id.
    let others = same_content().filter(|sent| sent.is_away() || sent.is_stopped);
    let others = others.chain(same_id().filter(may_be_by_id));
    let granted = decision.map_or(0, Decision::retries) as u64;
    // Of several copies of one message with its id nobody can tell which is back. All of them have the retries of each.
    let shared = sent.shared_id.iter().copied().filter(is_lately).filter(|sent| sent.is_away() || sent.is_stopped);
    stopped(others, granted)
        .or_else(|| stopped(shared, granted.saturating_mul(sent.sharing).min(MOST)))
        .unwrap_or(Recognised::New)
}

fn stopped<'a>(others: impl Iterator<Item = &'a SentBack>, granted: u64) -> Option<Recognised> {
    let others: BTreeMap<(LetterId, ContentKey), &SentBack> = others.map(|sent| ((sent.id, sent.key), sent)).collect();
    let retries = others.values().map(|sent| sent.automatic).sum();
    (granted > 0 && retries >= granted).then(|| Recognised::Stopped {
        retries,
        identities: others.len(),
        superseded: others.values().filter(|sent| sent.is_away()).map(|sent| sent.superseded()).collect(),
    })
}

/// Each copy that is under way is remembered. All of them share the retries of one, and the first of them is back first.
fn waited<'a>(found: &'a SentBack, others: impl Iterator<Item = &'a SentBack>, now: Timestamp) -> Recognised {
    let copies: Vec<&SentBack> = std::iter::once(found).chain(others.filter(|sent| sent.letter.is_none())).collect();
    let back = copies.iter().filter(|sent| sent.sent_at <= now).min_by_key(|sent| (sent.rounds, sent.id));
    let SentBack { key, id, automatic, .. } = back.map_or(found, |back| back);
    let rounds = copies.iter().map(|sent| sent.rounds).max().unwrap_or_default();
    Recognised::Waited { key: *key, id: *id, left: back.map(|back| back.rounds), rounds, is_counted: *automatic > 0 }
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
            id_key: ContentKey::of_id(&message),
            id: LetterId::from_uuid(uuid::Uuid::from_u128(id)),
            queue: "orders".to_owned(),
            sent_at: Timestamp::default(),
            first_sent_at: Timestamp::default(),
            automatic: 1,
            rounds: 2,
            is_stopped: false,
            letter: Some(SentLetter { is_away: true, identity: Some(Identity::of(&message)) }),
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
        let compared = Compared { same_content: sent.iter().collect(), ..Compared::default() };
        check_compared(id, &compared, expected);
    }

    fn check_compared(id: Option<&str>, sent: &Compared<'_>, expected: Recognised) {
        let now = Timestamp::default().plus(Duration::from_secs(60));
        assert_eq!(recognise(&message(id), "orders", now, Some(&policy(2)), sent), expected, "{sent:?}");
    }

    fn stopped(retries: u64, identities: usize, sent: &[&SentBack]) -> Recognised {
        Recognised::Stopped { retries, identities, superseded: sent.iter().map(|sent| sent.superseded()).collect() }
    }

    #[test]
    fn the_newest_that_is_away_and_may_be_it() {
        let [one, two] = [1, 2].map(|id| LetterId::from_uuid(uuid::Uuid::from_u128(id)));
        check(None, &[], Recognised::New);
        check(None, &[sent(2, message(None)), sent(1, message(None))], Recognised::Letter(two));
        check(None, &[back(sent(2, message(None))), sent(1, message(None))], Recognised::Letter(one));
        check(Some("a"), &[sent(2, message(Some("b"))), sent(1, message(Some("a")))], Recognised::Letter(one));
        check(Some("a"), &[sent(1, message(None))], Recognised::Letter(one));
        check(
            None,
            &[in_broker(sent(1, message(None)))],
            Recognised::Waited { key: ContentKey(1), id: one, left: Some(2), rounds: 2, is_counted: true },
        );
        check(None, &[SentBack { queue: "other".to_owned(), ..sent(1, message(None)) }], Recognised::New);
    }

    #[test]
    fn copies_of_one_message_share_its_retries() {
        let waiting = |id, rounds, seconds| {
            let sent_at = Timestamp::default().plus(Duration::from_secs(seconds));
            SentBack { rounds, sent_at, ..in_broker(sent(id, message(None))) }
        };
        let waited = |left, rounds| {
            let id = LetterId::from_uuid(uuid::Uuid::from_u128(1));
            Recognised::Waited { key: ContentKey(1), id, left, rounds, is_counted: true }
        };
        check(None, &[waiting(1, 1, 61)], waited(None, 1));
        check(None, &[waiting(2, 3, 61), waiting(1, 1, 60)], waited(Some(1), 3));
        check(None, &[waiting(2, 3, 20), waiting(1, 2, 60)], waited(Some(2), 3));
    }

    #[test]
    fn another_identity_each_time_ends_with_the_policy() {
        let others = [sent(1, message(Some("a"))), sent(2, message(Some("b")))];
        check(Some("c"), &others, stopped(2, 2, &[&others[0], &others[1]]));
        check(Some("c"), &others[..1], Recognised::New);
        let twice = [SentBack { automatic: 2, ..others[0].clone() }];
        check(Some("c"), &twice, stopped(2, 1, &[&twice[0]]));
        let known = others.clone().map(|sent| back(SentBack { is_stopped: true, ..sent }));
        check(Some("c"), &known, stopped(2, 2, &[]));
        check(Some("c"), &others.clone().map(back), Recognised::New);
        check(Some("c"), &others.map(|sent| SentBack { automatic: 0, ..sent }), Recognised::New);
    }

    #[test]
    fn an_id_stays_whatever_the_body_is() {
        let check = |sent: &SentBack, expected| {
            check_compared(Some("m-1"), &Compared { same_id: vec![sent], ..Compared::default() }, expected);
        };
        let mut away = sent(1, message(Some("m-1")));
        check(&away, Recognised::Letter(away.id));
        check(&SentBack { automatic: 2, ..back(away.clone()) }, stopped(2, 1, &[]));
        check(&back(away.clone()), Recognised::New);
        let waited = Recognised::Waited { key: ContentKey(1), id: away.id, left: Some(2), rounds: 2, is_counted: true };
        check(&in_broker(away.clone()), waited);
        let later = Timestamp::default().plus(Duration::from_secs(61));
        check(&SentBack { sent_at: later, ..in_broker(away.clone()) }, Recognised::New);
        if let Some(letter) = &mut away.letter {
            letter.identity = Some(Identity::of(&message(Some("m-2"))));
        }
        check(&SentBack { automatic: 2, ..away }, Recognised::New);
    }

    #[test]
    fn copies_that_share_an_id_have_the_retries_of_so_many_messages() {
        let sent = [1, 2, 3, 4].map(|id| sent(id, message(Some("m-1"))));
        let check = |sent: &[SentBack], expected| {
            let compared = Compared { shared_id: sent.iter().collect(), sharing: 2, ..Compared::default() };
            check_compared(Some("m-1"), &compared, expected);
        };
        check(&sent[..3], Recognised::New);
        check(&sent, stopped(4, 4, &sent.iter().collect::<Vec<_>>()));
        check(&sent.clone().map(back), Recognised::New);
    }

    #[test]
    fn what_is_long_ago_is_another_matter() {
        let late = |seconds| {
            let now = Timestamp::default().plus(MARGIN).plus(Duration::from_secs(seconds));
            let sent = sent(1, message(None));
            let compared = Compared { same_content: vec![&sent], ..Compared::default() };
            recognise(&message(None), "orders", now, Some(&policy(2)), &compared)
        };
        assert!(matches!(late(20), Recognised::Letter(_)));
        assert_eq!(late(21), Recognised::New);
    }
}
