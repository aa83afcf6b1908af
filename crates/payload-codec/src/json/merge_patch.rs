//! One edit for the payloads of many letters: a JSON merge patch, RFC 7396.

use std::fmt;

use super::{Kind, Position, one_line::joined_like, read::parsed};

/// Bytes of a patch: it stands in the job that makes it.
const LONGEST: usize = 64 << 10;

/// A merge patch that changes something. What it says may be meant to be hidden, and is told nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct MergePatch(String);

/// Why a text is no merge patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchMistake {
    /// Where in it.
    pub at: Position,
    /// A clause.
    pub why: String,
}

impl fmt::Display for PatchMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.at.line, self.at.column, self.why)
    }
}

impl MergePatch {
    /// Reads one.
    ///
    /// # Errors
    /// The first place where it is no JSON object that changes something.
    pub fn read(text: &str) -> Result<Self, PatchMistake> {
        let mistake = |at, why: String| PatchMistake { at: Position::of(text, at), why };
        if text.len() > LONGEST {
            return Err(mistake(0, format!("it takes {LONGEST} bytes at most")));
        }
        let node = parsed(text).map_err(|error| mistake(error.at, error.reason))?;
        match &node.kind {
            Kind::Object(members) if members.is_empty() => Err(mistake(node.at, "it changes nothing".to_owned())),
            Kind::Object(_) => match node.double_key() {
                Some(member) => Err(mistake(member.at, "this name stands there twice".to_owned())),
                None => Ok(Self(text.to_owned())),
            },
            _ => Err(mistake(node.at, format!("it takes a JSON object, and this is {}", node.describe()))),
        }
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What it makes of a payload that is shown as this JSON, with `None` where that is none: on one line where that is,
    /// else to be read.
    pub fn apply(&self, shown: &str) -> Option<String> {
        let (shown_as, patch) = (parsed(shown).ok()?, parsed(&self.0).ok()?);
        let merged = shown_as.clone().merged(&patch);
        if merged == shown_as {
            return Some(shown.to_owned());
        }
        let is_laid_out = shown.trim_end().contains('\n');
        Some(if is_laid_out { merged.to_string() } else { joined_like(&merged, &shown_as, shown) })
    }
}

/// JSON over several lines, as pages compare it; what is none stays as it is.
pub fn laid_out(text: &str) -> String {
    parsed(text).map_or_else(|_| text.to_owned(), |node| node.to_string())
}

impl fmt::Debug for MergePatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergePatch").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_where_it_is_none() {
        let check = |text: &str, expected: &str| {
            let mistake = MergePatch::read(text).unwrap_err().to_string();
            assert!(mistake.starts_with(expected), "{text}: {mistake}");
        };
        check("", "line 1, column 1: ");
        check("{\"a\":\n  tru}", "line 2, column 3: ");
        check("[1]", "line 1, column 1: it takes a JSON object, and this is an array");
        check("{}", "line 1, column 1: it changes nothing");
        check("{\"a\":1,\n\"a\":2}", "line 2, column 1: this name stands there twice");
        check(&format!("{{\"a\":\"{}\"}}", "x".repeat(LONGEST)), "line 1, column 1: it takes 65536 bytes");
    }

    #[test]
    fn keeps_the_layout_and_tells_nothing_of_itself() {
        let patch = MergePatch::read(r#"{"pin": "4711"}"#).unwrap();
        assert_eq!(patch.apply(r#"{"n":1.10}"#).as_deref(), Some(r#"{"n":1.10,"pin":"4711"}"#));
        assert_eq!(patch.apply(r#"{"n": 1.10}"#).as_deref(), Some(r#"{"n": 1.10, "pin": "4711"}"#));
        assert_eq!(patch.apply(r#"{"n" : 1.10}"#).as_deref(), Some(r#"{"n":1.10,"pin":"4711"}"#));
        assert_eq!(patch.apply("{\n\"n\": 1}").as_deref(), Some("{\n  \"n\": 1,\n  \"pin\": \"4711\"\n}"));
        assert_eq!(patch.apply(r#"{ "pin" : "4711" }"#).as_deref(), Some(r#"{ "pin" : "4711" }"#), "nothing changes");
        assert_eq!(patch.apply("no JSON"), None);
        assert!(!format!("{patch:?}").contains("4711"));
    }
}
