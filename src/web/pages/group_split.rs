//! `/groups/{id}/split`: by which field the letters of a group are told apart, and into which parts.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    fragment::answer,
    group::need,
    part::MainPart,
    redirect::redirect,
    shell::{Page, Shell},
    toast::Toast,
    visit,
};
use crate::{
    domain::{
        access::Right,
        column::Column,
        filter::{PageRequest, Sort},
        group::{Group, GroupId},
        split::Said,
    },
    services::{
        columns,
        group_splits::{FieldValues, NewSplit},
    },
    web::{
        error::{WebError, codes::FaultCode},
        input::{
            FormPairs,
            path_id::{PathId, missing},
        },
        query::{self, LetterQuery, form, parameters},
        state::AppState,
        view::{
            group::{Title, href, why},
            number, report, text,
        },
        visitor::{CurrentUser, Visitor},
    },
};

/// Letters in which fields are looked for.
const LETTERS: usize = 50;

parameters! {
    /// By which field.
    pub SplitBy {
        "field" field: Option<Column> as form::One,
    }
}

type Visit = visit::Visit<SplitBy, MainPart>;

#[derive(Template)]
#[template(path = "group/split.html", blocks = ["title", "main", "nav"])]
struct SplitPage {
    shell: Shell,
    id: String,
    why: String,
    title: String,
    field: String,
    /// What can be typed for it.
    fields: Vec<String>,
    /// What letters say in the field; nothing where none is named.
    values: Option<ValuesView>,
}

struct ValuesView {
    /// `the newest 500 dead letters`
    read: String,
    rows: Vec<ValueRow>,
    /// How many further values there are; empty: none.
    more: String,
    /// `3 of 500 dead letters`, of which it cannot be told; empty: none.
    untold: String,
}

struct ValueRow {
    /// As the form says it.
    name: &'static str,
    value: String,
    shown: String,
    /// Whether that is in our words, and not in theirs.
    is_told: bool,
    letters: String,
}

/// What forms say of a field: a text, that this is empty, which they cannot say as a value, or that there is none.
const VALUE: &str = "value";
const EMPTY: &str = "empty";
const MISSING: &str = "missing";

impl ValuesView {
    fn new(found: &FieldValues) -> Self {
        let row = |(said, letters): &(Said, u64)| {
            let letters = format!("{} of {}", number::thousands(*letters), number::thousands(found.read));
            let (name, value, shown) = match said.as_deref() {
                None => (MISSING, "1", "the field is missing".to_owned()),
                Some("") => (EMPTY, "1", "the field is empty".to_owned()),
                Some(value) => (VALUE, value, text::one_line(value)),
            };
            ValueRow { name, value: value.to_owned(), shown, is_told: name != VALUE, letters }
        };
        Self {
            read: number::plural(found.read, "dead letter"),
            rows: found.values.iter().map(row).collect(),
            untold: match found.untold {
                0 => String::new(),
                n => format!("{} of {}", number::thousands(n), number::plural(found.read, "dead letter")),
            },
            more: if found.left_out > 0 { number::thousands(found.left_out as u64) } else { String::new() },
        }
    }

    /// Where all say the same there is nothing to tell apart.
    fn tells_apart(&self) -> bool {
        self.rows.len() > 1
    }
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<Group>,
    visit: Visit,
) -> Result<Response, WebError> {
    let store = app.store();
    let group = store.groups_by_id(&[id]).await?.pop().ok_or_else(missing::<Group>)?;
    Visitor::looks_at_queue(&group.key.broker, group.key.queue.as_deref());
    Visitor::need(Right::Act)?;
    Visitor::need(Right::Payload)?;
    let field = visit.query.field.clone();
    let values = match &field {
        Some(field) => Some(ValuesView::new(&app.group_splits.values(&store, id, field).await?)),
        None => None,
    };
    let newest = PageRequest { sort: Sort::Newest, after: None, limit: LETTERS };
    let letters = store.letters(&LetterQuery::all_of_group(id).filter(app.clock.now()), &newest).await?.items;
    let found = columns::in_letters(&store, &app.reader, &letters).await?;
    let shell = Shell::new(&app, Page::Groups, &store.counts_overall().await?).await?;
    let page = SplitPage {
        shell: visit.at(field.as_ref().map_or_else(|| address(id), |field| by_field(id, field)), shell),
        id: id.to_string(),
        why: why(&group.key),
        title: Title::new(&group.key).beside_error(),
        field: field.map(|field| field.to_string()).unwrap_or_default(),
        fields: found.iter().map(|found| found.column.to_string()).collect(),
        values,
    };
    Ok(answer!(page, visit.part, MainPart::Main => main))
}

/// Splits it, and leads to the group.
pub async fn split(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Group>,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    need(&app, id).await?;
    Visitor::need(Right::Payload)?;
    let field: Column = pairs.need("field")?;
    let values = pairs.take_all(VALUE).into_iter().map(Some);
    let empty = pairs.take(EMPTY)?.map(|_| Some(String::new()));
    let missing = pairs.take(MISSING)?.map(|_| None);
    let new = NewSplit { field, values: values.chain(empty).chain(missing).collect() };
    if let Some((field, why)) = new.mistake() {
        return Err(WebError::field(field, FaultCode::Format, why));
    }
    let split = app.group_splits.split(id, &new, &user).await?;
    // The page stays as it is, with what was chosen.
    split.map_err(|refusal| WebError::conflict(report::not_done([&*refusal.to_string()])))?;
    let parts = number::plural(new.values.len() as u64, "part");
    let toast = Toast::done(format!("Split into {parts}. Dead letters follow one by one."));
    Ok(redirect(&href(id), &toast, &headers))
}

/// Merges the parts of a group into it.
pub async fn join(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    PathId(id): PathId<Group>,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let toast = match app.group_splits.join(id, &user).await? {
        Ok(parts) => Toast::done(format!("Merged {} into one group.", number::plural(parts.len() as u64, "part"))),
        Err(refusal) => Toast::failed(report::not_done([&*refusal.to_string()])),
    };
    Ok(redirect(&href(id), &toast, &headers))
}

/// Where a group is split.
fn address(id: GroupId) -> String {
    format!("{}/split", href(id))
}

/// The same, by a field.
pub fn by_field(id: GroupId, field: &Column) -> String {
    query::address(&address(id), std::iter::once(("field", field.path())))
}
