//! From where somebody asked, beside the name.

use std::net::IpAddr;

use super::{StoreError, letters::rows::parse};
use crate::domain::actor::{Actor, Origin};

/// The way and the address; both are empty where they are not known.
pub(crate) fn written(by: &Actor) -> (&'static str, String) {
    let Some(Origin { via, address }) = by.origin() else { return ("", String::new()) };
    (via.as_str(), address.as_ref().map(IpAddr::to_string).unwrap_or_default())
}

pub(crate) fn read(name: String, via: &str, address: &str) -> Result<Actor, StoreError> {
    let actor = Actor::named(name);
    if via.is_empty() {
        return Ok(actor);
    }
    Ok(actor.asking_from(Origin { via: parse("a way to ask", via)?, address: address.parse().ok() }))
}
