//! One thing that is wrong with a request, and where in it.

use std::fmt;

use rule_language::Mistake;

use super::codes::FaultCode;

/// What is said of a NUL. Postgres keeps none in text (<https://www.postgresql.org/docs/current/datatype-character.html>).
pub const NO_NUL: &str = "it holds a NUL character (U+0000), which no text here can have";

/// Characters of one step to a place: a name may be as long as a body, and is told with all that is wrong within it.
const LONGEST_STEP: usize = 256;

/// One thing that is wrong with a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    pub place: Place,
    /// Its kind, for programs.
    pub code: FaultCode,
    /// What is wrong, and what it takes.
    pub detail: String,
    /// Where in an expression.
    pub mistake: Option<Mistake>,
    /// What people know the place by, where it is a field of a page.
    pub label: Option<&'static str>,
}

impl Fault {
    pub fn new(place: Place, code: FaultCode, detail: impl ToString) -> Self {
        Self { place, code, detail: detail.to_string(), mistake: None, label: None }
    }

    /// The same of a field of a page.
    pub fn on_page(self, field: &str, label: &'static str) -> Self {
        Self { place: Place::field(field), label: Some(label), ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.label.map_or_else(|| self.place.name(), str::to_owned) {
            name if name.is_empty() => f.write_str(&self.detail),
            name => write!(f, "{name}: {}", self.detail),
        }
    }
}

/// Where something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the body, as the steps to it: names of fields and, in lists, numbers from 0 on.
    Body(Vec<String>),
    /// In the address.
    Parameter(String),
    Header(&'static str),
}

impl Place {
    /// In the body, by the steps to it, each as far as anybody reads it.
    pub fn of_steps(steps: &[String]) -> Self {
        Self::Body(steps.iter().map(|step| step.chars().take(LONGEST_STEP).collect()).collect())
    }

    /// A field of the body, within others by dots.
    pub fn field(name: &str) -> Self {
        Self::Body(name.split('.').map(str::to_owned).collect())
    }

    /// A field within one of the body, by its path there: `items[2].price`, `prices["a.b"]`.
    pub fn within(field: &str, path: &str) -> Self {
        let mut steps = vec![field.to_owned()];
        let mut rest = path;
        while !rest.is_empty() {
            let (step, further) = match rest.strip_prefix('[') {
                Some(inner) if inner.starts_with('"') => inner.split_once("\"]").unwrap_or((inner, "")),
                Some(inner) => inner.split_once(']').unwrap_or((inner, "")),
                None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
            };
            steps.push(step.trim_start_matches('"').replace("\\\"", "\""));
            rest = further.strip_prefix('.').unwrap_or(further);
        }
        Self::Body(steps)
    }

    pub fn parameter(name: &str) -> Self {
        Self::Parameter(name.to_owned())
    }

    /// Whether one of the two is within the other.
    pub fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Body(one), Self::Body(other)) => one.starts_with(other) || other.starts_with(one),
            (one, other) => one == other,
        }
    }

    /// As a JSON pointer (RFC 6901); `None` outside of the body.
    pub fn pointer(&self) -> Option<String> {
        let Self::Body(steps) = self else { return None };
        Some(steps.iter().map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1"))).collect())
    }

    /// As people write it: `ids[0]`, `filter.queue`.
    fn name(&self) -> String {
        match self {
            Self::Parameter(name) => name.clone(),
            Self::Header(name) => (*name).to_owned(),
            Self::Body(steps) => steps.iter().fold(String::new(), |name, step| match step.parse::<usize>() {
                Ok(number) => format!("{name}[{number}]"),
                Err(_) if name.is_empty() => step.clone(),
                Err(_) => format!("{name}.{step}"),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_to_programs_and_to_people() {
        let check = |place: &Place, pointer: Option<&str>, name: &str| {
            assert_eq!((place.pointer().as_deref(), &*place.name()), (pointer, name));
        };
        check(&Place::field("delay"), Some("/delay"), "delay");
        check(&Place::field("filter.queue"), Some("/filter/queue"), "filter.queue");
        check(&Place::Body(vec!["ids".to_owned(), "0".to_owned()]), Some("/ids/0"), "ids[0]");
        check(&Place::Body(vec!["a/b~c".to_owned()]), Some("/a~1b~0c"), "a/b~c");
        check(&Place::Body(Vec::new()), Some(""), "");
        let long = ["x".repeat(LONGEST_STEP), "x".repeat(LONGEST_STEP + 1)].map(|name| Place::of_steps(&[name]));
        assert_eq!(long[0], long[1]);
        check(&Place::parameter("limit"), None, "limit");
        check(&Place::within("json", ""), Some("/json"), "json");
        check(&Place::within("json", "items[2].price"), Some("/json/items/2/price"), "json.items[2].price");
        check(&Place::within("json", "a[\"b.c\"][0].d"), Some("/json/a/b.c/0/d"), "json.a.b.c[0].d");
    }
}
