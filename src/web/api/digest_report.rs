//! A digest's report as the API shows it.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    domain::digest::{DigestGroup, DigestReport, DigestSection},
    web::view::time::rfc3339,
};

/// Groups of each section; the figures are those of all.
const MOST_GROUPS: usize = 50;

/// What a digest says.
#[derive(Serialize, ToSchema)]
pub struct Report {
    title: String,
    /// When the last digest was made; null for the first one, which is about all there is.
    from: Option<String>,
    until: String,
    /// Whether nothing happened and nothing is stuck.
    quiet: bool,
    /// Open letters of the importances and queues that it is about.
    open: u64,
    open_groups: u64,
    /// Those of them that were received since the last digest.
    new: u64,
    succeeded: u64,
    failed_again: u64,
    /// `new`, `grew`, `stuck` and `succeeded`, as far as there is anything in them.
    sections: Vec<Section>,
}

impl From<&DigestReport> for Report {
    fn from(report: &DigestReport) -> Self {
        Self {
            title: report.name.clone(),
            from: report.period.from.map(rfc3339),
            until: rfc3339(report.period.until),
            quiet: report.is_quiet(),
            open: report.open,
            open_groups: report.open_groups,
            new: report.new_letters,
            succeeded: report.succeeded,
            failed_again: report.failed_again,
            sections: report.sections.iter().map(Section::from).collect(),
        }
    }
}

/// Groups that the same happened to.
#[derive(Serialize, ToSchema)]
pub struct Section {
    kind: &'static str,
    /// How many groups there are, and the letters by which they stand here.
    n_groups: u64,
    letters: u64,
    /// The biggest ones.
    groups: Vec<ReportedGroup>,
}

impl From<&DigestSection> for Section {
    fn from(section: &DigestSection) -> Self {
        Self {
            kind: section.kind.as_str(),
            n_groups: section.n_groups,
            letters: section.letters,
            groups: section.groups.iter().take(MOST_GROUPS).map(ReportedGroup::from).collect(),
        }
    }
}

/// Similar failures, and their outcome since the last digest.
#[derive(Serialize, ToSchema)]
pub struct ReportedGroup {
    id: Uuid,
    importance: &'static str,
    broker: String,
    queue: Option<String>,
    message_type: Option<String>,
    reason: &'static str,
    error: String,
    open: u64,
    new: u64,
    succeeded: u64,
    failed_again: u64,
    first_seen: String,
    last_seen: String,
    oldest_open: Option<String>,
    note: Option<String>,
}

impl From<&DigestGroup> for ReportedGroup {
    fn from(group: &DigestGroup) -> Self {
        Self {
            id: group.id.as_uuid(),
            importance: group.importance.as_str(),
            broker: group.broker.clone(),
            queue: group.queue.clone(),
            message_type: group.message_type.clone(),
            reason: group.reason.as_str(),
            error: group.error.clone(),
            open: group.open,
            new: group.new,
            succeeded: group.succeeded,
            failed_again: group.failed_again,
            first_seen: rfc3339(group.first_seen),
            last_seen: rfc3339(group.last_seen),
            oldest_open: group.oldest_open.map(rfc3339),
            note: group.note.clone(),
        }
    }
}
