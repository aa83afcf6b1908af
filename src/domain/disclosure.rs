//! How much of a payload somebody sees to whom nothing was revealed.
//!
//! Whatever shows a payload, in any form, asks this. What is hidden in part has to be known in full first: where a body
//! could not be read to its end, nobody can tell which of its bytes are the hidden ones.

use std::{borrow::Cow, fmt};

/// What stands for a value that was taken out of a text.
const HOLE: &str = "•••";

/// What is known of a payload.
#[derive(Clone, Copy, Debug)]
pub struct PayloadFacts<'a> {
    /// Fields are hidden by their names, whatever the type is.
    pub hides_names: bool,
    /// It may be of a type that hides something.
    pub may_redact: bool,
    /// Such a type, which hides more than the one that it is read as.
    pub other_type: Option<&'a str>,
    pub extent: Extent<'a>,
}

/// How much of it was read field by field.
#[derive(Clone, Copy, Debug)]
pub enum Extent<'a> {
    /// All of it.
    Fields,
    /// It has fields whose names are not known.
    Unnamed,
    /// It is taken for text.
    Text {
        text: &'a str,
        /// Whether that names a field that is hidden.
        names_hidden: bool,
        /// It is said to have fields: JSON, XML, a form.
        is_declared: bool,
    },
    /// Not to its end, or nothing of it.
    Part,
}

/// How much of it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disclosure {
    /// All but the values that are hidden one by one.
    Fields,
    /// Nothing; why.
    Nothing(String),
}

impl PayloadFacts<'_> {
    pub fn disclosure(&self) -> Disclosure {
        if let Some(name) = self.other_type {
            return Disclosure::Nothing(format!("It may be of the type {name}, which has redacted fields."));
        }
        let why = match self.extent {
            Extent::Fields => None,
            Extent::Unnamed => self
                .hides_names
                .then_some("Fields are hidden by their names, and the names of its fields are not known."),
            Extent::Text { text, names_hidden, is_declared } => {
                let may_hide = names_hidden || is_declared || has_structure(text);
                (self.may_redact || self.hides_names && may_hide)
                    .then_some("It could not be read as fields, and some of them may be hidden.")
            }
            Extent::Part => (self.may_redact || self.hides_names)
                .then_some("It could not be read to its end, and some of its fields may be hidden."),
        };
        why.map_or(Disclosure::Fields, |why| Disclosure::Nothing(why.to_owned()))
    }
}

/// Whether a text may be something with fields, or hold such in an encoding.
fn has_structure(text: &str) -> bool {
    /// A word of so many characters of base64 is more likely a code than a word.
    const LONGEST_WORD: usize = 24;
    let is_of_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_' | '=');
    text.contains(['{', '}', '[', ']', '<', '=', '\\', '%', '"'])
        || text.split(|c| !is_of_base64(c)).any(|word| word.len() >= LONGEST_WORD)
}

/// Values that are hidden in a payload, for texts that quote them: errors, headers, remarks.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct HiddenValues(Vec<String>);

/// They get into no log.
impl fmt::Debug for HiddenValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} hidden values", self.0.len())
    }
}

