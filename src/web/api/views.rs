//! `/api/v1/views`: lists of dead letters under a name.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode, response::IntoResponse};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::reply::made_at;
use crate::{
    domain::{
        saved_view::{SavedView, ViewContent},
        version::Versioned,
    },
    web::{
        error::WebError,
        input::{
            Query,
            call_body::{Call, CallBody, JsonBody},
            path_id::{PathId, missing},
            precondition::{ETag, Precondition},
        },
        problem::Problem,
        query::{Page, Paging},
        shared::saved_views::{self, changed, keeper},
        state::AppState,
        view::time::timestamp,
        visitor::CurrentUser,
    },
};

/// One's own views, and those that others share.
#[derive(Serialize, ToSchema)]
pub struct ViewList {
    items: Vec<ViewItem>,
    /// Where the next page begins; null on the last one.
    next_cursor: Option<String>,
    /// Views on all pages.
    total: usize,
}

/// A list of dead letters under a name.
#[derive(Serialize, ToSchema)]
pub struct ViewItem {
    id: Uuid,
    name: String,
    /// What stands in the address of the list, for `GET letters?…` and the page `/letters?…`.
    #[schema(example = "q=ISK&status=all")]
    query: String,
    /// Others see it, too.
    shared: bool,
    /// Who has saved it.
    owner: String,
    /// Which version this is, for `If-Match`.
    version: String,
    set_by: String,
    #[schema(format = DateTime)]
    set_at: String,
}

impl From<&SavedView> for ViewItem {
    fn from(view: &SavedView) -> Self {
        Self {
            id: view.id,
            name: view.content.name.clone(),
            query: view.content.query.clone(),
            shared: view.content.is_shared,
            owner: view.owner.clone(),
            version: view.version().to_string(),
            set_by: view.by.as_str().to_owned(),
            set_at: timestamp(view.set_at),
        }
    }
}

/// A view, and how many letters it shows.
#[derive(Serialize, ToSchema)]
pub struct CountedView {
    #[serde(flatten)]
    item: ViewItem,
    /// Letters that it shows to who asks, 1,000 at most, counted some seconds ago; null where this version of dlo cannot read the
    /// query.
    count: Option<u64>,
    /// Whether there are more.
    count_is_least: bool,
}

/// The views that one sees, by name
#[utoipa::path(get, path = "/views", operation_id = "list_views", tag = "views", params(Paging),
    responses((status = OK, body = ViewList)))]
pub async fn views(State(app): State<Arc<AppState>>, Query(paging): Query<Paging>) -> Result<Json<ViewList>, WebError> {
    let views = app.store().views(&keeper()).await?;
    let all = views.iter().map(ViewItem::from).collect();
    let Page { items, next_cursor, total } = paging.page("views", all, |item: &ViewItem| item.id.to_string())?;
    Ok(Json(ViewList { items, next_cursor, total }))
}

/// One view, with how many letters it shows
///
/// A page without a word about statuses shows what is open, and so does a view.
#[utoipa::path(get, path = "/views/{id}", operation_id = "get_view", tag = "views", params(PathId<SavedView>),
    responses((status = OK, body = CountedView)))]
pub async fn view(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<SavedView>,
) -> Result<(ETag, Json<CountedView>), WebError> {
    let view = app.store().view(id, &keeper()).await?.ok_or_else(missing::<SavedView>)?;
    counted(&app, &view).await
}

async fn counted(app: &AppState, view: &SavedView) -> Result<(ETag, Json<CountedView>), WebError> {
    let counted = saved_views::count(app, view).await?;
    let item = CountedView {
        item: view.into(),
        count: counted.map(|counted| counted.n),
        count_is_least: counted.is_some_and(|counted| counted.is_least),
    };
    Ok((ETag(view.version()), Json(item)))
}

/// A view to save.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ViewBody {
    #[schema(min_length = 1, max_length = 80, example = "Invoices in ISK")]
    name: String,
    /// What stands in the address of a list of dead letters; nothing for all that are open. Pages of it (`cursor`, `limit`) are
    /// left out.
    #[serde(default)]
    #[schema(max_length = 16384, example = "q=ISK&status=all")]
    query: String,
    /// Whether others see it, who see the same queues.
    #[serde(default)]
    shared: bool,
}

impl CallBody for ViewBody {
    type Read = ViewContent;

    async fn read(self, call: &Call<'_>) -> Result<ViewContent, WebError> {
        saved_views::read(call.app, &self.name, &self.query, self.shared)
    }
}

/// Save a list under a name
///
/// It belongs to whom the token belongs to. Who sees only some queues shares with those who see these.
#[utoipa::path(post, path = "/views", operation_id = "create_view", tag = "views", request_body = ViewBody, responses(
    (status = CREATED, body = CountedView),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json",
        description = "There is a view of this name already, or there are too many"),
))]
pub async fn add(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    JsonBody(content): JsonBody<ViewBody>,
) -> Result<impl IntoResponse, WebError> {
    let view = changed(app.triage.add_view(&content, &keeper(), &user).await)?;
    let (tag, body) = counted(&app, &view).await?;
    Ok((tag, made_at("views", view.id, body)))
}

/// Save a view anew
///
/// Whoever has saved it may, and an admin where it is shared.
#[utoipa::path(put, path = "/views/{id}", operation_id = "set_view", tag = "views",
    params(PathId<SavedView>, Precondition), request_body = ViewBody, responses(
    (status = OK, body = CountedView),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json",
        description = "There is a view of this name already"),
))]
pub async fn set(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<SavedView>,
    Precondition(expected): Precondition,
    JsonBody(content): JsonBody<ViewBody>,
) -> Result<(ETag, Json<CountedView>), WebError> {
    let keeper = keeper();
    app.store().view(id, &keeper).await?.ok_or_else(missing::<SavedView>)?;
    let view = changed(app.triage.set_view(id, &content, &keeper, &expected, &user).await)?;
    counted(&app, &view).await
}

/// Remove a view
#[utoipa::path(delete, path = "/views/{id}", operation_id = "delete_view", tag = "views",
    params(PathId<SavedView>, Precondition), responses((status = NO_CONTENT)))]
pub async fn remove(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<SavedView>,
    Precondition(expected): Precondition,
) -> Result<StatusCode, WebError> {
    changed(app.triage.remove_view(id, &keeper(), &expected, &user).await)?;
    Ok(StatusCode::NO_CONTENT)
}
