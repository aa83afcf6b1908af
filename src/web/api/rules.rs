//! `/api/v1/rules`: what says how important letters are.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode, response::IntoResponse};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{reply::made_at, words};
use crate::{
    domain::{
        letter::Importance,
        rule::{ActiveRule, Rule, RuleFailures, RuleId},
        rule_order::{RuleOrder, RulePlace},
        version::{Expected, Version, Versioned},
    },
    services::rules::{RuleBook, RuleError},
    web::{
        error::{Gathered, WebError, codes::FaultCode},
        input::{
            Query,
            call_body::{Call, CallBody, JsonBody},
            path_id::PathId,
            precondition::{ETag, Precondition},
        },
        orders::letters::read_importance,
        problem::{MistakeItem, Problem},
        query::{Page, Paging},
        state::AppState,
        view::time::timestamp,
        visitor::CurrentUser,
    },
};

/// All rules, in the order in which they are tried: the first that matches decides.
#[derive(Serialize, ToSchema)]
pub struct RuleList {
    items: Vec<RuleItem>,
    /// Where the next page begins; null on the last one.
    next_cursor: Option<String>,
    /// Rules on all pages.
    total: usize,
    /// The file they stand in; null where they are kept here and can be changed.
    file: Option<String>,
    /// Why the file cannot be read as it is now; those that it had before are in force.
    problem: Option<String>,
    /// Which version of the order this is, for `If-Match`.
    version: String,
}

/// A rule of importance.
#[derive(Serialize, ToSchema)]
pub struct RuleItem {
    id: Uuid,
    /// From 1 on: where it stands in the order.
    position: usize,
    name: String,
    /// In CEL.
    #[serde(rename = "when")]
    expression: String,
    /// `critical`, `high`, `normal` or `low`: of the letters that it takes
    #[schema(value_type = words::Importance)]
    importance: &'static str,
    /// Which version this is, for `If-Match`.
    version: String,
    /// Who wrote it as it is; null where it stands in a file.
    set_by: Option<String>,
    #[schema(format = DateTime)]
    set_at: Option<String>,
    /// Why it cannot be tried: only of a rule that an earlier version wrote.
    mistakes: Vec<MistakeItem>,
    /// Letters on which it could not be tried since it was written; null where there are none.
    failures: Option<FailuresItem>,
}

/// How often a rule could not be tried.
#[derive(Serialize, ToSchema)]
pub struct FailuresItem {
    count: u64,
    #[schema(format = DateTime)]
    last_at: String,
    last_letter: Uuid,
    last_error: String,
}

impl RuleItem {
    fn new(book: &RuleBook, place: usize, active: &ActiveRule, failures: Option<&RuleFailures>) -> Self {
        let rule = &active.rule;
        Self {
            id: active.id.as_uuid(),
            position: place + 1,
            name: rule.name.clone(),
            expression: rule.expression.clone(),
            importance: rule.importance.as_str(),
            version: active.version().to_string(),
            set_by: active.set.as_ref().map(|(by, _)| by.as_str().to_owned()),
            set_at: active.set.as_ref().map(|(_, at)| timestamp(*at)),
            mistakes: book.mistakes(active.id).iter().map(MistakeItem::from).collect(),
            failures: failures.map(|failures| FailuresItem {
                count: failures.count,
                last_at: timestamp(failures.last_at),
                last_letter: failures.last_letter.as_uuid(),
                last_error: failures.last_error.clone(),
            }),
        }
    }
}

/// The rules
#[utoipa::path(get, path = "/rules", operation_id = "list_rules", tag = "rules", params(Paging),
    responses((status = OK, body = RuleList)))]
pub async fn rules(
    State(app): State<Arc<AppState>>,
    Query(paging): Query<Paging>,
) -> Result<(ETag, Json<RuleList>), WebError> {
    list(&app, &paging).await
}

async fn list(app: &AppState, paging: &Paging) -> Result<(ETag, Json<RuleList>), WebError> {
    let book = app.rules.in_force();
    let (all, version) = (items(app, &book).await?, RuleOrder::of(book.active()).version());
    let Page { items, next_cursor, total } = paging.page("rules", all, |item| item.id.to_string())?;
    let (file, problem) = (app.rules.file().map(|file| file.display().to_string()), app.rules.problem());
    let list = RuleList { items, next_cursor, total, file, problem, version: version.to_string() };
    Ok((ETag(version), Json(list)))
}

async fn items(app: &AppState, book: &RuleBook) -> Result<Vec<RuleItem>, WebError> {
    let failures = app.rule_failures().await?;
    let item =
        |(place, active): (usize, &ActiveRule)| RuleItem::new(book, place, active, failures.get(&active.rule.name));
    Ok(book.active().iter().enumerate().map(item).collect())
}

async fn one(app: &AppState, id: RuleId) -> Result<(ETag, Json<RuleItem>), WebError> {
    let found = items(app, &app.rules.in_force())
        .await?
        .into_iter()
        .find(|item| item.id == id.as_uuid())
        .ok_or(RuleError::Gone)?;
    Ok((ETag(Version::told(found.version.clone())), Json(found)))
}