impl HiddenValues {
    /// A shorter one is part of many words.
    const SHORTEST: usize = 4;

    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut values: Vec<String> =
            values.into_iter().filter(|value| value.chars().count() >= Self::SHORTEST).collect();
        // One that holds another goes first.
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        Self(values)
    }

    /// The values in a text that could not be read: what stands in quotes and is no key, and what has digits. Of bytes,
    /// every run that can be printed.
    pub fn salvaged(bytes: &[u8]) -> Self {
        /// More are not looked for in a text that nobody could read.
        const MOST: usize = 2_000;
        let text = String::from_utf8_lossy(bytes);
        let is_separator = |c: char| c.is_control() || matches!(c, '"' | '\'' | '\u{fffd}');
        let runs =
            text.split(is_separator).filter(|run| !run.trim_matches([' ', ':', ',', '{', '}', '[', ']']).is_empty());
        let parts = runs.flat_map(|run| {
            let words = run.split([' ', ':', ',', '=', '&', '{', '}', '[', ']', '<', '>', ';']);
            let telling = words.filter(|word| word.contains(|c: char| c.is_ascii_digit()));
            telling.chain([run]).map(str::to_owned)
        });
        Self::new(parts.take(MOST))
    }

    /// These and those.
    #[must_use]
    pub fn and(self, others: Self) -> Self {
        Self::new(self.0.into_iter().chain(others.0))
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text without them.
    pub fn scrub<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut scrubbed = Cow::Borrowed(text);
        for value in &self.0 {
            if scrubbed.contains(value.as_str()) {
                scrubbed = Cow::Owned(scrubbed.replace(value.as_str(), HOLE));
            }
        }
        match self.cut_at_the_end(&scrubbed) {
            Some(at) => Cow::Owned(format!("{}{HOLE}", &scrubbed[..at])),
            None => scrubbed,
        }
    }

    /// Where the beginning of a value stands at the end of a text, which was cut there.
    fn cut_at_the_end(&self, text: &str) -> Option<usize> {
        let begins = |value: &String| {
            let parts = value.char_indices().map(|(at, _)| at).skip(Self::SHORTEST);
            parts.filter(|at| text.ends_with(&value[..*at])).max().map(|length| text.len() - length)
        };
        self.0.iter().filter_map(begins).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: PayloadFacts<'_> =
        PayloadFacts { hides_names: false, may_redact: false, other_type: None, extent: Extent::Fields };

    fn check(facts: PayloadFacts<'_>, is_shown: bool) {
        assert_eq!(facts.disclosure() == Disclosure::Fields, is_shown, "{facts:?}");
    }

    fn text(text: &str) -> Extent<'_> {
        Extent::Text { text, names_hidden: false, is_declared: false }
    }

    #[test]
    fn what_was_not_read_in_full_is_hidden_where_anything_is() {
        for extent in [Extent::Fields, Extent::Unnamed, text("{\"a\":"), Extent::Part] {
            check(PayloadFacts { extent, ..OPEN }, true);
            check(PayloadFacts { extent, other_type: Some("acme.Member"), ..OPEN }, false);
        }
        for extent in [Extent::Unnamed, text("{\"a\":"), Extent::Part] {
            check(PayloadFacts { extent, hides_names: true, ..OPEN }, false);
        }
        for extent in [text("{\"a\":"), text("hello"), Extent::Part] {
            check(PayloadFacts { extent, may_redact: true, ..OPEN }, false);
        }
        check(PayloadFacts { hides_names: true, may_redact: true, ..OPEN }, true);
        check(PayloadFacts { extent: Extent::Unnamed, may_redact: true, ..OPEN }, true);
    }

    #[test]
    fn plain_text_is_shown() {
        let with = |extent| PayloadFacts { extent, hides_names: true, ..OPEN };
        check(with(text("order 5 has failed: out of stock, again")), true);
        check(with(Extent::Text { text: "ssn 4711", names_hidden: true, is_declared: false }), false);
        check(with(Extent::Text { text: "4711", names_hidden: false, is_declared: true }), false);
        for structured in ["[1,", "a=1&b=2", "<a>1", "eyJzc24iOiI0NzExLTA4MTUtMTIzNCJ", "\\u0073sn", "%73sn"] {
            check(with(text(structured)), false);
        }
    }

    #[test]
    fn texts_that_quote_hidden_values_lose_them() {
        let values = HiddenValues::new(["4711".to_owned(), "4711-0815".to_owned(), "abc".to_owned()]);
        assert_eq!(values.scrub("abc: no card 4711-0815, but 4711"), "abc: no card •••, but •••");
        assert!(matches!(values.scrub("nothing"), Cow::Borrowed(_)));
        assert_eq!(values.scrub("no card 4711-08"), "no card •••-08");
        assert_eq!(HiddenValues::new(["+49301234567".to_owned()]).scrub("to +493012"), "to •••");
        assert_eq!(format!("{values:?}"), "2 hidden values");
        let salvaged = HiddenValues::salvaged(b"{\"ssn\":\"4711-0815\",\"n\":12345,\"name\":\"Zoe K");
        assert_eq!(salvaged.scrub("12345 of Zoe K has 4711-0815"), "••• of ••• has •••");
        assert_eq!(HiddenValues::salvaged(b"\n\x0c+49301234567\x12\x02DE").scrub("to +49301234567"), "to •••");
    }
}
