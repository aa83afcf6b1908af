//! How values stand in an address.

use std::{fmt::Display, str::FromStr};

use super::{
    Form, LetterQuery, Pairs,
    cursor::{Place, decode_cursor, decode_number, encode_cursor, encode_number},
    pairs::read,
};
use crate::{domain::letter::Status, web::error::WebError};

/// One value.
pub struct One;

impl<T: FromStr<Err: Display> + Display> Form<Option<T>> for One {
    fn take(pairs: &mut Pairs, name: &str) -> Result<Option<T>, WebError> {
        pairs.take_parsed(name)
    }

    fn write(value: &Option<T>) -> Vec<String> {
        value.iter().map(T::to_string).collect()
    }
}

/// One value, whatever space is around it.
pub struct Trimmed;

impl Form<Option<String>> for Trimmed {
    fn take(pairs: &mut Pairs, name: &str) -> Result<Option<String>, WebError> {
        Ok(pairs.take(name)?.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
    }

    fn write(value: &Option<String>) -> Vec<String> {
        value.iter().cloned().collect()
    }
}

/// Several values, by comma.
pub struct Words;

impl<T: FromStr<Err: Display> + Display> Form<Vec<T>> for Words {
    fn take(pairs: &mut Pairs, name: &str) -> Result<Vec<T>, WebError> {
        pairs.take_words(name)
    }

    fn write(values: &Vec<T>) -> Vec<String> {
        vec![values.iter().map(T::to_string).collect::<Vec<_>>().join(",")]
    }
}

/// Several values, each by a word of its own, as they may hold commas.
pub struct Repeated;

impl Form<Vec<String>> for Repeated {
    fn take(pairs: &mut Pairs, name: &str) -> Result<Vec<String>, WebError> {
        Ok(pairs.take_all(name))
    }

    fn write(values: &Vec<String>) -> Vec<String> {
        values.clone()
    }
}

/// What is not said where it is the default.
pub struct Order;

impl<T: FromStr<Err: Display> + Display + Default + PartialEq> Form<T> for Order {
    fn take(pairs: &mut Pairs, name: &str) -> Result<T, WebError> {
        pairs.take_parsed(name).map(Option::unwrap_or_default)
    }

    fn write(value: &T) -> Vec<String> {
        if *value == T::default() { Vec::new() } else { vec![value.to_string()] }
    }
}

/// How many there are on a page.
pub struct Limit;

impl Form<Option<usize>> for Limit {
    fn take(pairs: &mut Pairs, name: &str) -> Result<Option<usize>, WebError> {
        let max = LetterQuery::MAX_LIMIT;
        let Some(text) = pairs.take(name)? else { return Ok(None) };
        match text.parse() {
            Ok(limit) if (1..=max).contains(&limit) => Ok(Some(limit)),
            _ => Err(WebError::bad_request(format!(
                "{name}: {text:?} is not possible; it takes a number from 1 to {max}"
            ))),
        }
    }

    fn write(value: &Option<usize>) -> Vec<String> {
        One::write(value)
    }
}

/// Where a page begins.
pub struct Cursor;

impl<P: Place + Copy> Form<Option<P>> for Cursor {
    fn take(pairs: &mut Pairs, name: &str) -> Result<Option<P>, WebError> {
        take_cursor(pairs, name, decode_cursor)
    }

    fn write(value: &Option<P>) -> Vec<String> {
        value.iter().map(|place| encode_cursor(*place)).collect()
    }
}

/// Where a page begins of a list whose lines are numbered.
pub struct NumberedCursor;

impl Form<Option<i64>> for NumberedCursor {
    fn take(pairs: &mut Pairs, name: &str) -> Result<Option<i64>, WebError> {
        take_cursor(pairs, name, decode_number)
    }

    fn write(value: &Option<i64>) -> Vec<String> {
        value.iter().map(|number| encode_number(*number)).collect()
    }
}

fn take_cursor<P>(pairs: &mut Pairs, name: &str, decode: fn(&str) -> Option<P>) -> Result<Option<P>, WebError> {
    let Some(text) = pairs.take(name)? else { return Ok(None) };
    let unknown = || WebError::bad_request(format!("{name}: it takes the next_cursor of an earlier answer"));
    decode(&text).map(Some).ok_or_else(unknown)
}

/// Several by comma, or all of them; `None` when the address does not say.
pub struct Statuses;

impl Statuses {
    /// The word that stands for every status.
    const ALL: &str = "all";
}

impl Form<Option<Vec<Status>>> for Statuses {
    fn take(pairs: &mut Pairs, name: &str) -> Result<Option<Vec<Status>>, WebError> {
        let words = pairs.take_names(name);
        if words.iter().any(|word| word == Self::ALL) {
            return Ok(Some(Vec::new()));
        }
        let statuses = words.iter().map(|word| read(name, word)).collect::<Result<Vec<_>, _>>()?;
        Ok((!statuses.is_empty()).then_some(statuses))
    }

    fn write(value: &Option<Vec<Status>>) -> Vec<String> {
        match value {
            None => Vec::new(),
            Some(all) if all.is_empty() => vec![Self::ALL.to_owned()],
            Some(statuses) => Words::write(statuses),
        }
    }
}

/// Whether those without open letters are meant, too; `None` when the address does not say.
pub struct OpenOrAll;

impl OpenOrAll {
    const OPEN: &str = "open";
    const ALL: &str = "all";
}

impl Form<Option<bool>> for OpenOrAll {
    fn take(pairs: &mut Pairs, name: &str) -> Result<Option<bool>, WebError> {
        match pairs.take(name)?.as_deref() {
            None => Ok(None),
            Some(Self::OPEN) => Ok(Some(false)),
            Some(Self::ALL) => Ok(Some(true)),
            Some(word) => Err(WebError::bad_request(format!(
                "{name}: {word:?} is no status of groups; it takes open (with open dead letters) or all"
            ))),
        }
    }

    fn write(value: &Option<bool>) -> Vec<String> {
        value.iter().map(|all| if *all { Self::ALL } else { Self::OPEN }.to_owned()).collect()
    }
}
