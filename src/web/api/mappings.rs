//! `/api/v1/mappings`: which types messages are of, by the way they come.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode, response::IntoResponse};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::reply::made_at;
use crate::{
    domain::{
        mapping::{ActiveMapping, Carrier, Mapping, MappingId},
        version::{Expected, Versioned},
    },
    services::{decoding::catalogue::Catalogue, schemas::MappingError},
    web::{
        error::{Gathered, WebError, codes::FaultCode},
        input::{
            Query,
            call_body::{Call, CallBody, JsonBody},
            path_id::{PathId, missing},
            precondition::{ETag, Precondition},
        },
        orders::policy::{Refused, Wrong},
        problem::Problem,
        query::{Page, Paging},
        state::AppState,
        view::time::timestamp,
        visitor::CurrentUser,
    },
};

/// All of them, the most specific first: of those that fit a message, the first counts.
#[derive(Serialize, ToSchema)]
pub struct MappingList {
    items: Vec<MappingItem>,
    /// Where the next page begins; null on the last one.
    next_cursor: Option<String>,
    /// Mappings on all pages.
    total: usize,
}

/// Messages that come by something carry this type.
#[derive(Serialize, ToSchema)]
pub struct MappingItem {
    /// Follows from `broker`, `queue`, `exchange` and `routing_key`, and stays the same.
    id: Uuid,
    /// Only on this broker; null for any.
    broker: Option<String>,
    /// A name or a glob (`*`, `?`); one of the three is not null.
    queue: Option<String>,
    exchange: Option<String>,
    routing_key: Option<String>,
    /// Full name of the message type.
    message_type: String,
    /// Whether some schema describes that type.
    known: bool,
    /// Which version this is, for `If-Match`.
    version: String,
    set_by: String,
    #[schema(format = DateTime)]
    set_at: String,
}

impl MappingItem {
    fn new(active: &ActiveMapping, catalogue: &Catalogue) -> Self {
        let mapping = &active.mapping;
        let pattern = |carrier| (mapping.carrier == carrier).then(|| mapping.pattern.clone());
        Self {
            id: mapping.id().as_uuid(),
            broker: mapping.broker.clone(),
            queue: pattern(Carrier::Queue),
            exchange: pattern(Carrier::Exchange),
            routing_key: pattern(Carrier::RoutingKey),
            message_type: mapping.message_type.clone(),
            known: catalogue.find(&mapping.message_type).is_some(),
            version: active.version().to_string(),
            set_by: active.by.as_str().to_owned(),
            set_at: timestamp(active.at),
        }
    }
}

/// The mappings in force
#[utoipa::path(get, path = "/mappings", operation_id = "list_mappings", tag = "schemas", params(Paging),
    responses((status = OK, body = MappingList)))]
pub async fn mappings(
    State(app): State<Arc<AppState>>,
    Query(paging): Query<Paging>,
) -> Result<Json<MappingList>, WebError> {
    let (book, catalogue) = (app.schemas.mappings(), app.schemas.catalogue());
    let all = book.all().iter().map(|active| MappingItem::new(active, &catalogue)).collect();
    let Page { items, next_cursor, total } = paging.page("mappings", all, |item: &MappingItem| item.id.to_string())?;
    Ok(Json(MappingList { items, next_cursor, total }))
}

/// One mapping
#[utoipa::path(get, path = "/mappings/{id}", operation_id = "get_mapping", tag = "schemas",
    params(PathId<Mapping>), responses((status = OK, body = MappingItem)))]
pub async fn mapping(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<Mapping>,
) -> Result<(ETag, Json<MappingItem>), WebError> {
    let active = find(&app, id).ok_or_else(missing::<Mapping>)?;
    Ok(shown(&app, &active))
}

fn find(app: &AppState, id: MappingId) -> Option<ActiveMapping> {
    app.schemas.mappings().all().iter().find(|active| active.mapping.id() == id).cloned()
}

fn shown(app: &AppState, active: &ActiveMapping) -> (ETag, Json<MappingItem>) {
    (ETag(active.version()), Json(MappingItem::new(active, &app.schemas.catalogue())))
}

/// A mapping to set; it takes one of `queue`, `exchange` and `routing_key`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMapping {
    /// Only on this broker; any if left out.
    broker: Option<String>,
    /// A name or a glob (`*`, `?`).
    #[schema(min_length = 1, max_length = 255, example = "texts.*")]
    queue: Option<String>,
    /// A name or a glob.
    #[schema(min_length = 1, max_length = 255)]
    exchange: Option<String>,
    /// A name or a glob.
    #[schema(min_length = 1, max_length = 255)]
    routing_key: Option<String>,
    /// Full name of the message type; its schema may come later.
    #[schema(min_length = 1, max_length = 1024, example = "acme.texts.v1.Text")]
    message_type: String,
}

impl CallBody for NewMapping {
    type Read = Mapping;

