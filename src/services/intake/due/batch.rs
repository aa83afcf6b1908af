//! Bundles of messages that are sent on together.

use std::collections::BTreeMap;

use tokio::time::{Instant, sleep_until};

use crate::domain::retry::OutgoingRetry;

/// A message, by the tag of the bundle that it came in.
pub(super) type Parcel = (u64, OutgoingRetry);

/// Bundles that are sent on together. One is acknowledged when all its messages are sent on.
#[derive(Default)]
pub(super) struct Batch {
    /// How many messages of each bundle are left, and how many it had.
    left: BTreeMap<u64, (usize, usize)>,
    pub parcels: Vec<Parcel>,
    /// What cannot be sent on yet, and when the first of it may be.
    aside: Vec<Parcel>,
    until: Option<Instant>,
}

impl Batch {
    pub fn add(&mut self, tag: u64, retries: Vec<OutgoingRetry>) {
        self.left.insert(tag, (retries.len(), retries.len()));
        self.parcels.extend(retries.into_iter().map(|retry| (tag, retry)));
    }

    pub fn sent(&mut self, tag: u64) {
        if let Some((left, _)) = self.left.get_mut(&tag) {
            *left -= 1;
        }
    }

    pub fn put_aside(&mut self, parcel: Parcel, until: Instant) {
        self.aside.push(parcel);
        self.until = Some(self.until.map_or(until, |earliest| earliest.min(until)));
    }

    pub fn take_up(&mut self) {
        self.parcels.append(&mut self.aside);
        self.until = None;
    }

    /// Returns when what was put aside is to be taken up; never, where nothing was.
    pub fn is_time(&self) -> impl Future<Output = ()> + use<> {
        let until = self.until;
        async move {
            match until {
                Some(until) => sleep_until(until).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Whether a part of a bundle is sent on and another is left: all of it would come again.
    pub fn is_begun(&self) -> bool {
        self.left.values().any(|(left, of)| (1..*of).contains(left))
    }

    /// The bundles of which nothing is left.
    pub fn take_finished(&mut self) -> Vec<u64> {
        self.left.extract_if(.., |_, (left, _)| *left == 0).map(|(tag, _)| tag).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use amqp_message::{death::Reason, message::Message};

    use super::*;
    use crate::domain::{letter::LetterId, retry::Destination};

    #[test]
    fn a_bundle_is_finished_when_all_its_messages_are_sent_on() {
        let retry = || OutgoingRetry {
            id: LetterId::from_uuid(uuid::Uuid::nil()),
            destination: Destination::straight_to("orders"),
            reason: Reason::Rejected,
            message: Message::default(),
        };
        let mut batch = Batch::default();
        batch.add(7, vec![retry(), retry()]);
        batch.add(8, Vec::new());
        assert_eq!((batch.take_finished(), batch.is_begun()), (vec![8], false));
        batch.sent(7);
        assert!(batch.is_begun());
        let (now, parcel) = (Instant::now(), batch.parcels.remove(0));
        batch.put_aside(parcel, now + Duration::from_secs(5));
        batch.put_aside((7, retry()), now);
        assert_eq!((batch.take_finished(), batch.until), (vec![], Some(now)));
        batch.take_up();
        assert_eq!((batch.parcels.len(), batch.until), (3, None));
        batch.sent(7);
        assert_eq!((batch.take_finished(), batch.is_begun()), (vec![7], false));
    }
}
