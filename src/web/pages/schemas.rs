//! `/schemas`: what messages are made of; brought, looked through, removed, and said of which messages.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};
use payload_codec::schema::SchemaProblem;

use super::{
    choices::queue_names,
    fragment,
    mapping_form::{MappingForm, Unmapping},
    part::parts,
    redirect::redirect,
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    domain::{
        job::{self, Job, JobState},
        mapping::Mapping,
        schema::{SchemaId, SchemaRecord, SchemaSource},
    },
    services::{
        decoding::catalogue::{Catalogue, TypeEntry},
        schemas::{Delivery, FolderState, SchemaError},
    },
    web::{
        error::WebError,
        input::{FormPairs, QueryPairs, path_id::missing, upload::Files},
        state::AppState,
        view::{
            number,
            schema::{MappingRow, ProblemView, SchemaRow, TypeLink},
            text,
        },
        visitor::CurrentUser,
    },
};

/// Types on the page; the search finds the others.
const MOST_TYPES: usize = 100;
/// Types to choose from in a form; with more the page would be slow to type in.
const MOST_CHOICES: usize = 500;

parts! {
    Part {
        /// The types that are found.
        Types = "types",
        /// How far letters are named anew.
        Naming = "naming",
    }
}

#[derive(Template)]
#[template(path = "schemas/page.html", blocks = ["types", "naming"])]
pub(super) struct SchemasPage {
    pub(super) shell: Shell,
    schemas: Vec<SchemaRow>,
    naming: Option<NamingView>,
    /// Whether to look once more: a change that was just made is noticed a moment later.
    looks_again: bool,
    folder: Option<FolderState>,
    folder_problems: Vec<ProblemView>,
    /// Why the last upload was refused.
    refused: Vec<ProblemView>,
    more_refused: usize,
    name: String,
    q: String,
    types: Vec<TypeRow>,
    /// `73 types`
    found: String,
    /// How many the page does not show.
    hidden: String,
    mappings: Vec<MappingRow>,
    /// The schema and the mapping that are to be removed.
    removing: Option<SchemaRow>,
    pub(super) unmapping: Option<Unmapping>,
    form: MappingForm,
    choices: Vec<String>,
    queues: Vec<String>,
    brokers: Vec<String>,
}

/// Letters whose types are found out anew.
struct NamingView {
    done: u64,
    total: u64,
    /// `1,200 of 54,000 letters`
    words: String,
}

struct TypeRow {
    link: TypeLink,
    /// Without its package.
    last: String,
    package: String,
    schema: String,
    disagrees: bool,
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    QueryPairs(mut pairs): QueryPairs,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let part: Option<Part> = pairs.take_parsed("part")?;
    let q = pairs.take("q")?.unwrap_or_default();
    let (removing, unmaps): (Option<SchemaId>, bool) = (pairs.take_parsed("remove")?, pairs.take("unmap")?.is_some());
    let form = MappingForm::take(&mut pairs)?;
    // As it is there: spaces around what is typed are left out, those of a mapping that came by the API are not.
    let meant = if unmaps { Some(Mapping { pattern: form.pattern.clone(), ..form.mapping()? }) } else { None };
    let mut page = load(&app, q, form).await?;
    page.ask_to_remove(removing)?;
    if let Some(meant) = meant {
        let gone = || WebError::not_found("There is no such mapping.");
        page.unmapping = Some(Unmapping::find(&app.schemas.mappings(), &meant).ok_or_else(gone)?);
    }
    match part {
        Some(Part::Types) => return Ok(fragment::only(page.as_types().render()?)),
        Some(Part::Naming) => {
            page.looks_again = false;
            return Ok(fragment::only(page.as_naming().render()?));
        }
        None => {}
    }
    page.shell.toast = Toast::from_cookie(&headers);
    Ok(fragment::whole(page.render()?, &page.shell))
}

