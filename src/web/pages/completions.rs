//! `/letters/completions`: what may follow where somebody types into the search box.

use std::{collections::BTreeMap, sync::Arc};

use axum::{Json, extract::State};
use search_language::{Cursor, Language};
use serde::Serialize;

use crate::{
    domain::{
        column::Column,
        filter::{LetterCounts, LetterFilter, PageRequest, Sort},
        letter::{Importance, LetterSummary, Status},
        search::fields::{ABOUT, FIELDS, LANGUAGE},
    },
    services::columns::{self, Found},
    store::StoreReader,
    web::{error::WebError, input::QueryPairs, query::Pairs, state::AppState},
};

/// More of them help nobody.
const MOST: usize = 8;
/// Letters that are read to know what is in payloads and headers.
const LATEST: usize = 50;

#[derive(Serialize)]
pub struct Completions {
    /// What is replaced, in the units in which scripts count characters.
    from: usize,
    to: usize,
    items: Vec<Completion>,
}

#[derive(Serialize)]
struct Completion {
    /// What stands there then.
    text: String,
    label: String,
    /// What it is, or how many there are.
    about: String,
    /// Whether something has to follow.
    leads_on: bool,
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    QueryPairs(mut pairs): QueryPairs,
) -> Result<Json<Completions>, WebError> {
    let text = pairs.take("q")?.unwrap_or_default();
    let at = at(&mut pairs, &text)?;
    pairs.finish("q, at")?;
    let cursor = LANGUAGE.at(&text, at);
    let units = |at: usize| text.get(..at).unwrap_or(&text).encode_utf16().count();
    let items = match cursor.field.as_deref() {
        None if cursor.typed.contains('.') => paths(&app, &cursor).await?,
        None => fields(&cursor),
        Some(field) => match field.parse::<Column>() {
            Ok(column) => values_of_path(&app, &column, &cursor).await?,
            Err(_) => values(&app, field, &cursor).await?,
        },
    };
    Ok(Json(Completions { from: units(cursor.span.start), to: units(cursor.span.end), items }))
}

/// The place of the cursor in bytes; the end of the text, if it is not said.
fn at(pairs: &mut Pairs, text: &str) -> Result<usize, WebError> {
    let Some(units) = pairs.take_parsed::<usize>("at")? else { return Ok(text.len()) };
    let mut left = units;
    let before = text.chars().take_while(|c| {
        let is_before = left >= c.len_utf16();
        left = left.saturating_sub(c.len_utf16());
        is_before
    });
    Ok(before.map(char::len_utf8).sum())
}

fn fields(cursor: &Cursor) -> Vec<Completion> {
    let typed = cursor.typed.to_lowercase();
    let fits = FIELDS.iter().filter(|field| field.name.starts_with(&typed));
    let completion = |field: &search_language::Field| {
        let text = format!("{}{}", field.name, if field.is_path { "." } else { ":" });
        let about = ABOUT.iter().find(|(name, _)| *name == field.name).map_or("", |(_, about)| about);
        Completion { label: text.clone(), text, about: about.to_owned(), leads_on: true }
    };
    fits.map(completion).take(MOST * 2).collect()
}

/// Fields of payloads, and headers, that the latest letters have.
async fn paths(app: &AppState, cursor: &Cursor) -> Result<Vec<Completion>, WebError> {
    let (store, letters) = latest(app).await?;
    let typed = cursor.typed.to_lowercase();
    let completion = |found: Found| {
        let text = format!("{}:", found.column);
        // Not all that a field may be called can be written.
        let is_read = LANGUAGE.at(&text, text.len()).field.is_some_and(|field| field == found.column.path());
        let is_meant = is_read && text.to_lowercase().starts_with(&typed);
        let about = of_latest(found.letters, letters.len());
        is_meant.then(|| Completion { label: text.clone(), about, text, leads_on: true })
    };
    let found = columns::searchable_in_letters(&store, &app.reader, &letters).await?;
    Ok(found.into_iter().filter_map(completion).take(MOST * 2).collect())
}

/// What the latest letters say there.
async fn values_of_path(app: &AppState, column: &Column, cursor: &Cursor) -> Result<Vec<Completion>, WebError> {
    let (store, letters) = latest(app).await?;
    let typed = cursor.typed.to_lowercase();
    let found = columns::searchable_values(&store, &app.reader, &letters, column).await?;
    let fits = found
        .into_iter()
        .filter(|(value, _)| value.to_lowercase().contains(&typed) && !value.contains(char::is_control));
    let completion = |(value, count): (String, u64)| Completion {
        text: Language::written(&value),
        label: value,
        about: of_latest(count, letters.len()),
        leads_on: false,
    };
    Ok(fits.take(MOST).map(completion).collect())
}

/// No list is kept of what is in payloads: some letters are read.
async fn latest(app: &AppState) -> Result<(StoreReader, Vec<LetterSummary>), WebError> {
    let (store, newest) = (app.store(), PageRequest { sort: Sort::Newest, after: None, limit: LATEST });
    let letters = store.letters(&LetterFilter::default(), &newest).await?.items;
    Ok((store, letters))
}

fn of_latest(count: u64, letters: usize) -> String {
    format!("{count} of the latest {letters}")
}

/// Values that there are, with most of them first.
async fn values(app: &AppState, field: &str, cursor: &Cursor) -> Result<Vec<Completion>, WebError> {
    let counts = app.store().counts_overall().await?;
    let counted = match field {
        "queue" => by(&counts, |facet| facet.queue.clone().unwrap_or_default()),
        "broker" => by(&counts, |facet| facet.broker.clone()),
        "reason" => by(&counts, |facet| facet.reason.to_string()),
        "status" => of_words(&counts, Status::ALL, |status, _, of| status == *of),
        "importance" => of_words(&counts, Importance::ALL, |_, importance, of| importance == *of),
        "type" => app.store().open_types().await?,
        _ => return Ok(Vec::new()),
    };
    let typed = cursor.typed.to_lowercase();
    let fits = |(name, _): &(String, u64)| !name.is_empty() && name.to_lowercase().contains(&typed);
    let mut found: Vec<(String, u64)> = counted.into_iter().filter(fits).collect();
    if !matches!(field, "status" | "importance") {
        found.sort_by(|(a, of_a), (b, of_b)| of_b.cmp(of_a).then_with(|| a.cmp(b)));
    }
    let completion = |(name, count): (String, u64)| Completion {
        text: Language::written(&name),
        label: name,
        about: crate::web::view::number::thousands(count),
        leads_on: false,
    };
    Ok(found.into_iter().take(MOST).map(completion).collect())
}

/// What is open or scheduled; of what is neither only sums are kept.
fn by(counts: &LetterCounts, name: impl Fn(&crate::domain::filter::FacetCount) -> String) -> Vec<(String, u64)> {
    let mut counted: BTreeMap<String, u64> = BTreeMap::new();
    for facet in &counts.facets {
        *counted.entry(name(facet)).or_default() += facet.count;
    }
    counted.into_iter().collect()
}

fn of_words<T: ToString>(
    counts: &LetterCounts,
    all: &[T],
    is_of: impl Fn(Status, Importance, &T) -> bool,
) -> Vec<(String, u64)> {
    let count = |word: &T| {
        let facets = counts.facets.iter().filter(|facet| is_of(facet.status, facet.importance, word));
        let sums = counts.sums.iter().filter(|(status, importance, _)| is_of(*status, *importance, word));
        facets.map(|facet| facet.count).sum::<u64>() + sums.map(|(.., count)| count).sum::<u64>()
    };
    all.iter().map(|word| (word.to_string(), count(word))).collect()
}
