//! What PHP's `serialize` writes: <https://www.phpinternals.net/docs/serialization>.

use super::{
    Unreadable,
    budget::{Budget, float, text_or_bytes},
    malformed,
};
use crate::{
    json::{Kind, Member, Node},
    limits::Limits,
};

/// An array or an object, which no short text is by chance, also after `addslashes`.
pub(super) fn looks_so(bytes: &[u8]) -> bool {
    let Some((head, rest)) = bytes.split_first_chunk::<2>() else { return false };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let ends = matches!(bytes.last(), Some(b'}'));
    matches!(head, b"a:" | b"O:") && digits > 0 && rest.get(digits) == Some(&b':') && ends
}

pub(super) fn read(bytes: &[u8], limits: &Limits) -> Result<Node<'static>, Unreadable> {
    let plain = read_plain(bytes, limits);
    // Symfony puts slashes before quotes; no serialized text has one there by itself.
    match plain {
        Err(Unreadable::Malformed(_)) if bytes.windows(2).any(|two| two == b"\\\"") => {
            read_plain(&without_slashes(bytes), limits).or(plain)
        }
        other => other,
    }
}

fn read_plain(bytes: &[u8], limits: &Limits) -> Result<Node<'static>, Unreadable> {
    let mut reader = Reader { bytes, at: 0, budget: Budget::new(bytes.len(), limits) };
    let node = reader.value()?;
    if reader.at == bytes.len() { Ok(node) } else { malformed("something follows the end") }
}

/// Undoes `addslashes`.
fn without_slashes(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter();
    while let Some(byte) = rest.next() {
        match (byte, rest.clone().next()) {
            (b'\\', Some(escaped)) => {
                plain.push(if *escaped == b'0' { 0 } else { *escaped });
                rest.next();
            }
            _ => plain.push(*byte),
        }
    }
    plain
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    budget: Budget,
}

impl<'a> Reader<'a> {
    fn value(&mut self) -> Result<Node<'static>, Unreadable> {
        self.budget.value()?;
        let kind = self.take(1)?.first().copied().unwrap_or_default();
        match kind {
            b'N' => {
                self.expect(b";")?;
                Ok(Node::null())
            }
            b'b' => Ok(Kind::Bool(self.scalar()? == "1").into()),
            b'i' => self.scalar()?.parse::<i64>().map(Node::number).or_else(|_| malformed("a number is none")),
            b'd' => self.float(),
            b's' => {
                let text = self.string(b"\"", b"\";")?;
                Ok(text_or_bytes(text))
            }
            b'a' => self.array(),
            b'O' => self.object(),
            b'C' => self.custom(),
            b'E' => {
                let case = self.string(b"\"", b"\";")?;
                Ok(Node::pair("#enum", text_or_bytes(case)))
            }
            b'r' | b'R' => {
                let number = self.scalar()?;
                number
                    .parse::<u64>()
                    .map(|number| Node::pair("#reference", Node::number(number)))
                    .or_else(|_| malformed("a reference is none"))
            }
            _ => malformed(format!("at byte {} there is no value", self.at.saturating_sub(1))),
        }
    }

    fn float(&mut self) -> Result<Node<'static>, Unreadable> {
        match self.scalar()? {
            "NAN" => Ok(float(f64::NAN)),
            "INF" => Ok(float(f64::INFINITY)),
            "-INF" => Ok(float(f64::NEG_INFINITY)),
            digits => digits.parse().map(float).or_else(|_| malformed("a number is none")),
        }
    }

    /// `:…;`
    fn scalar(&mut self) -> Result<&'a str, Unreadable> {
        self.expect(b":")?;
        self.until(b';')
    }

    /// What comes before a byte, which is taken off.
    fn until(&mut self, end: u8) -> Result<&'a str, Unreadable> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        // Nothing that is written so is longer.
        let n = rest.iter().take(64).position(|byte| *byte == end);
        let text = n.and_then(|n| std::str::from_utf8(rest.get(..n)?).ok());
        let Some(text) = text else { return malformed("a value does not end") };
        self.at = self.at.saturating_add(text.len()).saturating_add(1);
        Ok(text)
    }

    fn length(&mut self) -> Result<usize, Unreadable> {
        self.expect(b":")?;
        self.until(b':')?.parse().or_else(|_| malformed("a length is no number"))
    }

    /// `:LENGTH:` and that many bytes between the two.
    fn string(&mut self, open: &[u8], close: &[u8]) -> Result<&'a [u8], Unreadable> {
        let length = self.length()?;
        self.expect(open)?;
        let text = self.take(length)?;
        self.budget.content(text.len())?;
        self.expect(close)?;
        Ok(text)
    }

    /// A list where the keys are 0, 1, 2 and so on.
    fn array(&mut self) -> Result<Node<'static>, Unreadable> {
        let n = self.length()?;
        let members = self.members(n)?;
        let is_list = members.iter().enumerate().all(|(i, member)| member.key == i.to_string());
        if is_list {
            return Ok(Node::array(members.into_iter().map(|member| member.value).collect()));
        }
        Ok(Node::object(members))
    }

    fn object(&mut self) -> Result<Node<'static>, Unreadable> {
        let class = String::from_utf8_lossy(self.string(b"\"", b"\"")?).into_owned();
        let n = self.length()?;
        let mut members = vec![Member::new("#class", Node::text(class))];
        members.extend(self.members(n)?);
        Ok(Node::object(members))
    }

    /// A class that writes itself: only it can read that.
    fn custom(&mut self) -> Result<Node<'static>, Unreadable> {
        let class = String::from_utf8_lossy(self.string(b"\"", b"\"")?).into_owned();
        let data = self.string(b"{", b"}")?;
        let members = vec![Member::new("#class", Node::text(class)), Member::new("#data", text_or_bytes(data))];
        Ok(Node::object(members))
    }

    /// `{key value key value}`
    fn members(&mut self, n: usize) -> Result<Vec<Member<'static>>, Unreadable> {
        self.expect(b"{")?;
        if n > self.bytes.len().saturating_sub(self.at) {
            return malformed("it ends too early");
        }
        let mut members = Vec::new();
        self.budget.enter()?;
        for _ in 0..n {
            let name = self.value()?;
            let name = self.budget.key(&name)?;
            members.push(Member::new(property(&name), self.value()?));
        }
        self.budget.leave();
        self.expect(b"}")?;
        Ok(members)
    }

    fn expect(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        let at = self.at;
        if self.take(bytes.len())? == bytes {
            return Ok(());
        }
        malformed(format!("at byte {at} there is something else than was expected"))
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], Unreadable> {
        let end = self.at.checked_add(n);
        let Some(taken) = end.and_then(|end| self.bytes.get(self.at..end)) else {
            return malformed("it ends too early");
        };
        self.at = self.at.saturating_add(n);
        Ok(taken)
    }
}

/// The name of a property without what says who may see it.
fn property(name: &str) -> String {
    match name.strip_prefix('\0').and_then(|rest| rest.split_once('\0')) {
        Some((_, own)) => own.to_owned(),
        None => name.to_owned(),
    }
}
