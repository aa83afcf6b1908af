//! `/groups/{id}`: one group, and what can be done with all of it.

use std::sync::Arc;

use amqp_message::time::Timestamp;
use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    bulk_action::{self, Asked, BulkAction, BulkTarget, Confirmation, Confirmed},
    bulk_preview,
    choices::{Choice, queue_names},
    fragment::{self, answer},
    group_buttons::{AskButton, actions, assignees, confirmation_href},
    group_charts::GroupCharts,
    group_moved::answer_elsewhere,
    letter_links::page_of,
    part::GroupPart,
    redirect::redirect,
    shell::{Page, Shell},
    toast::Toast,
    visit,
};
use crate::{
    domain::{
        access::Right,
        actor::Actor,
        command::Command,
        filter::{LetterCounts, LetterFilter, PageRequest, Sort},
        group::{Group, GroupId, Note},
        job::Bulk,
        letter::{Importance, LetterSummary, Status},
        version::{Changed, Expected, Version},
    },
    store::ChangeError,
    web::{
        error::WebError,
        input::{
            FormPairs,
            path_id::{PathId, missing},
        },
        orders::letters::{Action, read_note},
        query::{LetterQuery, Listed, came_from::CameFrom},
        shared::marks::before_group,
        state::AppState,
        view::{
            conflict::ConflictView,
            group::{GroupView, Title, href},
            group_part::PartView,
            mark::Began,
            merged::MergedView,
            number,
            preflight::PreflightView,
            report,
            row::Row,
        },
        visitor::{CurrentUser, Visitor},
    },
};

type Visit = visit::Visit<Asked, GroupPart>;

/// Letters that are shown; the list has all of them.
const LETTERS: usize = 8;

#[derive(Template)]
#[template(path = "group/page.html", blocks = ["title", "main", "nav", "state"])]
struct GroupPage {
    shell: Shell,
    group: GroupView,
    note: NoteForm,
    /// Where forms lead back to.
    here: String,
    /// Who can have it.
    assignees: Vec<Choice>,
    actions: Vec<AskButton>,
    importances: &'static [Importance],
    /// How many letters are open, as a button says it; empty where there are none.
    n_open: String,
    /// What comes in after this is left alone, in microseconds since the epoch.
    until: i64,
    confirmation: Option<Confirmation>,
    charts: GroupCharts,
    /// What happened shortly before it began.
    began: Vec<Began>,
    letters: Vec<Row>,
    /// Where the page asks what they have in common.
    in_common: String,
    all_letters: String,
    /// Offered where a retry has to name a queue.
    queues: Vec<String>,
    succeeded_after: String,
    /// What is part of it.
    merged: Vec<MergedView>,
    /// The group that it is a part of, where that was split.
    part_of: Option<String>,
    /// Into which parts it was split.
    group_parts: Vec<PartView>,
}

/// The form for the note.
struct NoteForm {
    text: String,
    /// The version of the note that is shown.
    version: Version,
    /// What somebody else has written meanwhile.
    conflict: Option<ConflictView>,
}

impl NoteForm {
    fn new(note: Option<&Note>) -> Self {
        let text = note.map(|note| note.text.clone()).unwrap_or_default();
        Self { text, version: Version::of_perhaps(note), conflict: None }
    }

    /// What was typed, and what somebody else has written. To save it again replaces that.
    fn overtaken(text: String, changed: &Changed<Note>, now: Timestamp) -> Self {
        let conflict = Some(ConflictView::new(changed, now));
        Self { text, version: Version::of_perhaps(changed.0.as_deref()), conflict }
    }
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Group>,
    visit: Visit,
) -> Result<Response, WebError> {
    if let Some(elsewhere) = answer_elsewhere(&app, id, visit.part).await? {
        return Ok(elsewhere);
    }
    let page = load(&app, id, &visit, &user).await?;
    Ok(answer!(page, visit.part, GroupPart::Main => main, GroupPart::State => only as_state))
}

/// Does one thing with all letters of a group that have the status which that takes, and that came in before it was asked.
pub async fn act(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Group>,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    need(&app, id).await?;
    if let Some(part) = pairs.take_parsed("part")? {
        let until = bulk_preview::take_until(&mut pairs)?;
        return bulk_preview::preview(&app, part, (&of_group(id, Status::Open), until), &mut pairs, &user).await;
    }
    let Confirmed { command, until, edit, pacing } = Confirmed::take(&mut pairs, Action::OF_MANY, &app)?;
    let status = if command == Command::Reopen { Status::Discarded } else { Status::Open };
    let filter = of_group(id, status);
    let bulk = Bulk { filter, until, left: None, command, edit, pacing, by: user.clone() };
    let (to, toast) = bulk_action::carry_out_from(&app, bulk, &href(id)).await?;
    Ok(redirect(&to, &toast, &headers))
}

