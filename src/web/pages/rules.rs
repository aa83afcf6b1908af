//! `/rules`: what says how important letters are; seen, tried and written.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use uuid::Uuid;

use super::{
    fragment,
    part::parts,
    rule_form::{PlaceChoice, RuleForm},
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    domain::{
        activity::{ActivityFilter, Area},
        filter::LetterFilter,
        job::{self, Job, JobState},
        letter::Status,
        rule::{ActiveRule, RuleId},
        rule_order::RuleOrder,
        version::{Version, Versioned},
    },
    services::rules::RuleError,
    web::{
        error::WebError,
        htmx::is_htmx,
        input::{FormPairs, QueryPairs},
        orders::policy::Wrong,
        state::AppState,
        view::{
            conflict::ConflictView,
            number,
            rule::{ChangeRow, MistakeView, RuleRow},
            rule_help::{Example, examples},
            tally::Tally,
            text,
            trial::TrialView,
        },
    },
};

/// Changes on the page.
const CHANGES: usize = 20;

parts! {
    Part {
        /// How far the rules are applied.
        Applying = "applying",
    }
}

#[derive(Template)]
#[template(path = "rules/page.html", blocks = ["preview", "applying"])]
pub(super) struct RulesPage {
    pub(super) shell: Shell,
    /// Where the rules stand in a file: which, and why it cannot be read as it is.
    file: Option<String>,
    file_problem: String,
    rules: Vec<RuleRow>,
    /// The version of their order.
    order: Version,
    /// What it means that somebody else has put them into this order meanwhile; empty where nobody has.
    pub(super) reordered: &'static str,
    /// A rule that the address names and that is not there; empty where there is none.
    gone: String,
    /// The rule that is to be removed.
    removing: Option<RuleRow>,
    /// What somebody else has made of that one since it was asked about.
    pub(super) conflict: Option<ConflictView>,
    applying: Option<Applying>,
    /// `1,204 open or waiting letters`: those that rules are applied to; empty where there are none.
    undecided: String,
    form: RuleForm,
    /// What the rule is called that is changed; empty for a new one.
    changed: String,
    places: Vec<PlaceChoice>,
    pub(super) preview: Preview,
    fields: &'static [(&'static str, &'static str)],
    examples: Vec<Example>,
    changes: Vec<ChangeRow>,
}

/// What the rule in the form would do.
pub(super) enum Preview {
    /// Nothing is written yet.
    Empty,
    /// It is about to be asked for.
    Awaited,
    /// What is wrong with the expression stands beside it, and not once more here.
    Refused,
    Wrong(Wrong),
    Mistakes(Vec<MistakeView>),
    Tried(TrialView),
}

/// Rules that are applied to letters that are here already, or were just now.
struct Applying {
    id: Uuid,
    done: u64,
    total: u64,
    /// `1,200 of 54,000 letters`
    words: String,
    /// Its result; empty as long as it goes on.
    ended: String,
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    QueryPairs(mut pairs): QueryPairs,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let part: Option<Part> = pairs.take_parsed("part")?;
    let (job, removing, meant) = (pairs.take_parsed("job")?, pairs.take_parsed("remove")?, pairs.take("rule")?);
    let form = RuleForm::take(&mut pairs)?;
    let form = form.filled(&app.rules.in_force())?;
    let mut page = load(&app, form).await?;
    if part.is_some() {
        page.applying = applying(&app, job).await?;
        return Ok(fragment::only(page.as_applying().render()?));
    }
    page.mean(meant.as_deref());
    page.ask_to_remove(removing)?;
    page.shell.toast = Toast::from_cookie(&headers);
    Ok(fragment::whole(page.render()?, &page.shell))
}

/// Tries what stands in the form. Only that part of the page is sent to htmx.
pub async fn check(
    State(app): State<Arc<AppState>>,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let form = RuleForm::take(&mut pairs)?;
    let preview = try_out(&app, &form).await?;
    let page = RulesPage { preview, ..load(&app, form).await? };
    if is_htmx(&headers) {
        return Ok(fragment::only(page.as_preview().render()?));
    }
    Ok(fragment::whole(page.render()?, &page.shell).into_response())
}

