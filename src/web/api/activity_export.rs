//! The activity as a file: every line that matches, streamed, so that its length does not matter.

use std::{collections::VecDeque, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};

use super::{activity::ActivityItem, reply};
use crate::{
    domain::activity::{ActivityEntry, ActivityFilter},
    store::{StoreError, StoreReader},
    web::{error::WebError, input::Query, query::ActivityExport, shared::audit_subjects, state::AppState},
};

/// Lines that are read at a time.
const AT_ONCE: usize = 500;

const COLUMNS: [&str; 11] =
    ["id", "at", "by", "via", "address", "area", "action", "subject", "letters", "detail", "text"];

/// All that matches as JSON, one line for each entry, the newest first
#[utoipa::path(get, path = "/activity.ndjson", operation_id = "export_activity_as_json", tag = "activity", params(ActivityExport),
    responses((status = OK, body = inline(reply::Bytes), content_type = "application/octet-stream")))]
pub async fn ndjson(
    State(app): State<Arc<AppState>>,
    Query(query): Query<ActivityExport>,
) -> Result<Response, WebError> {
    let line = |item: &ActivityItem| serde_json::to_string(item).unwrap_or_default() + "\n";
    export(&app, &query, String::new(), line, ["application/octet-stream", "attachment; filename=\"activity.ndjson\""])
        .await
}

/// All that matches as a table, the newest first
///
/// A text that a spreadsheet would take for a formula has an apostrophe before it.
#[utoipa::path(get, path = "/activity.csv", operation_id = "export_activity_as_csv", tag = "activity", params(ActivityExport),
    responses((status = OK, body = inline(reply::Bytes), content_type = "text/csv")))]
pub async fn csv(State(app): State<Arc<AppState>>, Query(query): Query<ActivityExport>) -> Result<Response, WebError> {
    let head = COLUMNS.join(",") + "\r\n";
    export(&app, &query, head, row, ["text/csv; charset=utf-8", "attachment; filename=\"activity.csv\""]).await
}

async fn export(
    app: &AppState,
    query: &ActivityExport,
    head: String,
    line: fn(&ActivityItem) -> String,
    [content_type, disposition]: [&'static str; 2],
) -> Result<Response, WebError> {
    let mut lines = Lines {
        store: app.store(),
        filter: query.filter(app.clock.now()),
        before: None,
        left: VecDeque::new(),
        is_over: false,
    };
    // What goes wrong at once is said; what does later breaks the answer off.
    lines.read().await?;
    let stream = stream::unfold((lines, Some(head)), move |(mut lines, head)| async move {
        if let Some(head) = head.filter(|head| !head.is_empty()) {
            return Some((Ok(Bytes::from(head)), (lines, None)));
        }
        let chunk = lines.next(line).await.transpose()?;
        Some((chunk, (lines, None)))
    });
    let mut response = Body::from_stream(stream.fuse()).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static(disposition));
    Ok(response)
}

/// Goes through all entries, a few at a time.
struct Lines {
    store: StoreReader,
    filter: ActivityFilter,
    before: Option<i64>,
    left: VecDeque<ActivityEntry>,
    is_over: bool,
}

impl Lines {
    async fn read(&mut self) -> Result<(), StoreError> {
        let entries = self.store.activity(&self.filter, self.before, AT_ONCE).await?;
        self.is_over = entries.len() < AT_ONCE;
        self.before = entries.last().map(|entry| entry.seq);
        self.left.extend(entries);
        Ok(())
    }

    async fn next(&mut self, line: fn(&ActivityItem) -> String) -> Result<Option<Bytes>, StoreError> {
        if self.left.is_empty() && !self.is_over {
            self.read().await?;
        }
        let subjects = audit_subjects::load(&self.store, self.left.make_contiguous()).await?;
        let text: String = self.left.drain(..).map(|entry| line(&ActivityItem::new(entry, &subjects))).collect();
        Ok(Some(text).filter(|text| !text.is_empty()).map(Bytes::from))
    }
}

fn row(item: &ActivityItem) -> String {
    let item = serde_json::to_value(item).unwrap_or_default();
    let cells = COLUMNS.map(|column| match &item[column] {
        serde_json::Value::String(text) => cell(text),
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    });
    cells.join(",") + "\r\n"
}

/// A text in quotes.
pub(super) fn cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    format!("\"{}{}\"", if is_formula { "'" } else { "" }, text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn a_cell_is_text_whatever_is_in_it() {
        assert_eq!(cell("a \"b\", c"), "\"a \"\"b\"\", c\"");
        assert_eq!(cell("=HYPERLINK(1)"), "\"'=HYPERLINK(1)\"");
        assert_eq!(cell("@x"), "\"'@x\"");
    }
}
