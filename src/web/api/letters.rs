//! `GET /api/v1/letters`

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;

use super::model::LetterItem;
use crate::{
    domain::filter::PageRequest,
    web::{
        AppState,
        error::WebError,
        input::Query,
        query::{LetterQuery, Listed},
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
}

/// Letters, newest first
#[utoipa::path(get, path = "/letters", operation_id = "list_letters", tag = "letters", params(LetterQuery), responses(
    (status = OK, body = Letters),
))]
pub async fn letters(
    State(app): State<Arc<AppState>>,
    Query(query): Query<LetterQuery>,
) -> Result<Json<Letters>, WebError> {
    let filter = query.filter(app.clock.now());
    let request = PageRequest { sort: query.sort, after: query.place()?, limit: query.limit() };
    let store = app.store();
    let (mut page, total) = tokio::try_join!(store.letters(&filter, &request), store.count(&filter))?;
    app.reader.hide_in_lists(&mut page.items).await;
    Ok(Json(Letters {
        items: page.items.into_iter().map(LetterItem::from).collect(),
        next_cursor: query.next_cursor(page.next),
        total,
    }))
}