async fn try_out(app: &AppState, form: &RuleForm) -> Result<Preview, WebError> {
    if form.expression.trim().is_empty() {
        return Ok(Preview::Empty);
    }
    let draft = match form.draft() {
        Ok(draft) => draft,
        Err(wrong) => return Ok(Preview::Wrong(wrong)),
    };
    match app.rules.try_draft(&app.reader, &draft).await {
        Ok(trial) => Ok(Preview::Tried(TrialView::new(&trial))),
        Err(RuleError::Expression(mistakes)) => {
            Ok(Preview::Mistakes(MistakeView::all(&mistakes, &draft.rule.expression)))
        }
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn load(app: &AppState, form: RuleForm) -> Result<RulesPage, WebError> {
    let filter = ActivityFilter { areas: vec![Area::Rules], ..ActivityFilter::default() };
    let (store, bulk_action) = (&app.store(), LetterFilter::default());
    let (facets, failures, changes) = tokio::try_join!(
        store.letter_counts(&bulk_action),
        app.rule_failures(),
        store.activity(&filter, None, CHANGES)
    )?;
    let (book, now) = (app.rules.in_force(), app.clock.now());
    let form = form.in_order(&book);
    let tally = Tally::new(&facets, &bulk_action);
    let undecided = tally.of_status(Status::Open) + tally.of_status(Status::Scheduled);
    let row = |(place, active): (usize, &ActiveRule)| {
        RuleRow::new(&book, place, active, failures.get(&active.rule.name), now)
    };
    let changed = form.id.and_then(|id| book.find(id)).map(|active| text::one_line(&active.rule.name));
    Ok(RulesPage {
        file: app.rules.file().map(|file| text::one_line(&file.display().to_string())),
        file_problem: app.rules.problem().map(|why| text::visible(&why).into_owned()).unwrap_or_default(),
        rules: book.active().iter().enumerate().map(row).collect(),
        order: RuleOrder::of(book.active()).version(),
        reordered: "",
        gone: String::new(),
        removing: None,
        conflict: None,
        applying: applying(app, None).await?,
        undecided: if undecided > 0 {
            number::plural(undecided, "open or scheduled dead letter")
        } else {
            String::new()
        },
        places: form.places(&book),
        preview: preview_of(&form),
        changed: changed.unwrap_or_default(),
        form,
        fields: &rule_language::FIELDS,
        examples: examples(),
        changes: changes.iter().map(|entry| ChangeRow::new(entry, now)).collect(),
        shell: Shell::new(app, Page::Rules, &facets).await?,
    })
}

fn preview_of(form: &RuleForm) -> Preview {
    match form {
        RuleForm { expression, .. } if expression.is_empty() => Preview::Empty,
        RuleForm { mistakes, .. } if !mistakes.is_empty() => Preview::Refused,
        _ => Preview::Awaited,
    }
}

/// The job that goes on or, where somebody has watched it until now, its result.
async fn applying(app: &AppState, watched: Option<Uuid>) -> Result<Option<Applying>, WebError> {
    let latest = app.store().latest_job(job::APPLY_RULES).await?;
    let goes_on = |job: &Job| matches!(job.state, JobState::Queued | JobState::Running);
    Ok(latest.filter(|job| goes_on(job) || watched == Some(job.id)).map(|job| Applying::new(&job)))
}

impl Applying {
    fn new(job: &Job) -> Self {
        let (done, total) = (number::thousands(job.done), number::plural(job.total, "dead letter"));
        Self {
            id: job.id,
            done: job.done,
            total: job.total,
            words: format!("{done} of {total}"),
            ended: match job.state {
                JobState::Queued | JobState::Running | JobState::Paused => String::new(),
                JobState::Cancelled | JobState::Stopped => {
                    format!("Applying the rules was stopped after {done} of {total}.")
                }
                JobState::Done | JobState::Failed => {
                    format!("The rules were applied to {}.", number::plural(job.done, "dead letter"))
                }
            },
        }
    }
}

impl RulesPage {
    /// Marks the rule that somebody comes for by its name.
    fn mean(&mut self, name: Option<&str>) {
        let Some(name) = name.map(text::one_line) else { return };
        match self.rules.iter_mut().find(|row| row.name == name) {
            Some(row) => row.is_meant = true,
            None => self.gone = text::shortened(&name, 100),
        }
    }

    pub(super) fn ask_to_remove(&mut self, id: Option<RuleId>) -> Result<(), WebError> {
        let Some(id) = id.map(|id| id.to_string()) else { return Ok(()) };
        let place = self.rules.iter().position(|row| row.id == id).ok_or(RuleError::Gone)?;
        self.removing = Some(self.rules.remove(place));
        Ok(())
    }

    /// Whether rules can be written here.
    fn is_writable(&self) -> bool {
        self.file.is_none()
    }
}
