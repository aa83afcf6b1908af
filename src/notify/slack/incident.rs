//! A page as a message, for who is called by Slack.

use serde_json::Value;

use super::{block, clean, envelope};
use crate::domain::{
    incident::{Incident, IncidentEvent, IncidentKind},
    number::plural,
};

const fn title(event: IncidentEvent) -> &'static str {
    match event {
        IncidentEvent::Opened => "Opened",
        IncidentEvent::Reminded => "Still open",
        IncidentEvent::Acknowledged => "Acknowledged",
        IncidentEvent::Updated => "More",
        IncidentEvent::Resolved => "Resolved",
    }
}

/// Characters of what a message brought.
const LONGEST_PLACE: usize = 600;
const LONGEST_ERROR: usize = 1_000;

/// One incident. `since` is when it was opened, as the clock of its readers shows it.
pub fn incident(incident: &Incident, event: IncidentEvent, since: &str) -> Value {
    let title = format!("{}: {}", title(event), incident.title);
    let place: Vec<&str> =
        [&incident.queue, &incident.message_type].into_iter().flatten().map(String::as_str).collect();
    let text = block::plain_lines(&[
        (&place.join(" · "), LONGEST_PLACE),
        (incident.error.as_deref().unwrap_or_default(), LONGEST_ERROR),
    ]);
    let open = match incident.kind {
        IncidentKind::Group | IncidentKind::Storm => format!(", {} open", plural(incident.open, "dead letter")),
        IncidentKind::Watch => String::new(),
    };
    let fields = vec![
        block::markup(format!("*{}*{open}", incident.importance)),
        block::plain(&format!("since {since}"), block::LONGEST_FIELD),
    ];
    let blocks = vec![
        block::header(&title),
        block::section_with_fields(text, fields),
        block::context(block::markup(clean::link(Some(&incident.href), "Open the incident"))),
    ];
    envelope(&format!("{title} ({}{open})", incident.importance), blocks)
}
