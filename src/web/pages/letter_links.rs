//! The links of a letter, on its own page and beside a list.

use super::neighbours::{ListPlace, Neighbours, neighbours};
use crate::{
    domain::letter::{LetterId, LetterSummary},
    web::{
        error::WebError,
        query::{
            LetterQuery, Listed, Parameters, address, borrowed,
            came_from::CameFrom,
            further,
            letter_tab::{FromQuery, LetterTab, TabQuery},
        },
        state::AppState,
        view::letter_links::{Links, ListLinks, Step},
    },
};

/// Where a letter is shown.
pub enum Place {
    /// On its own page, with the list one came from.
    Page(Option<CameFrom>),
    /// Beside this list.
    Beside(Box<LetterQuery>),
    /// At that address, which goes on as it is.
    At(String),
}

/// The page of a letter, which knows from where one came.
pub fn page_of(id: LetterId, list: Option<&CameFrom>) -> String {
    let from = FromQuery { list: list.cloned() };
    address(&format!("/letters/{id}"), borrowed(&from.pairs()))
}

/// The address of a list with a letter beside it.
fn beside(list: &LetterQuery, id: LetterId) -> String {
    list.href_with(&[("letter", &id.to_string())])
}

pub async fn links(
    app: &AppState,
    letter: &LetterSummary,
    tab: LetterTab,
    place: &Place,
    back: String,
) -> Result<Links, WebError> {
    let id = letter.id;
    let list = match place {
        Place::Page(Some(list)) => of_page(app, letter, tab, list).await?,
        Place::Beside(query) => of_pane(app, letter, tab, query).await?,
        Place::Page(None) | Place::At(_) => {
            ListLinks { href: LetterQuery::PAGE.to_owned(), label: "Dead letters", ..ListLinks::default() }
        }
    };
    let (view_base, close, from) = match place {
        Place::Page(list) => (page_of(id, list.as_ref()), None, list.clone()),
        Place::At(address) => (address.clone(), None, None),
        Place::Beside(query) => {
            (beside(query, id), Some(query.href()), Some(CameFrom::Letters(query.clone(), Vec::new())))
        }
    };
    Ok(Links { view_base, tab, back, close, page: with_tab(&page_of(id, from.as_ref()), tab), list })
}

/// On the page of the letter.
async fn of_page(
    app: &AppState,
    letter: &LetterSummary,
    tab: LetterTab,
    list: &CameFrom,
) -> Result<ListLinks, WebError> {
    let around = match list.letters() {
        Some(query) => neighbours(app, &query, letter).await?,
        None => None,
    };
    let here = around.as_ref().map_or_else(|| list.clone(), |around| list.at(&around.page));
    let step = |to: ListPlace| {
        let href = with_tab(&page_of(to.id, Some(&list.at(&to.page))), tab);
        Step { href, target: "#main" }
    };
    Ok(ListLinks { href: format!("{here}#row-{}", letter.id), label: list.label(), ..walked(around, step) })
}

/// Beside its list. What stands on another page of that comes with it.
async fn of_pane(
    app: &AppState,
    letter: &LetterSummary,
    tab: LetterTab,
    list: &LetterQuery,
) -> Result<ListLinks, WebError> {
    let step = |to: ListPlace| Step {
        href: with_tab(&beside(&to.page, to.id), tab),
        target: if to.is_on_other_page { "#main" } else { "#pane" },
    };
    Ok(walked(neighbours(app, list, letter).await?, step))
}

fn walked(around: Option<Neighbours>, step: impl Fn(ListPlace) -> Step) -> ListLinks {
    let is_walked = around.is_some();
    let (previous, next) = around.map(|around| (around.previous, around.next)).unwrap_or_default();
    ListLinks { previous: previous.map(&step), next: next.map(&step), is_walked, ..ListLinks::default() }
}

fn with_tab(address: &str, tab: LetterTab) -> String {
    further(address, borrowed(&TabQuery { tab }.pairs()))
}
