//! php-enqueue: rejects.

use super::{
    evidence::Evidence,
    framework::{Framework, as_it_is},
    report::FrameworkReport,
};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "php-enqueue",
    records: "type",
    retried: "goes back as it is",
    read,
    clean: as_it_is,
    advice: "php-enqueue only rejects; the reason that a processor gives with Result::reject() stays in its log.",
};

fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    let name = evidence.text("enqueue.command").or_else(|| evidence.text("enqueue.topic"))?;
    Some(FrameworkReport::typed(Some(name)))
}
