//! `GET /api/v1/letters`

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::model::LetterItem;
use crate::{
    domain::filter::PageRequest,
    web::{
        AppState,
        error::{Problem, WebError},
        input::QueryPairs,
        query::{LetterQuery, Pairs, WORDS, encode_cursor},
    },
};

/// Letters of an answer, unless the call says otherwise.
const LIMIT: usize = 50;

/// What the address may say; read by [`LetterQuery`], which pages share.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the parameters")]
struct Parameters {
    /// `open`, `scheduled`, `retried`, `discarded`, or several by comma; all if left out.
    status: Option<String>,
    /// `critical`, `high`, `normal`, `low`, or several by comma.
    importance: Option<String>,
    /// Names, by comma.
    broker: Option<String>,
    /// Names or globs (`*`, `?`), by comma; `""` is the queue that nothing is known of.
    queue: Option<String>,
    /// Full names of types or globs, by comma; `""` is the type that nothing is known of.
    r#type: Option<String>,
    /// `rejected`, `expired`, `maxlen`, `delivery_limit`, `unknown`, or several by comma.
    reason: Option<String>,
    /// Ids of groups, by comma.
    group: Option<String>,
    /// Received at or after: RFC 3339, or how long ago (`24h`).
    since: Option<String>,
    /// Received before: RFC 3339, or how long ago.
    until: Option<String>,
    /// `newest` (default) or `oldest`
    sort: Option<String>,
    /// 1 to 1000; 50 if left out.
    limit: Option<u32>,
    /// `next_cursor` of the answer before.
    cursor: Option<String>,
}

/// One page of letters.
#[derive(Serialize, ToSchema)]
pub struct Letters {
    items: Vec<LetterItem>,
    /// Where the next page begins; null on the last one.
    next_cursor: Option<String>,
    /// Letters on all pages.
    total: u64,
}

/// Letters, newest first
#[utoipa::path(get, path = "/letters", tag = "letters", params(Parameters), responses(
    (status = OK, body = Letters),
    (status = BAD_REQUEST, body = Problem, content_type = "application/problem+json"),
))]
pub async fn letters(
    State(app): State<Arc<AppState>>,
    QueryPairs(mut pairs): QueryPairs,
) -> Result<Json<Letters>, WebError> {
    refuse_search(&mut pairs)?;
    let query = LetterQuery::take(&mut pairs)?;
    pairs.finish(WORDS)?;
    let filter = query.filter(app.clock.now());
    let request = PageRequest { sort: query.sort, after: query.cursor, limit: query.limit.unwrap_or(LIMIT) };
    let (page, total) = tokio::try_join!(app.store.letters(&filter, &request), app.store.count(&filter))?;
    Ok(Json(Letters {
        items: page.items.into_iter().map(LetterItem::from).collect(),
        next_cursor: page.next.map(encode_cursor),
        total,
    }))
}

/// What the contract has and this version has not; without a value it does no harm.
fn refuse_search(pairs: &mut Pairs) -> Result<(), WebError> {
    if pairs.take_all("q").is_empty() {
        return Ok(());
    }
    Err(WebError::bad_request(format!("q: not available yet; there are {WORDS}")))
}
