//! Letters as a file: all that match, read one after the other, so that their number does not matter.

use std::{collections::VecDeque, io, sync::Arc, time::Duration};

use amqp_message::word_enum;
use axum::{
    body::{Body, Bytes},
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use futures_util::{StreamExt, stream};
use payload_codec::json::portable;
use serde::Serialize;
use serde_json::Value;

use super::{
    activity_export::cell,
    export_field::Field,
    letter::{full, shown},
    model::FullLetter,
    reply,
};
use crate::{
    domain::{
        access::Right,
        actor::Actor,
        column::Column,
        filter::{LetterFilter, PageRequest},
        letter::{Letter, LetterSummary},
    },
    services::{columns, decoding::reading::Reading},
    web::{
        error::WebError,
        problem::Problem,
        query::{LetterQuery, Listed, described::described, form, parameters},
        shared::{remarks, search::Searched},
        state::AppState,
        visitor::{CurrentUser, Visitor},
    },
};

/// Letters whose rows are read at a time; their bodies are read one by one.
const AT_ONCE: usize = 200;

word_enum! {
    #[derive(Default)]
    ExportFormat, "format" {
        /// A letter in each line.
        #[default]
        Ndjson = "ndjson",
        Csv = "csv",
    }
}

described!(ExportFormat);

parameters! {
    /// How the letters are written.
    pub LetterExport {
        /// `ndjson`: in each line a letter as `GET letters/{id}` has it. `csv`: a table.
        "format" format: ExportFormat as form::Order,
        /// A column of the table: a field of the list of letters (`queue`, `error.message`), of the payload
        /// (`payload.total.cents`) or a header (`header.x-tenant`). May be repeated; some that are mostly asked for if left
        /// out. Each `column` of the list is one more.
        "field" fields: Vec<Field> as form::Repeated,
        /// `true`: also what is hidden, and the body, as `body_base64`, where you may see that. Each letter that hides
        /// something has a line in its history then.
        "reveal" reveal: Option<bool> as form::One,
    }
}

/// All letters that match, as a file
///
/// It takes what the list takes, and has all letters unless `limit` says how many. What comes in meanwhile is not in it. A
/// text that a spreadsheet would take for a formula has an apostrophe before it.
#[utoipa::path(get, path = "/letters/export", operation_id = "export_letters", tag = "letters",
    params(LetterQuery, LetterExport), responses(
        (status = OK, body = inline(reply::Bytes), content_type = "application/octet-stream"),
        (status = UNPROCESSABLE_ENTITY, body = Problem, content_type = "application/problem+json",
            description = "The search in `q` has mistakes"),
    ))]
pub async fn export(
    State(app): State<Arc<AppState>>,
    visitor: Visitor,
    user: CurrentUser,
    Searched((query, export)): Searched<(LetterQuery, LetterExport)>,
) -> Result<Response, WebError> {
    let reveal_to = (export.reveal == Some(true)).then(|| user.clone());
    if reveal_to.is_some() {
        Visitor::need(Right::Reveal)?;
    }
    let (content_type, disposition) = match export.format {
        ExportFormat::Ndjson => ("application/octet-stream", "attachment; filename=\"letters.ndjson\""),
        ExportFormat::Csv => ("text/csv; charset=utf-8", "attachment; filename=\"letters.csv\""),
    };
    let now = app.clock.now();
    let mut filter = query.filter(now);
    // What has come in this moment is in it, and what comes in meanwhile is not, whatever end is given.
    let end = now.plus(Duration::from_micros(1));
    filter.until = Some(filter.until.map_or(end, |until| until.min(end)));
    let mut letters = Letters {
        filter,
        request: PageRequest { sort: query.sort, after: query.place()?, limit: AT_ONCE },
        left: VecDeque::new(),
        is_over: false,
        lines: Lines::new(export, &query.columns),
        most: query.asked_limit(),
        reveal_to,
        visitor,
        app,
    };
    // What goes wrong at once is said; what does later breaks the answer off.
    letters.read().await?;
    let head = Bytes::from(letters.lines.head());
    let lines = stream::try_unfold(letters, |mut letters| async move {
        match letters.next().await {
            Ok(line) => Ok(line.map(|line| (line, letters))),
            Err(error) => {
                tracing::error!(error = %error.for_the_log(), "an export of letters was broken off");
                Err(io::Error::other("it was broken off"))
            }
        }
    });
    let body = Body::from_stream(stream::once(async { Ok(head) }).chain(lines));
    Ok(([(header::CONTENT_TYPE, content_type), (header::CONTENT_DISPOSITION, disposition)], body).into_response())
}

/// Goes through all that match.
struct Letters {
    app: Arc<AppState>,
    /// Who asks: what is read later is read in their name, too.
    visitor: Visitor,
    reveal_to: Option<Actor>,
    filter: LetterFilter,
    request: PageRequest,
    /// Letters that are still to be written at most.
    most: Option<usize>,
    left: VecDeque<LetterSummary>,
    is_over: bool,
    lines: Lines,
}

