//! The letters beside one in a list, whichever page of it they stand on.

use crate::{
    domain::{
        filter::{Cursor, PageRequest},
        letter::{LetterId, LetterSummary},
    },
    web::{
        error::WebError,
        query::{LetterQuery, Listed},
        shared::search,
        state::AppState,
    },
};

/// A place in a list: which letter, on which page.
pub struct ListPlace {
    pub id: LetterId,
    /// The list at the page that has it.
    pub page: LetterQuery,
    /// Whether that is another page than the one on which the letter stands that was asked about.
    pub is_on_other_page: bool,
}

pub struct Neighbours {
    /// The list at the page that has the letter, or had it before it left the list.
    pub page: LetterQuery,
    pub previous: Option<ListPlace>,
    pub next: Option<ListPlace>,
}

/// None where the list cannot be looked at.
pub async fn neighbours(
    app: &AppState,
    list: &LetterQuery,
    letter: &LetterSummary,
) -> Result<Option<Neighbours>, WebError> {
    if !search::mistakes(app, list).is_empty() {
        return Ok(None);
    }
    let filter = list.page_filter(app.clock.now());
    let (begin, limit) = (list.place()?, list.limit());
    let request = |limit| PageRequest { sort: list.sort, after: Some(Cursor::of(letter, list.sort)), limit };
    let (ahead, behind) = (request(1), request(limit.saturating_add(1)));
    let store = app.store();
    let (ahead, behind) = tokio::try_join!(store.letters(&filter, &ahead), store.letters_before(&filter, &behind))?;
    Ok(Some(Neighbours::of(list, begin, (&ahead.items, &behind), letter)))
}

impl Neighbours {
    /// `behind` are those before it, the nearest first: one more than a page holds, where there are so many.
    fn of(
        list: &LetterQuery,
        begin: Option<Cursor>,
        (ahead, behind): (&[LetterSummary], &[LetterSummary]),
        letter: &LetterSummary,
    ) -> Self {
        let (limit, place) = (list.limit(), |row: &LetterSummary| Cursor::of(row, list.sort));
        let page_behind =
            |row: Option<&LetterSummary>| list.with(|query| query.set_cursor(row.map(|row| list.anchor(place(row)))));
        let is_on_page = |row: &LetterSummary| begin.is_none_or(|begin| list.sort.compare(begin, place(row)).is_lt());
        let before = behind.iter().take_while(|row| is_on_page(row)).count();
        // What has come in since may have pushed it to a later page: it is the last one there, then.
        let is_there = before < limit && is_on_page(letter);
        let (page, before) = if is_there {
            (list.clone(), before)
        } else {
            (page_behind(behind.get(limit - 1)), behind.len().min(limit - 1))
        };
        let to = |row: &LetterSummary, other: Option<LetterQuery>| ListPlace {
            id: row.id,
            is_on_other_page: other.is_some(),
            page: other.unwrap_or_else(|| page.clone()),
        };
        let next = ahead.first().map(|row| to(row, (before + 1 >= limit).then(|| page_behind(Some(letter)))));
        let previous = behind.first().map(|row| to(row, (before == 0).then(|| page_behind(behind.get(limit)))));
        Self { previous, next, page }
    }
}
