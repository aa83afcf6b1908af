//! What one retry of all letters of a list or group would meet, and make of them, shown while it is being filled in.

use amqp_message::time::Timestamp;
use askama::Template;
use axum::response::Response;
use payload_codec::{diff::Hunk, json::MergePatch};

use super::{fragment, letter_links::page_of, part::parts};
use crate::{
    domain::{access::Right, actor::Actor, filter::LetterFilter},
    services::triage::edit_preview::PreviewedEdit,
    web::{
        error::WebError,
        orders::letters::take_queue,
        query::Pairs,
        state::AppState,
        view::{number, preflight::PreflightView, text},
        visitor::Visitor,
    },
};

parts! {
    pub BulkPart {
        /// What an edit makes of the first of them.
        Edit = "edit",
        /// What is known of the queues that they would go to.
        Preflight = "preflight",
    }
}

#[derive(Template)]
#[template(path = "_preflight.html")]
struct PreflightPart {
    preflight: PreflightView,
}

#[derive(Template, Default)]
#[template(path = "_edit_preview.html")]
struct EditPreview {
    /// Why it is no edit.
    mistake: String,
    /// `8 of the first 10 can be edited.`
    told: String,
    /// Why others cannot, and how many.
    refused: Vec<(String, usize)>,
    letters: Vec<EditedLetter>,
}

struct EditedLetter {
    href: String,
    /// `orders: 019a8b7c-…`
    title: String,
    hunks: Vec<Hunk>,
    is_hidden_only: bool,
    problems: Vec<String>,
}

/// When it was asked: later ones are not meant.
pub fn take_until(pairs: &mut Pairs) -> Result<Timestamp, WebError> {
    let until: Option<i64> = pairs.take_parsed("until")?;
    until.map(Timestamp::from_micros).ok_or_else(|| WebError::bad_request("until is needed: ask on the page first"))
}

/// What is asked for of those that the filter lets through and that came in until then.
pub async fn preview(
    app: &AppState,
    part: BulkPart,
    (filter, until): (&LetterFilter, Timestamp),
    pairs: &mut Pairs,
    by: &Actor,
) -> Result<Response, WebError> {
    let queue = take_queue(pairs)?.filter(|queue| !queue.is_empty());
    let html = match part {
        BulkPart::Edit => edit_preview(app, (filter, until), pairs, queue.as_deref(), by).await?.render()?,
        BulkPart::Preflight => {
            let times = [until, app.clock.now().minus(app.settings.succeeded_after)];
            let preflight = app.triage.preflight(filter, times, queue.as_deref(), by).await?;
            PreflightPart { preflight: PreflightView::new(&preflight) }.render()?
        }
    };
    Ok(fragment::only(html))
}

/// What is typed would make of the first letters that are meant.
async fn edit_preview(
    app: &AppState,
    (filter, until): (&LetterFilter, Timestamp),
    pairs: &mut Pairs,
    queue: Option<&str>,
    by: &Actor,
) -> Result<EditPreview, WebError> {
    Visitor::need(Right::Payload)?;
    let typed = pairs.take("merge_patch")?.unwrap_or_default();
    Ok(match MergePatch::read(&typed) {
        _ if typed.trim().is_empty() => EditPreview { told: "No edit.".to_owned(), ..EditPreview::default() },
        Err(mistake) => EditPreview { mistake: mistake.to_string(), ..EditPreview::default() },
        Ok(patch) => EditPreview::new(app.triage.preview_edit(filter, until, &patch, queue, by).await?),
    })
}

impl EditPreview {
    fn new(previews: Vec<PreviewedEdit>) -> Self {
        let editable = previews.iter().filter(|preview| preview.change.is_ok()).count();
        let first = number::plural(previews.len() as u64, "dead letter");
        let mut refused: Vec<(String, usize)> = Vec::new();
        for why in previews.iter().filter_map(|preview| preview.change.as_ref().err()).map(|no| &no.why) {
            match refused.iter_mut().find(|(known, _)| known == why) {
                Some((_, letters)) => *letters += 1,
                None => refused.push((why.clone(), 1)),
            }
        }
        Self {
            mistake: String::new(),
            told: format!("{editable} of the first {first} can be edited."),
            refused,
            letters: previews.into_iter().filter_map(EditedLetter::new).collect(),
        }
    }
}

impl EditedLetter {
    /// None where there is nothing to show.
    fn new(preview: PreviewedEdit) -> Option<Self> {
        let is_edited = preview.change.is_ok();
        let (hunks, problems) = match preview.change {
            Ok(change) => (change.hunks, Vec::new()),
            Err(no) => (Vec::new(), no.details.iter().map(|problem| text::one_line(&problem.to_string())).collect()),
        };
        let queue = preview.queue.as_deref().map(|queue| format!("{}: ", text::one_line(queue))).unwrap_or_default();
        let is_hidden_only = is_edited && hunks.is_empty();
        Some(Self {
            href: page_of(preview.letter, None),
            title: format!("{queue}{}", preview.letter),
            is_hidden_only,
            hunks,
            problems,
        })
    }
}
