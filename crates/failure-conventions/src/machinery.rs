//! Machinery: rejects what it cannot decode, and tasks it does not know.

use serde::{Deserialize, de::IgnoredAny};

use super::{
    evidence::Evidence,
    framework::{Framework, as_it_is},
    report::FrameworkReport,
    site,
};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "Machinery",
    records: "attempts, type",
    retried: "goes back as it is",
    read,
    clean: as_it_is,
    advice: "Machinery acknowledges tasks that fail and keeps the error in its result backend. Only what it cannot decode, \
             and tasks it does not know, come here.",
};

/// The exchange of its default configuration. Nothing else but the body tells its messages apart.
const DEFAULT_EXCHANGE: &str = "machinery_exchange";

/// What makes a body a task.
#[derive(Deserialize)]
struct Signature {
    #[serde(rename = "UUID")]
    _uuid: IgnoredAny,
    #[serde(rename = "Name")]
    name: String,
    #[serde(rename = "RoutingKey")]
    _routing_key: IgnoredAny,
    #[serde(rename = "Args")]
    _args: IgnoredAny,
}

/// A task that can be decoded was rejected for being unknown, and those are put back once before: two for each death.
fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    let death = evidence.site.filter(|death| site::is_refusal(death) && death.exchange == DEFAULT_EXCHANGE)?;
    let Signature { name, .. } = evidence.body()?;
    Some(FrameworkReport { message_type: Some(name), ..FrameworkReport::attempts(Some(death.count.saturating_mul(2))) })
}
