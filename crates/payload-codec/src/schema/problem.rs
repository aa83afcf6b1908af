//! What is wrong with a schema, and what to do about it.

use std::fmt;

/// One thing that is wrong: where, what, and what to do about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaProblem {
    /// The file it stands in, as its imports name it.
    pub file: Option<String>,
    /// Counted from 1; only sources have lines.
    pub line: Option<usize>,
    /// Counted from 1.
    pub column: Option<usize>,
    /// A sentence.
    pub what: String,
    /// A sentence too; empty where the first one says it all.
    pub remedy: String,
}

impl SchemaProblem {
    /// A problem of no file in particular.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: remedy.into(), ..Self::default() }
    }

    /// The same, in this file.
    pub fn in_file(self, file: impl Into<String>) -> Self {
        Self { file: Some(file.into()), ..self }
    }

    /// The same, at this place; both are counted from 1.
    pub fn at(self, line: usize, column: usize) -> Self {
        Self { line: Some(line), column: Some(column), ..self }
    }

    /// `acme/a.proto:3:7`, as compilers write it; empty where no file is to blame.
    pub fn place(&self) -> String {
        let mut place = self.file.clone().unwrap_or_default();
        for number in [self.line, self.column].into_iter().flatten() {
            place.push_str(&format!(":{number}"));
        }
        place
    }
}

impl fmt::Display for SchemaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.file.as_ref().is_some_and(|file| !file.is_empty()) {
            write!(f, "{}: ", self.place())?;
        }
        f.write_str(&self.what)?;
        if self.remedy.is_empty() { Ok(()) } else { write!(f, " {}", self.remedy) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_like_the_message_of_a_compiler() {
        let problem = SchemaProblem::new("Foo is not defined.", "Define it.");
        assert_eq!(problem.to_string(), "Foo is not defined. Define it.");
        let placed = problem.in_file("a/b.proto").at(3, 7);
        assert_eq!(placed.to_string(), "a/b.proto:3:7: Foo is not defined. Define it.");
        assert_eq!(SchemaProblem::new("No.", "").to_string(), "No.");
        assert_eq!(SchemaProblem::new("No.", "").in_file("").to_string(), "No.", "what came without a name");
    }
}
