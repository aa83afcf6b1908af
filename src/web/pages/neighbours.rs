//! The letters beside one in a list, whichever page of it they stand on.

use crate::{
    domain::{
        filter::{Cursor, PageRequest, Sort},
        letter::{LetterId, LetterSummary},
    },
    web::{
        AppState,
        error::WebError,
        query::{LetterQuery, Listed},
        search,
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
    let request = |sort, limit| PageRequest { sort, after: Some(place(letter)), limit };
    let (ahead, behind) = (request(list.sort, 1), request(list.sort.reversed(), limit.saturating_add(1)));
    let store = app.store();
    let (ahead, behind) = tokio::try_join!(store.letters(&filter, &ahead), store.letters(&filter, &behind))?;
    Ok(Some(Neighbours::of(list, begin, (&ahead.items, &behind.items), letter)))
}

const fn place(letter: &LetterSummary) -> Cursor {
    Cursor { received_at: letter.received_at, id: letter.id }
}

impl Neighbours {
    /// `behind` are those before it, the nearest first: one more than a page holds, where there are so many.
    fn of(
        list: &LetterQuery,
        begin: Option<Cursor>,
        (ahead, behind): (&[LetterSummary], &[LetterSummary]),
        letter: &LetterSummary,
    ) -> Self {
        let limit = list.limit();
        let page_behind =
            |row: Option<&LetterSummary>| list.with(|query| query.set_cursor(row.map(|row| list.anchor(place(row)))));
        let is_on_page = |row: &LetterSummary| begin.is_none_or(|begin| is_beyond(list.sort, place(row), begin));
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

fn is_beyond(sort: Sort, place: Cursor, begin: Cursor) -> bool {
    let (place, begin) = ((place.received_at, place.id), (begin.received_at, begin.id));
    match sort {
        Sort::Newest => place < begin,
        Sort::Oldest => place > begin,
    }
}
