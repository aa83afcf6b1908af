//! Names and values as they stand in an address or a form.

use std::{fmt::Display, str::FromStr};

use axum::http::StatusCode;

use crate::web::error::{
    WebError,
    codes::FaultCode,
    fault::{Fault, NO_NUL, Place},
};

/// Names and values, in order, that nobody has taken yet.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    left: Vec<(String, String)>,
    /// What is wrong with values that nobody can take. It is told with all that is wrong with the others.
    faults: Vec<Fault>,
}

impl Pairs {
    /// What a page or a form sends, `application/x-www-form-urlencoded`. Empty values count as left out: forms send them.
    pub fn parse(text: &[u8]) -> Self {
        let left = decode(text).filter(|(_, value)| !value.is_empty()).collect();
        Self { left, faults: Vec::new() }
    }

    /// The same without blank values of what is typed: they are what is left of a word that was taken out. A name may be
    /// blank, and a page of one must not become that of all.
    pub fn without_blanks(mut self) -> Self {
        /// Beside patterns, what cannot be blank.
        const TYPED: [&str; 6] = ["q", "subject", "since", "until", "field", "encoding"];
        let is_typed = |name: &str| TYPED.contains(&name) || name.ends_with("_glob");
        self.left.retain(|(name, value)| !value.trim().is_empty() || !is_typed(name));
        self
    }

    /// What a program sends in an address. See [`exact`](Self::exact).
    pub fn parse_exact(text: &[u8]) -> Self {
        /// What stands for bytes that are no text.
        const REPLACED: char = char::REPLACEMENT_CHARACTER;
        let lossy = |(name, value): &(String, String)| name.contains(REPLACED) || value.contains(REPLACED);
        let says_it = |part: &[u8]| part.to_ascii_uppercase().windows(9).any(|bytes| bytes == b"%EF%BF%BD");
        let mut pairs = Self::default();
        for part in text.split(|byte| *byte == b'&') {
            for pair in decode(part) {
                if lossy(&pair) && !says_it(part) {
                    pairs.faults.push(Fault::new(Place::parameter(&pair.0), FaultCode::Format, "it is not UTF-8"));
                } else {
                    pairs.add_exact(pair);
                }
            }
        }
        pairs
    }

    /// What a program sends. An empty or blank value is refused: a script whose variable is unset must not get, or act on, everything.
    pub fn exact(given: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut pairs = Self::default();
        given.into_iter().for_each(|pair| pairs.add_exact(pair));
        pairs
    }

    fn add_exact(&mut self, (name, value): (String, String)) {
        if value.trim().is_empty() {
            let empty = "it is empty; leave it out instead".to_owned();
            self.faults.push(Fault::new(Place::parameter(&name), FaultCode::Empty, empty));
        } else if value.contains('\0') {
            self.faults.push(Fault::new(Place::parameter(&name), FaultCode::Format, NO_NUL));
        } else {
            self.left.push((name, value));
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &(String, String)> {
        self.left.iter()
    }

    pub fn has(&self, name: &str) -> bool {
        self.left.iter().any(|(key, _)| key == name)
    }

    /// Whether one of the values of `name` is this one.
    pub fn has_value(&self, name: &str, value: &str) -> bool {
        self.left.iter().any(|(key, given)| key == name && given == value)
    }

    /// Every value of `name`.
    pub fn take_all(&mut self, name: &str) -> Vec<String> {
        self.left.extract_if(.., |(key, _)| key == name).map(|(_, value)| value).collect()
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

    /// Refuses what nobody has taken, or could take.
    pub fn finish(mut self, known: &str) -> Result<(), WebError> {
        let unknown = |(name, _): &(String, String)| {
            Fault::new(
                Place::parameter(name),
                FaultCode::Unknown,
                format!("there is no such parameter; there are {known}"),
            )
        };
        self.faults.extend(self.left.iter().map(unknown));
        if self.faults.is_empty() { Ok(()) } else { Err(WebError::of_faults(StatusCode::BAD_REQUEST, self.faults)) }
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

/// An address with further words behind what it says already.
pub fn further<'a>(base: &str, pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let said = encode(pairs);
    match said.is_empty() {
        true => base.to_owned(),
        false if base.contains('?') => format!("{base}&{said}"),
        false => format!("{base}?{said}"),
    }
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
