//! Machinery: rejects what it cannot decode, and tasks it does not know.

use serde::{Deserialize, de::IgnoredAny};

use super::{evidence::Evidence, site, told::Told};

/// The exchange of its default configuration. Nothing else but the body tells its messages apart.
const DEFAULT_EXCHANGE: &str = "machinery_exchange";

/// What makes a body a task.
#[derive(Deserialize)]
struct Signature {
    #[serde(rename = "UUID")]
    _uuid: IgnoredAny,
    #[serde(rename = "Name")]
    _name: IgnoredAny,
    #[serde(rename = "RoutingKey")]
    _routing_key: IgnoredAny,
    #[serde(rename = "Args")]
    _args: IgnoredAny,
}

/// A task that can be decoded was rejected for being unknown, and those are put back once before: two for each death.
pub(super) fn read(evidence: &Evidence) -> Option<Told> {
    let death = evidence.site.filter(|death| site::is_refusal(death) && death.exchange == DEFAULT_EXCHANGE)?;
    let _: Signature = evidence.body()?;
    Some(Told::attempts(Some(death.count.saturating_mul(2))))
}
