//! The names rules know.

use crate::node::{Function, Kind, LetterField, What};

pub(crate) const LETTER_FIELDS: [(&str, LetterField); 14] = [
    ("queue", LetterField::Queue),
    ("exchange", LetterField::Exchange),
    ("routing_key", LetterField::RoutingKey),
    ("broker", LetterField::Broker),
    ("reason", LetterField::Reason),
    ("attempts", LetterField::Attempts),
    ("type", LetterField::Type),
    ("headers", LetterField::Headers),
    ("error", LetterField::Error),
    ("error_type", LetterField::ErrorType),
    ("error_message", LetterField::ErrorMessage),
    ("size", LetterField::Size),
    ("first_failed_at", LetterField::FirstFailedAt),
    ("last_failed_at", LetterField::LastFailedAt),
];

/// A field of `letter`, and its kind.
pub(super) fn letter_field(name: &str) -> Option<(LetterField, Kind)> {
    let (_, field) = LETTER_FIELDS.into_iter().find(|(known, _)| *known == name)?;
    let kind = match field {
        LetterField::Attempts | LetterField::Size => Kind::Number,
        LetterField::Headers => Kind::Map,
        LetterField::FirstFailedAt | LetterField::LastFailedAt => Kind::Timestamp,
        _ => Kind::Text,
    };
    Some((field, kind))
}

/// A function and how it is called.
pub(crate) struct Signature {
    pub name: &'static str,
    pub function: Function,
    /// Of which kinds the first argument can be.
    pub takes: &'static [Kind],
    /// Whether a text comes behind it.
    pub has_part: bool,
    pub form: Form,
    pub gives: Kind,
}

impl Signature {
    /// As an example of a call.
    pub(super) fn usage(&self) -> String {
        let part = if self.has_part { "text" } else { "" };
        match self.form {
            Form::Global => format!("{}(…)", self.name),
            Form::Member | Form::Both => format!("….{}({part})", self.name),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `f(a)`
    Global,
    /// `a.f()`
    Member,
    Both,
}

const TEXT: &[Kind] = &[Kind::Text];
const TIMESTAMP: &[Kind] = &[Kind::Timestamp];
const NUMBERS: &[Kind] = &[Kind::Number, Kind::Text];

pub(crate) const FUNCTIONS: [Signature; 16] = [
    signature("size", Function::Size, Form::Both, &[Kind::Text, Kind::List, Kind::Map], Kind::Number),
    search("startsWith", Function::StartsWith),
    search("endsWith", Function::EndsWith),
    search("contains", Function::Contains),
    signature("lowerAscii", Function::LowerAscii, Form::Member, TEXT, Kind::Text),
    signature("upperAscii", Function::UpperAscii, Form::Member, TEXT, Kind::Text),
    signature("int", Function::Int, Form::Global, &[Kind::Number, Kind::Text, Kind::Timestamp], Kind::Number),
    signature("uint", Function::Uint, Form::Global, NUMBERS, Kind::Number),
    signature("double", Function::Double, Form::Global, NUMBERS, Kind::Number),
    signature("string", Function::String, Form::Global, &[Kind::Text, Kind::Number, Kind::Bool], Kind::Text),
    signature("bool", Function::Bool, Form::Global, &[Kind::Bool, Kind::Text], Kind::Bool),
    signature(
        "timestamp",
        Function::Timestamp,
        Form::Global,
        &[Kind::Text, Kind::Timestamp, Kind::Number],
        Kind::Timestamp,
    ),
    signature("duration", Function::Duration, Form::Global, &[Kind::Text, Kind::Duration], Kind::Duration),
    signature("getDayOfWeek", Function::GetDayOfWeek, Form::Member, TIMESTAMP, Kind::Number),
    signature("getHours", Function::GetHours, Form::Member, TIMESTAMP, Kind::Number),
    signature("getMinutes", Function::GetMinutes, Form::Member, TIMESTAMP, Kind::Number),
];

const fn signature(
    name: &'static str,
    function: Function,
    form: Form,
    takes: &'static [Kind],
    gives: Kind,
) -> Signature {
    Signature { name, function, takes, has_part: false, form, gives }
}

const fn search(name: &'static str, function: Function) -> Signature {
    Signature { name, function, takes: TEXT, has_part: true, form: Form::Member, gives: Kind::Bool }
}

pub(super) fn function(name: &str) -> Option<&'static Signature> {
    FUNCTIONS.iter().find(|signature| signature.name == name)
}

pub(super) fn comprehension(name: &str) -> Option<What> {
    Some(match name {
        "all" => What::All,
        "exists" => What::Exists,
        "exists_one" | "existsOne" => What::ExistsOne,
        "filter" => What::Filter,
        "map" => What::Map,
        _ => return None,
    })
}

/// That nothing is called so, with the name that was probably meant.
pub(super) fn unknown_variable(name: &str, variables: &[&str]) -> String {
    let known = variables.iter().copied().chain(["letter", "payload"]);
    let else_known = || format!("nothing is called `{name}`; a rule sees `letter` and `payload`");
    similar(name, known).unwrap_or_else(else_known)
}

pub(super) fn unknown_field(name: &str) -> String {
    let known: Vec<&str> = LETTER_FIELDS.iter().map(|(name, _)| *name).collect();
    let else_known = || format!("a letter has no `{name}`; it has {}", known.join(", "));
    similar(name, known.iter().copied()).unwrap_or_else(else_known)
}

pub(super) fn unknown_function(name: &str) -> String {
    let others = ["matches", "has", "all", "exists", "exists_one", "filter", "map"];
    let known: Vec<&str> = FUNCTIONS.iter().map(|signature| signature.name).chain(others).collect();
    let else_known = || format!("there is no function `{name}`; there are {}", known.join(", "));
    similar(name, known.iter().copied()).unwrap_or_else(else_known)
}

/// Asks whether a name that is known was meant.
fn similar<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<String> {
    // Names are ASCII, and a longer one is nobody's slip.
    let short: String = name.chars().take(40).collect();
    let distance = |known: &str| strsim::osa_distance(&known.to_ascii_lowercase(), &short.to_ascii_lowercase());
    let nearest = known.map(|known| (distance(known), known)).min()?;
    let is_near = nearest.0 <= 2 && nearest.0 * 2 < name.chars().count().max(3);
    is_near.then(|| format!("nothing is called `{name}`; did you mean `{}`?", nearest.1))
}
