//! What is published as one: a message, or a bundle of messages that wait for the same time.

use std::collections::HashMap;

use lapin::BasicProperties;

use super::{SessionError, bundle, convert, routes::Route};
use crate::domain::{letter::LetterId, retry::OutgoingRetry};

/// On its way, with the places its messages have among those that were handed in.
pub(super) struct Publication<'a> {
    pub route: &'a Route<'a>,
    first: Place<'a>,
    others: Vec<Place<'a>>,
    /// The body of a bundle; empty for what does not wait.
    packed: Vec<u8>,
}

type Place<'a> = (usize, &'a OutgoingRetry);

impl<'a> Publication<'a> {
    /// Publications for all of `window`, in its order; `ways` are those of its messages.
    pub fn all_of(window: &'a [OutgoingRetry], routes: &'a [Route<'a>]) -> Vec<Self> {
        let mut publications: Vec<Self> = Vec::new();
        let mut latest: HashMap<&str, usize> = HashMap::new();
        for (position, (retry, route)) in window.iter().zip(routes).enumerate() {
            let mut publication = Self { route, first: (position, retry), others: Vec::new(), packed: Vec::new() };
            if route.waits() {
                publication.packed = bundle::pack(retry);
                let bundle = latest.get(route.routing_key()).and_then(|&bundle| publications.get_mut(bundle));
                if bundle.is_some_and(|bundle| bundle.takes(&publication)) {
                    continue;
                }
                latest.insert(route.routing_key(), publications.len());
            }
            publications.push(publication);
        }
        publications
    }

    /// Takes in what is in another of one message, if there is room.
    fn takes(&mut self, other: &Self) -> bool {
        let has_room = bundle::has_room(1 + self.others.len(), self.packed.len() + other.packed.len());
        if has_room {
            self.others.push(other.first);
            self.packed.extend(&other.packed);
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

    pub fn contents(&self) -> Result<(BasicProperties, &[u8]), SessionError> {
        if self.route.waits() {
            return Ok((bundle::properties(self.first.1, 1 + self.others.len()), &self.packed));
        }
        let message = &self.first.1.message;
        Ok((convert::properties_to_lapin(&message.properties, &message.headers)?, &message.body))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::retry::Destination;
    use amqp_message::{death::Reason, field::FieldValue, message::Message, time::Timestamp};

    fn retry(destination: Destination, message: Message) -> OutgoingRetry {
        OutgoingRetry { id: LetterId::from_uuid(uuid::Uuid::nil()), destination, reason: Reason::Rejected, message }
    }

    fn check(destinations: &[Destination], expected: &[&[usize]]) {
        check_window(destinations.iter().map(|to| retry(to.clone(), Message::default())).collect(), expected);
    }

    fn check_window(window: Vec<OutgoingRetry>, expected: &[&[usize]]) {
        let routes: Vec<Route> = window.iter().map(|retry| Route::to(&retry.destination)).collect();
        let publications = Publication::all_of(&window, &routes);
        let positions: Vec<Vec<usize>> =
            publications.iter().map(|publication| publication.positions().collect()).collect();
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

    /// A broker refuses what is too large, whichever part of it is.
    #[test]
    fn a_bundle_is_bounded_in_bytes() {
        let orders = Destination::straight_to("orders").after(Duration::from_secs(1), Timestamp::default());
        let bodies = |bytes| retry(orders.clone(), Message { body: vec![b'x'; bytes], ..Message::default() });
        check_window(vec![bodies(120_000), bodies(120_000), bodies(120_000), bodies(1)], &[&[0, 1], &[2, 3]]);
        check_window(vec![bodies(1), bodies(1_000_000), bodies(1)], &[&[0], &[1], &[2]]);
        let mut message = Message::default();
        message.headers.set("long", FieldValue::LongString(vec![1; 25_000]));
        let with_header = || retry(orders.clone(), message.clone());
        check_window(vec![with_header(), with_header()], &[&[0], &[1]]);
    }
}
