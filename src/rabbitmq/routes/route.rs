//! Where a message is published so that it gets to its destination.

use std::time::Duration;

use crate::{domain::retry::Destination, rabbitmq::names};

/// The first step of the way to a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::rabbitmq) struct Route<'a> {
    pub target: &'a str,
    pub kept_key: Option<&'a str>,
    pub stop: Hop,
}

/// What stands between us and the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::rabbitmq) enum Hop {
    Nothing,
    /// An exchange of that name.
    Relay(String),
    /// A queue of that name, in a bundle that says where it goes then.
    DelayQueue {
        name: String,
        delay: Duration,
    },
}

impl<'a> Route<'a> {
    pub fn to(destination: &'a Destination) -> Self {
        let (target, kept_key) = (&*destination.queue, destination.routing_key.as_deref());
        let stop = match (names::delay_queue(destination), destination.wait) {
            (Some(name), Some(wait)) => Hop::DelayQueue { name, delay: wait.length },
            _ if kept_key.is_some() => Hop::Relay(names::relay(target)),
            _ => Hop::Nothing,
        };
        Self { target, kept_key, stop }
    }

    pub fn exchange(&self) -> &str {
        match &self.stop {
            Hop::Relay(name) => name,
            Hop::Nothing | Hop::DelayQueue { .. } => "",
        }
    }

    pub fn routing_key(&self) -> &str {
        match (&self.stop, self.kept_key) {
            (Hop::DelayQueue { name, .. }, _) => name,
            (Hop::Relay(_), Some(key)) => key,
            (Hop::Nothing | Hop::Relay(_), _) => self.target,
        }
    }

    pub const fn waits(&self) -> bool {
        matches!(self.stop, Hop::DelayQueue { .. })
    }

    /// What had to be declared for it and may be deleted by others; `None` for what is the target's own.
    pub fn declared(&self) -> Option<&str> {
        match &self.stop {
            Hop::Nothing => None,
            Hop::Relay(name) | Hop::DelayQueue { name, .. } => Some(name),
        }
    }

    /// What it means that a message was returned, in words.
    pub fn dead_end(&self) -> String {
        match &self.stop {
            Hop::DelayQueue { name, .. } => format!("the delay queue {name} was deleted as soon as it was declared"),
            Hop::Nothing | Hop::Relay(_) => format!("there is no queue {}", self.target),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use amqp_message::time::Timestamp;

    fn check(destination: &Destination, exchange: &str, routing_key: &str) {
        let route = Route::to(destination);
        assert_eq!((route.exchange(), route.routing_key()), (exchange, routing_key));
    }

    #[test]
    fn a_kept_key_goes_through_an_exchange() {
        let straight = Destination::straight_to("orders");
        check(&straight, "", "orders");
        check(&straight.clone().with_key("order.placed"), "dlo.to.orders", "order.placed");
        let waiting = straight.after(Duration::from_secs(1), Timestamp::default());
        check(&waiting, "", "dlo.delay.1000.0.orders");
        check(&waiting.with_key("order.placed"), "", "dlo.delay.1000.0.orders");
    }
}