/// Sets the note of a group; an empty one removes it.
pub async fn note(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Group>,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    need(&app, id).await?;
    let typed = pairs.take("note")?.unwrap_or_default();
    let note = Command::SetNote(read_note(&typed)?.to_owned());
    let seen = pairs.take("version")?.map(Version::told);
    let expected = seen.map_or(Expected::Anything, |version| Expected::OneOf(vec![version]));
    match app.triage.set_group_note(id, &note.detail(), &expected, &user).await {
        Ok(true) => {}
        Ok(false) => return Err(missing::<Group>()),
        Err(ChangeError::Changed(changed)) => {
            let mut page = load(&app, id, &Visit::default(), &user).await?;
            page.note = NoteForm::overtaken(typed, &changed, app.clock.now());
            return Ok(fragment::conflicting(page.render()?, &page.shell));
        }
        Err(ChangeError::Store(error)) => return Err(error.into()),
    }
    Ok(redirect(&href(id), &Toast::done(report::done(&note, None, 1)), &headers))
}

/// Refuses who may not act on a group, or does not see it.
pub(in crate::web) async fn need(app: &AppState, id: GroupId) -> Result<(), WebError> {
    let group = app.store().groups_by_id(&[id]).await?.pop().ok_or_else(missing::<Group>)?;
    Visitor::looks_at_queue(&group.key.broker, group.key.queue.as_deref());
    Visitor::need(Right::Act)
}

const fn status_of(all: BulkAction) -> Status {
    match all {
        BulkAction::Retry | BulkAction::Discard | BulkAction::Importance => Status::Open,
        BulkAction::Reopen => Status::Discarded,
    }
}

async fn load(app: &AppState, id: GroupId, visit: &Visit, by: &Actor) -> Result<GroupPage, WebError> {
    let now = app.clock.now();
    let letters = LetterFilter { groups: vec![id], ..LetterFilter::default() };
    let newest = PageRequest { sort: Sort::Newest, after: None, limit: LETTERS };
    let store = app.store();
    let (group, hours, mut page, facets, merged, parts) = tokio::try_join!(
        store.group(id, now.minus(app.settings.succeeded_after)),
        store.group_hours(std::slice::from_ref(&id), GroupCharts::fortnight(now).from),
        store.letters(&letters, &newest),
        store.counts_overall(),
        store.merged_from(id),
        store.parts_of(id),
    )?;
    let group = group.ok_or_else(missing::<Group>)?;
    Visitor::looks_at_queue(&group.key.broker, group.key.queue.as_deref());
    app.reader.hide_in_lists(&mut page.items).await;
    let hours = hours.get(&id).map(Vec::as_slice).unwrap_or_default();
    let bulk_action = visit.query.all;
    let here = bulk_action.map_or_else(|| href(id), |all| confirmation_href(id, all));
    let shell = visit.at(here, Shell::new(app, Page::Groups, &facets).await?);
    Ok(GroupPage {
        note: NoteForm::new(group.note.as_ref()),
        here: href(id),
        assignees: assignees(app, by, &group).await?,
        actions: actions(&group),
        n_open: if group.n_open() > 0 { number::thousands(group.n_open()) } else { String::new() },
        until: now.as_micros(),
        confirmation: match bulk_action.filter(|all| group.of_status(status_of(*all)) > 0) {
            Some(all) => Some(confirmation(app, all, &group, now, by).await?),
            None => None,
        },
        charts: GroupCharts::load(app, &group, hours, now).await?,
        began: before_group(app, &group).await?,
        letters: page.items.iter().map(|letter| row(letter, id, now)).collect(),
        all_letters: LetterQuery::all_of_group(id).href(),
        in_common: format!("{}/in-common", href(id)),
        queues: queues_to_name(&group, &facets),
        part_of: group.key.part.as_ref().map(|part| part.of.to_string()),
        group_parts: parts.iter().map(PartView::new).collect(),
        group: GroupView::new(&group, &app.policies.book(), now),
        importances: Importance::ALL,
        succeeded_after: number::span(app.settings.succeeded_after),
        merged: merged.iter().map(|merged| MergedView::new(merged, now)).collect(),
        shell,
    })
}

async fn confirmation(
    app: &AppState,
    all: BulkAction,
    group: &Group,
    now: Timestamp,
    by: &Actor,
) -> Result<Confirmation, WebError> {
    let status = status_of(all);
    let whole = BulkTarget {
        status,
        count: group.of_status(status),
        of: Title::new(&group.key).with_error(),
        needs_queue: group.key.queue.is_none(),
        post: format!("{}/all", href(group.id)),
        fields: Vec::new(),
        until: now.as_micros(),
        cancel: href(group.id),
        importances: Importance::ALL,
    };
    if all != BulkAction::Retry {
        return Ok(Confirmation::new(all, whole));
    }
    let filter = of_group(group.id, status);
    let preflight = app.triage.preflight(&filter, [now, now.minus(app.settings.succeeded_after)], None, by).await?;
    Ok(Confirmation { preflight: Some(PreflightView::new(&preflight)), ..Confirmation::new(all, whole) })
}

/// Its letters of one status.
fn of_group(id: GroupId, status: Status) -> LetterFilter {
    LetterFilter { statuses: vec![status], groups: vec![id], ..LetterFilter::default() }
}

fn queues_to_name(group: &Group, facets: &LetterCounts) -> Vec<String> {
    if group.key.queue.is_none() { queue_names(facets) } else { Vec::new() }
}

fn row(letter: &LetterSummary, group: GroupId, now: Timestamp) -> Row {
    Row::new(letter, page_of(letter.id, Some(&CameFrom::Group(group))), false, now)
}
