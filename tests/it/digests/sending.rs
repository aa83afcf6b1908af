//! A Slack that is down, busy, mute or torn away: the digest comes all the same, and once wherever that can be known.

use std::{ops::RangeInclusive, time::Duration};

use dead_letter_office::{
    clock::Clock,
    demo::stand_ins::{Misbehaviour, SlackStandIn},
    domain::notification::NotificationState,
    store::DigestRecord,
};

use super::newsroom::{DAY, HOUR, MINUTE, Newsroom, at, config, fail, slack, text};
use crate::store::database::TestDatabase;

const SECOND: Duration = Duration::from_secs(1);

/// A server whose digest is due in this moment.
struct Morning {
    slack: SlackStandIn,
    database: TestDatabase,
    newsroom: Newsroom,
}

impl Morning {
    async fn breaks() -> Self {
        Self::breaks_with(Duration::from_secs(20)).await
    }

    /// With so much patience for a Slack that never answers.
    async fn breaks_with(patience: Duration) -> Self {
        let (slack, database) = (slack().await, TestDatabase::sqlite().await);
        let clock = Clock::manual(at("2026-06-01T08:30:00Z"));
        let config = config(&slack, "0 9 * * *", "UTC");
        let mut newsroom = Newsroom::with_patience(&database, &clock, &config, patience).await;
        newsroom.works().await;
        fail(&database, &clock, 3, "orders", "timeout").await;
        clock.set(at("2026-06-01T09:00:00Z"));
        Self { slack, database, newsroom }
    }

    async fn digest(&self) -> DigestRecord {
        self.newsroom.made().await.pop().unwrap()
    }

    async fn state(&self) -> NotificationState {
        self.digest().await.sending.unwrap().state
    }

    async fn lasts(&mut self, length: Duration, step: Duration) {
        let end = self.newsroom.clock.now().plus(length);
        self.newsroom.lives_until(end, step).await;
    }

    /// Slack answers 503 meanwhile, and perhaps some times more.
    async fn lasts_without_slack(&mut self, length: Duration, step: Duration) {
        let end = self.newsroom.clock.now().plus(length);
        let mut refused = self.slack.requests().len();
        while self.newsroom.clock.now() < end {
            // Where one is given up the next one is tried at once.
            while refused < self.slack.requests().len() + 2 {
                self.slack.misbehave(1, Misbehaviour::status(503));
                refused += 1;
            }
            self.newsroom.clock.set(self.newsroom.clock.now().plus(step).min(end));
            self.newsroom.works().await;
        }
    }
}

#[tokio::test]
async fn a_slack_that_is_down_for_an_hour_has_it_soon_after() {
    let mut morning = Morning::breaks().await;
    let mut refused = 0;
    for _ in 0..360 {
        let heard = morning.slack.requests().len();
        if heard == refused {
            morning.slack.misbehave(1, Misbehaviour::status(503));
            refused += 1;
        }
        morning.newsroom.works().await;
        morning.newsroom.clock.advance(10 * SECOND);
    }
    let waiting = morning.digest().await;
    assert_eq!(waiting.problem(), Some("Slack answered 503"));
    let sending = waiting.sending.unwrap();
    assert_eq!(sending.state, NotificationState::Waiting);
    // Two seconds and doubled up to five minutes: some twenty times in an hour, and not hundreds.
    assert!((12..40).contains(&sending.attempts), "{}", sending.attempts);
    // One more may fail, which it was told of before.
    morning.lasts(11 * MINUTE, 10 * SECOND).await;
    assert_eq!(morning.slack.messages().len(), 1);
    assert_eq!((morning.state().await, morning.digest().await.problem()), (NotificationState::Delivered, None));
}

#[tokio::test]
async fn a_busy_slack_is_asked_again_when_it_says() {
    let mut morning = Morning::breaks().await;
    let headers = vec![("retry-after", "90".to_owned())];
    morning.slack.misbehave(1, Misbehaviour::Answer { status: 429, headers, body: Vec::new() });
    morning.newsroom.works().await;
    morning.lasts(89 * SECOND, SECOND).await;
    assert_eq!(morning.slack.requests().len(), 1);
    morning.lasts(2 * SECOND, SECOND).await;
    assert_eq!((morning.slack.requests().len(), morning.slack.messages().len()), (2, 1));
}

