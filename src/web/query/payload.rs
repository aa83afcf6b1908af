//! How an address asks for a payload.

use std::{fmt, str::FromStr};

use amqp_message::word_enum;
use payload_codec::unwrap::{Kind, UnwrapMode};
use utoipa::openapi::{Object, ObjectBuilder};

use super::{
    Parameters, borrowed,
    described::{Described, described, text},
    form, further, parameters,
};

word_enum! {
    /// How a payload is shown.
    PayloadForm, "view of a payload" {
        Json = "json",
        /// Its fields by their numbers, as they are written.
        Fields = "fields",
        Text = "text",
        Hex = "hex",
    }
}

impl PayloadForm {
    pub const fn label(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Fields => "Fields",
            Self::Text => "Text",
            Self::Hex => "Hex",
        }
    }
}

described!(PayloadForm);

/// Exactly the encodings that are to be undone, the outermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain(pub Vec<Kind>);

impl Chain {
    /// The word for no encoding at all: the body as it came.
    const NONE: &str = "none";
    /// More are never within each other.
    pub const LONGEST: usize = 16;
}

impl FromStr for Chain {
    type Err = String;

    /// Reads names by comma, or as the page shows them, by arrow.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == Self::NONE {
            return Ok(Self(Vec::new()));
        }
        let names = text.split([',', '→', ' ']).filter(|name| !name.is_empty());
        let kinds: Vec<Kind> = names
            .map(|name| {
                let takes = || Kind::ALL.map(Kind::as_str).join(", ");
                name.parse().map_err(|unknown| format!("{unknown}; it takes {}, or of these: {}", Self::NONE, takes()))
            })
            .collect::<Result<_, String>>()?;
        if kinds.len() > Self::LONGEST {
            return Err(format!("it takes no more than {} encodings", Self::LONGEST));
        }
        Ok(Self(kinds))
    }
}

impl Described for Chain {
    fn schema() -> Object {
        let kinds = Kind::ALL.map(Kind::as_str).join("|");
        let pattern = format!("^(none|({kinds})(,({kinds})){{0,{}}})$", Self::LONGEST - 1);
        ObjectBuilder::from(text()).examples(["base64,gzip"]).pattern(Some(pattern)).build()
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(Self::NONE);
        }
        f.write_str(&self.0.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(","))
    }
}

parameters! {
    /// What an address says of the payload of a letter.
    pub PayloadQuery {
        /// Those that are found, if left out.
        "encoding" encoding: Option<Chain> as form::One,
        /// The one that fits, if left out.
        "view" form: Option<PayloadForm> as form::One,
    }
}

impl PayloadQuery {
    /// The address that says it, from the one of the letter.
    pub fn href(&self, base: &str) -> String {
        further(base, borrowed(&self.pairs()))
    }

    pub fn mode(&self) -> UnwrapMode {
        self.encoding.as_ref().map_or(UnwrapMode::Automatic, |chain| UnwrapMode::Exactly(chain.0.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_read_as_they_are_written_and_shown() {
        fn check(text: &str, expected: Option<&str>) {
            let read = text.parse::<Chain>().ok().map(|chain| chain.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        }
        check("none", Some("none"));
        check("base64,gzip", Some("base64,gzip"));
        check("base64 → gzip", Some("base64,gzip"));
        check("Base64, GZIP", Some("base64,gzip"));
        check("rot13", None);
        check(&"hex,".repeat(17), None);
    }

    #[test]
    fn an_address_says_no_more_than_it_has_to() {
        let check = |query: PayloadQuery, base, expected: &str| assert_eq!(query.href(base), expected);
        let chain = || Some(Chain(vec![Kind::Base64, Kind::Gzip]));
        check(PayloadQuery::default(), "/letters/1", "/letters/1");
        check(PayloadQuery { form: Some(PayloadForm::Hex), encoding: None }, "/letters/1", "/letters/1?view=hex");
        check(
            PayloadQuery { form: Some(PayloadForm::Text), encoding: chain() },
            "/letters?letter=1",
            "/letters?letter=1&encoding=base64,gzip&view=text",
        );
    }
}
