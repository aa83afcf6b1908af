//! Where something stands in a source, without parsing it.

use super::{limits::SOURCE_DEPTH, problem::SchemaProblem};

/// A line and a column, counted from 1.
pub type Place = (usize, usize);

/// What is left of a source when comments and the contents of strings are blanked out. Every byte keeps its place.
struct Code<'a> {
    rest: std::iter::Peekable<std::str::CharIndices<'a>>,
}

/// Refuses brackets within brackets and names without end, which would be followed by recursion.
pub fn check_depth(text: &str) -> Result<(), SchemaProblem> {
    let (mut depth, mut parts) = (0_usize, 0_usize);
    for (at, c) in Code::of(text) {
        match c {
            '{' | '[' | '<' | '(' => depth = depth.saturating_add(1),
            '}' | ']' | '>' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        // `(acme.rule).limits.max` is one name.
        parts = match c {
            '.' => parts.saturating_add(1),
            '_' | '(' | ')' => parts,
            c if c.is_alphanumeric() || c.is_whitespace() => parts,
            _ => 0,
        };
        let what = if depth > SOURCE_DEPTH {
            format!("Brackets stand more than {SOURCE_DEPTH} deep within each other.")
        } else if parts > SOURCE_DEPTH {
            format!("A name has more than {SOURCE_DEPTH} parts.")
        } else {
            continue;
        };
        let (line, column) = place(text, at);
        return Err(SchemaProblem::new(what, "Nest less.").at(line, column));
    }
    Ok(())
}

/// Where the source says that it is of an edition, if it does.
pub fn of_edition(text: &str) -> Option<Place> {
    let (start, _) = Code::of(text).find(|(_, c)| !c.is_whitespace() && *c != '\u{feff}')?;
    let after = text.get(start..)?.strip_prefix("edition")?;
    after.trim_start().starts_with('=').then(|| place(text, start))
}

/// Where the source imports a file.
pub fn of_import(text: &str, name: &str) -> Option<Place> {
    let at = text.find(&format!("\"{name}\"")).or_else(|| text.find(&format!("'{name}'")))?;
    Some(place(text, at))
}

fn place(text: &str, at: usize) -> Place {
    let before = text.get(..at).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let column = before.get(line_start..).unwrap_or_default().chars().count();
    (before.matches('\n').count() + 1, column + 1)
}

impl<'a> Code<'a> {
    fn of(text: &'a str) -> Self {
        Self { rest: text.char_indices().peekable() }
    }

    /// A string ends with its line at the latest.
    fn skip_string(&mut self, quote: char) {
        while let Some((_, c)) = self.rest.next() {
            match c {
                '\\' => drop(self.rest.next()),
                '\n' => return,
                c if c == quote => return,
                _ => {}
            }
        }
    }

    fn skip_block(&mut self) {
        let mut star = false;
        for (_, c) in self.rest.by_ref() {
            if star && c == '/' {
                return;
            }
            star = c == '*';
        }
    }

    fn skip_line(&mut self) {
        while self.rest.next_if(|(_, c)| *c != '\n').is_some() {}
    }
}

impl Iterator for Code<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (at, c) = self.rest.next()?;
            let after = self.rest.peek().map(|(_, c)| *c);
            match (c, after) {
                ('"' | '\'', _) => self.skip_string(c),
                ('/', Some('/')) | ('#', _) => self.skip_line(),
                ('/', Some('*')) => {
                    self.rest.next();
                    self.skip_block();
                }
                _ => return Some((at, c)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_counts() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Code::of(text).map(|(_, c)| c).collect::<String>(), expected, "{text}");
        };
        check("a { b } // { c\nd", "a { b } \nd");
        check("a /* { \n ** } */ b", "a  b");
        check("a = \"{ \\\" {\" b '{'", "a =  b ");
        check("\"unterminated {\n{", "{");
        check("a / b", "a / b");
        check("/*/ {*/x", "x");
    }

    #[test]
    fn depth_is_bounded() {
        let deep = |n: usize| "{".repeat(n) + &"}".repeat(n);
        assert_eq!(check_depth(&deep(SOURCE_DEPTH)), Ok(()));
        let problem = check_depth(&format!("\n {}", deep(SOURCE_DEPTH + 1))).unwrap_err();
        assert_eq!((problem.line, problem.column), (Some(2), Some(SOURCE_DEPTH + 2)));
        assert_eq!(check_depth(&"{}".repeat(10_000)), Ok(()));
        let named = |n: usize| format!("option (a){} = 1;\n", " .\nb".repeat(n));
        assert_eq!(check_depth(&named(SOURCE_DEPTH).repeat(3)), Ok(()));
        let problem = check_depth(&named(SOURCE_DEPTH + 1)).unwrap_err();
        assert_eq!((problem.line, problem.column), (Some(SOURCE_DEPTH + 1), Some(3)));
    }

    #[test]
    fn places_of_words() {
        assert_eq!(of_edition("// note\n edition = \"2023\";"), Some((2, 2)));
        assert_eq!(of_edition("syntax = \"proto3\"; // edition = "), None);
        assert_eq!(of_import("syntax = \"proto3\";\n\nimport \"a.proto\";", "a.proto"), Some((3, 8)));
        assert_eq!(of_import("import 'a.proto';", "a.proto"), Some((1, 8)));
        assert_eq!(of_import("", "a.proto"), None);
    }
}
