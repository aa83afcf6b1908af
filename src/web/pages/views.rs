//! `/views`: lists that have a name; saved where they are shown, changed, shared and removed here.

use std::sync::Arc;

use amqp_message::time::Timestamp;
use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};
use url::{Position, Url};
use uuid::Uuid;

use super::{
    back_to::take_back,
    fragment::{self, answer},
    part::MainPart,
    redirect::{lead_to, redirect},
    shell::{Page, Shell},
    toast::Toast,
    views_menu::ViewsMenu,
    visit,
};
use crate::{
    domain::{
        saved_view::{Keeper, SavedView},
        version::{Expected, Versioned},
    },
    web::{
        error::WebError,
        htmx::is_htmx,
        input::{
            FormPairs,
            path_id::{PathId, missing},
        },
        query::Pairs,
        shared::saved_views::{self, changed, href, keeper, list},
        state::AppState,
        view::{number, text, time::Moment},
        visitor::CurrentUser,
    },
};

type Visit = visit::Visit<(), MainPart>;

#[derive(Template)]
#[template(path = "views/page.html", blocks = ["title", "main", "nav"])]
struct ViewsPage {
    shell: Shell,
    rows: Vec<ViewRow>,
}

struct ViewRow {
    id: String,
    name: String,
    href: String,
    /// The address without the page.
    query: String,
    /// Whether this version can read it.
    is_readable: bool,
    count: String,
    is_shared: bool,
    owner: String,
    is_own: bool,
    may_change: bool,
    version: String,
    set_at: Moment,
}

impl ViewRow {
    fn new(view: &SavedView, count: String, keeper: &Keeper, now: Timestamp) -> Self {
        Self {
            id: view.id.to_string(),
            name: text::one_line(&view.content.name),
            href: href(view),
            query: view.content.query.clone(),
            is_readable: list(view).is_some(),
            count,
            is_shared: view.content.is_shared,
            owner: text::one_line(&view.owner),
            is_own: view.owner == keeper.name,
            may_change: view.may_be_changed_by(keeper),
            version: view.version().to_string(),
            set_at: Moment::new(view.set_at, now),
        }
    }
}

#[derive(Template)]
#[template(path = "_views.html")]
struct MenuPart {
    views: ViewsMenu,
}

pub async fn show(State(app): State<Arc<AppState>>, visit: Visit) -> Result<Response, WebError> {
    let (keeper, now) = (keeper(), app.clock.now());
    let mut rows = Vec::new();
    for view in app.store().views(&keeper).await? {
        let counted = saved_views::known_count(&app, &view).counted;
        let count = counted.map(|counted| number::counted(counted, "dead letter")).unwrap_or_default();
        rows.push(ViewRow::new(&view, count, &keeper, now));
    }
    let shell = visit.at("/views".to_owned(), Shell::load(&app, Page::Views).await?);
    let page = ViewsPage { shell, rows };
    Ok(answer!(page, visit.part, MainPart::Main => main))
}

/// The part of the navigation, counted.
pub async fn menu(State(app): State<Arc<AppState>>, headers: HeaderMap) -> Result<Response, WebError> {
    let mut views = ViewsMenu::counted(&app).await?;
    // htmx says where somebody is.
    let here = headers.get("hx-current-url").and_then(|here| Url::parse(here.to_str().ok()?).ok());
    if let Some(here) = here {
        views.mark(&here[Position::BeforePath..]);
    }
    Ok(fragment::only(MenuPart { views }.render()?))
}

/// Leads to the list: the address stays the same when the view is changed.
pub async fn open(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<SavedView>,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let view = app.store().view(id, &keeper()).await?.ok_or_else(missing::<SavedView>)?;
    Ok(lead_to(&href(&view), &headers))
}

pub async fn set(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let back = if pairs.has("back") { take_back(&mut pairs)? } else { "/views".to_owned() };
    let toast = match save(&app, &user, &mut pairs).await {
        Ok(view) => Toast::done(format!("Saved the view {}.", text::name(&view.content.name, 80))),
        // Scripts leave the page as it is, with what was typed.
        Err(error) if error.status.is_client_error() && !is_htmx(&headers) => Toast::failed(error.detail),
        Err(error) => return Err(error),
    };
    Ok(redirect(&back, &toast, &headers))
}

async fn save(app: &AppState, user: &CurrentUser, pairs: &mut Pairs) -> Result<SavedView, WebError> {
    let (name, query) = (pairs.take("name")?.unwrap_or_default(), pairs.take("query")?.unwrap_or_default());
    let content = saved_views::read(app, &name, &query, pairs.take("shared")?.is_some())?;
    let keeper = keeper();
    changed(match pairs.take_parsed::<Uuid>("id")? {
        None => app.triage.add_view(&content, &keeper, user).await,
        Some(id) => {
            let expected = Expected::seen(&pairs.take("version")?.unwrap_or_default());
            app.triage.set_view(id, &content, &keeper, &expected, user).await
        }
    })
}

pub async fn remove(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let id: Uuid = pairs.need("id")?;
    let expected = Expected::seen(&pairs.take("version")?.unwrap_or_default());
    let view = changed(app.triage.remove_view(id, &keeper(), &expected, &user).await)?;
    let toast = Toast::done(format!("Removed the view {}.", text::name(&view.content.name, 80))).undone_for_view(id);
    Ok(redirect("/views", &toast, &headers))
}

pub async fn restore(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let id: Uuid = pairs.need("id")?;
    let view = changed(app.triage.restore_view(id, &keeper(), &user).await)?;
    let toast = Toast::done(format!("The view {} is back.", text::name(&view.content.name, 80)));
    Ok(redirect("/views", &toast, &headers))
}
