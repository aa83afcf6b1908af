//! `/api/v1/policies`: what is retried by itself.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode, response::IntoResponse};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{reply::made_at, words};
use crate::{
    domain::{
        policy::{ActivePolicy, Delays, Origin, Policy, PolicyId},
        version::{Expected, Version, Versioned},
    },
    services::policies::PolicyError,
    web::{
        error::{WebError, codes::FaultCode},
        input::{
            Query,
            call_body::{Call, CallBody, JsonBody},
            path_id::{PathId, missing},
            precondition::{ETag, Precondition},
        },
        orders::policy::{Draft, Refused},
        problem::Problem,
        query::{Page, Paging},
        state::AppState,
        view::{
            policy::{in_full, typed_duration},
            time::timestamp,
        },
        visitor::CurrentUser,
    },
};

/// What is in force, the most specific first: of those that fit a queue, the first applies.
#[derive(Serialize, ToSchema)]
pub struct PolicyList {
    items: Vec<PolicyItem>,
    /// Where the next page begins; null on the last one.
    next_cursor: Option<String>,
    /// Policies on all pages.
    total: usize,
}

/// A policy of automatic retries.
#[derive(Serialize, ToSchema)]
pub struct PolicyItem {
    /// Follows from `queues` and `reason`, and stays the same.
    id: Uuid,
    /// A name or a glob (`*`, `?`).
    queues: String,
    /// Only for messages dead-lettered for this reason; null for any reason.
    #[schema(value_type = Option<words::Reason>)]
    reason: Option<&'static str>,
    /// `after 10 s, 1 min 40 s; then needs attention`
    meaning: String,
    /// How long a message waits before each retry; null where the delays grow.
    delays: Option<Vec<String>>,
    /// The first delay, where they grow.
    initial: Option<String>,
    factor: Option<f64>,
    max: Option<String>,
    attempts: Option<u32>,
    /// Share of a delay, 0 to 1, by which it varies at random, both ways.
    jitter: f64,
    /// Where messages wait: `database` or `broker`
    #[schema(value_type = words::Via)]
    via: &'static str,
    keep_routing_key: bool,
    /// Which version this is, for `If-Match`; null for the configuration, in whose place `If-None-Match: *` sets one.
    version: Option<String>,
    /// Who set it; null for the configuration.
    set_by: Option<String>,
    #[schema(format = DateTime)]
    set_at: Option<String>,
}

impl From<&ActivePolicy> for PolicyItem {
    fn from(active: &ActivePolicy) -> Self {
        let item = Self::new(&active.policy);
        match &active.origin {
            Origin::Configuration => item,
            Origin::Person { by, at } => {
                let version = Some(active.version().to_string());
                Self { version, set_by: Some(by.as_str().to_owned()), set_at: Some(timestamp(*at)), ..item }
            }
        }
    }
}

impl PolicyItem {
    fn new(policy: &Policy) -> Self {
        let item = Self {
            id: policy.id().as_uuid(),
            queues: policy.queues.clone(),
            reason: policy.reason.map(|reason| reason.as_str()),
            meaning: in_full(policy),
            delays: None,
            initial: None,
            factor: None,
            max: None,
            attempts: None,
            jitter: policy.jitter,
            via: policy.via.as_str(),
            keep_routing_key: policy.keep_routing_key,
            version: None,
            set_by: None,
            set_at: None,
        };
        match &policy.delays {
            Delays::Listed(delays) => {
                Self { delays: Some(delays.iter().map(|delay| typed_duration(*delay)).collect()), ..item }
            }
            Delays::Growing { initial, factor, max, attempts } => Self {
                initial: Some(typed_duration(*initial)),
                factor: Some(*factor),
                max: Some(typed_duration(*max)),
                attempts: Some(*attempts),
                ..item
            },
        }
    }
}

/// The policies in force
#[utoipa::path(get, path = "/policies", operation_id = "list_policies", tag = "policies", params(Paging),
    responses((status = OK, body = PolicyList)))]
pub async fn policies(
    State(app): State<Arc<AppState>>,
    Query(paging): Query<Paging>,
) -> Result<Json<PolicyList>, WebError> {
    // They are in memory; who changes them meanwhile is not.
    app.store().ping().await?;
    let all: Vec<PolicyItem> = app.policies.book().all().iter().map(|active| (&**active).into()).collect();
    let Page { items, next_cursor, total } = paging.page("policies", all, |item| item.id.to_string())?;
    Ok(Json(PolicyList { items, next_cursor, total }))
}

/// One policy
#[utoipa::path(get, path = "/policies/{id}", operation_id = "get_policy", tag = "policies",
    params(PathId<Policy>), responses((status = OK, body = PolicyItem)))]
pub async fn policy(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<Policy>,
) -> Result<(ETag, Json<PolicyItem>), WebError> {
    app.store().ping().await?;
    let active = find(&app, id).ok_or_else(missing::<Policy>)?;
    // In place of one of the configuration, which nobody has set, one can be set.
    let set = Some(&*active).filter(|active| active.origin.is_person());
    Ok((ETag(Version::of_perhaps(set)), Json((&*active).into())))
}

fn find(app: &AppState, id: PolicyId) -> Option<Arc<ActivePolicy>> {
    app.policies.book().all().iter().find(|active| active.policy.id() == id).cloned()
}

