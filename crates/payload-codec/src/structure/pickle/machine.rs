//! The stack machine.

use std::{borrow::Cow, collections::HashMap};

use super::{
    super::{Unreadable, budget::Budget, malformed},
    number,
    value::{Ref, Value},
};
use crate::limits::Limits;

/// Steps for each value; what is written by Python takes about three.
const STEPS: usize = 8;

pub(super) struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    values: Vec<Value<'a>>,
    stack: Vec<Ref>,
    /// Where in the stack marks stand.
    marks: Vec<usize>,
    memo: HashMap<u64, Ref>,
    max_values: usize,
    /// Steps that are left. Some take a byte and keep a reference, which is much more.
    steps: usize,
    /// For the names that are made of others.
    budget: Budget,
}

type Step<T> = Result<T, Unreadable>;

impl<'a> Machine<'a> {
    pub fn new(bytes: &'a [u8], limits: &Limits) -> Self {
        let max_values = limits.elements.saturating_mul(2);
        Self {
            bytes,
            at: 0,
            values: Vec::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
            max_values,
            steps: max_values.saturating_mul(STEPS),
            budget: Budget::new(bytes.len(), limits),
        }
    }

    /// Runs to the end.
    pub fn run(mut self) -> Step<(Vec<Value<'a>>, Ref)> {
        loop {
            self.steps = self.steps.checked_sub(1).ok_or(Unreadable::TooMuch)?;
            let opcode = self.byte()?;
            if opcode == b'.' {
                let root = self.pop()?;
                let is_end = self.at == self.bytes.len();
                return if is_end { Ok((self.values, root)) } else { malformed("something follows the end") };
            }
            self.step(opcode)?;
        }
    }

    fn step(&mut self, opcode: u8) -> Step<()> {
        match opcode {
            0x80 => self.take(1).map(drop),
            0x95 => self.take(8).map(drop),
            b'(' => {
                self.marks.push(self.stack.len());
                Ok(())
            }
            b'0' => self.pop().map(drop),
            b'1' => self.since_mark().map(drop),
            b'2' => {
                let top = self.top()?;
                self.stack.push(top);
                Ok(())
            }
            b'N' => self.push(Value::None),
            0x88 | 0x89 => self.push(Value::Bool(opcode == 0x88)),
            b'I' | b'L' | b'J' | b'K' | b'M' | 0x8a | 0x8b => self.integer(opcode),
            b'F' | b'G' => self.float(opcode),
            b'S' | b'V' | b'X' | 0x8c | 0x8d | b'T' | b'U' | b'B' | b'C' | 0x8e | 0x96 => self.string(opcode),
            b'g' | b'h' | b'j' | b'p' | b'q' | b'r' | 0x94 => self.memory(opcode),
            b']' | b'}' | b')' | 0x8f | b'l' | b't' | b'd' | 0x85..=0x87 | 0x91 => self.container(opcode),
            b'a' | b'e' | b's' | b'u' | 0x90 => self.extend(opcode),
            b'c' | 0x93 | b'i' | b'o' | b'R' | 0x81 | 0x92 | b'b' | 0x82..=0x84 => self.object(opcode),
            b'P' | b'Q' => self.outside(opcode),
            0x97 => self.push(Value::Global("out-of-band buffer".to_owned())),
            0x98 => Ok(()),
            _ => malformed(format!("{opcode:#04x} at byte {} is no opcode", self.at.saturating_sub(1))),
        }
    }

    fn integer(&mut self, opcode: u8) -> Step<()> {
        let number = match opcode {
            b'I' => match self.line()? {
                "00" => return self.push(Value::Bool(false)),
                "01" => return self.push(Value::Bool(true)),
                digits => number::decimal(digits)?,
            },
            b'L' => number::decimal(self.line()?.trim_end_matches('L'))?,
            b'J' => Value::Number(self.little(4)?.cast_signed().wrapping_shl(32).wrapping_shr(32).to_string()),
            b'K' => Value::Number(self.little(1)?.to_string()),
            b'M' => Value::Number(self.little(2)?.to_string()),
            _ => {
                let n = self.length(if opcode == 0x8a { 1 } else { 4 })?;
                number::long(self.take(n)?)
            }
        };
        self.push(number)
    }

    fn float(&mut self, opcode: u8) -> Step<()> {
        if opcode == b'G' {
            let bits = self.take(8)?.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
            return self.push(Value::Float(f64::from_bits(bits)));
        }
        match self.line()?.parse() {
            Ok(number) => self.push(Value::Float(number)),
            Err(_) => malformed("a number is none"),
        }
    }

