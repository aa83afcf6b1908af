//! `/api/v1/markers`: what happened at a moment, as CI says it.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode, response::IntoResponse};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{reply::made_at, words};
use crate::{
    domain::marker::{Marker, MarkerPlace},
    services::triage::markers::NewMarker,
    web::{
        error::WebError,
        input::{
            Query,
            call_body::{Call, CallBody, JsonBody},
            path_id::{PathId, missing},
        },
        orders::{marker::MarkerDraft, marker_removal},
        query::{Listed, MarkerQuery, listed_page},
        state::AppState,
        view::time::timestamp,
        visitor::CurrentUser,
    },
};

/// One page of markers.
#[derive(Serialize, ToSchema)]
pub struct MarkerList {
    items: Vec<MarkerItem>,
    /// Where the next page begins; null on the last one.
    next_cursor: Option<String>,
}

/// Something that happened, which charts and groups show.
#[derive(Serialize, ToSchema)]
pub struct MarkerItem {
    id: Uuid,
    #[schema(value_type = words::MarkerKind)]
    kind: &'static str,
    title: String,
    #[schema(format = DateTime)]
    at: String,
    service: Option<String>,
    /// Patterns for the queues that it is about; none: all of them.
    queues: Vec<String>,
    link: Option<String>,
    set_by: String,
    #[schema(format = DateTime)]
    set_at: String,
}

impl From<Marker> for MarkerItem {
    fn from(marker: Marker) -> Self {
        Self {
            id: marker.id,
            kind: marker.kind.as_str(),
            title: marker.title,
            at: timestamp(marker.at),
            service: marker.service,
            queues: marker.queues,
            link: marker.link,
            set_by: marker.by.as_str().to_owned(),
            set_at: timestamp(marker.set_at),
        }
    }
}

/// The markers that are kept, the newest first
#[utoipa::path(get, path = "/markers", operation_id = "list_markers", tag = "markers", params(MarkerQuery),
    responses((status = OK, body = MarkerList)))]
pub async fn markers(
    State(app): State<Arc<AppState>>,
    Query(query): Query<MarkerQuery>,
) -> Result<Json<MarkerList>, WebError> {
    let (before, limit) = (query.place()?, query.limit());
    let found = app.store().markers(&query.filter(app.clock.now()), before, limit + 1).await?;
    let (found, last) = listed_page(found, limit);
    let next_cursor = query.next_cursor(last.map(|last| MarkerPlace { at: last.at, id: last.id }));
    Ok(Json(MarkerList { items: found.into_iter().map(MarkerItem::from).collect(), next_cursor }))
}

/// One marker
#[utoipa::path(get, path = "/markers/{id}", operation_id = "get_marker", tag = "markers", params(PathId<Marker>),
    responses((status = OK, body = MarkerItem)))]
pub async fn marker(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<Marker>,
) -> Result<Json<MarkerItem>, WebError> {
    let marker = app.store().marker(id).await?.ok_or_else(missing::<Marker>)?;
    Ok(Json(marker.into()))
}

/// A marker to set.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MarkerBody {
    #[schema(value_type = words::MarkerKind)]
    kind: String,
    /// A version, the name of a flag, what broke.
    #[schema(min_length = 1, max_length = 200, example = "4711")]
    title: String,
    /// When it happened, a day ahead at most: RFC 3339, or how long ago (`5m`); now if left out.
    #[schema(example = "2026-11-21T09:41:00Z")]
    at: Option<String>,
    /// What was deployed or switched, in the words of whoever looks.
    #[schema(max_length = 100, example = "billing")]
    service: Option<String>,
    /// Names of queues or patterns (`*`, `?`); all if left out.
    #[serde(default)]
    #[schema(max_items = 50, example = json!(["billing.*"]))]
    queues: Vec<String>,
    /// Where there is more about it, by http or https.
    #[schema(max_length = 2000, example = "https://ci.example/billing/4711")]
    link: Option<String>,
}

impl CallBody for MarkerBody {
    type Read = NewMarker;

    async fn read(self, call: &Call<'_>) -> Result<NewMarker, WebError> {
        let Self { kind, title, at, service, queues, link } = self;
        let said = Option::unwrap_or_default;
        let draft = MarkerDraft { kind, title, at: said(at), service: said(service), queues, link: said(link) };
        draft.read(call.app.clock.now()).map_err(WebError::from)
    }
}

/// Say what happened
///
/// Charts show it as a dashed line, and a group that began soon after it says so. Who sees only some queues sets markers for
/// these.
#[utoipa::path(post, path = "/markers", operation_id = "create_marker", tag = "markers", request_body = MarkerBody,
    responses((status = CREATED, body = MarkerItem)))]
pub async fn add(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    JsonBody(new): JsonBody<MarkerBody>,
) -> Result<impl IntoResponse, WebError> {
    let marker = app.triage.set_marker(new, &user).await?;
    Ok(made_at("markers", marker.id, Json(MarkerItem::from(marker))))
}

/// Take a marker back
///
/// Who sees only some queues removes those that are about these alone.
#[utoipa::path(delete, path = "/markers/{id}", operation_id = "delete_marker", tag = "markers", params(PathId<Marker>),
    responses((status = NO_CONTENT)))]
pub async fn remove(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Marker>,
) -> Result<StatusCode, WebError> {
    marker_removal::remove(&app, id, &user).await?;
    Ok(StatusCode::NO_CONTENT)
}
