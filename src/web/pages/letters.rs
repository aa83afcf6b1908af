//! `/letters`: the list, and beside it the letter that is open.

use std::sync::Arc;

use amqp_message::time::Timestamp;
use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    fragment,
    letter::{Sight, view},
    list::{Empty, List, load_list, page_filter},
    part::parts,
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    domain::letter::LetterId,
    web::{
        AppState,
        error::WebError,
        input::QueryPairs,
        payload::PayloadQuery,
        query::{LetterQuery, Pairs, Parameters},
        view::{
            letter::{LetterView, Links},
            number,
        },
    },
};

parts! {
    Part {
        /// BulkAction but the navigation.
        Main = "main",
        /// What a changed filter changes; the filter's own fields stay as they are.
        Results = "results",
        /// The letter beside the list.
        Letter = "letter",
        /// What has come in since the list was made.
        ChangeFeed = "news",
    }
}

/// What the address says.
struct Asked {
    query: LetterQuery,
    letter: Option<LetterId>,
    payload: PayloadQuery,
    part: Option<Part>,
    /// Letters received from here on are feed, in microseconds since the epoch.
    seen: Option<i64>,
}

impl Asked {
    fn take(mut pairs: Pairs) -> Result<Self, WebError> {
        let asked = Self {
            query: LetterQuery::take(&mut pairs)?,
            letter: pairs.take_parsed("letter")?,
            payload: PayloadQuery::take(&mut pairs)?,
            part: pairs.take_parsed("part")?,
            seen: pairs.take_parsed("seen")?,
        };
        pairs.finish(&format!("{}, letter, {}, part", LetterQuery::names(), PayloadQuery::WORDS))?;
        Ok(asked)
    }

    fn here(&self) -> String {
        let letter = self.letter.map(|id| id.to_string()).unwrap_or_default();
        let [encoding, view] = self.payload.pairs();
        self.query.href_with(&[("letter", &letter), (encoding.0, &encoding.1), (view.0, &view.1)])
    }
}

#[derive(Template)]
#[template(path = "letters/page.html", blocks = ["title", "main", "results", "pane", "nav"])]
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
struct ChangeFeed {
    letters: String,
    href: String,
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    QueryPairs(pairs): QueryPairs,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let asked = Asked::take(pairs)?;
    match asked.part {
        None => {
            let page = load(&app, &asked, &headers).await?;
            Ok(fragment::whole(page.render()?, &page.shell))
        }
        Some(Part::Main) => {
            let page = load(&app, &asked, &headers).await?;
            let blocks = [page.as_title().render()?, page.as_main().render()?, page.as_nav().render()?];
            Ok(fragment::main(blocks, &page.shell))
        }
        Some(Part::Results) => {
            let page = load(&app, &asked, &HeaderMap::new()).await?;
            Ok(fragment::of_page(page.as_results().render()?, &page.shell))
        }
        Some(Part::Letter) => {
            let page = load_letter_only(&app, &asked).await?;
            Ok(fragment::of_page(page.as_pane().render()?, &page.shell))
        }
        Some(Part::ChangeFeed) => Ok(fragment::only(feed(&app, &asked).await?)),
    }
}

async fn load(app: &AppState, asked: &Asked, headers: &HeaderMap) -> Result<LettersPage, WebError> {
    let facets = app.store.facets().await?;
    let (list, pane) = tokio::try_join!(load_list(app, &asked.query, asked.letter, &facets), load_pane(app, asked))?;
    let here = asked.here();
    let toast = Toast::from_cookie(headers, &here);
    let shell = Shell::new(app, Page::Letters, &facets).await?;
    let shell = Shell { toast, here, is_fragment: asked.part.is_some(), ..shell };
    Ok(LettersPage { shell, list, pane })
}

/// The letter beside a list that is there already, so that none has to be read again.
async fn load_letter_only(app: &AppState, asked: &Asked) -> Result<LettersPage, WebError> {
    let shell = Shell { here: asked.here(), ..Shell::bare() };
    Ok(LettersPage { shell, list: List::default(), pane: load_pane(app, asked).await? })
}

async fn load_pane(app: &AppState, asked: &Asked) -> Result<Pane, WebError> {
    let Some(id) = asked.letter else { return Ok(Pane::Closed) };
    let close = asked.query.href();
    let links = Links {
        view_base: asked.query.href_with(&[("letter", &id.to_string())]),
        back: asked.here(),
        close: Some(close.clone()),
    };
    let letter = view(app, id, &Sight { query: asked.payload.clone(), reveal_to: None }, links).await?;
    Ok(letter.map_or(Pane::Missing { close }, |letter| Pane::Open(Box::new(letter))))
}

/// Counts the letters of this list that came in since it was made; nothing when there are none.
async fn feed(app: &AppState, asked: &Asked) -> Result<String, WebError> {
    let seen = Timestamp::from_micros(asked.seen.unwrap_or_default());
    let mut filter = page_filter(&asked.query, app.clock.now());
    filter.since = Some(filter.since.map_or(seen, |since| since.max(seen)));
    let count = app.store.count(&filter).await?;
    if count == 0 {
        return Ok(String::new());
    }
    let letters = number::plural(count, "new dead letter");
    Ok(ChangeFeed { letters, href: asked.query.with(|_| ()).href() }.render()?)
}
