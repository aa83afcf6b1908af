//! One line of an error without its values.

use super::{HOLE, MAX_READ, codes, url, word};

/// Units that say nothing once their number is gone. Written without a space they go with it.
const UNITS: [&str; 24] = [
    "ns",
    "us",
    "µs",
    "ms",
    "s",
    "sec",
    "secs",
    "second",
    "seconds",
    "millis",
    "milliseconds",
    "min",
    "mins",
    "minute",
    "minutes",
    "h",
    "hour",
    "hours",
    "B",
    "kB",
    "KB",
    "MB",
    "GB",
    "MiB",
];

/// One line with single spaces and no control characters, of at most `limit` characters, and whether more was there.
pub(super) fn one_line(text: &str, limit: usize) -> (String, bool) {
    let mut line = String::new();
    let mut n_chars = 0;
    // What is nothing but white space does not keep this going for ever either.
    for c in text.trim().chars().take(limit.saturating_mul(4)) {
        let c = if c.is_whitespace() || c.is_control() { ' ' } else { c };
        if c == ' ' && line.ends_with(' ') {
            continue;
        }
        if n_chars == limit {
            return (line, true);
        }
        line.push(c);
        n_chars += 1;
    }
    (line.trim_end().to_owned(), false)
}

/// `is_cut` says that the line ends before the error does, maybe within a value.
pub(super) fn without_values(line: &str, is_cut: bool) -> String {
    let mut scanner = Scanner { line, at: 0, is_cut, unclosed: String::new(), made: Made::default(), last_word: "" };
    while !scanner.rest().is_empty() {
        scanner.step();
    }
    scanner.made.text.trim().to_owned()
}

struct Scanner<'a> {
    line: &'a str,
    at: usize,
    is_cut: bool,
    /// The closing quotes and brackets that do not come any more, so that nobody looks for them again.
    unclosed: String,
    made: Made,
    last_word: &'a str,
}

impl<'a> Scanner<'a> {
    fn step(&mut self) {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return };
        if let Some(length) = self.quoted(first).or_else(|| self.bracketed(first)) {
            self.made.hole();
            self.at += length;
        } else if let Some(length) = url::length(rest) {
            self.made.word(&url::without_values(rest.get(..length).unwrap_or_default()));
            self.at += length;
        } else if is_part_of_word(first) {
            self.word();
        } else {
            self.made.sign(first);
            self.at += first.len_utf8();
        }
    }

    /// The bytes of a quoted value that begins here.
    fn quoted(&mut self, first: char) -> Option<usize> {
        let close = match first {
            '"' | '`' => first,
            // In the middle of a word it is an apostrophe.
            '\'' if !self.behind_word() => first,
            '«' => '»',
            '“' | '„' => '”',
            '‘' if !self.behind_word() => '’',
            _ => return None,
        };
        if self.unclosed.contains(close) {
            return None;
        }
        let mut is_escaped = false;
        let mut chars = self.rest().char_indices().skip(1).peekable();
        while let Some((at, c)) = chars.next() {
            let ends_word = |next: &(usize, char)| !next.1.is_alphanumeric();
            // Ruby and m4 write `so'.
            let closes = c == close || (close == '`' && c == '\'');
            if closes && !is_escaped && (!matches!(c, '\'' | '’') || chars.peek().is_none_or(ends_word)) {
                return Some(at + c.len_utf8());
            }
            is_escaped = c == '\\' && !is_escaped;
        }
        self.missing(close)
    }

    /// The bytes of a piece of JSON, of an IPv6 address, or of a value in brackets behind an equals sign, that begins
    /// here.
    fn bracketed(&mut self, first: char) -> Option<usize> {
        let rest = self.rest();
        let address = rest.strip_prefix('[').and_then(|rest| rest.get(..rest.floor_char_boundary(40))?.split_once(']'));
        if let Some((address, _)) = address.filter(|(address, _)| word::is_ipv6(address)) {
            return Some(address.len() + 2);
        }
        let inside = rest.get(first.len_utf8()..)?.trim_start().chars().next();
        let close = match (first, inside) {
            ('{', Some('"' | '\'' | '}')) => '}',
            ('[', Some('{' | '"' | '\'' | '[' | ']')) => ']',
            ('(', _) if self.made.text.ends_with('=') => ')',
            ('{' | '[', None) if self.is_cut => return Some(rest.len()),
            _ => return None,
        };
        if self.unclosed.contains(close) {
            return None;
        }
        let mut depth = 0_usize;
        for (at, c) in rest.char_indices() {
            if c == first {
                depth += 1;
            } else if c == close {
                depth -= 1;
                if depth == 0 {
                    return Some(at + c.len_utf8());
                }
            }
        }
        self.missing(close)
    }

    /// A value that goes on where the line was cut goes to its end.
    fn missing(&mut self, close: char) -> Option<usize> {
        if self.is_cut {
            return Some(self.rest().len());
        }
        self.unclosed.push(close);
        None
    }

    fn word(&mut self) {
        let rest = self.rest();
        let end = rest.find(|c| !is_part_of_word(c)).unwrap_or(rest.len());
        let run = rest.get(..end).unwrap_or_default();
        let word = run.trim_end_matches(['.', ':']);
        let behind = rest.get(word.len()..).unwrap_or_default();
        if self.made.is_behind_hole() && UNITS.contains(&word) {
            self.made.text.truncate(self.made.text.trim_end().len());
        } else if !word.is_empty() {
            if codes::is_code(word, self.last_word, behind) {
                self.made.word(word);
            } else {
                self.made.word(&word::without_values(word, self.last_word.is_empty() || behind.starts_with(':')));
            }
            self.last_word = word;
        }
        for c in run.get(word.len()..).unwrap_or_default().chars() {
            self.made.sign(c);
        }
        self.at += end;
    }

    fn behind_word(&self) -> bool {
        self.line.get(..self.at).and_then(|before| before.chars().next_back()).is_some_and(char::is_alphanumeric)
    }

    fn rest(&self) -> &'a str {
        self.line.get(self.at..).unwrap_or_default()
    }
}

fn is_part_of_word(c: char) -> bool {
    !(c.is_whitespace() || "\"'`«»“”„‘’(){}[]<>,;|=!?&".contains(c))
}

/// What is made of a line. Values in a row are one: a list of three is alike to a list of four.
#[derive(Default)]
struct Made {
    text: String,
    /// Behind a value: the bytes up to its end.
    end_of_hole: Option<usize>,
}

impl Made {
    fn hole(&mut self) {
        if let Some(end) = self.end_of_hole.filter(|end| self.text.get(*end..).is_some_and(joins)) {
            self.text.truncate(end);
            return;
        }
        self.text.push(HOLE);
        self.end_of_hole = Some(self.text.len());
    }

    fn word(&mut self, word: &str) {
        for (n, part) in word.split(HOLE).enumerate() {
            if n > 0 {
                self.hole();
            }
            self.text.push_str(part);
        }
    }

    fn is_behind_hole(&self) -> bool {
        self.end_of_hole.is_some_and(|end| self.text.get(end..) == Some(" "))
    }

    fn sign(&mut self, c: char) {
        if !(c == ' ' && self.text.ends_with(' ')) && self.text.len() < 8 * MAX_READ {
            self.text.push(c);
        }
    }
}

/// Whether what stands between two values makes them one.
fn joins(between: &str) -> bool {
    between.len() <= 3 && between.chars().all(|c| " ,.:/-+_;|".contains(c))
}
