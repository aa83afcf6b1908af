//! Nameko: acknowledges what fails; what comes here has expired or was rejected by an extension.

use super::{
    evidence::Evidence,
    framework::{Framework, as_it_is},
    report::FrameworkReport,
};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "Nameko",
    records: "nothing beside its deaths",
    retried: "goes back as it is",
    read,
    clean: as_it_is,
    advice: "Nameko stamps nothing on a message. Its header nameko.call_id_stack leads to the exception in its log.",
};

fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    evidence.message.headers.iter().any(|(name, _)| name.starts_with("nameko.")).then(FrameworkReport::default)
}
