//! CAP: keeps its failures in a table of its own; what is dead-lettered in RabbitMQ has mostly expired.

use super::{
    evidence::Evidence,
    framework::{Framework, as_it_is},
    report::FrameworkReport,
};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "CAP",
    records: "type",
    retried: "goes back as it is",
    read,
    clean: as_it_is,
    advice: "CAP keeps failed messages and their exceptions in its table Received; its dashboard shows them.",
};

fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    evidence.has("cap-msg-id").then(|| FrameworkReport::typed(evidence.text("cap-msg-name")))
}
