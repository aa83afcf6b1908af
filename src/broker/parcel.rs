//! What is published as one: a message, or a bundle of messages that wait for the same time.

use std::{borrow::Cow, collections::HashMap};

use lapin::BasicProperties;

use super::{SessionError, bundle, convert, ways::Way};
use crate::domain::{letter::LetterId, retry::OutgoingRetry};

/// On its way, with the places its messages have among those that were handed in.
pub(super) struct Parcel<'a> {
    pub way: &'a Way<'a>,
    first: Place<'a>,
    others: Vec<Place<'a>>,
    /// Of all bodies.
    bytes: usize,
}

type Place<'a> = (usize, &'a OutgoingRetry);

impl<'a> Parcel<'a> {
    /// Parcels for all of `window`, in its order; `ways` are those of its messages.
    pub fn all_of(window: &'a [OutgoingRetry], ways: &'a [Way<'a>]) -> Vec<Self> {
        let mut parcels: Vec<Self> = Vec::new();
        let mut latest: HashMap<&str, usize> = HashMap::new();
        for (position, (retry, way)) in window.iter().zip(ways).enumerate() {
            if way.waits() {
                let bundle = latest.get(way.routing_key()).and_then(|&bundle| parcels.get_mut(bundle));
                if bundle.is_some_and(|bundle| bundle.takes(position, retry)) {
                    continue;
                }
                latest.insert(way.routing_key(), parcels.len());
            }
            let bytes = retry.message.body.len();
            parcels.push(Self { way, first: (position, retry), others: Vec::new(), bytes });
        }
        parcels
    }

    /// Takes a message in if there is room.
    fn takes(&mut self, position: usize, retry: &'a OutgoingRetry) -> bool {
        let has_room = bundle::has_room(1 + self.others.len(), self.bytes, retry);
        if has_room {
            self.others.push((position, retry));
            self.bytes += retry.message.body.len();
        }
        has_room
    }

    /// What the broker names when it returns it.
    pub const fn id(&self) -> LetterId {
        self.first.1.id
    }

    pub fn positions(&self) -> impl Iterator<Item = usize> {
        self.places().map(|(position, _)| position)
    }

    fn places(&self) -> impl Iterator<Item = Place<'a>> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }

    pub fn contents(&self) -> Result<(BasicProperties, Cow<'a, [u8]>), SessionError> {
        if self.way.waits() {
            let retries: Vec<&OutgoingRetry> = self.places().map(|(_, retry)| retry).collect();
            let (properties, body) = bundle::pack(&retries);
            return Ok((properties, body.into()));
        }
        let message = &self.first.1.message;
        Ok((convert::properties_to_lapin(&message.properties, &message.headers)?, (&*message.body).into()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::{death::Reason, message::Message, retry::Destination, time::Timestamp};

    fn check(destinations: &[Destination], expected: &[&[usize]]) {
        let retries = destinations.iter().cloned().map(|destination| OutgoingRetry {
            id: LetterId::from_uuid(uuid::Uuid::nil()),
            destination,
            reason: Reason::Rejected,
            message: Message::default(),
        });
        let window: Vec<OutgoingRetry> = retries.collect();
        let ways: Vec<Way> = window.iter().map(|retry| Way::to(&retry.destination)).collect();
        let parcels = Parcel::all_of(&window, &ways);
        let positions: Vec<Vec<usize>> = parcels.iter().map(|parcel| parcel.positions().collect()).collect();
        assert_eq!(positions, expected);
    }

    #[test]
    fn only_what_waits_as_long_for_the_same_queue_goes_together() {
        let orders = Destination::straight_to("orders");
        let wait =
            |queue, seconds| Destination::straight_to(queue).after(Duration::from_secs(seconds), Timestamp::default());
        check(&[], &[]);
        check(&[orders.clone(), orders.clone()], &[&[0], &[1]]);
        check(
            &[wait("orders", 1), orders, wait("orders", 2), wait("orders", 1), wait("invoices", 1), wait("orders", 2)],
            &[&[0, 3], &[1], &[2, 5], &[4]],
        );
        let many: Vec<Destination> = vec![wait("orders", 1); 201];
        check(&many, &[&(0..100).collect::<Vec<_>>(), &(100..200).collect::<Vec<_>>(), &[200]]);
    }
}
