//! JSON laid out and marked up for reading, without changing what it says.
//!
//! It works on the text and not on parsed values: numbers keep their digits, objects their order and their duplicates.

use super::text::is_hidden;

/// A run of text of one kind. The class is empty for what needs no colour.
#[derive(Debug, PartialEq, Eq)]
pub struct Token {
    pub class: &'static str,
    pub text: String,
}

/// Laid-out JSON, and whether it was cut at the limit.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Marked {
    pub tokens: Vec<Token>,
    pub cut: bool,
}

/// Lays out `json`, which has to be valid, up to about `limit` bytes.
pub fn mark(json: &str, limit: usize) -> Marked {
    let mut printer =
        Printer { rest: json.trim_start(), open: Vec::new(), at_key: false, out: Marked::default(), size: 0 };
    while !printer.rest.is_empty() {
        if printer.size > limit {
            printer.out.cut = true;
            break;
        }
        printer.step();
    }
    printer.out
}

struct Printer<'a> {
    rest: &'a str,
    /// For each bracket that is open, whether it is an object's.
    open: Vec<bool>,
    /// Whether a string here is a name.
    at_key: bool,
    out: Marked,
    size: usize,
}

impl<'a> Printer<'a> {
    fn step(&mut self) {
        match self.rest.as_bytes()[0] {
            bracket @ (b'{' | b'[') => self.open(bracket == b'{'),
            b'}' | b']' => self.close(),
            b',' => {
                self.plain(1);
                self.at_key = self.open.last().copied().unwrap_or(false);
                self.new_line();
            }
            b':' => {
                self.plain(1);
                self.put("", " ");
                self.at_key = false;
            }
            b'"' => {
                let end = string_end(self.rest);
                let class = if self.at_key { "k" } else { "s" };
                self.put(class, &escape_hidden(&self.rest[..end]));
                self.advance(end);
            }
            first => {
                let end = self.rest.find([',', ']', '}', ' ', '\n', '\r', '\t']).unwrap_or(self.rest.len());
                let class = if first.is_ascii_alphabetic() { "l" } else { "n" };
                self.put(class, &self.rest[..end]);
                // A malformed text must not stop us from getting on.
                self.advance(end.max(1));
            }
        }
    }

    fn open(&mut self, is_object: bool) {
        self.plain(1);
        if self.rest.starts_with(['}', ']']) {
            self.plain(1);
            return;
        }
        self.open.push(is_object);
        self.at_key = is_object;
        self.new_line();
    }

    fn close(&mut self) {
        self.open.pop();
        self.new_line();
        self.plain(1);
    }

    fn plain(&mut self, length: usize) {
        let (text, _) = self.rest.split_at(length);
        self.put("", text);
        self.advance(length);
    }

    fn advance(&mut self, length: usize) {
        self.rest = self.rest.get(length..).unwrap_or_default().trim_start();
    }

    fn new_line(&mut self) {
        /// Deeper levels are no longer indented; nobody counts that far, and the page would grow with the square.
        const DEEPEST: usize = 40;
        let indent = "  ".repeat(self.open.len().min(DEEPEST));
        self.put("", &format!("\n{indent}"));
    }

    fn put(&mut self, class: &'static str, text: &str) {
        self.size += text.len();
        match self.out.tokens.last_mut() {
            Some(last) if last.class == class => last.text.push_str(text),
            _ => self.out.tokens.push(Token { class, text: text.to_owned() }),
        }
    }
}

/// Where the string that `text` begins with ends.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Writes hidden characters as JSON's own escapes, which mean the same.
fn escape_hidden(string: &str) -> String {
    let mut out = String::with_capacity(string.len());
    for c in string.chars() {
        if is_hidden(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> String {
        mark(json, usize::MAX).tokens.into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn lays_out() {
        let check = |json, expected: &str| assert_eq!(text(json), expected);
        check("{}", "{}");
        check("[ ]", "[]");
        check(r#"{"a":1,"b":[true,null]}"#, "{\n  \"a\": 1,\n  \"b\": [\n    true,\n    null\n  ]\n}");
        check(" \"x\\\"}\" ", "\"x\\\"}\"");
        check("12345678901234567890123.10e5", "12345678901234567890123.10e5");
        check(r#"{"a":1,"a":2}"#, "{\n  \"a\": 1,\n  \"a\": 2\n}");
    }

    #[test]
    fn tells_names_from_strings() {
        let marked = mark(r#"{"k":"s","l":[{"k":false}]}"#, usize::MAX);
        let of = |class| marked.tokens.iter().filter(|t| t.class == class).map(|t| &*t.text).collect::<Vec<_>>();
        assert_eq!(of("k"), [r#""k""#, r#""l""#, r#""k""#]);
        assert_eq!(of("s"), [r#""s""#]);
        assert_eq!(of("l"), ["false"]);
    }

    #[test]
    fn hidden_characters_are_escaped() {
        assert_eq!(text("\"a\u{202e}b\""), "\"a\\u202eb\"");
    }

    #[test]
    fn cuts_at_the_limit_and_survives_depth_and_rubbish() {
        assert!(mark(&"[".repeat(100_000), 10_000).cut);
        assert!(!mark("{\"open", 100).cut);
        assert!(!mark("}}]],,::\"", 1_000).cut);
    }
}
