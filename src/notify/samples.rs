//! Incidents for tests.

use std::time::Duration;

use amqp_message::{death::Reason, time::Timestamp};

use crate::domain::{
    incident::{Incident, IncidentKind},
    letter::Importance,
};

/// 2026-11-21T10:04:00Z
pub(super) const NOW: Timestamp = Timestamp::from_micros(1_795_255_440_000_000);

pub(super) fn incident() -> Incident {
    Incident {
        key: "group:7f3a".to_owned(),
        kind: IncidentKind::Group,
        title: "orders: 12 dead letters, TimeoutError".to_owned(),
        importance: Importance::Critical,
        broker: "main".to_owned(),
        queue: Some("orders".to_owned()),
        message_type: Some("acme.Order".to_owned()),
        reason: Some(Reason::Rejected),
        error: Some("TimeoutError: no answer from the bank".to_owned()),
        open: 12,
        first_seen: NOW.minus(Duration::from_secs(60)),
        last_seen: NOW,
        opened_at: NOW,
        resolved_at: None,
        href: "http://127.0.0.1:8420/groups/7f3a".to_owned(),
        storm: None,
    }
}

/// One whose messages mean no good.
pub(super) fn hostile() -> Incident {
    let text = "\u{1}\u{202e}🦀\\\"\n".repeat(200_000);
    Incident {
        title: text.clone(),
        queue: Some(text.clone()),
        message_type: Some(text.clone()),
        error: Some(text),
        first_seen: Timestamp::from_micros(i64::MIN),
        last_seen: Timestamp::MAX,
        open: u64::MAX,
        ..incident()
    }
}
