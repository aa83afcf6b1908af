//! How values stand in an address.

use std::{fmt::Display, str::FromStr};

use utoipa::openapi::{ObjectBuilder, Schema, Type, schema::ArrayBuilder};

use super::{
    Form, LetterQuery, Pairs, ROWS,
    cursor::{Anchor, Place},
    described::{Described, several, text, words},
    pairs::read,
};
use crate::{
    domain::{
        column::{Column, MOST},
        letter::Status,
    },
    web::error::{Gathered, WebError, codes::FaultCode},
};

/// One value.
pub struct One;

impl<T: FromStr<Err: Display> + Display + Described> Form<Option<T>> for One {
    fn take(pairs: &mut Pairs, name: &str) -> Result<Option<T>, WebError> {
        pairs.take_as(name, T::MISTAKE)
    }

    fn write(value: &Option<T>) -> Vec<String> {
        value.iter().map(T::to_string).collect()
    }

    fn schema() -> Schema {
        T::schema().into()
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

    fn schema() -> Schema {
        text().into()
    }
}

/// Several values, each by a word of its own: no character of a value ends it.
pub struct Repeated;

impl<T: FromStr<Err: Display> + Display + Described> Form<Vec<T>> for Repeated {
    fn take(pairs: &mut Pairs, name: &str) -> Result<Vec<T>, WebError> {
        let mut gathered = Gathered::default();
        let values = pairs.take_all(name);
        let read = |value: &String| gathered.take(read(name, T::MISTAKE, value).map(Some));
        let values = values.iter().filter_map(read).collect();
        gathered.end().map(|()| values)
    }

    fn write(values: &Vec<T>) -> Vec<String> {
        values.iter().map(T::to_string).collect()
    }

    fn schema() -> Schema {
        several(T::schema())
    }
}

/// Columns of a list.
pub struct Columns;

impl Form<Vec<Column>> for Columns {
    fn take(pairs: &mut Pairs, name: &str) -> Result<Vec<Column>, WebError> {
        let columns: Vec<Column> = Repeated::take(pairs, name)?;
        if columns.len() <= MOST {
            return Ok(columns);
        }
        let why = format!("there are {} columns; it takes {MOST} at most", columns.len());
        Err(WebError::parameter(name, FaultCode::Range, why))
    }

    fn write(columns: &Vec<Column>) -> Vec<String> {
        Repeated::write(columns)
    }

    fn schema() -> Schema {
        ArrayBuilder::new().items(Column::schema()).max_items(Some(MOST)).build().into()
    }
}

/// What is not said where it is the default.
pub struct Order;

impl<T: FromStr<Err: Display> + Display + Default + PartialEq + Described> Form<T> for Order {
    fn take(pairs: &mut Pairs, name: &str) -> Result<T, WebError> {
        pairs.take_as(name, T::MISTAKE).map(Option::unwrap_or_default)
    }

    fn write(value: &T) -> Vec<String> {
        if *value == T::default() { Vec::new() } else { vec![value.to_string()] }
    }

    fn schema() -> Schema {
        ObjectBuilder::from(T::schema()).default(Some(T::default().to_string().into())).build().into()
    }
}

/// How many there are on a page.
pub struct Limit;

impl Form<Option<usize>> for Limit {
    fn take(pairs: &mut Pairs, name: &str) -> Result<Option<usize>, WebError> {
        let max = LetterQuery::MAX_LIMIT;
        let Some(text) = pairs.take(name)? else { return Ok(None) };
        let wrong = |code| {
            WebError::parameter(name, code, format!("{text:?} is not possible; it takes a number from 1 to {max}"))
        };
        let limit: i128 = text.parse().map_err(|_| wrong(FaultCode::Format))?;
        let limit = usize::try_from(limit).ok().filter(|limit| (1..=max).contains(limit));
        limit.map(Some).ok_or_else(|| wrong(FaultCode::Range))
    }

    fn write(value: &Option<usize>) -> Vec<String> {
        One::write(&value.map(|limit| limit as i64))
    }

    fn schema() -> Schema {
        let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
        number.maximum(Some(LetterQuery::MAX_LIMIT)).default(Some(ROWS.into())).build().into()
    }
}

/// Where a page begins.
pub struct Cursor;

impl<P: Place> Form<Option<Anchor<P>>> for Cursor {
    fn take(pairs: &mut Pairs, name: &str) -> Result<Option<Anchor<P>>, WebError> {
        let Some(text) = pairs.take(name)? else { return Ok(None) };
        const TAKES: &str = "it takes the next_cursor of an earlier answer to the same query";
        let unknown = || WebError::parameter(name, FaultCode::Format, TAKES);
        Anchor::decode(&text).map(Some).ok_or_else(unknown)
    }

    fn write(value: &Option<Anchor<P>>) -> Vec<String> {
        value.iter().map(Anchor::encode).collect()
    }

    fn schema() -> Schema {
        text().into()
    }
}

/// Several, or all of them; `None` when the address does not say.
pub struct Statuses;

impl Statuses {
    /// The word that stands for every status.
    const ALL: &str = "all";
}

impl Form<Option<Vec<Status>>> for Statuses {
    fn take(pairs: &mut Pairs, name: &str) -> Result<Option<Vec<Status>>, WebError> {
        if pairs.has_value(name, Self::ALL) {
            pairs.take_all(name);
            return Ok(Some(Vec::new()));
        }
        let statuses: Vec<Status> = Repeated::take(pairs, name)?;
        Ok((!statuses.is_empty()).then_some(statuses))
    }

    fn write(value: &Option<Vec<Status>>) -> Vec<String> {
        match value {
            None => Vec::new(),
            Some(all) if all.is_empty() => vec![Self::ALL.to_owned()],
            Some(statuses) => Repeated::write(statuses),
        }
    }

    fn schema() -> Schema {
        several(words(Status::ALL.iter().map(|status| status.as_str()).chain([Self::ALL])))
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
            Some(word) => Err(WebError::parameter(
                name,
                FaultCode::Choice,
                format!("{word:?} is no status of groups; it takes open (with open dead letters) or all"),
            )),
        }
    }

    fn write(value: &Option<bool>) -> Vec<String> {
        value.iter().map(|all| if *all { Self::ALL } else { Self::OPEN }.to_owned()).collect()
    }

    fn schema() -> Schema {
        words([Self::OPEN, Self::ALL]).into()
    }
}
