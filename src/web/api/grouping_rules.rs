//! `/api/v1/grouping-rules`: what makes errors alike that differ in what is not about what is wrong.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode, response::IntoResponse};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{reply::made_at, words};
use crate::{
    domain::{grouping_rule::GroupingRule, merge::KnownGroup},
    services::grouping_rules::{NewGroupingRule, Preview, WouldMerge},
    web::{
        error::WebError,
        input::{
            Query,
            call_body::{Call, CallBody, JsonBody},
            path_id::{PathId, missing},
        },
        orders::grouping_rule::{check, wrong_with},
        query::{Page, Paging},
        state::AppState,
        view::time::timestamp,
        visitor::CurrentUser,
    },
};

/// All grouping rules, in the order in which they were added, which is that in which they rewrite.
#[derive(Serialize, ToSchema)]
pub struct GroupingRuleList {
    items: Vec<GroupingRuleItem>,
    /// Where the next page begins; null on the last one.
    next_cursor: Option<String>,
    /// Rules on all pages.
    total: usize,
}

/// A grouping rule.
#[derive(Serialize, ToSchema)]
pub struct GroupingRuleItem {
    id: Uuid,
    name: String,
    /// A regular expression.
    pattern: String,
    /// What stands in place of what its brackets match or, without brackets, of all that it matches.
    placeholder: String,
    set_by: String,
    #[schema(format = DateTime)]
    set_at: String,
}

impl From<GroupingRule> for GroupingRuleItem {
    fn from(rule: GroupingRule) -> Self {
        let GroupingRule { id, name, pattern, placeholder, by, set_at } = rule;
        Self { id, name, pattern, placeholder, set_by: by.as_str().to_owned(), set_at: timestamp(set_at) }
    }
}

/// A grouping rule to add.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewGroupingRuleBody {
    /// In one line; no two rules have the same.
    #[schema(min_length = 1, max_length = 100, example = "customers")]
    name: String,
    /// A regular expression (without look-around) over the error of a group.
    #[schema(min_length = 1, max_length = 300, example = "no customer (\\w+)")]
    pattern: String,
    /// What stands in place of what its brackets match or, without brackets, of all that it matches.
    #[serde(default = "ellipsis")]
    #[schema(min_length = 1, max_length = 40, default = "…", example = "…")]
    placeholder: String,
}

fn ellipsis() -> String {
    "…".to_owned()
}

impl CallBody for NewGroupingRuleBody {
    type Read = NewGroupingRule;

    async fn read(self, _: &Call<'_>) -> Result<NewGroupingRule, WebError> {
        let Self { name, pattern, placeholder } = self;
        let new = NewGroupingRule { name, pattern, placeholder };
        check(&new)?;
        Ok(new)
    }
}

/// What a rule would do.
#[derive(Serialize, ToSchema)]
pub struct GroupingPreview {
    /// Groups that it would make one, those of most first.
    merges: Vec<WouldMergeItem>,
    /// How many merges there are beside these.
    left_out: usize,
    /// Groups whose error it changes.
    matched: usize,
}

/// Groups that would be one.
#[derive(Serialize, ToSchema)]
pub struct WouldMergeItem {
    broker: String,
    queue: Option<String>,
    message_type: Option<String>,
    #[schema(value_type = words::Reason)]
    reason: &'static str,
    /// What their errors have in common.
    error: String,
    /// The first is the one that the others become part of.
    groups: Vec<GroupToMerge>,
    /// How many there are beside these.
    left_out: usize,
}

/// A group as it is.
#[derive(Serialize, ToSchema)]
pub struct GroupToMerge {
    id: Uuid,
    error: String,
    letters: u64,
}

impl From<Preview> for GroupingPreview {
    fn from(preview: Preview) -> Self {
        let Preview { merges, left_out, matched } = preview;
        Self { merges: merges.into_iter().map(WouldMergeItem::from).collect(), left_out, matched }
    }
}

impl From<WouldMerge> for WouldMergeItem {
    fn from(merge: WouldMerge) -> Self {
        let WouldMerge { key, groups, left_out } = merge;
        let group =
            |group: KnownGroup| GroupToMerge { id: group.id.as_uuid(), error: group.key.error, letters: group.letters };
        Self {
            broker: key.broker,
            queue: key.queue,
            message_type: key.message_type,
            reason: key.reason.as_str(),
            error: key.error,
            groups: groups.into_iter().map(group).collect(),
            left_out,
        }
    }
}

/// The grouping rules
#[utoipa::path(get, path = "/grouping-rules", operation_id = "list_grouping_rules", tag = "groups", params(Paging),
    responses((status = OK, body = GroupingRuleList)))]
pub async fn rules(
    State(app): State<Arc<AppState>>,
    Query(paging): Query<Paging>,
) -> Result<Json<GroupingRuleList>, WebError> {
    let all: Vec<_> = app.grouping_rules.all().into_iter().map(GroupingRuleItem::from).collect();
    let Page { items, next_cursor, total } = paging.page("grouping-rules", all, |item| item.id.to_string())?;
    Ok(Json(GroupingRuleList { items, next_cursor, total }))
}

/// One grouping rule
#[utoipa::path(get, path = "/grouping-rules/{id}", operation_id = "get_grouping_rule", tag = "groups",
    params(PathId<GroupingRule>), responses((status = OK, body = GroupingRuleItem)))]
pub async fn rule(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<GroupingRule>,
) -> Result<Json<GroupingRuleItem>, WebError> {
    let rule = app.grouping_rules.all().into_iter().find(|rule| rule.id == id);
    Ok(Json(rule.ok_or_else(missing::<GroupingRule>)?.into()))
}

/// Have errors be alike that differ only in what a pattern matches
///
/// Groups that it makes alike are merged, and what comes in is in that one group. To remove the rule splits them again.
#[utoipa::path(post, path = "/grouping-rules", operation_id = "create_grouping_rule", tag = "groups",
    request_body = NewGroupingRuleBody, responses((status = CREATED, body = GroupingRuleItem)))]
pub async fn add(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    JsonBody(new): JsonBody<NewGroupingRuleBody>,
) -> Result<impl IntoResponse, WebError> {
    match app.grouping_rules.add(&new, &user).await {
        Ok(rule) => Ok(made_at("grouping-rules", rule.id, Json(GroupingRuleItem::from(rule)))),
        Err(error) => Err(wrong_with(error)?.into()),
    }
}

/// What a grouping rule would merge
#[utoipa::path(post, path = "/grouping-rules/preview", operation_id = "preview_grouping_rule", tag = "groups",
    request_body = NewGroupingRuleBody, responses((status = OK, body = GroupingPreview)))]
pub async fn preview(
    State(app): State<Arc<AppState>>,
    JsonBody(new): JsonBody<NewGroupingRuleBody>,
) -> Result<Json<GroupingPreview>, WebError> {
    Ok(Json(app.grouping_rules.preview(&new, &app.store()).await?.into()))
}

/// Remove a grouping rule; the groups that it had merged are split again
///
/// What came in since it was added stays in a group of its own.
#[utoipa::path(delete, path = "/grouping-rules/{id}", operation_id = "delete_grouping_rule", tag = "groups",
    params(PathId<GroupingRule>), responses((status = NO_CONTENT)))]
pub async fn remove(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<GroupingRule>,
) -> Result<StatusCode, WebError> {
    app.grouping_rules.remove(id, &user).await?.ok_or_else(missing::<GroupingRule>)?;
    Ok(StatusCode::NO_CONTENT)
}