    fn string(&mut self, opcode: u8) -> Step<()> {
        let n_length = match opcode {
            b'S' | b'V' => 0,
            0x8c | b'U' | b'C' => 1,
            0x8d | 0x8e | 0x96 => 8,
            _ => 4,
        };
        let is_text = matches!(opcode, b'X' | b'V' | 0x8c | 0x8d);
        match opcode {
            b'S' => {
                let line = self.line()?;
                let inside = line.get(1..line.len().saturating_sub(1)).unwrap_or_default();
                return self.push(Value::Text(Cow::Borrowed(inside)));
            }
            b'V' => {
                let line = self.line_of_bytes()?;
                let text = match std::str::from_utf8(line) {
                    Ok(text) if text.is_ascii() => unescaped(text),
                    // One character is one byte there.
                    _ => {
                        let latin: String = line.iter().map(|byte| char::from(*byte)).collect();
                        Cow::Owned(unescaped(&latin).into_owned())
                    }
                };
                return self.push(Value::Text(text));
            }
            _ => {}
        }
        let n = self.length(n_length)?;
        let bytes = self.take(n)?;
        match std::str::from_utf8(bytes) {
            // Python 2 has one type for both.
            Ok(text) if is_text || matches!(opcode, b'T' | b'U') => self.push(Value::Text(Cow::Borrowed(text))),
            _ => self.push(Value::Bytes(Cow::Borrowed(bytes))),
        }
    }

    fn memory(&mut self, opcode: u8) -> Step<()> {
        let key = match opcode {
            b'g' | b'p' => self.line()?.parse().or_else(|_| malformed("a place in the memo is no number"))?,
            b'h' | b'q' => self.little(1)?,
            b'j' | b'r' => self.little(4)?,
            _ => self.memo.len() as u64,
        };
        if matches!(opcode, b'g' | b'h' | b'j') {
            let Some(value) = self.memo.get(&key) else { return malformed("it refers to what it has not kept") };
            self.stack.push(*value);
            return Ok(());
        }
        let top = self.top()?;
        self.memo.insert(key, top);
        Ok(())
    }

    fn container(&mut self, opcode: u8) -> Step<()> {
        let value = match opcode {
            b']' | b')' => Value::List(Vec::new()),
            b'}' => Value::Dict(Vec::new()),
            0x8f => Value::Set(Vec::new()),
            b'l' | b't' => Value::List(self.since_mark()?),
            0x91 => Value::Set(self.since_mark()?),
            b'd' => Value::Dict(pairs(&self.since_mark()?)),
            _ => {
                let n = usize::from(opcode - 0x84);
                let Some(from) = self.stack.len().checked_sub(n) else { return malformed("its stack is empty") };
                Value::List(self.stack.split_off(from))
            }
        };
        self.push(value)
    }

    fn extend(&mut self, opcode: u8) -> Step<()> {
        let items = match opcode {
            b'a' => vec![self.pop()?],
            b's' => {
                let value = self.pop()?;
                vec![self.pop()?, value]
            }
            _ => self.since_mark()?,
        };
        let top = self.top()?;
        match (self.values.get_mut(top), opcode) {
            (Some(Value::List(list)), b'a' | b'e') => list.extend(items),
            (Some(Value::Set(set)), 0x90) => set.extend(items),
            (Some(Value::Dict(dict)), b's' | b'u') => dict.extend(pairs(&items)),
            (Some(Value::Call { pairs: to, .. }), b's' | b'u') => to.extend(pairs(&items)),
            (Some(Value::Call { items: to, .. }), _) => to.extend(items),
            _ => return malformed("something is added to what holds nothing"),
        }
        Ok(())
    }

