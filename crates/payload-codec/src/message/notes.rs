//! What was noticed, and where.

use std::fmt::{self, Display};

/// More are not reported: nobody reads them.
const MAX_PROBLEMS: usize = 200;

/// Something that is not as the schema says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// Names as in the schema, such as `items[2].price`; empty for the message itself.
    pub path: String,
    /// A clause in plain words.
    pub reason: String,
}

/// `items[2].price: …`
impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.path {
            "" => f.write_str(&self.reason),
            path => write!(f, "{path}: {}", self.reason),
        }
    }
}

#[derive(Default)]
pub(super) struct Notes {
    pub path: Path,
    pub problems: Vec<Problem>,
}

impl Notes {
    pub fn note(&mut self, reason: impl Into<String>) {
        let n_problems = self.problems.len();
        if n_problems < MAX_PROBLEMS {
            self.problems.push(Problem { path: self.path.text.clone(), reason: reason.into() });
        } else if n_problems == MAX_PROBLEMS {
            self.problems
                .push(Problem { path: String::new(), reason: "there are more problems than these".to_owned() });
        }
    }
}

/// Where in a message one is.
#[derive(Default)]
pub(super) struct Path {
    pub text: String,
}

/// How long a path was, to go back to it.
#[derive(Clone, Copy)]
pub(super) struct Mark(usize);

impl Path {
    pub fn enter(&mut self, name: &str) -> Mark {
        let mark = Mark(self.text.len());
        if !self.text.is_empty() {
            self.text.push('.');
        }
        self.text.push_str(name);
        mark
    }

    pub fn enter_index(&mut self, index: usize) -> Mark {
        self.enter_brackets(&index.to_string())
    }

    /// A key of a map.
    pub fn enter_key(&mut self, key: &str) -> Mark {
        self.enter_brackets(&format!("{key:?}"))
    }

    pub fn leave(&mut self, mark: Mark) {
        self.text.truncate(mark.0);
    }

    fn enter_brackets(&mut self, inner: &str) -> Mark {
        let mark = Mark(self.text.len());
        self.text.push('[');
        self.text.push_str(inner);
        self.text.push(']');
        mark
    }
}
