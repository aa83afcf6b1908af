//! `/markers`: deploys, flags and incidents that charts show; set and removed by people where no program does.

use std::sync::Arc;

use amqp_message::time::Timestamp;
use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};
use uuid::Uuid;

use super::{
    choices::{Chip, queue_names},
    fragment::{self, answer},
    part::MainPart,
    redirect::redirect,
    shell::{Page, Shell},
    toast::Toast,
    visit,
};
use crate::{
    domain::{
        actor::Actor,
        marker::{Marker, MarkerKind, MarkerPlace},
    },
    web::{
        error::WebError,
        input::FormPairs,
        orders::{
            marker::MarkerDraft,
            marker_removal::{self, NOT_THEIRS},
            policy::Wrong,
        },
        query::{Listed, MarkerQuery, Pager, Pairs, listed_page},
        state::AppState,
        view::{text, time::Moment},
        visitor::CurrentUser,
    },
};

type Visit = visit::Visit<MarkerQuery, MainPart>;

#[derive(Template)]
#[template(path = "markers/page.html", blocks = ["title", "main", "nav"])]
struct MarkersPage {
    shell: Shell,
    kinds: Vec<Chip>,
    rows: Vec<MarkerRow>,
    pager: Pager,
    form: MarkerForm,
    queues: Vec<String>,
}

struct MarkerRow {
    id: String,
    kind: &'static str,
    title: String,
    service: String,
    at: Moment,
    /// `all`, or patterns.
    queues: String,
    link: Option<String>,
    by: String,
    is_removable: bool,
}

/// What was typed, and what is wrong with it.
#[derive(Default)]
struct MarkerForm {
    draft: MarkerDraft,
    wrong: Vec<Wrong>,
}

impl MarkerForm {
    fn kinds(&self) -> Vec<(&'static str, bool)> {
        MarkerKind::ALL.iter().map(|kind| (kind.as_str(), self.draft.kind == kind.as_str())).collect()
    }

    fn queues(&self) -> String {
        self.draft.queues.join(", ")
    }

    fn wrong_with(&self, field: &str) -> &str {
        self.wrong.iter().find(|wrong| wrong.field == field).map_or("", |wrong| &wrong.why)
    }
}

impl MarkerRow {
    fn new(marker: &Marker, who: &Actor, now: Timestamp) -> Self {
        let queues = if marker.queues.is_empty() { "all".to_owned() } else { marker.queues.join(", ") };
        Self {
            id: marker.id.to_string(),
            kind: marker.kind.as_str(),
            title: text::one_line(&marker.title),
            service: marker.service.as_deref().map(text::one_line).unwrap_or_default(),
            at: Moment::new(marker.at, now),
            queues: text::one_line(&queues),
            link: marker.link.clone(),
            by: text::one_line(marker.by.as_str()),
            is_removable: marker.is_removed_by(who),
        }
    }
}

pub async fn show(State(app): State<Arc<AppState>>, user: CurrentUser, visit: Visit) -> Result<Response, WebError> {
    let page = load(&app, &user, &visit, MarkerForm::default()).await?;
    Ok(answer!(page, visit.part, MainPart::Main => main))
}

async fn load(app: &AppState, user: &Actor, visit: &Visit, form: MarkerForm) -> Result<MarkersPage, WebError> {
    let (now, query) = (app.clock.now(), &visit.query);
    let (before, limit) = (query.place()?, query.limit());
    let store = app.store();
    let filter = query.filter(now);
    let (facets, found) = tokio::try_join!(store.counts_overall(), store.markers(&filter, before, limit + 1))?;
    let (found, last) = listed_page(found, limit);
    Ok(MarkersPage {
        shell: visit.at(query.href(), Shell::new(app, Page::Markers, &facets).await?),
        kinds: kinds(query),
        rows: found.iter().map(|marker| MarkerRow::new(marker, user, now)).collect(),
        pager: query.pager(last.map(|last| MarkerPlace { at: last.at, id: last.id })),
        form,
        queues: queue_names(&facets),
    })
}

fn kinds(query: &MarkerQuery) -> Vec<Chip> {
    let all =
        Chip::new("all", String::new(), query.with(|query| query.kinds = Vec::new()).href(), query.kinds.is_empty());
    let of_kind = |kind: &MarkerKind| {
        let href = query.with(|query| query.kinds = vec![*kind]).href();
        Chip::new(kind.as_str(), String::new(), href, query.kinds == [*kind])
    };
    std::iter::once(all).chain(MarkerKind::ALL.iter().map(of_kind)).collect()
}

pub async fn set(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let draft = take(&mut pairs)?;
    let new = match draft.read(app.clock.now()) {
        Ok(new) => new,
        Err(wrong) => {
            let page = load(&app, &user, &Visit::default(), MarkerForm { draft, wrong }).await?;
            return Ok(fragment::refused(page.render()?, &page.shell));
        }
    };
    let marker = app.triage.set_marker(new, &user).await?;
    let toast = Toast::done(format!("Set the marker {}.", text::name(&marker.name(), 100)));
    Ok(redirect("/markers", &toast, &headers))
}

fn take(pairs: &mut Pairs) -> Result<MarkerDraft, WebError> {
    let queues = pairs.take("queues")?.unwrap_or_default();
    let queues = queues.split(',').map(str::trim).filter(|queue| !queue.is_empty()).map(str::to_owned);
    Ok(MarkerDraft {
        queues: queues.collect(),
        kind: pairs.take("kind")?.unwrap_or_default(),
        title: pairs.take("title")?.unwrap_or_default(),
        at: pairs.take("at")?.unwrap_or_default(),
        service: pairs.take("service")?.unwrap_or_default(),
        link: pairs.take("link")?.unwrap_or_default(),
    })
}

pub async fn remove(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let id: Uuid = pairs.need("id")?;
    let removed = marker_removal::remove(&app, id, &user).await?;
    let toast = Toast::done(format!("Removed the marker {}.", text::name(&removed.name(), 100)));
    Ok(redirect("/markers", &toast, &headers))
}
