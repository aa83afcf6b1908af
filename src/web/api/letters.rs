//! `GET /api/v1/letters`

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;

use super::model::LetterItem;
use crate::{
    domain::{filter::PageRequest, letter::LetterSummary},
    services::columns,
    web::{
        error::WebError,
        problem::Problem,
        query::{LetterQuery, Listed},
        shared::search::Searched,
        state::AppState,
    },
};

/// One page of letters.
#[derive(Serialize, ToSchema)]
pub struct Letters {
    items: Vec<LetterItem>,
    /// Where the next page begins; null on the last one.
    next_cursor: Option<String>,
    /// Letters on all pages.
    total: u64,
    /// Whether there may be more: of a search that finds many, no more than 10,000 are counted.
    total_is_least: bool,
}

/// Letters, newest first
///
/// With `q`, those that a search finds, in the words of the search box. What cannot be understood is refused with the columns
/// of all mistakes.
#[utoipa::path(get, path = "/letters", operation_id = "list_letters", tag = "letters", params(LetterQuery), responses(
    (status = OK, body = Letters),
    (status = UNPROCESSABLE_ENTITY, body = Problem, content_type = "application/problem+json",
        description = "The search in `q` has mistakes"),
))]
pub async fn letters(State(app): State<Arc<AppState>>, Searched(query): Searched) -> Result<Json<Letters>, WebError> {
    let filter = query.filter(app.clock.now());
    let request = PageRequest { sort: query.sort, after: query.place()?, limit: query.limit() };
    let store = app.store();
    let (mut page, total) = tokio::try_join!(store.letters(&filter, &request), store.count_most(&filter))?;
    app.reader.hide_in_lists(&mut page.items).await;
    let said = columns::of_letters(&store, &app.reader, &page.items, &query.columns).await?;
    let item = |letter: LetterSummary| {
        let said = said.get(&letter.id).cloned().unwrap_or_default();
        LetterItem::from(letter).telling(&query.columns, said)
    };
    Ok(Json(Letters {
        items: page.items.into_iter().map(item).collect(),
        next_cursor: query.next_cursor(page.next),
        total: total.n,
        total_is_least: total.is_least,
    }))
}
