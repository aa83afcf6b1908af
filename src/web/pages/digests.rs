//! `/digests`: when people are told what, what would be sent now, and what was sent.

use std::sync::Arc;

use amqp_message::time::Timestamp;
use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    fragment,
    redirect::redirect,
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    services::digests::{Digests, Plan},
    store::{DigestRecord, StoreReader},
    web::{
        error::WebError,
        input::{
            FormPairs, QueryPairs,
            path_id::{PathId, missing},
        },
        state::AppState,
        view::{
            digest::{PlanView, ReportView, SentView},
            text,
        },
        visitor::CurrentUser,
    },
};

/// Digests of the history.
const HISTORY: usize = 30;
/// Groups of each section in a preview: as many as Slack shows at most.
const GROUPS_PREVIEWED: usize = 10;

#[derive(Template)]
#[template(path = "digests/page.html")]
struct DigestsPage {
    shell: Shell,
    plans: Vec<PlanView>,
    /// Whether any of them can be sent.
    has_slack: bool,
    preview: Option<Preview>,
    history: Vec<SentView>,
}

/// What would be sent now.
struct Preview {
    name: String,
    destination: String,
    report: ReportView,
    /// Whether one is asked once more before it is sent.
    is_asked: bool,
}

#[derive(Template)]
#[template(path = "digests/digest.html")]
struct DigestPage {
    shell: Shell,
    sent: SentView,
    report: ReportView,
    destination: String,
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    QueryPairs(mut pairs): QueryPairs,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let (preview, ask) = (pairs.take("preview")?, pairs.take("ask")?);
    let name = ask.as_deref().or(preview.as_deref());
    let preview = match name {
        Some(name) => Some(look_ahead(&app, name, ask.is_some()).await?),
        None => None,
    };
    let now = app.clock.now();
    let history = app.store().digests(None, None, HISTORY).await?;
    let mut page = DigestsPage {
        shell: Shell::load(&app, Page::Digests).await?,
        plans: plans(&app.store(), &app.digests, now).await?,
        has_slack: app.digests.plans().iter().any(|plan| plan.destination.is_some()),
        preview,
        history: history.iter().map(|record| SentView::new(record, now)).collect(),
    };
    page.shell.toast = Toast::from_cookie(&headers);
    Ok(fragment::whole(page.render()?, &page.shell))
}

/// Each digest of the configuration with the last one that was made of it.
pub(super) async fn plans(store: &StoreReader, digests: &Digests, now: Timestamp) -> Result<Vec<PlanView>, WebError> {
    let mut plans = Vec::new();
    for plan in digests.plans().iter() {
        let last: Vec<DigestRecord> = store.digests(Some(&plan.name), None, 1).await?;
        plans.push(PlanView::new(plan, last.first(), now));
    }
    Ok(plans)
}

async fn look_ahead(app: &AppState, name: &str, is_asked: bool) -> Result<Preview, WebError> {
    let plan = plan(app, name)?;
    let made = app.digests.preview(&plan, &app.store()).await?;
    let destination = destination(&plan);
    Ok(Preview {
        name: plan.name.clone(),
        report: ReportView::linked(&made.report, GROUPS_PREVIEWED, &plan),
        is_asked: is_asked && !destination.is_empty(),
        destination,
    })
}

fn plan(app: &AppState, name: &str) -> Result<Plan, WebError> {
    app.digests.plan(Some(name)).map_err(|takes| WebError::not_found(format!("There is no such digest; {takes}.")))
}

fn destination(plan: &Plan) -> String {
    plan.destination.as_ref().map(|to| text::one_line(&to.to_string())).unwrap_or_default()
}

pub async fn send(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let name: String = pairs.need("name")?;
    pairs.finish("name")?;
    let plan = plan(&app, &name)?;
    let id = app.digests.send_now(&plan, &user).await?;
    let toast = Toast::done(format!("On its way to {}.", destination(&plan)));
    Ok(redirect(&format!("/digests/{id}"), &toast, &headers))
}

/// One digest as it was sent.
pub async fn digest(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<DigestRecord>,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let (record, report) = app.store().digest(id).await?.ok_or_else(missing::<DigestRecord>)?;
    let mut page = DigestPage {
        shell: Shell::load(&app, Page::Digests).await?,
        sent: SentView::new(&record, app.clock.now()),
        report: ReportView::new(&report, usize::MAX),
        destination: app.digests.plan(Some(&record.name)).map(|plan| destination(&plan)).unwrap_or_default(),
    };
    page.shell.toast = Toast::from_cookie(&headers);
    Ok(fragment::whole(page.render()?, &page.shell))
}
