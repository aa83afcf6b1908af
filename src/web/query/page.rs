//! Pages of lists that are held in memory.

use super::{Anchor, Parameters, ROWS, cursor::Place, form, parameters};
use crate::web::error::WebError;

parameters! {
    /// Which page of a list.
    pub Paging {
        /// Items of one answer.
        "limit" limit: Option<usize> as form::Limit,
        /// `next_cursor` of the answer before.
        "cursor" cursor: Option<Anchor<Spot>> as form::Cursor,
    }
}

/// Behind which item a page begins: that one or, where it is gone, what stands where it stood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    position: u32,
    key: u64,
}

impl Place for Spot {
    fn to_bytes(&self) -> Vec<u8> {
        [&self.position.to_be_bytes()[..], &self.key.to_be_bytes()].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (position, key) = bytes.split_first_chunk::<4>()?;
        Some(Self { position: u32::from_be_bytes(*position), key: u64::from_be_bytes(key.try_into().ok()?) })
    }
}

/// One page.
pub struct Page<T> {
    pub items: Vec<T>,
    pub next_cursor: Option<String>,
    /// Items on all pages.
    pub total: usize,
}

impl Paging {
    /// The page of a list called `list` that it asks for. `key` is what tells its items apart.
    ///
    /// # Errors
    /// If the cursor is of another list.
    pub fn page<T>(&self, list: &str, items: Vec<T>, key: impl Fn(&T) -> String) -> Result<Page<T>, WebError> {
        self.page_of(list, &[], items, key)
    }

    /// The same where more is asked for than a page.
    ///
    /// # Errors
    /// If the cursor is of another query.
    pub fn page_of<T>(
        &self,
        list: &str,
        further: &[(&'static str, String)],
        items: Vec<T>,
        key: impl Fn(&T) -> String,
    ) -> Result<Page<T>, WebError> {
        let asked = [&self.pairs()[..], further].concat();
        let hash = |item: &T| xxhash_rust::xxh3::xxh3_64(key(item).as_bytes());
        let begin = match self.cursor.map(|anchor| anchor.place_in(list, &asked)).transpose()? {
            None => 0,
            Some(spot) => {
                let found = items.iter().position(|item| hash(item) == spot.key);
                found.map_or(spot.position as usize, |position| position + 1)
            }
        };
        let (total, limit) = (items.len(), self.limit.unwrap_or(ROWS));
        let end = begin.saturating_add(limit);
        let items: Vec<T> = items.into_iter().skip(begin).take(limit).collect();
        let last = items.last().filter(|_| end < total);
        let spot = last.map(|last| Spot { position: u32::try_from(end - 1).unwrap_or(u32::MAX), key: hash(last) });
        Ok(Page { next_cursor: spot.map(|spot| Anchor::new(list, &asked, spot).encode()), items, total })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::query::Pairs;

    fn page(items: &[&str], limit: usize, cursor: Option<&str>) -> Page<String> {
        let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let paging = Paging::read(Pairs::parse(format!("limit={limit}{cursor}").as_bytes())).unwrap();
        let items = items.iter().map(|item| (*item).to_owned()).collect();
        paging.page("list", items, String::clone).unwrap()
    }

    #[test]
    fn pages_follow_each_other_also_where_the_list_changes() {
        let first = page(&["a", "b", "c", "d"], 2, None);
        assert_eq!((first.items, first.total), (vec!["a".to_owned(), "b".to_owned()], 4));
        let cursor = first.next_cursor.unwrap();
        let rest = |items: &[&str]| page(items, 9, Some(&cursor)).items.concat();
        assert_eq!(rest(&["a", "b", "c", "d"]), "cd");
        assert_eq!(rest(&["x", "a", "b", "c", "d"]), "cd", "one came before");
        assert_eq!(rest(&["a", "c", "d"]), "cd", "the last one is gone");
        assert_eq!(page(&["a", "b"], 2, None).next_cursor, None);
        assert_eq!(page(&["a"], 2, Some(&cursor)).items, [""; 0]);
    }

    #[test]
    fn a_cursor_is_of_one_list() {
        let cursor = page(&["a", "b"], 1, None).next_cursor.unwrap();
        let paging = Paging::read(Pairs::parse(format!("cursor={cursor}").as_bytes())).unwrap();
        assert!(paging.page("other", vec!["a".to_owned()], String::clone).is_err());
    }
}
