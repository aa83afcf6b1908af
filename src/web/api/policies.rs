//! `/api/v1/policies`: what is retried by itself.

use std::sync::Arc;

use amqp_message::death::Reason;
use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    domain::{
        policy::{ActivePolicy, Delays, Origin, Policy},
        version::{Version, Versioned},
    },
    web::{
        AppState,
        draft::{Draft, Refused},
        error::WebError,
        input::{JsonBody, Query},
        policy_effect,
        precondition::{ETag, Precondition},
        problem::Problem,
        query::{form, parameters},
        security::CurrentUser,
        view::{
            policy::{in_full, typed_duration},
            time::rfc3339,
        },
    },
};

/// What is in force, the most specific first: of those that fit a queue, the first applies.
#[derive(Serialize, ToSchema)]
pub struct PolicyList {
    items: Vec<PolicyItem>,
}

/// A policy of automatic retries.
#[derive(Serialize, ToSchema)]
pub struct PolicyItem {
    /// A name or a glob (`*`, `?`).
    queues: String,
    /// Only for messages dead-lettered for this reason; null for any reason.
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
    via: &'static str,
    keep_routing_key: bool,
    /// Which version this is, for `If-Match`; null for the configuration, in whose place `If-None-Match: *` sets one.
    version: Option<String>,
    /// Who set it; null for the configuration.
    set_by: Option<String>,
    set_at: Option<String>,
}

impl From<&ActivePolicy> for PolicyItem {
    fn from(active: &ActivePolicy) -> Self {
        let item = Self::new(&active.policy);
        match &active.origin {
            Origin::Configuration => item,
            Origin::Person { by, at } => {
                let version = Some(active.version().to_string());
                Self { version, set_by: Some(by.as_str().to_owned()), set_at: Some(rfc3339(*at)), ..item }
            }
        }
    }
}

impl PolicyItem {
    fn new(policy: &Policy) -> Self {
        let item = Self {
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
#[utoipa::path(get, path = "/policies", tag = "policies", responses((status = OK, body = PolicyList)))]
pub async fn policies(State(app): State<Arc<AppState>>) -> Json<PolicyList> {
    Json(PolicyList { items: app.policies.book().all().iter().map(|active| (&**active).into()).collect() })
}

/// A policy to set: a list of delays, or a first one that grows.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPolicy {
    /// A name or a glob (`*`, `?`).
    queues: String,
    /// Only for messages dead-lettered for this reason; any if left out.
    reason: Option<String>,
    /// `["10s", "100s"]`: how long a message waits before each retry; none means that nothing is retried.
    delays: Option<Vec<String>>,
    /// The first delay, in place of a list.
    initial: Option<String>,
    /// By which each next one is multiplied; 2 if left out.
    factor: Option<f64>,
    /// The longest delay; `1h` if left out.
    max: Option<String>,
    /// How many retries there are; 5 if left out.
    attempts: Option<u32>,
    /// Share of a delay, 0 to 1, by which it varies at random, both ways; 0.1 if left out.
    jitter: Option<f64>,
    /// Where messages wait: `database` (default) or `broker`. In the broker they are not visible and cannot be
    /// stopped.
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

/// Set a policy, in place of the one for the same queues and reason; it is in force at once
#[utoipa::path(put, path = "/policies", tag = "policies", params(Precondition), request_body = NewPolicy, responses(
    (status = OK, body = PolicyItem),
    (status = PRECONDITION_FAILED, body = Problem, content_type = "application/problem+json"),
    (status = UNPROCESSABLE_ENTITY, body = Problem, content_type = "application/problem+json"),
))]
pub async fn set(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    Precondition(expected): Precondition,
    JsonBody(new): JsonBody<NewPolicy>,
) -> Result<(ETag, Json<PolicyItem>), WebError> {
    let policy = Draft::from(new).policy()?;
    app.policies.set(&policy, &expected, &user).await.map_err(Refused::from)?;
    let book = app.policies.book();
    let stored = book.all().iter().find(|active| active.policy == policy);
    let item = stored.map_or_else(|| PolicyItem::new(&policy), |active| (&**active).into());
    Ok((ETag(Version::of(&policy)), Json(item)))
}

parameters! {
    /// Which policy to take back.
    pub Target {
        /// The queues it was set for, as they were written.
        "queues" queues: Option<String> as form::One => String,
        /// The reason it was set for; left out for one of any reason.
        "reason" reason: Option<Reason> as form::One => Option<String>,
    }
}

/// What is in force in place of a policy that was taken back.
#[derive(Serialize, ToSchema)]
pub struct InForce {
    /// Null where nothing is retried by itself any more.
    in_force: Option<PolicyItem>,
}

/// Remove a policy that was set here
#[utoipa::path(delete, path = "/policies", tag = "policies", params(Target, Precondition), responses(
    (status = OK, body = InForce),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = PRECONDITION_FAILED, body = Problem, content_type = "application/problem+json"),
))]
pub async fn unset(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    Query(Target { queues, reason }): Query<Target>,
    Precondition(expected): Precondition,
) -> Result<Json<InForce>, WebError> {
    let queues = queues.ok_or_else(|| WebError::bad_request("queues: it is needed"))?;
    if !app.policies.unset(&queues, reason, &expected, &user).await.map_err(Refused::from)? {
        return Err(WebError::not_found("There is no such policy; those of the configuration cannot be removed here."));
    }
    let book = app.policies.book();
    Ok(Json(InForce { in_force: policy_effect::next(&book, &queues, reason).map(PolicyItem::from) }))
}
