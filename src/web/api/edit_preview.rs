//! What one edit makes of the first of many letters, in the API.

use payload_codec::diff::{Hunk, Line};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::services::triage::edit_preview::PreviewedEdit;

/// What `merge_patch` makes of the first ten letters.
#[derive(Serialize, ToSchema)]
pub struct EditPreview {
    /// Letters that were looked at.
    letters_tried: usize,
    /// Those of them that can be edited so.
    editable: usize,
    letters: Vec<PreviewedLetter>,
}

/// What becomes of one of them.
#[derive(Serialize, ToSchema)]
pub struct PreviewedLetter {
    id: Uuid,
    queue: Option<String>,
    /// What changes in what is shown of its payload, with three lines around it: each line begins with `-`, `+` or a space.
    /// Empty where only hidden values are set; null where it cannot be edited.
    diff: Option<String>,
    /// Why it cannot be edited.
    why_not: Option<String>,
    /// What is wrong in what the patch makes of it, one sentence each.
    problems: Vec<String>,
}

impl EditPreview {
    pub fn new(previews: Vec<PreviewedEdit>) -> Self {
        Self {
            letters_tried: previews.len(),
            editable: previews.iter().filter(|preview| preview.change.is_ok()).count(),
            letters: previews.into_iter().map(PreviewedLetter::new).collect(),
        }
    }
}

impl PreviewedLetter {
    fn new(preview: PreviewedEdit) -> Self {
        let (diff, why_not, problems) = match preview.change {
            Ok(change) => (Some(text(&change.hunks)), None, Vec::new()),
            Err(no) => (None, Some(no.why), no.details.iter().map(ToString::to_string).collect()),
        };
        Self { id: preview.letter.as_uuid(), queue: preview.queue, diff, why_not, problems }
    }
}

/// As `diff -u` shows it, without where it stands.
fn text(hunks: &[Hunk]) -> String {
    let lines = hunks.iter().flat_map(|hunk| &hunk.lines);
    let written = lines.map(|line| match line {
        Line::Context(text) => format!(" {text}\n"),
        Line::Removed(text) => format!("-{text}\n"),
        Line::Added(text) => format!("+{text}\n"),
    });
    written.collect()
}