/// A rule to write.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRule {
    /// In one line; no two rules have the same.
    #[schema(min_length = 1, max_length = 100, example = "payments first")]
    name: String,
    /// In CEL, over `letter` and `payload`.
    #[serde(rename = "when")]
    #[schema(min_length = 1, max_length = 4000, example = "letter.queue.startsWith('payments.')")]
    expression: String,
    #[schema(value_type = words::Importance)]
    importance: String,
    /// Where it comes to stand in the order, from 1 on; last or, if it is there already, where it stands.
    #[schema(minimum = 1)]
    position: Option<usize>,
}

impl CallBody for NewRule {
    type Read = (Rule, Option<RulePlace>);

    async fn read(self, call: &Call<'_>) -> Result<Self::Read, WebError> {
        let importance = read_importance(&self.importance);
        let known = importance.as_ref().copied().unwrap_or(Importance::Normal);
        let rule = Rule { name: self.name, expression: self.expression, importance: known };
        let mut gathered = Gathered::default();
        call.app.rules.mistakes(&rule).await.into_iter().for_each(|error| gathered.add(error.into()));
        let place = gathered.take(read_position(self.position));
        let place = place.map(|at| RulePlace { at, order: Expected::Anything });
        WebError::both(gathered.end(), importance).map(|_| (rule, place))
    }
}

/// People count from 1.
pub(super) fn read_position(position: Option<usize>) -> Result<Option<usize>, WebError> {
    let first = || WebError::field("position", FaultCode::Range, "it counts from 1");
    position.map(|position| position.checked_sub(1).ok_or_else(first)).transpose()
}

/// One rule
#[utoipa::path(get, path = "/rules/{id}", operation_id = "get_rule", tag = "rules", params(PathId<Rule>), responses(
    (status = OK, body = RuleItem),
))]
pub async fn rule(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<Rule>,
) -> Result<(ETag, Json<RuleItem>), WebError> {
    one(&app, id).await
}

/// Write a new rule; it is in force for what comes in from then on
#[utoipa::path(post, path = "/rules", operation_id = "create_rule", tag = "rules", request_body = NewRule, responses(
    (status = CREATED, body = RuleItem),
    (status = CONFLICT, description = "The rules are in a file", body = Problem,
        content_type = "application/problem+json"),
))]
pub async fn add(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    JsonBody((rule, place)): JsonBody<NewRule>,
) -> Result<impl IntoResponse, WebError> {
    let id = app.rules.set(None, &rule, place.as_ref(), &Expected::Anything, &user).await?;
    let (tag, item) = one(&app, id).await?;
    Ok((tag, made_at("rules", id, item)))
}

/// Write a rule anew; it is in force for what comes in from then on
#[utoipa::path(put, path = "/rules/{id}", operation_id = "set_rule", tag = "rules", params(PathId<Rule>, Precondition), request_body = NewRule,
    responses(
    (status = OK, body = RuleItem),
    (status = CONFLICT, description = "The rules are in a file", body = Problem,
        content_type = "application/problem+json"),
))]
pub async fn set(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Rule>,
    Precondition(expected): Precondition,
    JsonBody((rule, place)): JsonBody<NewRule>,
) -> Result<(ETag, Json<RuleItem>), WebError> {
    app.rules.set(Some(id), &rule, place.as_ref(), &expected, &user).await?;
    one(&app, id).await
}

/// Remove a rule; letters that it took keep their importance until the rules are applied
#[utoipa::path(delete, path = "/rules/{id}", operation_id = "delete_rule", tag = "rules", params(PathId<Rule>, Precondition), responses(
    (status = NO_CONTENT),
    (status = CONFLICT, description = "The rules are in a file", body = Problem,
        content_type = "application/problem+json"),
))]
pub async fn remove(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Rule>,
    Precondition(expected): Precondition,
) -> Result<StatusCode, WebError> {
    app.rules.remove(id, &expected, &user).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// An order of rules.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewOrder {
    /// Ids of rules, the first to be tried first; those that are left out follow as they were.
    ids: Vec<Uuid>,
}

impl CallBody for NewOrder {
    type Read = Vec<RuleId>;

    async fn read(self, call: &Call<'_>) -> Result<Vec<RuleId>, WebError> {
        let book = call.app.rules.in_force();
        let (mut gathered, mut ids) = (Gathered::default(), Vec::new());
        for (place, id) in self.ids.into_iter().map(RuleId::from_uuid).enumerate() {
            let mistake = match book.find(id) {
                None => Some((FaultCode::Invalid, format!("there is no rule {id}"))),
                Some(_) if ids.contains(&id) => Some((FaultCode::Repeated, format!("{id} is given more than once"))),
                Some(_) => None,
            };
            match mistake {
                Some((code, why)) => gathered.add(WebError::field(&format!("ids.{place}"), code, why)),
                None => ids.push(id),
            }
        }
        gathered.end().map(|()| ids)
    }
}

/// Put the rules into another order; `If-Match` is about the order
#[utoipa::path(put, path = "/rules/order", operation_id = "order_rules", tag = "rules", params(Precondition), request_body = NewOrder, responses(
    (status = OK, body = RuleList),
    (status = CONFLICT, description = "The rules are in a file", body = Problem,
        content_type = "application/problem+json"),
))]
pub async fn order(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    Precondition(expected): Precondition,
    JsonBody(ids): JsonBody<NewOrder>,
) -> Result<(ETag, Json<RuleList>), WebError> {
    app.rules.order(&ids, &expected, &user).await?;
    list(&app, &Paging::default()).await
}
