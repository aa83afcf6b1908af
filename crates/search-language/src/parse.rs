//! From a text to its tree.

use std::ops::Range;

use crate::{
    field::{Field, Language},
    limits::{MAX_DEPTH, MAX_LENGTH, MAX_TERMS},
    mistake::Mistake,
    node::{Comparison, Kind, Node, Term, Value},
    scan::{Scanner, Unclosed, ends_word},
};

impl Language {
    /// Reads a search; one without any term lets everything through.
    ///
    /// # Errors
    /// All that is wrong with it, in the order of the text.
    pub fn parse(&self, text: &str) -> Result<Node, Vec<Mistake>> {
        if text.len() > MAX_LENGTH {
            let why = format!("a search has {MAX_LENGTH} bytes at most, this one has {}", text.len());
            return Err(vec![Mistake::at(text, MAX_LENGTH..text.len(), why)]);
        }
        let mut parser =
            Parser { language: self, scanner: Scanner::new(text), mistakes: Vec::new(), n_terms: 0, is_over: false };
        let node = parser.whole();
        parser.mistakes.sort_by_key(|mistake| mistake.column);
        if parser.mistakes.is_empty() { Ok(node) } else { Err(parser.mistakes) }
    }
}

struct Parser<'t> {
    language: &'t Language,
    scanner: Scanner<'t>,
    mistakes: Vec<Mistake>,
    n_terms: usize,
    /// Nothing that follows can be told from what is wrong.
    is_over: bool,
}