    async fn read(self, call: &Call<'_>) -> Result<Mapping, WebError> {
        let mut gathered = Gathered::default();
        gathered.take(self.broker.as_deref().map_or(Ok(()), |broker| known_broker(call.app, broker)));
        let carrier = carrier_of(self.queue, self.exchange, self.routing_key);
        let (carrier, pattern) = carrier.unwrap_or_else(|wrong| {
            gathered.add(wrong.into());
            (Carrier::Queue, "*".to_owned())
        });
        let mapping = Mapping { broker: self.broker, carrier, pattern, message_type: self.message_type };
        mapping
            .mistakes()
            .into_iter()
            .for_each(|(field, why)| gathered.add(Wrong::new(field, why).of(FaultCode::Format).into()));
        gathered.end().map(|()| mapping)
    }
}

/// One of a broker that has gone can still be changed.
fn known_broker(app: &AppState, broker: &str) -> Result<(), WebError> {
    let names: Vec<String> = app.brokers.all().into_iter().map(|broker| broker.name).collect();
    let is_mapped = || app.schemas.mappings().all().iter().any(|it| it.mapping.broker.as_deref() == Some(broker));
    if names.iter().any(|name| name == broker) || is_mapped() {
        return Ok(());
    }
    let why = format!("there is no broker {broker:?}; there are {}", names.join(", "));
    Err(WebError::field("broker", FaultCode::Choice, why))
}

/// By what the messages come that are meant: exactly one of the three has to be given.
fn carrier_of(
    queue: Option<String>,
    exchange: Option<String>,
    routing_key: Option<String>,
) -> Result<(Carrier, String), Wrong> {
    let all = [(Carrier::Queue, queue), (Carrier::Exchange, exchange), (Carrier::RoutingKey, routing_key)];
    let mut given = all.into_iter().filter_map(|(carrier, pattern)| Some((carrier, pattern?)));
    match (given.next(), given.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => {
            Err(Wrong::new("queue", "one of queue, exchange and routing_key is needed").of(FaultCode::Required))
        }
        (_, Some((carrier, _))) => {
            let why = "only one of queue, exchange and routing_key can be given";
            Err(Wrong::new(carrier.as_str(), why).of(FaultCode::Excluded))
        }
    }
}

/// Say which type messages carry
#[utoipa::path(post, path = "/mappings", operation_id = "create_mapping", tag = "schemas", request_body = NewMapping,
    responses(
    (status = CREATED, body = MappingItem),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json",
        description = "There is one for the same messages already"),
))]
pub async fn add(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    JsonBody(mapping): JsonBody<NewMapping>,
) -> Result<impl IntoResponse, WebError> {
    if find(&app, mapping.id()).is_some() {
        return Err(there_is_one(&mapping));
    }
    app.schemas.map(&mapping, &Expected::nothing(), &user).await.map_err(|error| match error {
        MappingError::Changed(_) => there_is_one(&mapping),
        error => Refused::from(error).into(),
    })?;
    let (tag, body) = stored(&app, &mapping)?;
    Ok((tag, made_at("mappings", mapping.id(), body)))
}

fn there_is_one(mapping: &Mapping) -> WebError {
    WebError::conflict(format!("There is a mapping for these messages: {}. Change that one.", mapping.id()))
}

fn stored(app: &AppState, mapping: &Mapping) -> Result<(ETag, Json<MappingItem>), WebError> {
    let gone = || WebError::conflict("It was set, and changed again by somebody else.");
    let active = find(app, mapping.id()).filter(|active| active.mapping == *mapping).ok_or_else(gone)?;
    Ok(shown(app, &active))
}

/// Say anew which type messages carry
///
/// Where and by what they come is what a mapping is known by, and stays as it is.
#[utoipa::path(put, path = "/mappings/{id}", operation_id = "set_mapping", tag = "schemas",
    params(PathId<Mapping>, Precondition), request_body = NewMapping, responses((status = OK, body = MappingItem)))]
pub async fn set(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Mapping>,
    Precondition(expected): Precondition,
    JsonBody(mapping): JsonBody<NewMapping>,
) -> Result<(ETag, Json<MappingItem>), WebError> {
    find(&app, id).ok_or_else(missing::<Mapping>)?;
    if mapping.id() != id {
        let why = "with the broker, it is what a mapping is known by; add another one for others";
        return Err(WebError::field(mapping.carrier.as_str(), FaultCode::Invalid, why));
    }
    app.schemas.map(&mapping, &expected, &user).await.map_err(Refused::from)?;
    stored(&app, &mapping)
}

/// Take back what was said of messages
#[utoipa::path(delete, path = "/mappings/{id}", operation_id = "delete_mapping", tag = "schemas",
    params(PathId<Mapping>, Precondition), responses((status = NO_CONTENT)))]
pub async fn remove(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Mapping>,
    Precondition(expected): Precondition,
) -> Result<StatusCode, WebError> {
    let Mapping { broker, carrier, pattern, .. } = find(&app, id).ok_or_else(missing::<Mapping>)?.mapping;
    let unmapped = app.schemas.unmap(broker.as_deref(), carrier, &pattern, &expected, &user).await;
    let was_there = unmapped.map_err(Refused::from)?;
    was_there.then_some(StatusCode::NO_CONTENT).ok_or_else(missing::<Mapping>)
}
