//! Deaths as JSON, with the names they have in `x-death`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{death::Death, time::Timestamp};

/// How a [`Death`] is written: as RabbitMQ sent it, but for the time, which is RFC 3339 in UTC.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Death")]
struct DeathForm {
    count: u64,
    reason: String,
    queue: String,
    #[serde(rename = "time", with = "rfc3339", default)]
    first_at: Option<Timestamp>,
    exchange: String,
    #[serde(rename = "routing-keys", default)]
    routing_keys: Vec<String>,
    #[serde(rename = "original-expiration", skip_serializing_if = "Option::is_none", default)]
    original_expiration: Option<String>,
}

/// A JSON array of them, in the same order.
pub fn deaths_to_json(deaths: &[Death]) -> Value {
    // Cannot fail: it is written to memory, and all keys are strings.
    let form = |death| DeathForm::serialize(death, serde_json::value::Serializer).unwrap_or_default();
    deaths.iter().map(form).collect()
}

/// Reads what [`deaths_to_json`] made.
///
/// # Errors
/// What is wrong with it.
pub fn deaths_from_json(json: &Value) -> Result<Vec<Death>, String> {
    let deaths = json.as_array().ok_or("deaths are a JSON array")?;
    deaths.iter().map(|death| DeathForm::deserialize(death).map_err(|e| e.to_string())).collect()
}

/// Times as RFC 3339; null where there is none, and for those outside its years, which no clock ever showed.
mod rfc3339 {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use crate::time::Timestamp;

    pub fn serialize<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
        let time = time.and_then(|time| jiff::Timestamp::from_microsecond(time.as_micros()).ok());
        time.map(|time| time.to_string()).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
        let Some(text) = Option::<String>::deserialize(deserializer)? else {
            return Ok(None);
        };
        let time: jiff::Timestamp = text.parse().map_err(D::Error::custom)?;
        Ok(Some(Timestamp::from_micros(time.as_microsecond())))
    }
}