impl Letters {
    async fn read(&mut self) -> Result<(), WebError> {
        let store = self.visitor.clone().during(async { self.app.store() }).await;
        let page = store.letters(&self.filter, &self.request).await?;
        self.is_over = page.next.is_none();
        self.request.after = page.next;
        self.left.extend(page.items);
        Ok(())
    }

    /// The next line; letters that are gone by now have none.
    async fn next(&mut self) -> Result<Option<Bytes>, WebError> {
        loop {
            if self.most == Some(0) {
                return Ok(None);
            }
            if self.left.is_empty() && !self.is_over {
                self.read().await?;
            }
            let Some(summary) = self.left.pop_front() else { return Ok(None) };
            // What one may do differs from queue to queue.
            let visitor = Visitor::new(self.visitor.who.clone(), self.visitor.address, self.visitor.grants.clone());
            let Some(letter) = visitor.during(self.letter(&summary)).await? else { continue };
            self.most = self.most.map(|most| most - 1);
            return Ok(Some(self.lines.line(&letter)?.into()));
        }
    }

    async fn letter(&self, summary: &LetterSummary) -> Result<Option<Exported>, WebError> {
        let Some(letter) = remarks::letter(&self.app, summary.id).await? else { return Ok(None) };
        let reveal_to = self.reveal_to.as_ref().filter(|_| Visitor::need(Right::Reveal).is_ok());
        let body_base64 = reveal_to.map(|_| STANDARD.encode(&letter.message.body));
        let shown = match shown(&self.app, letter, None, reveal_to).await {
            // It was removed before it could be written down who sees it.
            Err(error) if error.status == StatusCode::NOT_FOUND => return Ok(None),
            shown => shown?,
        };
        let said = self.lines.said(&shown);
        let (_, letter) = full(&self.app, shown).await?;
        Ok(Some(Exported { letter, body_base64, said }))
    }
}

#[derive(Serialize)]
struct Exported {
    #[serde(flatten)]
    letter: FullLetter,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
    /// What it says in the columns of the list.
    #[serde(skip)]
    said: Vec<String>,
}

/// How letters are written.
enum Lines {
    Json,
    Table { fields: Vec<Field>, columns: Vec<Column> },
}

impl Lines {
    fn new(export: LetterExport, columns: &[Column]) -> Self {
        match export.format {
            ExportFormat::Ndjson => Self::Json,
            ExportFormat::Csv => {
                let fields = if export.fields.is_empty() { Field::usual() } else { export.fields };
                Self::Table { fields, columns: columns.to_vec() }
            }
        }
    }

    fn said(&self, (letter, reading): &(Arc<Letter>, Reading)) -> Vec<String> {
        match self {
            Self::Table { columns, .. } if !columns.is_empty() => {
                columns::in_full(letter, reading, Visitor::need(Right::Payload).is_ok(), columns)
            }
            _ => Vec::new(),
        }
    }

    fn head(&self) -> String {
        match self {
            Self::Json => String::new(),
            Self::Table { fields, columns } => {
                let fields = fields.iter().map(|field| cell(&field.to_string()));
                row(fields.chain(columns.iter().map(|column| cell(column.path()))))
            }
        }
    }

    fn line(&self, letter: &Exported) -> Result<String, WebError> {
        match self {
            Self::Json => Ok(on_one_line(&serde_json::to_string(letter).map_err(WebError::internal)?) + "\n"),
            Self::Table { fields, .. } => {
                let said = letter.said.iter().map(|text| said_cell(text));
                let letter = serde_json::to_string(&letter.letter).map_err(WebError::internal)?;
                let letter: Value = serde_json::from_str(&portable(&letter)).map_err(WebError::internal)?;
                let fields = fields.iter().map(|field| match field.of(&letter) {
                    Value::Null => String::new(),
                    Value::String(text) => cell(text),
                    Value::Number(number) => number.to_string(),
                    other => cell(&other.to_string()),
                });
                Ok(row(fields.chain(said)))
            }
        }
    }
}

/// What a letter says in a column, of which only the text is known.
fn said_cell(text: &str) -> String {
    /// Of more digits a spreadsheet would forget some.
    const LONGEST: usize = 15;
    let is_number = text.len() <= LONGEST
        && text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
        && serde_json::from_str::<f64>(text).is_ok();
    if text.is_empty() || is_number { text.to_owned() } else { cell(text) }
}

/// Payloads are laid out over lines. No text of JSON has a line break in it, so all of them are between its parts.
fn on_one_line(json: &str) -> String {
    json.lines().map(str::trim_start).collect()
}

fn row(cells: impl Iterator<Item = String>) -> String {
    cells.collect::<Vec<_>>().join(",") + "\r\n"
}
