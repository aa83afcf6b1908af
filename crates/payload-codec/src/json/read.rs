//! Text to JSON.

use std::borrow::Cow;

use super::{Kind, Member, Node, SyntaxError};
use crate::Limits;

/// Reads `text`, of no more than `max_nodes` values, by RFC 8259 and nothing more lenient. Arrays and objects may be
/// within each other `max_depth` times, which should be no more than a few hundred: reading them recurses.
///
/// # Errors
/// The first place where it is no JSON, or where a limit is exceeded.
pub fn read(text: &str, max_nodes: usize, max_depth: usize) -> Result<Node<'_>, SyntaxError> {
    let mut reader = Reader { text, at: 0, nodes_left: max_nodes, max_depth };
    reader.skip_space();
    let node = reader.value(0)?;
    reader.skip_space();
    match reader.peek() {
        None => Ok(node),
        Some(_) => Err(reader.error("nothing may follow the end of the JSON")),
    }
}

/// With as many values as an edited payload may have.
pub(super) fn parsed(text: &str) -> Result<Node<'_>, SyntaxError> {
    let limits = Limits::default();
    read(text, limits.elements, limits.depth)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    nodes_left: usize,
    max_depth: usize,
}

type Read<T> = Result<T, SyntaxError>;

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Read<Node<'a>> {
        if depth > self.max_depth {
            return Err(self.error(&format!("more than {} levels", self.max_depth)));
        }
        self.nodes_left = self.nodes_left.checked_sub(1).ok_or_else(|| self.error("too many values"))?;
        let at = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Kind::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => Kind::Number(Cow::Borrowed(self.number()?)),
            Some(b't') => self.word("true", Kind::Bool(true))?,
            Some(b'f') => self.word("false", Kind::Bool(false))?,
            Some(b'n') => self.word("null", Kind::Null)?,
            Some(_) => return Err(self.error("a value was expected here")),
            None => return Err(self.error("the JSON ends too early")),
        };
        Ok(Node { at, kind })
    }

    fn object(&mut self, depth: usize) -> Read<Kind<'a>> {
        self.advance(1);
        self.skip_space();
        let mut members = Vec::new();
        if self.take(b'}') {
            return Ok(Kind::Object(members));
        }
        loop {
            members.push(self.member(depth)?);
            if !self.goes_on(b'}')? {
                return Ok(Kind::Object(members));
            }
        }
    }

    fn member(&mut self, depth: usize) -> Read<Member<'a>> {
        let at = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.error("a key in double quotes was expected here"));
        }
        let key = self.string()?;
        self.skip_space();
        if !self.take(b':') {
            return Err(self.error("a colon was expected here"));
        }
        self.skip_space();
        let value = self.value(depth.saturating_add(1))?;
        Ok(Member { at, key, value })
    }

    fn array(&mut self, depth: usize) -> Read<Kind<'a>> {
        self.advance(1);
        self.skip_space();
        let mut nodes = Vec::new();
        if self.take(b']') {
            return Ok(Kind::Array(nodes));
        }
        loop {
            nodes.push(self.value(depth.saturating_add(1))?);
            if !self.goes_on(b']')? {
                return Ok(Kind::Array(nodes));
            }
        }
    }

    /// Whether a comma follows rather than `end`.
    fn goes_on(&mut self, end: u8) -> Read<bool> {
        self.skip_space();
        if self.take(end) {
            return Ok(false);
        }
        let comma = self.at;
        if !self.take(b',') {
            let end = char::from(end);
            let missing = if self.peek().is_none() { "the JSON ends too early" } else { "" };
            let reason =
                if missing.is_empty() { format!("a comma or {end} was expected here") } else { missing.into() };
            return Err(self.error(&reason));
        }
        self.skip_space();
        if self.peek() == Some(end) {
            let reason = format!("no comma may stand before {}", char::from(end));
            return Err(SyntaxError { at: comma, reason });
        }
        Ok(true)
    }

    fn word(&mut self, word: &str, kind: Kind<'a>) -> Read<Kind<'a>> {
        if !self.rest().starts_with(word) {
            return Err(self.error("a value was expected here"));
        }
        self.advance(word.len());
        Ok(kind)
    }

    fn number(&mut self) -> Read<&'a str> {
        let start = self.at;
        self.take(b'-');
        match self.peek() {
            Some(b'0') => self.advance(1),
            _ => self.digits()?,
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _signed = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(SyntaxError { at: start, reason: "a number may not begin with 0".to_owned() });
        }
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    fn digits(&mut self) -> Read<()> {
        let n_digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        if n_digits == 0 {
            return Err(self.error("a digit was expected here"));
        }
        self.advance(n_digits);
        Ok(())
    }

    fn string(&mut self) -> Read<Cow<'a, str>> {
        let start = self.at;
        self.advance(1);
        let mut text = Cow::Borrowed("");
        loop {
            let rest = self.rest();
            let plain = rest.find(|c: char| c == '"' || c == '\\' || c < ' ').unwrap_or(rest.len());
            let (run, _) = rest.split_at(plain);
            self.advance(plain);
            if text.is_empty() {
                text = Cow::Borrowed(run);
            } else {
                text.to_mut().push_str(run);
            }
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => text.to_mut().push(self.escape()?),
                Some(_) => return Err(self.error("a line break or control character must be written as an escape")),
                None => return Err(SyntaxError { at: start, reason: "this string has no end".to_owned() }),
            }
        }
        self.advance(1);
        Ok(text)
    }

    fn escape(&mut self) -> Read<char> {
        let start = self.at;
        self.advance(1);
        let letter = self.peek();
        self.advance(1);
        let simple = match letter {
            Some(letter @ (b'"' | b'\\' | b'/')) => char::from(letter),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(start),
            _ => return Err(SyntaxError { at: start, reason: "JSON has no such escape".to_owned() }),
        };
        Ok(simple)
    }

    /// `\uXXXX`, or two of them for what is beyond the basic plane. Halves of a pair are no characters.
    fn unicode(&mut self, start: usize) -> Read<char> {
        let first = self.four_digits(start)?;
        let lone = || SyntaxError { at: start, reason: "half a surrogate pair is no character".to_owned() };
        if !(0xd800..0xe000).contains(&first) {
            return char::from_u32(first).ok_or_else(lone);
        }
        if first >= 0xdc00 || !self.rest().starts_with("\\u") {
            return Err(lone());
        }
        self.advance(2);
        let second = self.four_digits(start)?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(lone());
        }
        let beyond = ((first & 0x3ff) << 10) | (second & 0x3ff);
        char::from_u32(beyond.saturating_add(0x1_0000)).ok_or_else(lone)
    }

    fn four_digits(&mut self, start: usize) -> Read<u32> {
        let digits = self.rest().get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let number =
            number.ok_or_else(|| SyntaxError { at: start, reason: "\\u needs four hexadecimal digits".to_owned() })?;
        self.advance(4);
        Ok(number)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.advance(1);
        }
        found
    }

    fn advance(&mut self, n_bytes: usize) {
        self.at = self.at.saturating_add(n_bytes);
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.advance(1);
        }
    }

    fn error(&self, reason: &str) -> SyntaxError {
        SyntaxError { at: self.at.min(self.text.len()), reason: reason.to_owned() }
    }
}
