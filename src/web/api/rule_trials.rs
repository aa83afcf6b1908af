//! `/api/v1/rules/test` and `/api/v1/rules/apply`: what a rule would do, and having all of them do it.

use std::sync::Arc;

use axum::{Json, extract::State, response::Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::words;
use super::{
    jobs::{Started, started},
    rules::read_position,
};
use crate::{
    domain::{
        letter::Importance,
        rule::{Rule, RuleId},
    },
    services::rules::{Draft, RuleError, Trial, TriedLetter},
    web::{
        error::{Gathered, WebError},
        input::call_body::{Call, CallBody, JsonBody},
        orders::letters::read_importance,
        problem::Problem,
        state::AppState,
        visitor::CurrentUser,
    },
};

/// A rule to try, which need not have been written yet.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleDraft {
    /// In CEL, over `letter` and `payload`.
    #[serde(rename = "when")]
    #[schema(min_length = 1, max_length = 4000, example = "letter.queue.startsWith('payments.')")]
    expression: String,
    #[schema(value_type = Option<words::Importance>, default = "high")]
    importance: Option<String>,
    /// The rule it replaces in the test; none: it is a new one.
    id: Option<Uuid>,
    name: Option<String>,
    /// Where it would stand in the order, from 1 on; where it stands or, a new one, last.
    #[schema(minimum = 1)]
    position: Option<usize>,
}

impl CallBody for RuleDraft {
    type Read = Draft;

    async fn read(self, call: &Call<'_>) -> Result<Draft, WebError> {
        let mut gathered = Gathered::default();
        let importance = gathered.take(self.importance.as_deref().map(read_importance).transpose());
        let place = gathered.take(read_position(self.position));
        let is_named = self.name.is_some();
        let rule = Rule {
            name: self.name.unwrap_or_default(),
            expression: self.expression,
            importance: importance.unwrap_or(Importance::High),
        };
        let mistakes = call.app.rules.mistakes(&rule).await;
        let mistakes = mistakes.into_iter().filter(|error| is_named || !matches!(error, RuleError::Name(_)));
        mistakes.for_each(|error| gathered.add(error.into()));
        gathered.end().map(|()| Draft { id: self.id.map(RuleId::from_uuid), rule, place })
    }
}

/// The result of trying a rule. Nothing was written.
#[derive(Serialize, ToSchema)]
pub struct TrialResult {
    /// Letters that it was tried on: the newest that are open or wait, and where these are fewer than 500 the newest of
    /// the others.
    looked_at: u64,
    /// Whether that took so long that it was given up before all were looked at.
    cut: bool,
    /// Letters that it takes.
    takes: u64,
    /// Letters that it would take if no rule before it did.
    comes_too_late: u64,
    /// Letters on which it could not be tried.
    failures: u64,
    /// Why not, on the first of them.
    first_failure: Option<String>,
    /// Letters whose importance would change if the rules were applied with it.
    changes: u64,
    /// Some of those that would change and of the others that it takes.
    letters: Vec<TrialLetter>,
}

/// A letter that a rule was tried on.
#[derive(Serialize, ToSchema)]
pub struct TrialLetter {
    id: Uuid,
    broker: String,
    queue: Option<String>,
    message_type: Option<String>,
    /// Whether the rule takes it.
    taken: bool,
    #[schema(value_type = words::Importance)]
    importance: &'static str,
    /// What it would be with the rules applied.
    #[schema(value_type = words::Importance)]
    would_be: &'static str,
}

impl From<Trial> for TrialResult {
    fn from(trial: Trial) -> Self {
        Self {
            looked_at: trial.looked_at,
            cut: trial.is_cut,
            takes: trial.takes,
            comes_too_late: trial.comes_too_late,
            failures: trial.failures,
            changes: trial.n_changes(),
            first_failure: trial.first_failure,
            letters: trial.letters.into_iter().map(TrialLetter::from).collect(),
        }
    }
}

impl From<TriedLetter> for TrialLetter {
    fn from(TriedLetter { letter, is_taken, would_be }: TriedLetter) -> Self {
        Self {
            id: letter.id.as_uuid(),
            broker: letter.broker,
            queue: letter.queue,
            message_type: letter.message_type,
            taken: is_taken,
            importance: letter.importance.as_str(),
            would_be: would_be.as_str(),
        }
    }
}

/// Try a rule on letters that came in lately, among the rules that are in force
#[utoipa::path(post, path = "/rules/test", operation_id = "test_rule", tag = "rules", request_body = RuleDraft, responses(
    (status = OK, body = TrialResult),
    (status = NOT_FOUND, description = "There is no rule with this id", body = Problem,
        content_type = "application/problem+json"),
))]
pub async fn test(
    State(app): State<Arc<AppState>>,
    JsonBody(draft): JsonBody<RuleDraft>,
) -> Result<Json<TrialResult>, WebError> {
    Ok(Json(app.rules.try_draft(&app.reader, &draft).await?.into()))
}

/// Apply the rules to all letters that are open or wait for a retry, as a job; what was set by hand stays
#[utoipa::path(post, path = "/rules/apply", operation_id = "apply_rules", tag = "rules", responses((status = ACCEPTED, body = Started)))]
pub async fn apply(State(app): State<Arc<AppState>>, user: CurrentUser) -> Result<Response, WebError> {
    Ok(started(app.rules.apply(&user).await?))
}
