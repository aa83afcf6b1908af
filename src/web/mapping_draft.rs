//! A mapping as it comes in by a form or a call.

use super::{draft::Wrong, error::WebError, query::Pairs};
use crate::domain::mapping::{Carrier, Mapping};

/// Which messages a mapping is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub broker: Option<String>,
    pub carrier: Carrier,
    pub pattern: String,
}

impl Target {
    /// Exactly one of the three has to be given.
    pub fn new(
        broker: Option<String>,
        queue: Option<String>,
        exchange: Option<String>,
        routing_key: Option<String>,
    ) -> Result<Self, Wrong> {
        let given = [(Carrier::Queue, queue), (Carrier::Exchange, exchange), (Carrier::RoutingKey, routing_key)];
        let mut given = given.into_iter().filter_map(|(carrier, pattern)| Some((carrier, pattern?)));
        match (given.next(), given.next()) {
            (Some((carrier, pattern)), None) => Ok(Self { broker, carrier, pattern }),
            (None, _) => Err(Wrong::new("queue", "one of queue, exchange and routing_key is needed")),
            (_, Some((carrier, _))) => {
                Err(Wrong::new(carrier.as_str(), "only one of queue, exchange and routing_key can be given"))
            }
        }
    }

    /// From the query of an address.
    pub fn take(pairs: &mut Pairs) -> Result<Self, WebError> {
        let target =
            Self::new(pairs.take("broker")?, pairs.take("queue")?, pairs.take("exchange")?, pairs.take("routing_key")?);
        target.map_err(|Wrong { field, why }| WebError::bad_request(format!("{field}: {why}")))
    }

    pub fn mapping(self, message_type: String) -> Mapping {
        let Self { broker, carrier, pattern } = self;
        Mapping { broker, carrier, pattern, message_type }
    }
}
