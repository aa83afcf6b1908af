//! Names and values as they stand in an address or a form.

use std::{fmt::Display, str::FromStr};

use axum::http::StatusCode;

use crate::web::{
    codes::FaultCode,
    error::WebError,
    fault::{Fault, Place},
};

/// Names and values, in order, that nobody has taken yet.
#[derive(Clone, Debug, Default)]
pub struct Pairs(Vec<(String, String)>);

impl Pairs {
    /// What a page or a form sends, `application/x-www-form-urlencoded`. Empty values count as left out: forms send them.
    pub fn parse(text: &[u8]) -> Self {
        Self(decode(text).filter(|(_, value)| !value.is_empty()).collect())
    }

    /// What a program sends in an address. See [`exact`](Self::exact).
    pub fn parse_exact(text: &[u8]) -> Result<Self, WebError> {
        /// What stands for bytes that are no text.
        const REPLACED: char = char::REPLACEMENT_CHARACTER;
        let lossy = |(name, value): &(String, String)| name.contains(REPLACED) || value.contains(REPLACED);
        let said = |part: &[u8]| part.to_ascii_uppercase().windows(9).any(|bytes| bytes == b"%EF%BF%BD");
        let no_text =
            |(name, _): (String, String)| Fault::new(Place::parameter(&name), FaultCode::Format, "it is not UTF-8");
        let parts = text.split(|byte| *byte == b'&').filter(|part| !said(part));
        let faults: Vec<_> = parts.flat_map(decode).filter(lossy).map(no_text).collect();
        if !faults.is_empty() {
            return Err(WebError::of_faults(StatusCode::BAD_REQUEST, faults));
        }
        Self::exact(decode(text))
    }

    /// What a program sends. An empty value is refused: a script whose variable is unset must not get, or act on, everything.
    pub fn exact(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Self, WebError> {
        let pairs: Vec<_> = pairs.into_iter().collect();
        let empty = |(name, _): &(String, String)| {
            Fault::new(Place::parameter(name), FaultCode::Empty, "it is empty; leave it out instead".to_owned())
        };
        let faults: Vec<_> = pairs.iter().filter(|(_, value)| value.is_empty()).map(empty).collect();
        if faults.is_empty() { Ok(Self(pairs)) } else { Err(WebError::of_faults(StatusCode::BAD_REQUEST, faults)) }
    }

    pub fn iter(&self) -> impl Iterator<Item = &(String, String)> {
        self.0.iter()
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// Whether one of the values of `name` is this one.
    pub fn has_value(&self, name: &str, value: &str) -> bool {
        self.0.iter().any(|(key, given)| key == name && given == value)
    }

    /// Every value of `name`.
    pub fn take_all(&mut self, name: &str) -> Vec<String> {
        self.0.extract_if(.., |(key, _)| key == name).map(|(_, value)| value).collect()
    }

    /// The only value of `name`.
    pub fn take(&mut self, name: &str) -> Result<Option<String>, WebError> {
        let mut values = self.take_all(name);
        if values.len() > 1 {
            return Err(WebError::parameter(name, FaultCode::Repeated, "it is given more than once"));
        }
        Ok(values.pop())
    }

    /// The only value of `name`, read.
    pub fn take_parsed<T: FromStr<Err: Display>>(&mut self, name: &str) -> Result<Option<T>, WebError> {
        self.take_as(name, FaultCode::Format)
    }

    /// The only value of `name`, read; of this kind is the mistake where it cannot be.
    pub fn take_as<T: FromStr<Err: Display>>(&mut self, name: &str, code: FaultCode) -> Result<Option<T>, WebError> {
        self.take(name)?.map(|text| read(name, code, &text)).transpose()
    }

    /// The only value of `name`, which has to be there.
    pub fn need<T: FromStr<Err: Display>>(&mut self, name: &str) -> Result<T, WebError> {
        self.take_parsed(name)?.ok_or_else(|| WebError::parameter(name, FaultCode::Required, "it is needed"))
    }

    /// Refuses what nobody has taken.
    pub fn finish(self, known: &str) -> Result<(), WebError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let unknown = |(name, _): &(String, String)| {
            Fault::new(
                Place::parameter(name),
                FaultCode::Unknown,
                format!("there is no such parameter; there are {known}"),
            )
        };
        Err(WebError::of_faults(StatusCode::BAD_REQUEST, self.0.iter().map(unknown).collect()))
    }
}

fn decode(text: &[u8]) -> impl Iterator<Item = (String, String)> {
    url::form_urlencoded::parse(text).map(|(name, value)| (name.into_owned(), value.into_owned()))
}

pub fn read<T: FromStr<Err: Display>>(name: &str, code: FaultCode, text: &str) -> Result<T, WebError> {
    text.parse().map_err(|why| WebError::parameter(name, code, why))
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
