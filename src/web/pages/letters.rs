//! `/letters`: the list, and beside it the letter that is open.

use std::sync::Arc;

use amqp_message::time::Timestamp;
use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    columns,
    fragment::{self, answer},
    letter::{Sight, view},
    letter_links::Place,
    list::{Empty, List, load_list},
    part::parts,
    shell::{Page, Shell},
};
use crate::{
    domain::letter::LetterId,
    web::{
        error::WebError,
        query::{
            LetterQuery, Listed, Parameters, form,
            letter_tab::{LetterTab, TabQuery},
            parameters,
            payload::PayloadQuery,
        },
        state::AppState,
        view::{letter::LetterView, number, run::Entry},
    },
};

parts! {
    pub Part {
        /// All that changes from page to page.
        Main = "main",
        /// What a changed filter changes; the filter's own fields stay as they are.
        Results = "results",
        /// The letter beside the list.
        Letter = "letter",
        /// What has come in since the list was made.
        News = "news",
    }
}

parameters! {
    /// What else there is to see.
    pub Beside {
        /// The letter that is open.
        "letter" letter: Option<LetterId> as form::One,
        /// Letters received from here on are news, in microseconds since the epoch.
        "seen" seen: Option<i64> as form::One,
    }
}

type Visit = super::visit::Visit<(LetterQuery, (Beside, (TabQuery, PayloadQuery))), Part>;

/// The address of the page with its letter.
fn here(visit: &Visit) -> String {
    let (query, (beside, letter)) = &visit.query;
    let of_letter = [Beside { seen: None, ..beside.clone() }.pairs(), letter.pairs()].concat();
    query.href_with(&of_letter.iter().map(|(name, value)| (*name, &**value)).collect::<Vec<_>>())
}

#[derive(Template)]
#[template(path = "letters/page.html", blocks = ["title", "main", "about", "results", "pane", "nav"])]
struct LettersPage {
    shell: Shell,
    list: List,
    pane: Pane,
}

/// What stands beside the list.
#[derive(Default)]
enum Pane {
    #[default]
    Closed,
    Missing {
        close: String,
    },
    Open(Box<LetterView>),
}

/// The line that says that letters have come in since.
#[derive(Template)]
#[template(path = "letters/_news.html")]
struct News {
    letters: String,
    href: String,
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    headers: HeaderMap,
    mut visit: Visit,
) -> Result<Response, WebError> {
    columns::recall(&mut visit.query.0, &headers);
    let page = match visit.part {
        Some(Part::News) => return Ok(fragment::only(news(&app, &visit).await?)),
        Some(Part::Letter) => load_letter_only(&app, &visit).await?,
        _ => load(&app, &visit).await?,
    };
    Ok(answer!(page, visit.part,
        Part::Main => main,
        Part::Results => of_page as_about as_results,
        Part::Letter | Part::News => of_page as_pane,
    ))
}

async fn load(app: &AppState, visit: &Visit) -> Result<LettersPage, WebError> {
    let (query, (beside, _)) = &visit.query;
    let facets = app.store().letter_counts(&query.page_filter(app.clock.now())).await?;
    let (list, pane, shell) = tokio::try_join!(
        load_list(app, query, beside.letter, &facets),
        load_pane(app, visit),
        Shell::new(app, Page::Letters, &facets),
    )?;
    Ok(LettersPage { shell: visit.at(here(visit), shell), list, pane })
}

/// The letter beside a list that is there already, so that none has to be read again.
async fn load_letter_only(app: &AppState, visit: &Visit) -> Result<LettersPage, WebError> {
    let shell = visit.at(here(visit), Shell::bare());
    Ok(LettersPage { shell, list: List::default(), pane: load_pane(app, visit).await? })
}

async fn load_pane(app: &AppState, visit: &Visit) -> Result<Pane, WebError> {
    let (query, (beside, (tab, payload))) = &visit.query;
    let Some(id) = beside.letter else { return Ok(Pane::Closed) };
    let sight = Sight { query: payload.clone(), tab: tab.tab, reveal_to: None };
    let letter = view(app, id, &sight, &Place::Beside(Box::new(query.clone())), here(visit)).await?;
    let close = query.href();
    Ok(letter.map_or(Pane::Missing { close }, |letter| Pane::Open(Box::new(letter))))
}

/// Counts the letters of this list that came in since it was made; nothing when there are none.
async fn news(app: &AppState, visit: &Visit) -> Result<String, WebError> {
    let (query, (beside, _)) = &visit.query;
    let seen = Timestamp::from_micros(beside.seen.unwrap_or_default());
    let mut filter = query.page_filter(app.clock.now());
    filter.since = Some(filter.since.map_or(seen, |since| since.max(seen)));
    let count = app.store().count_most(&filter).await?;
    if count.n == 0 {
        return Ok(String::new());
    }
    let letters = number::counted(count, "new dead letter");
    Ok(News { letters, href: query.with(|_| ()).href() }.render()?)
}
