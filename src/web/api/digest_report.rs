//! A digest's report as the API shows it.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::words;
use crate::{
    domain::digest::{DigestGroup, DigestReport, DigestSection},
    web::view::time::timestamp,
};

/// Groups of each section; the figures are those of all.
const MOST_GROUPS: usize = 50;

/// What a digest says.
#[derive(Serialize, ToSchema)]
pub struct Report {
    title: String,
    /// When the last digest was made; null for the first one, which is about all there is.
    #[schema(format = DateTime)]
    from: Option<String>,
    #[schema(format = DateTime)]
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
            from: report.period.from.map(timestamp),
            until: timestamp(report.period.until),
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
    #[schema(value_type = words::SectionKind)]
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
    #[schema(value_type = words::Importance)]
    importance: &'static str,
    broker: String,
    queue: Option<String>,
    message_type: Option<String>,
    #[schema(value_type = words::Reason)]
    reason: &'static str,
    error: String,
    open: u64,
    new: u64,
    succeeded: u64,
    failed_again: u64,
    #[schema(format = DateTime)]
    first_seen: String,
    #[schema(format = DateTime)]
    last_seen: String,
    #[schema(format = DateTime)]
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
            first_seen: timestamp(group.first_seen),
            last_seen: timestamp(group.last_seen),
            oldest_open: group.oldest_open.map(timestamp),
            note: group.note.clone(),
        }
    }
}