impl Parser<'_> {
    fn whole(&mut self) -> Node {
        let mut node = self.any(0);
        while !self.is_over && self.scanner.peek() == Some(')') {
            let at = self.scanner.at;
            self.wrong(at..at + 1, "no bracket is open here");
            self.scanner.at += 1;
            node = self.any(0);
        }
        node
    }

    /// Alternatives, until the text or the bracket ends.
    fn any(&mut self, depth: usize) -> Node {
        let start = self.scanner.at;
        let mut parts = Vec::new();
        loop {
            let told = self.mistakes.len();
            let (at, part) = (self.scanner.at, self.all(depth));
            // What is no term is told as that.
            let is_empty = matches!(&part.kind, Kind::All(parts) if parts.is_empty()) && self.mistakes.len() == told;
            let or = self.scanner.at;
            let goes_on = !self.is_over && self.scanner.takes_word("OR");
            if is_empty && !self.is_over && (goes_on || !parts.is_empty()) {
                let place = if goes_on { or..or + 2 } else { at..at };
                self.wrong(place, "OR takes something on both sides");
            }
            match part.kind {
                Kind::Any(inner) => parts.extend(inner),
                _ => parts.push(part),
            }
            if !goes_on {
                break;
            }
        }
        one_or(parts, Kind::Any, start..self.scanner.at)
    }

    /// What has to hold together.
    fn all(&mut self, depth: usize) -> Node {
        let (mut parts, mut end) = (Vec::new(), self.scanner.at);
        self.scanner.skip_space();
        let start = self.scanner.at;
        while !self.is_over {
            self.scanner.skip_space();
            let at = self.scanner.at;
            if self.scanner.takes_word("AND") {
                self.and(at, parts.is_empty());
                continue;
            }
            if self.scanner.peek().is_none_or(|c| c == ')') || self.scanner.clone().takes_word("OR") {
                break;
            }
            match self.one(depth) {
                Some(Node { kind: Kind::All(inner), .. }) => parts.extend(inner),
                Some(node) => parts.push(node),
                None => {}
            }
            end = self.scanner.at;
        }
        one_or(parts, Kind::All, start..end.max(start))
    }

    fn and(&mut self, at: usize, is_first: bool) {
        let mut ahead = self.scanner.clone();
        ahead.skip_space();
        if is_first || ahead.peek().is_none_or(|c| c == ')') || ahead.takes_word("OR") || ahead.takes_word("AND") {
            self.wrong(at..at + 3, "AND takes something on both sides");
        }
    }

    /// A term, brackets, or either of them denied.
    fn one(&mut self, depth: usize) -> Option<Node> {
        let start = self.scanner.at;
        if depth > MAX_DEPTH {
            self.end_by(start..start + 1, format!("brackets and minus signs are {MAX_DEPTH} deep at most"));
            return None;
        }
        if self.scanner.takes("-") || self.scanner.takes_word("NOT") {
            return self.not(start, depth);
        }
        if self.scanner.takes("(") {
            return self.brackets(start, depth);
        }
        self.term()
    }

    fn not(&mut self, start: usize, depth: usize) -> Option<Node> {
        let word = start..self.scanner.at;
        if word.len() > 1 {
            self.scanner.skip_space();
        }
        let ends = |c: char| c.is_whitespace() || c == ')';
        if self.scanner.peek().is_none_or(ends) {
            self.wrong(word, "a minus or NOT takes a term behind it; put it in quotes to look for it");
            return None;
        }
        let inner = self.one(depth + 1)?;
        Some(Node { kind: Kind::Not(Box::new(inner)), span: start..self.scanner.at })
    }

    fn brackets(&mut self, start: usize, depth: usize) -> Option<Node> {
        let mut inner = self.any(depth + 1);
        if self.is_over {
            return None;
        }
        self.scanner.skip_space();
        if !self.scanner.takes(")") {
            self.end_by(start..start + 1, "this bracket is not closed");
            return None;
        }
        inner.span = start..self.scanner.at;
        if matches!(&inner.kind, Kind::All(parts) if parts.is_empty()) {
            self.wrong(inner.span, "these brackets are empty");
            return None;
        }
        Some(inner)
    }

    fn term(&mut self) -> Option<Node> {
        let start = self.scanner.at;
        let term = match self.scanner.field() {
            Some((name, span)) => self.of_field(name, span),
            None => self.value(None).map(|value| Term { field: None, values: vec![value] }),
        };
        let span = start..self.scanner.at;
        if span.is_empty() {
            // Whatever it is, it has to be passed.
            self.scanner.at += self.scanner.peek().map_or(0, char::len_utf8);
        }
        let term = term?;
        self.n_terms += term.values.len();
        if self.n_terms > MAX_TERMS {
            self.end_by(span, format!("a search has {MAX_TERMS} terms at most"));
            return None;
        }
        Some(Node { kind: Kind::Term(term), span })
    }

    fn of_field(&mut self, name: &str, span: Range<usize>) -> Option<Term> {
        let Some((field, full)) = self.language.find(name) else {
            let why = self.language.unknown(name);
            self.wrong(span, why);
            self.values(None);
            return None;
        };
        let values = self.values(Some(field))?;
        Some(Term { field: Some(full), values })
    }

    /// The values behind the colon; without a field only to pass them.
    fn values(&mut self, field: Option<&Field>) -> Option<Vec<Value>> {
        let mut values = Vec::new();
        loop {
            values.push(self.value(Some(field)));
            let is_list = field.is_none_or(|field| field.is_list);
            if self.is_over || !is_list || !self.scanner.takes(",") {
                return values.into_iter().collect();
            }
        }
    }

    /// A value of a field or, without one, a word.
    fn value(&mut self, of: Option<Option<&Field>>) -> Option<Value> {
        let start = self.scanner.at;
        let field = of.flatten();
        let comparison = of.map_or(Comparison::Is, |_| Comparison::read(self.scanner.rest()));
        self.scanner.at += comparison.as_str().len();
        let is_quoted = self.scanner.peek() == Some('"');
        let is_list = field.is_some_and(|field| field.is_list);
        let text = if is_quoted {
            match self.scanner.quoted() {
                Ok(text) => text,
                Err(Unclosed) => {
                    self.end_by(start..start + 1, "this quote is not closed");
                    return None;
                }
            }
        } else {
            self.scanner.until(|c| ends_word(c) || is_list && c == ',').to_owned()
        };
        let span = start..self.scanner.at;
        if is_quoted && self.scanner.peek().is_some_and(|c| !(ends_word(c) || is_list && c == ',')) {
            let list_of = field.filter(|_| self.scanner.peek() == Some(','));
            self.wrong(span, list_of.map_or("a space is missing behind this quote".to_owned(), Field::no_list));
            self.scanner.until(ends_word);
            return None;
        }
        if !is_quoted && text.contains(".\"") {
            self.wrong(span, "a path takes no quotes; a name with a space cannot be asked for");
            return None;
        }
        let value = Value { comparison, text, is_quoted };
        match check(field, of.is_some(), &value) {
            Ok(()) => Some(value),
            Err(why) => {
                self.wrong(span, why);
                None
            }
        }
    }

    fn wrong(&mut self, span: Range<usize>, why: impl Into<String>) {
        self.mistakes.push(Mistake::at(self.scanner.text, span, why));
    }

    fn end_by(&mut self, span: Range<usize>, why: impl Into<String>) {
        self.wrong(span, why);
        self.is_over = true;
    }
}

/// What is wrong with a value.
fn check(field: Option<&Field>, is_of_field: bool, value: &Value) -> Result<(), String> {
    if value.text.is_empty() {
        return Err(if is_of_field { "a value is missing here" } else { "there is nothing in these quotes" }.to_owned());
    }
    let Some(field) = field else { return Ok(()) };
    if value.comparison != Comparison::Is && !field.is_ordered {
        return Err(format!("{} cannot be compared by {}", field.name, value.comparison.as_str()));
    }
    (field.check)(&value.text).map_err(|why| match value.text.split_once(',') {
        Some((first, _)) if !field.is_list && !value.is_quoted => {
            let compared = if field.is_ordered {
                format!(", or is compared as in {}:>{first}", field.name)
            } else {
                String::new()
            };
            format!("{}: {why}{compared}", field.no_list())
        }
        _ => format!("{:?} is not possible: {why}", value.text),
    })
}

/// The one there is, or all of them.
fn one_or(mut parts: Vec<Node>, several: impl Fn(Vec<Node>) -> Kind, span: Range<usize>) -> Node {
    if parts.len() == 1
        && let Some(one) = parts.pop()
    {
        return one;
    }
    Node { kind: several(parts), span }
}
