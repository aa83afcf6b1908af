//! What speaks for a type and against it, in words.

use std::fmt;

/// One reason. It reads as the rest of a sentence about a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// So many messages of the address were confirmed as this type.
    Confirmed {
        /// How many.
        times: u64,
    },
    /// Words its name shares with the address.
    SharedWords(Vec<String>),
    /// The text of a field looks as its name suggests.
    Expected {
        /// The field.
        field: FieldName,
        /// What its text looks like, as in "reads as {}".
        look: &'static str,
    },
    /// The text of a field looks as its name does not suggest.
    Unexpected {
        /// The field.
        field: FieldName,
        /// What its text looks like, as in "reads as {}".
        look: &'static str,
    },
    /// All fields are declared, in the messages within it, too.
    NoUnknownFields,
    /// It does not declare these numbers.
    UnknownFields(Vec<u32>),
    /// So many fields of the messages within it are not declared.
    UnknownWithin(usize),
    /// The enum of a field does not declare the number.
    UndeclaredNumber {
        /// The field.
        field: FieldName,
        /// Its value.
        number: i64,
    },
    /// A field that is there in nearly every message of the type is not.
    Missing {
        /// The field.
        field: FieldName,
        /// Whether the schema requires it.
        is_required: bool,
    },
    /// So many of the declared fields are there.
    Present {
        /// The declared fields that are there.
        present: usize,
        /// All declared fields.
        declared: usize,
    },
    /// Compared with the likeliest candidate a number fits better, or worse.
    Apart {
        /// The field number.
        number: u32,
        /// What the candidate declares it as.
        here: Declaration,
        /// What the likeliest candidate declares it as.
        likeliest: Declaration,
        /// Whether the value fits the candidate better than the likeliest.
        is_better: bool,
    },
}

/// A field by its number and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldName {
    /// The number in the schema.
    pub number: u32,
    /// The name in the schema; of an extension the full name.
    pub name: String,
}

/// What a type declares a number as: name and type, or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration(pub Option<(String, String)>);

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Confirmed { times: 1 } => write!(f, "1 message of this address was confirmed as this type"),
            Self::Confirmed { times } => write!(f, "{times} messages of this address were confirmed as this type"),
            Self::SharedWords(words) => write!(f, "its name shares {} with the address", quoted(words)),
            Self::Expected { field: FieldName { number, name }, look } => {
                write!(f, "field {number} reads as {look}, as its name `{name}` suggests")
            }
            Self::Unexpected { field: FieldName { number, name }, look } => {
                write!(f, "field {number} reads as {look}, which its name `{name}` does not suggest")
            }
            Self::NoUnknownFields => write!(f, "no unknown fields"),
            Self::UnknownFields(numbers) => unknown(f, numbers),
            Self::UnknownWithin(1) => write!(f, "1 field of the messages within it is unknown to it"),
            Self::UnknownWithin(count) => write!(f, "{count} fields of the messages within it are unknown to it"),
            Self::UndeclaredNumber { field: FieldName { number, name }, number: value } => {
                write!(f, "field {number}, `{name}`, is {value}, which its enum does not declare")
            }
            Self::Missing { field: FieldName { number, name }, is_required } => {
                let how = if *is_required { "required" } else { "nearly always there" };
                write!(f, "field {number}, `{name}`, is {how} and missing")
            }
            Self::Present { present, declared: 1 } => write!(f, "{present} of its 1 field is there"),
            Self::Present { present, declared } => write!(f, "{present} of its {declared} fields are there"),
            Self::Apart { number, here, likeliest, is_better } => {
                let how = if *is_better { "better" } else { "worse" };
                write!(f, "field {number} fits {how} as {here} than, as in the likeliest type, as {likeliest}")
            }
        }
    }
}

impl fmt::Display for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.0 {
            Some((name, kind)) => write!(f, "{kind} `{name}`"),
            None => write!(f, "an unknown field"),
        }
    }
}

fn unknown(f: &mut fmt::Formatter, numbers: &[u32]) -> fmt::Result {
    match numbers.split_last() {
        Some((only, [])) => write!(f, "field {only} is unknown to it"),
        Some((last, others)) => {
            let others: Vec<_> = others.iter().map(u32::to_string).collect();
            write!(f, "fields {} and {last} are unknown to it", others.join(", "))
        }
        None => Ok(()),
    }
}

fn quoted(words: &[String]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    let noun = if words.len() == 1 { "the word" } else { "the words" };
    format!("{noun} {}", quoted.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_a_sentence() {
        fn check(evidence: &Evidence, expected: &str) {
            assert_eq!(evidence.to_string(), expected);
        }
        let email = || FieldName { number: 4, name: "email".to_owned() };
        let declared = |kind: &str| Declaration(Some(("email".to_owned(), kind.to_owned())));
        check(&Evidence::Confirmed { times: 1 }, "1 message of this address was confirmed as this type");
        check(&Evidence::Confirmed { times: 3 }, "3 messages of this address were confirmed as this type");
        check(
            &Evidence::SharedWords(vec!["orders".to_owned(), "paid".to_owned()]),
            "its name shares the words `orders`, `paid` with the address",
        );
        check(
            &Evidence::Expected { field: email(), look: "an email address" },
            "field 4 reads as an email address, as its name `email` suggests",
        );
        check(
            &Evidence::Unexpected { field: email(), look: "a sentence" },
            "field 4 reads as a sentence, which its name `email` does not suggest",
        );
        check(&Evidence::UnknownFields(vec![7]), "field 7 is unknown to it");
        check(&Evidence::UnknownFields(vec![7, 8, 12]), "fields 7, 8 and 12 are unknown to it");
        check(&Evidence::UnknownWithin(2), "2 fields of the messages within it are unknown to it");
        check(
            &Evidence::UndeclaredNumber { field: email(), number: 17 },
            "field 4, `email`, is 17, which its enum does not declare",
        );
        check(&Evidence::Missing { field: email(), is_required: true }, "field 4, `email`, is required and missing");
        check(&Evidence::Present { present: 3, declared: 12 }, "3 of its 12 fields are there");
        check(
            &Evidence::Apart { number: 4, here: Declaration(None), likeliest: declared("string"), is_better: false },
            "field 4 fits worse as an unknown field than, as in the likeliest type, as string `email`",
        );
    }
}