/// A policy to set: a list of delays, or a first one that grows.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPolicy {
    /// A name or a glob (`*`, `?`).
    #[schema(min_length = 1, max_length = 255, example = "texts.*")]
    queues: String,
    /// Only for messages dead-lettered for this reason; any if left out.
    #[schema(value_type = Option<words::Reason>)]
    reason: Option<String>,
    /// How long a message waits before each retry; none means that nothing is retried.
    #[schema(value_type = Option<Vec<words::LengthOfTime>>, max_items = 100, example = json!(["10s", "100s"]))]
    delays: Option<Vec<String>>,
    /// The first delay, in place of a list.
    #[schema(format = "length-of-time", example = "10s")]
    initial: Option<String>,
    /// By which each next one is multiplied.
    #[schema(minimum = 1, maximum = 1000, default = 2.0)]
    factor: Option<f64>,
    /// The longest delay.
    #[schema(format = "length-of-time", default = "1h")]
    max: Option<String>,
    /// How many retries there are.
    #[schema(minimum = 1, maximum = 100, default = 5)]
    attempts: Option<u32>,
    /// Share of a delay by which it varies at random, both ways.
    #[schema(minimum = 0, maximum = 1, default = 0.1)]
    jitter: Option<f64>,
    /// In the broker they are not visible and cannot be stopped.
    #[schema(value_type = Option<words::Via>, default = "database")]
    via: Option<String>,
    /// Whether consumers see the routing key of the first publish again.
    keep_routing_key: Option<bool>,
}

impl From<NewPolicy> for Draft {
    fn from(new: NewPolicy) -> Self {
        Self {
            queues: new.queues,
            reason: new.reason,
            delays: new.delays,
            initial: new.initial,
            factor: new.factor,
            max: new.max,
            attempts: new.attempts,
            jitter: new.jitter,
            via: new.via,
            keep_routing_key: new.keep_routing_key,
        }
    }
}

impl CallBody for NewPolicy {
    type Read = Policy;

    async fn read(self, _: &Call<'_>) -> Result<Policy, WebError> {
        Ok(Draft::from(self).policy()?)
    }
}

/// Add a policy; it is in force at once
#[utoipa::path(post, path = "/policies", operation_id = "create_policy", tag = "policies", request_body = NewPolicy,
    responses(
    (status = CREATED, body = PolicyItem),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json",
        description = "One is set for the same queues and reason already"),
))]
pub async fn add(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    JsonBody(policy): JsonBody<NewPolicy>,
) -> Result<impl IntoResponse, WebError> {
    let added = app.policies.set(&policy, &Expected::nothing(), &user).await;
    added.map_err(|error| match error {
        PolicyError::Changed(_) => {
            let id = policy.id();
            WebError::conflict(format!("A policy is set for these queues and this reason: {id}. Change that one."))
        }
        error => Refused::from(error).into(),
    })?;
    let (tag, body) = stored(&app, &policy);
    Ok((tag, made_at("policies", policy.id(), body)))
}

/// Set a policy that is there, or one in place of the configuration's; it is in force at once
///
/// `queues` and `reason` are what it is known by, and stay as they are.
#[utoipa::path(put, path = "/policies/{id}", operation_id = "set_policy", tag = "policies",
    params(PathId<Policy>, Precondition), request_body = NewPolicy, responses((status = OK, body = PolicyItem)))]
pub async fn set(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Policy>,
    Precondition(expected): Precondition,
    JsonBody(policy): JsonBody<NewPolicy>,
) -> Result<(ETag, Json<PolicyItem>), WebError> {
    find(&app, id).ok_or_else(missing::<Policy>)?;
    if policy.id() != id {
        return Err(WebError::field(
            "queues",
            FaultCode::Invalid,
            "with the reason, it is what a policy is known by; add another one for others",
        ));
    }
    app.policies.set(&policy, &expected, &user).await.map_err(Refused::from)?;
    Ok(stored(&app, &policy))
}

fn stored(app: &AppState, policy: &Policy) -> (ETag, Json<PolicyItem>) {
    let stored = find(app, policy.id()).filter(|active| active.policy == *policy);
    let item = stored.map_or_else(|| PolicyItem::new(policy), |active| (&*active).into());
    (ETag(Version::of(policy)), Json(item))
}

/// Remove a policy that was set here; `GET queues` says what is in force then
#[utoipa::path(delete, path = "/policies/{id}", operation_id = "delete_policy", tag = "policies",
    params(PathId<Policy>, Precondition), responses(
    (status = NO_CONTENT),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json",
        description = "It stands in the configuration"),
))]
pub async fn remove(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Policy>,
    Precondition(expected): Precondition,
) -> Result<StatusCode, WebError> {
    let active = find(&app, id).ok_or_else(missing::<Policy>)?;
    if active.origin == Origin::Configuration {
        return Err(WebError::conflict("It stands in the configuration, and cannot be removed here."));
    }
    let Policy { queues, reason, .. } = &active.policy;
    let was_there = app.policies.unset(queues, *reason, &expected, &user).await.map_err(Refused::from)?;
    was_there.then_some(StatusCode::NO_CONTENT).ok_or_else(missing::<Policy>)
}