pub async fn upload(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    Files { files, name }: Files,
) -> Result<Response, WebError> {
    let typed = name.clone().unwrap_or_default();
    let delivery = Delivery { files, name, source: SchemaSource::Upload, by: user.clone() };
    match app.schemas.upload(delivery).await {
        Ok(uploaded) => {
            let types = number::plural(uploaded.schema.types().len() as u64, "type");
            let known = if uploaded.was_known { " It was uploaded before, and is current again." } else { "" };
            let problems = uploaded.schema.problems().len() as u64;
            let problems = if problems > 0 {
                format!(" It is incomplete: see {} below.", number::plural(problems, "remark"))
            } else {
                String::new()
            };
            let toast = Toast::done(format!("The schema has {types}.{known}{problems}"));
            Ok(redirect("/schemas", &toast, &headers))
        }
        Err(SchemaError::Invalid(problems)) => refuse(&app, typed, &problems).await,
        Err(SchemaError::Store(error)) => Err(error.into()),
    }
}

/// The page again, with what is wrong beside the form.
async fn refuse(app: &AppState, name: String, problems: &[SchemaProblem]) -> Result<Response, WebError> {
    let mut page = load(app, String::new(), MappingForm::default()).await?;
    page.refused = ProblemView::first(problems);
    page.more_refused = problems.len().saturating_sub(page.refused.len());
    page.name = name;
    Ok(fragment::refused(page.render()?, &page.shell))
}

pub async fn remove(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let id: SchemaId = pairs.need("id")?;
    let name = app.schemas.catalogue().version(id).map(|version| version.record.name.clone());
    let shown = text::name(&name.unwrap_or_default(), 60);
    let toast = if app.schemas.remove(id, &user).await? {
        Toast::done(format!("Removed the schema {shown}. An older version may be current again."))
    } else {
        Toast::failed("There is no such schema any more.")
    };
    Ok(redirect("/schemas", &toast, &headers))
}

pub(super) async fn load(app: &AppState, q: String, form: MappingForm) -> Result<SchemasPage, WebError> {
    let facets = app.store().counts_overall().await?;
    let naming = app.store().latest_job(job::NAME_TYPES).await?;
    let (catalogue, book, now) = (app.schemas.catalogue(), app.schemas.mappings(), app.clock.now());
    let found = catalogue.search(&q);
    let hidden = found.len().saturating_sub(MOST_TYPES) as u64;
    let folder = app.schemas.folder();
    Ok(SchemasPage {
        schemas: catalogue.versions().iter().map(|version| SchemaRow::new(version, &catalogue, now)).collect(),
        folder_problems: folder.iter().flat_map(|folder| ProblemView::first(&folder.problems)).collect(),
        folder,
        naming: naming.filter(|job| job.state == JobState::Running).map(NamingView::new),
        looks_again: true,
        refused: Vec::new(),
        more_refused: 0,
        name: String::new(),
        found: number::plural(found.len() as u64, "type"),
        hidden: if hidden > 0 { number::thousands(hidden) } else { String::new() },
        types: found.into_iter().take(MOST_TYPES).map(|entry| TypeRow::new(entry, &catalogue)).collect(),
        q,
        mappings: book.all().iter().map(|active| MappingRow::new(active, &catalogue, now)).collect(),
        removing: None,
        unmapping: None,
        form,
        choices: catalogue.types().iter().take(MOST_CHOICES).map(|entry| entry.name.clone()).collect(),
        queues: queue_names(&facets),
        brokers: app.brokers.all().iter().map(|broker| broker.name.clone()).collect(),
        shell: Shell::new(app, Page::Schemas, &facets).await?,
    })
}

impl SchemasPage {
    fn ask_to_remove(&mut self, id: Option<SchemaId>) -> Result<(), WebError> {
        let Some(id) = id else { return Ok(()) };
        let place = self.schemas.iter().position(|row| row.id == id).ok_or_else(missing::<SchemaRecord>)?;
        self.removing = Some(self.schemas.remove(place));
        Ok(())
    }
}

impl NamingView {
    fn new(job: Job) -> Self {
        let (done, total) = (number::thousands(job.done), number::plural(job.total, "dead letter"));
        Self { done: job.done, total: job.total, words: format!("{done} of {total}") }
    }
}

impl TypeRow {
    fn new(entry: &TypeEntry, catalogue: &Catalogue) -> Self {
        let (package, last) = entry.name.rsplit_once('.').unwrap_or(("", &entry.name));
        let version = entry.schemas.first().and_then(|id| catalogue.version(*id));
        Self {
            last: last.to_owned(),
            package: package.to_owned(),
            link: TypeLink::new(&entry.name),
            schema: version.map(|version| text::one_line(&version.record.name)).unwrap_or_default(),
            disagrees: entry.disagrees,
        }
    }
}
