//! Whether a `message_id` is on many messages, so that it tells nothing.

use std::{collections::BTreeSet, time::Duration};

use amqp_message::time::Timestamp;
use failure_conventions::message_id::IdKind;

use super::SentBack;
use crate::domain::content_key::ContentKey;

/// How far the clocks of servers may be apart.
const CLOCKS: Duration = Duration::from_secs(10);
/// How exactly an id of ours says when it was made.
const EXACTLY: Duration = Duration::from_millis(1);

/// Whether messages that say different things, and of which none can be a copy of another, had the id at once: none of them
/// had been sent back. `sent` are those with the id that have been meanwhile, `here` the contents of those that have not,
/// the one in question among them.
pub fn is_shared(kind: IdKind, sent: &[&SentBack], here: &BTreeSet<ContentKey>, now: Timestamp) -> bool {
    let waits = |sent: &&&SentBack| sent.letter.is_none() && sent.first_sent_at > now.plus(CLOCKS);
    let mut now_here = here.clone();
    now_here.extend(sent.iter().filter(waits).map(|sent| sent.key));
    let then_here = |sent_later: &&SentBack| {
        let Some(then) = sent_later.id.made_at() else { return 0 };
        let was_here = |other: &&&SentBack| {
            other.id.made_at().is_some_and(|made_at| made_at <= then) && then.plus(EXACTLY) < other.first_sent_at
        };
        sent.iter().filter(was_here).map(|other| other.key).collect::<BTreeSet<_>>().len()
    };
    kind.is_shared_by(now_here.len()) || sent.iter().any(|sent| kind.is_shared_by(then_here(sent)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::letter::LetterId;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_seconds(1_795_262_400).plus(Duration::from_secs(seconds))
    }

    /// A message that came in at a time and was sent back at another.
    fn sent(content: i64, came: u64, sent: u64) -> SentBack {
        let millis = at(came).as_micros().unsigned_abs() / 1_000;
        let id = uuid::Builder::from_unix_timestamp_millis(millis, &[content.to_le_bytes()[0]; 10]).into_uuid();
        SentBack {
            key: ContentKey(content),
            id: LetterId::from_uuid(id),
            first_sent_at: at(sent),
            ..SentBack::own_retries("orders", at(sent), 1)
        }
    }

    fn check(kind: IdKind, sent: &[SentBack], here: &[i64], expected: bool) {
        let here = here.iter().map(|content| ContentKey(*content)).collect();
        let found = is_shared(kind, &sent.iter().collect::<Vec<_>>(), &here, at(100));
        assert_eq!(found, expected, "{kind:?} {sent:?} {here:?}");
    }

    #[test]
    fn messages_that_were_here_at_once_share_it() {
        use IdKind::{Numbered, Random};
        let copies = [sent(1, 0, 10), sent(2, 11, 20), sent(3, 21, 30)];
        check(Numbered, &copies, &[4], false);
        check(Random, &copies, &[4], false);
        let two = [sent(1, 0, 10), sent(2, 5, 20), sent(3, 21, 30)];
        check(Numbered, &two, &[4], true);
        check(Random, &two, &[4], false);
        let three = [sent(1, 0, 10), sent(2, 5, 20), sent(3, 6, 30)];
        check(Random, &three, &[4], true);
        let equal = [sent(1, 0, 10), sent(1, 5, 20), sent(1, 6, 30)];
        check(Numbered, &equal, &[4], false);
        check(Numbered, &[], &[4, 5], true);
        check(Random, &[], &[4, 5], false);
        check(Random, &[], &[4, 5, 6], true);
        // It waits in RabbitMQ.
        check(Numbered, &[sent(1, 90, 200)], &[4], true);
        check(Numbered, &[sent(1, 90, 105)], &[4], false);
    }
}
