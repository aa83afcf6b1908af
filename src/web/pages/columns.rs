//! `/letters/columns`: which columns a list of letters has. The address of a list says it; where it does not, the browser
//! knows what was chosen last.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};

use super::{
    fragment::{answer, refused},
    part::MainPart,
    redirect::lead_to,
    shell::{Page, Shell},
    visit,
};
use crate::{
    domain::{
        column::{self, Column},
        filter::PageRequest,
    },
    services::columns::{self, Found},
    web::{
        error::WebError,
        input::FormPairs,
        query::{LetterQuery, Listed, Parameters},
        security::cookie,
        shared::search,
        state::AppState,
        view::number,
    },
};

const COOKIE: &str = "dlo-columns";
/// How long a browser knows the choice, in seconds.
const KEPT: u32 = 400 * 24 * 60 * 60;

type Visit = visit::Visit<LetterQuery, MainPart>;

#[derive(Template)]
#[template(path = "letters/columns.html", blocks = ["title", "main", "nav"])]
struct ColumnsPage {
    shell: Shell,
    /// The list as it is.
    list: String,
    /// The words of the list without its columns, for the form.
    beside: Vec<(&'static str, String)>,
    fields: Vec<FieldChoice>,
    /// `50 dead letters`
    read: String,
    /// What was typed for another one, where it is no column.
    typed: String,
    /// What is wrong with the choice.
    wrong: String,
}

struct FieldChoice {
    path: String,
    is_chosen: bool,
    /// `48 of 50`; empty where none of those that were read has it.
    letters: String,
    example: String,
}

pub async fn show(State(app): State<Arc<AppState>>, visit: Visit) -> Result<Response, WebError> {
    let page = load(&app, &visit).await?;
    Ok(answer!(page, visit.part, MainPart::Main => main))
}

async fn load(app: &AppState, visit: &Visit) -> Result<ColumnsPage, WebError> {
    let query = &visit.query;
    search::check(app, query)?;
    let store = app.store();
    let request = PageRequest { sort: query.sort, after: None, limit: query.limit() };
    let letters = store.letters(&query.page_filter(app.clock.now()), &request).await?.items;
    let found = columns::in_letters(&store, &app.reader, &letters).await?;
    let facets = store.counts_overall().await?;
    let here = format!("/letters/columns{}", query.href().trim_start_matches("/letters"));
    Ok(ColumnsPage {
        shell: visit.at(here, Shell::new(app, Page::Letters, &facets).await?),
        list: query.href(),
        beside: query.with(|query| query.columns.clear()).pairs(),
        fields: choices(&query.columns, found, letters.len()),
        read: number::plural(letters.len() as u64, "dead letter"),
        typed: String::new(),
        wrong: String::new(),
    })
}

/// Those that are chosen come first.
fn choices(chosen: &[Column], found: Vec<Found>, n_letters: usize) -> Vec<FieldChoice> {
    let (ticked, others): (Vec<Found>, _) = found.into_iter().partition(|found| chosen.contains(&found.column));
    let gone = chosen.iter().filter(|column| ticked.iter().all(|found| found.column != **column));
    let gone = gone.map(|column| FieldChoice {
        path: column.to_string(),
        is_chosen: true,
        letters: String::new(),
        example: String::new(),
    });
    let choice = |is_chosen: bool| {
        move |found: &Found| FieldChoice {
            path: found.column.to_string(),
            is_chosen,
            letters: format!("{} of {n_letters}", found.letters),
            example: found.example.clone(),
        }
    };
    let gone: Vec<_> = gone.collect();
    ticked.iter().map(choice(true)).chain(gone).chain(others.iter().map(choice(false))).collect()
}

/// Leads to the list with these columns, and has the browser remember them; without any, with what tells letters apart.
pub async fn choose(
    State(app): State<Arc<AppState>>,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let is_automatic = pairs.take("automatic")?.is_some();
    let chosen = pairs.take_all("column");
    let mut query = LetterQuery::take(&mut pairs)?;
    pairs.finish(&LetterQuery::names().join(", "))?;
    if !is_automatic {
        let choice = Choice::read(&chosen);
        query.columns = choice.columns;
        if !choice.wrong.is_empty() {
            let mut visit = Visit::default();
            visit.query = query;
            let page = ColumnsPage { typed: choice.typed, wrong: choice.wrong, ..load(&app, &visit).await? };
            return Ok(refused(page.render()?, &page.shell));
        }
    }
    let mut response = lead_to(&query.with(|_| ()).href(), &headers);
    if let Some(cookie) = remember(&query.columns) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// The columns of a form.
struct Choice {
    columns: Vec<Column>,
    typed: String,
    wrong: String,
}

impl Choice {
    fn read(chosen: &[String]) -> Self {
        let mut choice = Self { columns: Vec::new(), typed: String::new(), wrong: String::new() };
        for text in chosen {
            match text.parse() {
                Ok(column) if choice.columns.contains(&column) => {}
                Ok(column) => choice.columns.push(column),
                Err(why) => (choice.typed, choice.wrong) = (text.clone(), why),
            }
        }
        if choice.wrong.is_empty() && choice.columns.len() > column::MOST {
            let n = choice.columns.len();
            choice.wrong = format!("{n} are chosen; a list has room for {}.", column::MOST);
        }
        choice
    }
}

fn remember(columns: &[Column]) -> Option<HeaderValue> {
    let lines: Vec<&str> = columns.iter().map(Column::path).collect();
    let value = BASE64_URL_SAFE_NO_PAD.encode(lines.join("\n"));
    let seconds = if columns.is_empty() { 0 } else { KEPT };
    let cookie = format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict");
    HeaderValue::from_str(&cookie).ok()
}

/// The columns that were chosen last in this browser.
pub fn remembered(headers: &HeaderMap) -> Vec<Column> {
    let value = cookie(headers, COOKIE).and_then(|value| BASE64_URL_SAFE_NO_PAD.decode(value).ok());
    let text = value.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).take(column::MOST).collect()
}

/// An address that does not say which columns it is about is about these.
pub fn recall(query: &mut LetterQuery, headers: &HeaderMap) {
    if query.columns.is_empty() {
        query.columns = remembered(headers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_chosen_is_remembered() {
        let chosen: Vec<Column> = ["payload.a b;c", "header.x-é"].iter().map(|path| path.parse().unwrap()).collect();
        let cookie = remember(&chosen).unwrap();
        let value = cookie.to_str().unwrap().split(';').next().unwrap().parse().unwrap();
        assert_eq!(remembered(&HeaderMap::from_iter([(header::COOKIE, value)])), chosen);
        for odd in ["dlo-columns=", "dlo-columns=%%", "dlo-columns=AAAA", ""] {
            assert_eq!(remembered(&HeaderMap::from_iter([(header::COOKIE, odd.parse().unwrap())])), [], "{odd}");
        }
    }
}
