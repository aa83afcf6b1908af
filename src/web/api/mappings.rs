//! `/api/v1/mappings`: which types messages are of, by the way they come.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    domain::{
        mapping::{ActiveMapping, Carrier, Mapping},
        version::Versioned,
    },
    services::decoding::catalogue::Catalogue,
    web::{
        AppState,
        draft::{Refused, Wrong},
        error::WebError,
        input::{JsonBody, Query},
        precondition::{ETag, Precondition},
        problem::Problem,
        query::{form, parameters},
        security::CurrentUser,
        view::time::rfc3339,
    },
};

/// All of them, the most specific first: of those that fit a message, the first counts.
#[derive(Serialize, ToSchema)]
pub struct MappingList {
    items: Vec<MappingItem>,
}

/// Messages that come by something carry this type.
#[derive(Serialize, ToSchema)]
pub struct MappingItem {
    /// Only on this broker; null for any.
    broker: Option<String>,
    /// A name or a glob (`*`, `?`); one of the three is not null.
    queue: Option<String>,
    exchange: Option<String>,
    routing_key: Option<String>,
    /// Full name of the message type.
    r#type: String,
    /// Whether some schema describes that type.
    known: bool,
    /// Which version this is, for `If-Match`.
    version: String,
    set_by: String,
    set_at: String,
}

impl MappingItem {
    fn new(active: &ActiveMapping, catalogue: &Catalogue) -> Self {
        let mapping = &active.mapping;
        let pattern = |carrier| (mapping.carrier == carrier).then(|| mapping.pattern.clone());
        Self {
            broker: mapping.broker.clone(),
            queue: pattern(Carrier::Queue),
            exchange: pattern(Carrier::Exchange),
            routing_key: pattern(Carrier::RoutingKey),
            r#type: mapping.message_type.clone(),
            known: catalogue.find(&mapping.message_type).is_some(),
            version: active.version().to_string(),
            set_by: active.by.as_str().to_owned(),
            set_at: rfc3339(active.at),
        }
    }
}

/// The mappings in force
#[utoipa::path(get, path = "/mappings", tag = "schemas", responses((status = OK, body = MappingList)))]
pub async fn mappings(State(app): State<Arc<AppState>>) -> Json<MappingList> {
    let (book, catalogue) = (app.schemas.mappings(), app.schemas.catalogue());
    Json(MappingList { items: book.all().iter().map(|active| MappingItem::new(active, &catalogue)).collect() })
}

/// A mapping to set; it takes one of `queue`, `exchange` and `routing_key`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMapping {
    /// Only on this broker; any if left out.
    broker: Option<String>,
    /// A name or a glob (`*`, `?`).
    queue: Option<String>,
    /// A name or a glob.
    exchange: Option<String>,
    /// A name or a glob.
    routing_key: Option<String>,
    /// Full name of the message type; its schema may come later.
    r#type: String,
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
        (None, _) => Err(Wrong::new("queue", "one of queue, exchange and routing_key is needed")),
        (_, Some((carrier, _))) => {
            Err(Wrong::new(carrier.as_str(), "only one of queue, exchange and routing_key can be given"))
        }
    }
}

/// Say which type messages carry, in place of what was said of the same ones
#[utoipa::path(put, path = "/mappings", tag = "schemas", params(Precondition), request_body = NewMapping, responses(
    (status = OK, body = MappingItem),
    (status = PRECONDITION_FAILED, body = Problem, content_type = "application/problem+json"),
    (status = UNPROCESSABLE_ENTITY, body = Problem, content_type = "application/problem+json"),
))]
pub async fn set(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    Precondition(expected): Precondition,
    JsonBody(new): JsonBody<NewMapping>,
) -> Result<(ETag, Json<MappingItem>), WebError> {
    let (carrier, pattern) = carrier_of(new.queue, new.exchange, new.routing_key)?;
    let mapping = Mapping { broker: new.broker, carrier, pattern, message_type: new.r#type };
    app.schemas.map(&mapping, &expected, &user).await.map_err(Refused::from)?;
    let (book, catalogue) = (app.schemas.mappings(), app.schemas.catalogue());
    let stored = book.all().iter().find(|active| active.mapping == mapping);
    let gone = || WebError::conflict("It was set, and changed again by somebody else.");
    let stored = stored.ok_or_else(gone)?;
    Ok((ETag(stored.version()), Json(MappingItem::new(stored, &catalogue))))
}

parameters! {
    /// Which mapping to take back, as it was written.
    pub Written {
        /// The broker it was set for; left out for one of any broker.
        "broker" broker: Option<String> as form::One => Option<String>,
        /// One of the three is needed.
        "queue" queue: Option<String> as form::One => Option<String>,
        "exchange" exchange: Option<String> as form::One => Option<String>,
        "routing_key" routing_key: Option<String> as form::One => Option<String>,
    }
}

/// Take back what was said of messages
#[utoipa::path(delete, path = "/mappings", tag = "schemas", params(Written, Precondition), responses(
    (status = NO_CONTENT),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = PRECONDITION_FAILED, body = Problem, content_type = "application/problem+json"),
))]
pub async fn unset(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    Query(Written { broker, queue, exchange, routing_key }): Query<Written>,
    Precondition(expected): Precondition,
) -> Result<StatusCode, WebError> {
    let meant = carrier_of(queue, exchange, routing_key);
    let (carrier, pattern) = meant.map_err(|wrong| WebError::bad_request(wrong.to_string()))?;
    let unmapped = app.schemas.unmap(broker.as_deref(), carrier, &pattern, &expected, &user).await;
    if unmapped.map_err(Refused::from)? {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(WebError::not_found("There is no such mapping."))
}
