//! `GET /api/v1/groups/{id}/in-common`: what the letters of a group have in common.

use std::sync::Arc;

use axum::{Json, extract::State};
use contrast_sets::{Condition, Contrast, Fact, Measure};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::words;
use crate::{
    domain::group::Group,
    services::causes::InCommon,
    web::{
        error::WebError,
        input::path_id::{PathId, missing},
        problem::Problem,
        query::LetterQuery,
        shared::search::Searched,
        state::AppState,
        view::in_common::says,
        visitor::Visitor,
    },
};

/// What dead letters of a group have in common that other messages have not.
#[derive(Serialize, ToSchema)]
pub struct GroupInCommon {
    /// The least likely by chance first; empty where nothing stands out, or too few messages can be compared.
    items: Vec<InCommonItem>,
    /// Dead letters of the group that were compared; 400 at most, spread evenly over the time they came in.
    sampled: u64,
    /// Dead letters of the group that have not been retried with success.
    total: u64,
    elsewhere: ElsewhereItem,
}

/// The messages that they were compared with, 400 at most.
#[derive(Serialize, ToSchema)]
struct ElsewhereItem {
    /// Dead letters of other groups of the queue.
    other_groups: u64,
    /// Messages of the queue that were retried and have not failed again.
    succeeded: u64,
    /// Dead letters of the type in other queues; only where the queue itself has too few others.
    same_type: u64,
}

/// A condition that holds here more often than elsewhere, by Fisher's exact test with Tarone's correction.
#[derive(Serialize, ToSchema)]
struct InCommonItem {
    /// What of a message it is about: `payload.` or `header.` and a path, or a property.
    #[schema(example = "payload.total.currency")]
    field: String,
    #[schema(value_type = words::CommonCondition)]
    condition: &'static str,
    /// What `value` is compared with, where `condition` is `at_least` or `at_most`.
    #[schema(value_type = Option<words::CommonMeasure>)]
    measure: Option<&'static str>,
    /// Null where the condition takes none.
    #[schema(value_type = Option<Value>)]
    value: Value,
    /// The whole as a sentence.
    #[schema(example = "payload.total.currency is missing")]
    text: String,
    /// For so many of the sample it holds,
    here: u64,
    /// and for so many of the others.
    elsewhere: u64,
    /// How likely that would be by chance, not corrected.
    p_value: f64,
}

impl From<&Contrast> for InCommonItem {
    fn from(contrast: &Contrast) -> Self {
        let Contrast { attribute, condition, here, elsewhere, p_value, .. } = contrast;
        let (word, measure, value) = match condition {
            Condition::Missing => ("missing", None, Value::Null),
            Condition::Empty => ("empty", None, Value::Null),
            Condition::Present => ("present", None, Value::Null),
            Condition::Is(fact) => ("is", None, json(fact)),
            Condition::AtLeast(measure, least) => ("at_least", Some(*measure), Value::from(*least)),
            Condition::AtMost(measure, most) => ("at_most", Some(*measure), Value::from(*most)),
        };
        Self {
            field: attribute.clone(),
            condition: word,
            measure: measure.map(|measure| match measure {
                Measure::Value => "value",
                Measure::Items => "items",
                Measure::Length => "length",
            }),
            value,
            text: format!("{attribute} {}", says(attribute, condition)),
            here: *here as u64,
            elsewhere: *elsewhere as u64,
            p_value: *p_value,
        }
    }
}

fn json(fact: &Fact) -> Value {
    match fact {
        Fact::Bool(is) => Value::from(*is),
        Fact::Number(number) => Value::from(*number),
        Fact::Text(text) => Value::from(text.as_str()),
        Fact::Items(_) | Fact::Long(_) | Fact::Object | Fact::Null | Fact::Hidden => Value::Null,
    }
}

/// What the dead letters of a group have in common that other messages have not
///
/// A sample of them is compared with a sample of other messages of their queue, or else of their type: which fields of
/// payload and headers, values, absences, lengths and times of day stand out. Hidden fields take part as present or
/// missing only.
#[utoipa::path(get, path = "/groups/{id}/in-common", operation_id = "get_group_in_common", tag = "groups",
    params(PathId<Group>), responses((status = OK, body = GroupInCommon)))]
pub async fn in_common(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<Group>,
) -> Result<Json<GroupInCommon>, WebError> {
    let store = app.store();
    let group = store.groups_by_id(&[id]).await?.pop().ok_or_else(missing::<Group>)?;
    Visitor::looks_at_queue(&group.key.broker, group.key.queue.as_deref());
    let InCommon { here, total, elsewhere, contrasts, .. } = app.causes.in_common(&store, &group).await?;
    Ok(Json(GroupInCommon {
        items: contrasts.iter().map(InCommonItem::from).collect(),
        sampled: here as u64,
        total: total.n,
        elsewhere: ElsewhereItem {
            other_groups: elsewhere.other_groups as u64,
            succeeded: elsewhere.succeeded as u64,
            same_type: elsewhere.same_type as u64,
        },
    }))
}

/// What dead letters of a search have in common that others of the same queues have not.
#[derive(Serialize, ToSchema)]
pub struct SearchInCommon {
    /// The least likely by chance first; empty where nothing stands out, or too few messages can be compared. What the search
    /// itself asks for is left out.
    items: Vec<InCommonItem>,
    /// Dead letters of the search that were compared; 400 at most, spread evenly over the time they came in.
    sampled: u64,
    /// Dead letters of the search that have not been retried with success; 10,000 at most are counted.
    total: u64,
    /// Whether there are more.
    total_is_least: bool,
    elsewhere: SearchElsewhere,
}

/// The messages that they were compared with, 400 at most: of the same queues and, where there are enough, of the same time and
/// types.
#[derive(Serialize, ToSchema)]
struct SearchElsewhere {
    /// Dead letters that the search does not find.
    not_found: u64,
    /// Messages that were retried and have not failed again.
    succeeded: u64,
}

/// What the dead letters of a search have in common that others have not
///
/// Takes what a list of dead letters takes. Those that were retried with success count as other, unless only they are asked for.
#[utoipa::path(get, path = "/letters/in-common", operation_id = "get_letters_in_common", tag = "letters",
    params(LetterQuery), responses((status = OK, body = SearchInCommon),
    (status = UNPROCESSABLE_ENTITY, body = Problem, content_type = "application/problem+json",
        description = "The search cannot be understood")))]
pub async fn of_search(
    State(app): State<Arc<AppState>>,
    Searched(query): Searched,
) -> Result<Json<SearchInCommon>, WebError> {
    let filter = query.filter(app.clock.now());
    let found = app.causes.in_common_of(&app.store(), &filter, |attribute| query.asks_for(attribute)).await?;
    Ok(Json(SearchInCommon {
        items: found.contrasts.iter().map(InCommonItem::from).collect(),
        sampled: found.here as u64,
        total: found.total.n,
        total_is_least: found.total.is_least,
        elsewhere: SearchElsewhere {
            not_found: found.elsewhere.other_groups as u64,
            succeeded: found.elsewhere.succeeded as u64,
        },
    }))
}
