//! Lists, page by page.

use super::{
    Anchor, Parameters,
    cursor::Place,
    pairs::{address, borrowed},
};
use crate::web::error::WebError;

/// Rows of a page or an answer, unless the address says otherwise.
pub const ROWS: usize = 50;

/// Where a page of a list leads on.
#[derive(Debug, Default)]
pub struct Pager {
    /// Back to the first page, from any other.
    pub first: Option<String>,
    pub next: Option<String>,
    /// The place where this page ends, as a text that sorts as the list does; `~`, which is behind all others, at its end.
    pub reach: String,
}

/// What an address says of a list that is read page by page. Made by `listed!`.
pub trait Listed: Parameters + Clone {
    /// A place in the list.
    type Place: Place;
    /// The path of its page.
    const PAGE: &'static str;

    fn cursor(&self) -> Option<Anchor<Self::Place>>;

    fn set_cursor(&mut self, cursor: Option<Anchor<Self::Place>>);

    fn asked_limit(&self) -> Option<usize>;

    /// A place as a text that sorts as the list does; empty where no page asks.
    fn reach(&self, _place: &Self::Place) -> String {
        String::new()
    }

    /// The address of the page.
    fn href(&self) -> String {
        self.href_with(&[])
    }

    /// The address of the page with further words behind it.
    fn href_with(&self, further: &[(&str, &str)]) -> String {
        address(Self::PAGE, borrowed(&self.pairs()).chain(further.iter().copied()))
    }

    /// The same with other words and from the first page on.
    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut query = self.clone();
        query.set_cursor(None);
        change(&mut query);
        query
    }

    /// Where the page begins.
    ///
    /// # Errors
    /// If the cursor is of another query.
    fn place(&self) -> Result<Option<Self::Place>, WebError> {
        self.cursor().map(|anchor| anchor.place_in(Self::PAGE, &self.pairs())).transpose()
    }

    fn anchor(&self, place: Self::Place) -> Anchor<Self::Place> {
        Anchor::new(Self::PAGE, &self.pairs(), place)
    }

    /// The cursor of the page that begins there.
    fn next_cursor(&self, next: Option<Self::Place>) -> Option<String> {
        next.map(|place| self.anchor(place).encode())
    }

    /// The pages beside this one; the next begins there.
    fn pager(&self, next: Option<Self::Place>) -> Pager {
        Pager {
            first: self.cursor().map(|_| self.with(|_| ()).href()),
            reach: next.as_ref().map_or_else(|| "~".to_owned(), |place| self.reach(place)),
            next: next.map(|place| self.with(|query| query.set_cursor(Some(self.anchor(place)))).href()),
        }
    }

    /// Rows of a page.
    fn limit(&self) -> usize {
        self.asked_limit().unwrap_or(ROWS)
    }
}

/// Gives the words of a list their addresses: of its page, and of what may come behind a place in it.
macro_rules! listed {
    ($name:ident, $page:literal, $place:ty $(, $reach:path)?) => {
        impl $crate::web::query::Listed for $name {
            type Place = $place;
            const PAGE: &'static str = $page;

            fn cursor(&self) -> Option<$crate::web::query::Anchor<$place>> {
                self.cursor
            }

            fn set_cursor(&mut self, cursor: Option<$crate::web::query::Anchor<$place>>) {
                self.cursor = cursor;
            }

            fn asked_limit(&self) -> Option<usize> {
                self.limit
            }

            $(fn reach(&self, place: &$place) -> String {
                $reach(self, place)
            })?
        }
    };
}
pub(super) use listed;

/// The rows of a page, of which one more than it holds was asked for; and the last of them where there are more.
pub fn listed_page<T: Clone>(mut rows: Vec<T>, limit: usize) -> (Vec<T>, Option<T>) {
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let last = rows.last().filter(|_| has_more).cloned();
    (rows, last)
}