    fn object(&mut self, opcode: u8) -> Step<()> {
        match opcode {
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.push(Value::Global(format!("{module}.{name}")))
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let global = format!("{}.{}", self.text(module)?, self.text(name)?);
                // The two stand there once, for any number of names.
                self.budget.content(global.len())?;
                self.push(Value::Global(global))
            }
            b'i' => {
                let (module, name) = (self.line()?, self.line()?);
                let callee = self.add(Value::Global(format!("{module}.{name}")))?;
                let args = self.since_mark()?;
                let args = self.add(Value::List(args))?;
                self.call(callee, args, None)
            }
            b'o' => {
                let mut args = self.since_mark()?.into_iter();
                let Some(callee) = args.next() else { return malformed("an object has no class") };
                let args = self.add(Value::List(args.collect()))?;
                self.call(callee, args, None)
            }
            b'R' | 0x81 => {
                let (args, callee) = (self.pop()?, self.pop()?);
                self.call(callee, args, None)
            }
            0x92 => {
                let (keywords, args, callee) = (self.pop()?, self.pop()?, self.pop()?);
                self.call(callee, args, Some(keywords))
            }
            b'b' => self.build(),
            _ => {
                let code = self.little(1 << (opcode - 0x82))?;
                self.push(Value::Global(format!("extension {code}")))
            }
        }
    }

    /// What sets the state of an object.
    fn build(&mut self) -> Step<()> {
        let new = self.pop()?;
        let top = self.top()?;
        match self.values.get_mut(top) {
            Some(Value::Call { state, .. }) => *state = Some(new),
            _ => {
                let none = self.add(Value::List(Vec::new()))?;
                let callee = self.pop()?;
                self.call(callee, none, None)?;
                let top = self.top()?;
                if let Some(Value::Call { state, .. }) = self.values.get_mut(top) {
                    *state = Some(new);
                }
            }
        }
        Ok(())
    }

    fn call(&mut self, callee: Ref, args: Ref, keywords: Option<Ref>) -> Step<()> {
        self.push(Value::Call { callee, args, keywords, items: Vec::new(), pairs: Vec::new(), state: None })
    }

    fn outside(&mut self, opcode: u8) -> Step<()> {
        let id = if opcode == b'P' {
            let line = self.line()?;
            self.add(Value::Text(Cow::Borrowed(line)))?
        } else {
            self.pop()?
        };
        self.push(Value::Outside(id))
    }

    fn text(&self, value: Ref) -> Step<&str> {
        match self.values.get(value) {
            Some(Value::Text(text)) => Ok(text),
            _ => malformed("a name is no string"),
        }
    }

    fn add(&mut self, value: Value<'a>) -> Step<Ref> {
        if self.values.len() >= self.max_values {
            return Err(Unreadable::TooMuch);
        }
        self.values.push(value);
        Ok(self.values.len() - 1)
    }

    fn push(&mut self, value: Value<'a>) -> Step<()> {
        let place = self.add(value)?;
        self.stack.push(place);
        Ok(())
    }

    fn pop(&mut self) -> Step<Ref> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match self.stack.pop().filter(|_| self.stack.len() >= floor) {
            Some(top) => Ok(top),
            None => malformed("its stack is empty"),
        }
    }

    fn top(&self) -> Step<Ref> {
        self.stack.last().copied().map_or_else(|| malformed("its stack is empty"), Ok)
    }

    fn since_mark(&mut self) -> Step<Vec<Ref>> {
        match self.marks.pop() {
            Some(mark) if mark <= self.stack.len() => Ok(self.stack.split_off(mark)),
            _ => malformed("a mark is missing"),
        }
    }

    fn byte(&mut self) -> Step<u8> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }

    fn take(&mut self, n: usize) -> Step<&'a [u8]> {
        let end = self.at.checked_add(n);
        let Some(taken) = end.and_then(|end| self.bytes.get(self.at..end)) else {
            return malformed("it ends too early");
        };
        self.at = self.at.saturating_add(n);
        Ok(taken)
    }

    fn little(&mut self, n: usize) -> Step<u64> {
        Ok(self.take(n)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn length(&mut self, n_bytes: usize) -> Step<usize> {
        usize::try_from(self.little(n_bytes)?).or_else(|_| malformed("it ends too early"))
    }

    fn line(&mut self) -> Step<&'a str> {
        std::str::from_utf8(self.line_of_bytes()?).or_else(|_| malformed("a line is not UTF-8"))
    }

    fn line_of_bytes(&mut self) -> Step<&'a [u8]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let line = rest.iter().position(|byte| *byte == b'\n').and_then(|n| rest.get(..n));
        let Some(line) = line else { return malformed("a line does not end") };
        self.at = self.at.saturating_add(line.len()).saturating_add(1);
        Ok(line)
    }
}

fn pairs(items: &[Ref]) -> Vec<(Ref, Ref)> {
    items.chunks_exact(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?))).collect()
}

/// Undoes `\u0041` and `\U00000041`, the only escapes of protocol 0.
fn unescaped(line: &str) -> Cow<'_, str> {
    if !line.contains('\\') {
        return Cow::Borrowed(line);
    }
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let n = match after.as_bytes().first() {
            Some(b'u') => 4,
            Some(b'U') => 8,
            _ => 0,
        };
        let digits = after.get(1..=n).filter(|_| n > 0);
        let char = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32);
        match char {
            Some(char) => text.push(char),
            None => text.push('\\'),
        }
        rest = if char.is_some() { after.get(n + 1..).unwrap_or_default() } else { after };
    }
    text.push_str(rest);
    Cow::Owned(text)
}