async fn check(misbehaviour: Misbehaviour, messages: RangeInclusive<usize>) {
    check_in(&mut Morning::breaks().await, misbehaviour, messages).await;
}

async fn check_in(morning: &mut Morning, misbehaviour: Misbehaviour, messages: RangeInclusive<usize>) {
    morning.slack.misbehave(1, misbehaviour.clone());
    morning.newsroom.works().await;
    assert_eq!(morning.state().await, NotificationState::Waiting, "{misbehaviour:?}");
    morning.slack.release();
    morning.lasts(10 * SECOND, SECOND).await;
    assert_eq!(morning.state().await, NotificationState::Delivered, "{misbehaviour:?}");
    assert!(messages.contains(&morning.slack.messages().len()), "{misbehaviour:?}");
}

#[tokio::test]
async fn what_goes_wrong_is_tried_again() {
    check(Misbehaviour::status(500), 1..=1).await;
    check(Misbehaviour::status(502), 1..=1).await;
    check(Misbehaviour::CloseBeforeReading, 1..=1).await;
}

/// Nobody knows then whether it has arrived, and to hear it twice is better than not at all.
#[tokio::test]
async fn only_where_the_answer_is_lost_it_may_come_twice() {
    check(Misbehaviour::CloseAfterReading, 2..=2).await;
    let mut impatient = Morning::breaks_with(Duration::from_millis(500)).await;
    check_in(&mut impatient, Misbehaviour::Hang, 1..=3).await;
}

#[tokio::test]
async fn what_nobody_could_read_is_told_by_the_next() {
    let mut morning = Morning::breaks().await;
    morning.slack.misbehave(1, Misbehaviour::status(403));
    morning.newsroom.works().await;
    let refused = morning.digest().await;
    assert_eq!(morning.state().await, NotificationState::Refused);
    assert!(refused.problem().unwrap().contains("403"), "{:?}", refused.problem());
    morning.lasts(DAY, HOUR).await;
    fail(&morning.database, &morning.newsroom.clock, 1, "orders", "timeout").await;
    morning.lasts(DAY, HOUR).await;
    let told = morning.slack.messages();
    let since: Vec<_> = morning.newsroom.made().await.iter().map(|digest| digest.since).collect();
    assert_eq!(since[..2], [None, None], "the first one that is read is about all there is");
    assert!(since[2].is_some());
    assert!(text(&told[0]).contains("3 dead letters open in 1 group, 3 new"), "{told:?}");
    assert!(text(&told[1]).contains("4 dead letters open in 1 group, 1 new"), "{told:?}");
}

/// Longer than a digest is tried: what the one that was given up would have said is in the next.
#[tokio::test]
async fn what_was_given_up_is_told_by_the_next() {
    let mut morning = Morning::breaks().await;
    morning.newsroom.works().await;
    fail(&morning.database, &morning.newsroom.clock, 2, "orders", "timeout").await;
    morning.lasts_without_slack(DAY, 10 * MINUTE).await;
    fail(&morning.database, &morning.newsroom.clock, 1, "orders", "timeout").await;
    // The third one is made while the second still waits.
    morning.lasts_without_slack(DAY, 10 * MINUTE).await;
    morning.lasts_without_slack(HOUR, MINUTE).await;
    let states = async |newsroom: &Newsroom| -> Vec<NotificationState> {
        newsroom.made().await.into_iter().filter_map(|digest| Some(digest.sending?.state)).collect()
    };
    let (read, given_up) = (NotificationState::Delivered, NotificationState::Refused);
    assert_eq!(states(&morning.newsroom).await, [read, given_up, NotificationState::Waiting]);
    morning.lasts(HOUR, MINUTE).await;
    assert_eq!(states(&morning.newsroom).await, [read, given_up, read]);
    let told = morning.slack.messages();
    assert!(text(&told[1]).contains("6 dead letters open in 1 group, 3 new"), "{told:?}");
}

#[tokio::test]
async fn two_that_waited_come_in_their_order() {
    let mut morning = Morning::breaks().await;
    morning.newsroom.makes().await;
    fail(&morning.database, &morning.newsroom.clock, 1, "orders", "timeout").await;
    morning.newsroom.clock.advance(DAY);
    morning.newsroom.works().await;
    let told = morning.slack.messages();
    assert!(text(&told[0]).contains("3 dead letters open"), "{told:?}");
    assert!(text(&told[1]).contains("4 dead letters open in 1 group, 1 new"), "{told:?}");
}
