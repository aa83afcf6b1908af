//! Dramatiq: rejects to `<queue>.XQ`, and counts its retries in the body.

use serde::Deserialize;

use super::{evidence::Evidence, told::Told};

/// What we need of the body.
#[derive(Deserialize)]
struct Body {
    options: Options,
}

#[derive(Deserialize)]
struct Options {
    retries: u64,
}

/// Its messages have neither headers nor a content type; what gives it away is the key it dead-letters with.
pub(super) fn read(evidence: &Evidence) -> Option<Told> {
    let queue = evidence.message.routing_key.strip_suffix(".XQ")?;
    if queue != evidence.site?.queue {
        return None;
    }
    let body: Body = evidence.body()?;
    Some(Told::attempts(Some(body.options.retries.saturating_add(1))))
}
