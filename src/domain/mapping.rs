//! Which type messages are of, as far as people have said it: by queue, exchange or routing key.

use std::cmp::Reverse;

use amqp_message::{glob::Globs, time::Timestamp, word_enum};

use super::{actor::Actor, derived_id::derived_id};

word_enum! {
    /// By what a mapping knows its messages.
    Carrier, "carrier of a type" {
        Queue = "queue",
        Exchange = "exchange",
        RoutingKey = "routing_key",
    }
}

/// Messages that come by something carry this type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Only on this broker.
    pub broker: Option<String>,
    pub carrier: Carrier,
    /// A name or a glob.
    pub pattern: String,
    /// Full name of the message type. It may become known later.
    pub message_type: String,
}

impl Mapping {
    /// All that is wrong with it, and with which of its fields.
    pub fn mistakes(&self) -> Vec<(&'static str, String)> {
        /// The longest name of a queue, an exchange or a routing key in AMQP, in bytes.
        const LONGEST: usize = 255;
        /// The longest name of a type that a schema may have, in bytes.
        const LONGEST_TYPE: usize = 1_024;
        let (pattern, mut mistakes) = (&self.pattern, Vec::new());
        if pattern.trim().is_empty() || pattern.len() > LONGEST || pattern.contains('\0') {
            mistakes
                .push((self.carrier.as_str(), "it takes a name of 1 to 255 bytes, or a glob like texts.*".to_owned()));
        }
        let is_part = |part: &str| {
            !part.is_empty()
                && !part.starts_with(|c: char| c.is_ascii_digit())
                && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if self.message_type.len() > LONGEST_TYPE || !self.message_type.split('.').all(is_part) {
            mistakes
                .push(("message_type", "it takes the full name of a message type, like acme.texts.v1.Text".to_owned()));
        }
        mistakes
    }

    /// What it is known by: follows from where and by what its messages come.
    pub fn id(&self) -> MappingId {
        MappingId::of(&("mapping", &self.broker, self.carrier, &self.pattern))
    }

    /// A very name before any glob; a routing key says more than a queue, and that more than an exchange; then the
    /// longer glob, then one for a single broker.
    fn specificity(&self) -> (bool, Reverse<u8>, usize, bool) {
        let literal = self.pattern.chars().filter(|c| !matches!(c, '*' | '?')).count();
        let is_name = literal == self.pattern.chars().count();
        let rank = match self.carrier {
            Carrier::RoutingKey => 0,
            Carrier::Queue => 1,
            Carrier::Exchange => 2,
        };
        (is_name, Reverse(rank), literal, self.broker.is_some())
    }
}

derived_id! {
    /// The id of a mapping.
    MappingId
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveMapping {
    pub mapping: Mapping,
    pub by: Actor,
    pub at: Timestamp,
}

/// The way a message came.
#[derive(Clone, Copy, Debug)]
pub struct Route<'a> {
    pub broker: &'a str,
    pub queue: Option<&'a str>,
    pub exchange: &'a str,
    pub routing_key: &'a str,
}

/// All mappings, the most specific first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MappingBook {
    mappings: Vec<ActiveMapping>,
    globs: Vec<Globs>,
}

impl MappingBook {
    pub fn new(mut mappings: Vec<ActiveMapping>) -> Self {
        mappings.sort_by_cached_key(|active| {
            (Reverse(active.mapping.specificity()), active.mapping.pattern.clone(), active.mapping.broker.clone())
        });
        let globs = mappings.iter().map(|active| Globs::new(std::slice::from_ref(&active.mapping.pattern)));
        Self { globs: globs.collect(), mappings }
    }

    pub fn all(&self) -> &[ActiveMapping] {
        &self.mappings
    }

    /// The mapping that says of which type a message is that came so.
    pub fn find(&self, route: &Route<'_>) -> Option<&ActiveMapping> {
        let applies = |(active, glob): &(&ActiveMapping, &Globs)| {
            let mapping = &active.mapping;
            let carrier = match mapping.carrier {
                Carrier::Queue => route.queue,
                Carrier::Exchange => Some(route.exchange),
                Carrier::RoutingKey => Some(route.routing_key),
            };
            mapping.broker.as_deref().is_none_or(|broker| broker == route.broker)
                && carrier.is_some_and(|name| glob.matches(name))
        };
        self.mappings.iter().zip(&self.globs).find(applies).map(|(active, _)| active)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(carrier: Carrier, pattern: &str, message_type: &str) -> Mapping {
        Mapping { broker: None, carrier, pattern: pattern.to_owned(), message_type: message_type.to_owned() }
    }

    #[test]
    fn the_most_specific_says_the_type() {
        let on_other = Mapping { broker: Some("other".to_owned()), ..mapping(Carrier::Queue, "texts.*", "t.Other") };
        let all = [
            mapping(Carrier::Exchange, "events", "t.Event"),
            mapping(Carrier::Queue, "texts.*", "t.Text"),
            mapping(Carrier::Queue, "texts.eu.*", "t.EuText"),
            mapping(Carrier::RoutingKey, "text.*", "t.Routed"),
            mapping(Carrier::Queue, "texts.eu.sms", "t.Sms"),
            on_other,
        ];
        let active = |mapping| ActiveMapping { mapping, by: Actor::local(), at: Timestamp::default() };
        let book = MappingBook::new(all.map(active).into());
        let check = |broker, queue, exchange, routing_key, expected| {
            let route = Route { broker, queue, exchange, routing_key };
            let found = book.find(&route).map(|found| &*found.mapping.message_type);
            assert_eq!(found, expected, "{route:?}");
        };
        check("main", Some("texts.us"), "", "", Some("t.Text"));
        check("other", Some("texts.us"), "", "", Some("t.Other"));
        check("main", Some("texts.eu.mms"), "", "", Some("t.EuText"));
        check("main", Some("texts.eu.sms"), "", "text.new", Some("t.Sms"));
        check("main", Some("texts.eu.mms"), "", "text.new", Some("t.Routed"));
        check("main", None, "events", "x", Some("t.Event"));
        check("main", None, "", "texts.us", None);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_field() {
        let check = |mapping: Mapping, field: Option<&str>| {
            assert_eq!(mapping.mistakes().first().map(|(field, _)| *field), field, "{mapping:?}");
        };
        check(mapping(Carrier::Queue, "a", "acme.A"), None);
        check(mapping(Carrier::Queue, "a", "A_1"), None);
        check(mapping(Carrier::RoutingKey, "", "acme.A"), Some("routing_key"));
        check(mapping(Carrier::Exchange, &"x".repeat(256), "acme.A"), Some("exchange"));
        check(mapping(Carrier::Queue, "a", ""), Some("message_type"));
        check(mapping(Carrier::Queue, "a", "acme..A"), Some("message_type"));
        check(mapping(Carrier::Queue, "a", ".acme.A"), Some("message_type"));
        check(mapping(Carrier::Queue, "a", "1.A"), Some("message_type"));
    }
}
