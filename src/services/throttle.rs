//! Work on letters that have come in, which leaves intake nearly all there is while more come than it keeps up with.
//!
//! It shares the machine and, on SQLite, the one writer with intake.

use std::time::Duration;

use amqp_message::time::Timestamp;
use tokio_util::sync::CancellationToken;

use super::change_feed::ChangeFeed;
use crate::clock::Clock;

/// With so many letters coming in during one batch it is a storm.
const STORM: u64 = 50;
/// In a storm it works for one part in so many of the time.
const SHARE: u32 = 10;
/// The longest pause in a storm: what is new then is looked at within a second.
const LONGEST_PAUSE: Duration = Duration::from_millis(900);

/// One batch of such work.
pub struct Batch<'a> {
    clock: &'a Clock,
    feed: &'a ChangeFeed,
    begun: Timestamp,
    received: u64,
}

impl<'a> Batch<'a> {
    pub fn begin(clock: &'a Clock, feed: &'a ChangeFeed) -> Self {
        Self { clock, feed, begun: clock.now(), received: received(feed) }
    }

    /// After a full batch in a storm, lets intake go first for a while.
    pub async fn end(self, stop: &CancellationToken) {
        if received(self.feed) - self.received >= STORM {
            let pause = self.clock.now().since(self.begun) * (SHARE - 1);
            stop.run_until_cancelled(tokio::time::sleep(pause.min(LONGEST_PAUSE))).await;
        }
    }
}

/// How many letters have come in by now, as far as this process knows.
fn received(feed: &ChangeFeed) -> u64 {
    feed.subscribe().borrow().received
}
