//! Names and values as they stand in an address or a form.

use std::{fmt::Display, str::FromStr};

use crate::web::error::WebError;

/// Names and values, in order, that nobody has taken yet.
#[derive(Clone, Debug, Default)]
pub struct Pairs(Vec<(String, String)>);

impl Pairs {
    /// Reads an `application/x-www-form-urlencoded` text. Empty values count as left out: forms send them.
    pub fn parse(text: &[u8]) -> Self {
        let pairs = url::form_urlencoded::parse(text).filter(|(_, value)| !value.is_empty());
        Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = &(String, String)> {
        self.0.iter()
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// Every value of `name`.
    pub fn take_all(&mut self, name: &str) -> Vec<String> {
        self.0.extract_if(.., |(key, _)| key == name).map(|(_, value)| value).collect()
    }

    /// The only value of `name`.
    pub fn take(&mut self, name: &str) -> Result<Option<String>, WebError> {
        let mut values = self.take_all(name);
        if values.len() > 1 {
            return Err(WebError::bad_request(format!("{name} is given more than once")));
        }
        Ok(values.pop())
    }

    /// The only value of `name`, read.
    pub fn take_parsed<T: FromStr<Err: Display>>(&mut self, name: &str) -> Result<Option<T>, WebError> {
        self.take(name)?.map(|text| read(name, &text)).transpose()
    }

    /// The only value of `name`, which has to be there.
    pub fn need<T: FromStr<Err: Display>>(&mut self, name: &str) -> Result<T, WebError> {
        self.take_parsed(name)?.ok_or_else(|| WebError::bad_request(format!("{name}: it is needed")))
    }

    /// Refuses what nobody has taken.
    pub fn finish(self, known: &str) -> Result<(), WebError> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(WebError::bad_request(format!("{name:?} is no parameter here; there are {known}"))),
        }
    }

    /// Its values by comma, read.
    pub fn take_words<T: FromStr<Err: Display>>(&mut self, name: &str) -> Result<Vec<T>, WebError> {
        self.take_names(name).iter().map(|word| read(name, word)).collect()
    }

    /// Its values by comma.
    pub fn take_names(&mut self, name: &str) -> Vec<String> {
        let values = self.take_all(name);
        let names = values.iter().flat_map(|value| value.split(',')).map(str::trim).filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    }
}

pub fn read<T: FromStr<Err: Display>>(name: &str, text: &str) -> Result<T, WebError> {
    text.parse().map_err(|why| WebError::bad_request(format!("{name}: {why}")))
}

/// The address of a page with a query, where there is one.
pub fn address<'a>(page: &str, pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let query = encode(pairs);
    if query.is_empty() { page.to_owned() } else { format!("{page}?{query}") }
}

/// Pairs as they are encoded.
pub fn borrowed<'a>(pairs: &'a [(&'static str, String)]) -> impl Iterator<Item = (&'a str, &'a str)> {
    pairs.iter().map(|(name, value)| (*name, value.as_str()))
}

/// Encodes what is not empty. Colons and commas may stand in a query as they are, and read better so.
fn encode<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in pairs.filter(|(_, value)| !value.is_empty()) {
        query.append_pair(name, value);
    }
    query.finish().replace("%2C", ",").replace("%3A", ":")
}
