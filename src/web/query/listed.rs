//! Lists, page by page.

/// Rows of a page or an answer, unless the address says otherwise.
pub const ROWS: usize = 50;

/// Where a page of a list leads on.
#[derive(Debug, Default)]
pub struct Pager {
    /// Back to the first page, from any other.
    pub first: Option<String>,
    pub next: Option<String>,
}

/// Gives the words of a list their addresses: of its page, and of what may come behind a place in it.
macro_rules! listed {
    ($name:ident, $page:literal, $place:ty) => {
        impl $name {
            /// The address of the page.
            pub fn href(&self) -> String {
                self.href_with(&[])
            }

            /// The address of the page with further words behind it.
            pub fn href_with(&self, further: &[(&str, &str)]) -> String {
                use $crate::web::query::{
                    Parameters,
                    pairs::{address, borrowed},
                };
                address($page, borrowed(&self.pairs()).chain(further.iter().copied()))
            }

            /// The same with other words and from the first page on.
            pub fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
                let mut query = Self { cursor: None, ..self.clone() };
                change(&mut query);
                query
            }

            /// The pages beside this one; the next begins there.
            pub fn pager(&self, next: Option<$place>) -> $crate::web::query::Pager {
                $crate::web::query::Pager {
                    first: self.cursor.map(|_| self.with(|_| ()).href()),
                    next: next.map(|place| self.with(|query| query.cursor = Some(place)).href()),
                }
            }

            /// Rows of a page.
            pub fn limit(&self) -> usize {
                self.limit.unwrap_or($crate::web::query::ROWS)
            }
        }
    };
}
pub(super) use listed;
