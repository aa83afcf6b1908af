//! Times and people as they are kept with a group: microseconds since the epoch, and names.

use amqp_message::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::domain::actor::Actor;

pub mod micros {
    use super::*;

    pub fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        at.as_micros().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(deserializer).map(Timestamp::from_micros)
    }
}

pub mod name {
    use super::*;

    pub fn serialize<S: Serializer>(by: &Actor, serializer: S) -> Result<S::Ok, S::Error> {
        by.as_str().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Actor, D::Error> {
        String::deserialize(deserializer).map(Actor::named)
    }
}

/// Who, and when.
pub mod set {
    use super::*;

    pub fn serialize<S: Serializer>(set: &Option<(Actor, Timestamp)>, serializer: S) -> Result<S::Ok, S::Error> {
        set.as_ref().map(|(by, at)| (by.as_str(), at.as_micros())).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<(Actor, Timestamp)>, D::Error> {
        let set = Option::<(String, i64)>::deserialize(deserializer)?;
        Ok(set.map(|(by, at)| (Actor::named(by), Timestamp::from_micros(at))))
    }
}
