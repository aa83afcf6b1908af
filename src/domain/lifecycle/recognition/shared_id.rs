//! On how many messages a `message_id` is, where it tells less than it seems to.

use std::{collections::BTreeSet, time::Duration};

use amqp_message::time::Timestamp;

use super::SentBack;
use crate::domain::content_key::ContentKey;

/// How far the clocks of servers may be apart.
const CLOCKS: Duration = Duration::from_secs(10);
/// How exactly an id of ours says when it was made.
const EXACTLY: Duration = Duration::from_millis(1);

/// How many messages that say different things had the id at once: none of them had been sent back, so that each is another
/// message, or another copy that was published when its consumer was cut short. `sent` are those with the id that have been
/// sent back meanwhile, `here` the contents of those that have not, the one in question among them.
pub fn messages_at_once(sent: &[&SentBack], here: &BTreeSet<ContentKey>, now: Timestamp) -> usize {
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
    sent.iter().map(then_here).chain([now_here.len()]).max().unwrap_or_default()
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
            ..SentBack::own_retries("main", "orders", at(sent), 1)
        }
    }

    fn check(sent: &[SentBack], here: &[i64], expected: usize) {
        let here = here.iter().map(|content| ContentKey(*content)).collect();
        let found = messages_at_once(&sent.iter().collect::<Vec<_>>(), &here, at(100));
        assert_eq!(found, expected, "{sent:?} {here:?}");
    }

    #[test]
    fn messages_that_were_here_at_once_share_it() {
        check(&[sent(1, 0, 10), sent(2, 11, 20), sent(3, 21, 30)], &[4], 1);
        check(&[sent(1, 0, 10), sent(2, 5, 20), sent(3, 21, 30)], &[4], 2);
        check(&[sent(1, 0, 10), sent(2, 5, 20), sent(3, 6, 30)], &[4], 3);
        check(&[sent(1, 0, 10), sent(1, 5, 20), sent(1, 6, 30)], &[4], 1);
        check(&[], &[4, 5], 2);
        check(&[], &[4, 5, 6], 3);
        // It waits in RabbitMQ.
        check(&[sent(1, 90, 200)], &[4], 2);
        check(&[sent(1, 90, 105)], &[4], 1);
    }
}
