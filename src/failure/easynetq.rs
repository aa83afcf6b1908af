//! EasyNetQ: publishes an error message of its own, with all there is to know in its body.

use serde::Deserialize;

use super::{evidence::Evidence, told::Told};

/// The wrapper's type; by version `, EasyNetQ` or `:EasyNetQ` follows.
const ERROR_TYPE: &str = "EasyNetQ.SystemMessages.Error";

/// What we need of the body.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Error {
    queue: Option<String>,
    exchange: Option<String>,
    routing_key: Option<String>,
}

pub(super) fn read(evidence: &Evidence) -> Option<Told> {
    let kind = evidence.message.properties.kind.as_deref()?;
    if !kind.starts_with(ERROR_TYPE) {
        return None;
    }
    let Error { queue, exchange, routing_key } = evidence.body().unwrap_or_default();
    Some(Told { queue, exchange, routing_key, ..Told::published() })
}
