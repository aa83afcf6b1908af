//! The list from which somebody came to a letter, as the address of the letter names it.

use std::{fmt, str::FromStr};

use utoipa::openapi::Object;

use super::{
    LetterQuery, Listed, Pairs, Parameters,
    described::{Described, text},
};
use crate::domain::group::GroupId;

/// A list that letters stand in.
#[derive(Clone, Debug, PartialEq)]
pub enum CameFrom {
    /// `/letters?…`: which letters, and what else its address says.
    Letters(Box<LetterQuery>, Vec<(String, String)>),
    /// The page of a group.
    Group(GroupId),
    /// `/scheduled?…`
    Scheduled(String),
}

impl CameFrom {
    /// What the list is called.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Letters(..) => "Dead letters",
            Self::Group(_) => "Error group",
            Self::Scheduled(_) => "Scheduled retries",
        }
    }

    /// Its letters in their order, where they are in the order of letters.
    pub fn letters(&self) -> Option<LetterQuery> {
        match self {
            Self::Letters(query, _) => Some(*query.clone()),
            Self::Group(id) => Some(LetterQuery { statuses: Some(Vec::new()), ..LetterQuery::of_group(*id, None) }),
            Self::Scheduled(_) => None,
        }
    }

    /// The same list at that page.
    #[must_use]
    pub fn at(&self, page: &LetterQuery) -> Self {
        match self {
            Self::Letters(_, others) => Self::Letters(Box::new(page.clone()), others.clone()),
            _ => self.clone(),
        }
    }
}

impl FromStr for CameFrom {
    type Err = String;

    fn from_str(address: &str) -> Result<Self, String> {
        let unknown = || format!("{address:?} is no list; it takes the address of one, as /letters?queue=orders");
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        match path {
            LetterQuery::PAGE => {
                let mut pairs = Pairs::parse(query.as_bytes());
                let letters = LetterQuery::take(&mut pairs).map_err(|error| error.detail)?;
                Ok(Self::Letters(Box::new(letters), pairs.iter().cloned().collect()))
            }
            "/scheduled" => Ok(Self::Scheduled(address.to_owned())),
            _ => path.strip_prefix("/groups/").and_then(|id| id.parse().ok()).map(Self::Group).ok_or_else(unknown),
        }
    }
}

/// Its address.
impl fmt::Display for CameFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Letters(query, others) => {
                let others: Vec<(&str, &str)> = others.iter().map(|(name, value)| (&**name, &**value)).collect();
                f.write_str(&query.href_with(&others))
            }
            Self::Group(id) => write!(f, "/groups/{id}"),
            Self::Scheduled(address) => f.write_str(address),
        }
    }
}

impl Described for CameFrom {
    fn schema() -> Object {
        text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_again() {
        let check = |address: &str, expected: Option<&str>| {
            let read = address.parse::<CameFrom>().ok();
            assert_eq!(read.map(|list| list.to_string()).as_deref(), expected, "{address}");
        };
        let same = |address: &str| check(address, Some(address));
        same("/letters");
        same("/letters?queue=a%2Fb&sort=oldest");
        same("/letters?status=all&columns=total");
        same("/groups/01930000-0000-7000-8000-000000000000");
        same("/scheduled?queue=orders");
        check("/letters?queue=", Some("/letters"));
        check("/letters?status=none", None);
        check("/groups/one", None);
        check("//elsewhere.example/letters", None);
        check("/lettersx", None);
        check("https://elsewhere.example", None);
    }
}
