//! A protobuf payload by the numbers of its fields, as far as it can be read without a schema.

use payload_codec::{
    Limits,
    tree::{self, Field, Reading, Unit},
    wire::{Width, WireType},
};

use super::{hex, number, text};

/// Fields on a page; with all around them it has to stay below 100 kB.
const MOST: usize = 200;
/// Deeper fields are counted, not shown.
const DEEPEST: usize = 12;
/// Other readings of a value that are shown.
const OTHERS: usize = 3;
/// Characters of a text, and as many of a list.
const TEXT: usize = 300;
/// The same where it is not the likeliest reading.
const SHORT: usize = 60;
/// Bytes that are written out.
const BYTES: usize = 24;

/// A line of a nested list.
#[derive(Debug, PartialEq)]
pub struct FieldLine {
    pub number: u32,
    /// How it is written: a word of the wire format.
    pub wire: &'static str,
    /// The most plausible reading.
    pub value: String,
    /// What `value` is read as.
    pub kind: &'static str,
    /// What else it could be, in short.
    pub others: String,
    /// Whether the fields within it follow.
    pub opens: bool,
    /// How many messages end behind it.
    pub closes: usize,
}

/// A payload as lines.
#[derive(Debug, Default)]
pub struct FieldTree {
    pub lines: Vec<FieldLine>,
    /// Why not all of it is there; empty where it is.
    pub remarks: Vec<String>,
}

impl FieldTree {
    pub fn new(payload: &[u8]) -> Self {
        let tree = tree::tree(payload, &Limits::default());
        let mut fields = Self::default();
        let is_whole = fields.put_all(&tree.fields, 1);
        if !is_whole || tree.truncated {
            fields.remarks.push("There is more of it than is shown.".to_owned());
        }
        if !tree.rest.is_empty() && !tree.truncated {
            let rest = number::bytes(tree.rest.len() as u64);
            fields.remarks.push(format!("{rest} behind the last field cannot be read: {}.", bytes(tree.rest)));
        }
        fields
    }

    /// Says whether all had room.
    fn put_all(&mut self, fields: &[Field<'_>], depth: usize) -> bool {
        let mut is_whole = true;
        for field in fields {
            if self.lines.len() >= MOST {
                return false;
            }
            is_whole &= self.put(field, depth);
        }
        is_whole
    }

    fn put(&mut self, field: &Field<'_>, depth: usize) -> bool {
        let (value, kind) = field.readings.first().map(|reading| shown(reading, TEXT)).unwrap_or_default();
        let others = field.readings.iter().skip(1).filter(|other| is_worth_a_word(other, field.readings.first()));
        let others = others.take(OTHERS).map(|reading| {
            let (value, kind) = shown(reading, SHORT);
            format!("{kind} {value}")
        });
        let inner = match field.readings.first() {
            Some(Reading::Message(inner)) if !inner.is_empty() => inner.as_slice(),
            _ => &[],
        };
        let opens = !inner.is_empty() && depth < DEEPEST && self.lines.len() + 1 < MOST;
        self.lines.push(FieldLine {
            number: field.number,
            wire: wire(field.wire_type),
            value,
            kind,
            others: others.collect::<Vec<_>>().join(", "),
            opens,
            closes: 0,
        });
        if !opens {
            return inner.is_empty();
        }
        let is_whole = self.put_all(inner, depth + 1);
        if let Some(last) = self.lines.last_mut() {
            last.closes += 1;
        }
        is_whole
    }
}

/// Anything is bytes, and most texts are lists of small numbers.
fn is_worth_a_word(other: &Reading<'_>, likeliest: Option<&Reading<'_>>) -> bool {
    match other {
        Reading::Bytes(_) => false,
        Reading::Packed { .. } => !matches!(likeliest, Some(Reading::Text(_) | Reading::Message(_))),
        Reading::Text(text) => !text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'),
        _ => true,
    }
}

const fn wire(wire_type: WireType) -> &'static str {
    match wire_type {
        WireType::Varint => "varint",
        WireType::Fixed64 => "64-bit",
        WireType::Len => "length",
        WireType::Group => "group",
        WireType::Fixed32 => "32-bit",
    }
}

/// A value and what it is read as.
fn shown(reading: &Reading<'_>, limit: usize) -> (String, &'static str) {
    match reading {
        Reading::Unsigned(value) => (value.to_string(), "number"),
        Reading::Signed(value) => (value.to_string(), "signed"),
        Reading::Zigzag(value) => (value.to_string(), "zigzag"),
        Reading::Bool(value) => (value.to_string(), "bool"),
        Reading::Time(unit, at) => (at.to_string(), time(*unit)),
        Reading::Float(value) => (format!("{value:?}"), "float"),
        Reading::Double(value) => (format!("{value:?}"), "double"),
        Reading::Text(value) => (format!("“{}”", text::name(head(value), limit)), "text"),
        Reading::Message(fields) => (number::plural(fields.len() as u64, "field"), "message"),
        Reading::Packed { width, elements, n_elements } => {
            let list = elements.iter().take(limit / 4).map(u64::to_string).collect::<Vec<_>>().join(", ");
            let more = if *n_elements > limit / 4 { format!(", … {n_elements} in all") } else { String::new() };
            (format!("[{}{more}]", text::shortened(&list, limit)), packed(*width))
        }
        Reading::Bytes(value) => (bytes(value), "bytes"),
    }
}

/// Enough of a long text to be cut again by characters.
fn head(value: &str) -> &str {
    &value[..text::floor_char(value, 4 * TEXT)]
}

const fn time(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "time in s",
        Unit::Milliseconds => "time in ms",
        Unit::Microseconds => "time in µs",
        Unit::Nanoseconds => "time in ns",
    }
}

const fn packed(width: Width) -> &'static str {
    match width {
        Width::Varint => "list",
        Width::Fixed32 => "list of 32-bit",
        Width::Fixed64 => "list of 64-bit",
    }
}

fn bytes(value: &[u8]) -> String {
    let head = hex::pairs(value.get(..BYTES).unwrap_or(value));
    if value.len() > BYTES { format!("{head} … {}", number::bytes(value.len() as u64)) } else { head }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(payload: &[u8], expected: &[&str]) {
        let tree = FieldTree::new(payload);
        let line = |line: &FieldLine| {
            let brackets = format!("{}{}", if line.opens { " {" } else { "" }, " }".repeat(line.closes));
            format!("{} {} {} {}{brackets}", line.number, line.wire, line.kind, line.value)
        };
        assert_eq!(tree.lines.iter().map(line).collect::<Vec<_>>(), expected, "{payload:?}");
    }

    #[test]
    fn fields_are_nested_as_they_are_written() {
        check(b"", &[]);
        check(b"\x08\x96\x01", &["1 varint number 150"]);
        check(b"\x12\x05hello", &["2 length text “hello”"]);
        check(
            b"\x1a\x0a\x0a\x08hi there\x08\x01",
            &["3 length message 1 field {", "1 length text “hi there” }", "1 varint number 1"],
        );
    }

    #[test]
    fn other_readings_are_told_where_they_are_plausible() {
        let others = |payload| FieldTree::new(payload).lines.into_iter().next().map(|line| line.others);
        assert_eq!(others(b"\x08\x01").as_deref(), Some("bool true, zigzag -1"));
        assert_eq!(others(b"\x12\x05hello").as_deref(), Some(""));
        assert_eq!(others(b"\x12\x03\x01\x02\x03").as_deref().map(|it| it.contains("bytes")), Some(false));
    }

    #[test]
    fn what_is_cut_or_no_field_is_said() {
        assert_eq!(FieldTree::new(b"\x08\x01\xff").remarks, ["1 byte behind the last field cannot be read: ff."]);
        let many = FieldTree::new(&b"\x08\x01".repeat(1_000));
        assert_eq!((many.lines.len(), many.remarks.len()), (MOST, 1));
        let mut nested = b"\x08\x01".to_vec();
        for _ in 0..30 {
            let length = u8::try_from(nested.len()).unwrap();
            nested = [vec![0x0a, length], nested].concat();
        }
        let deep = FieldTree::new(&nested);
        let (opened, closed) =
            deep.lines.iter().fold((0, 0), |(o, c), line| (o + usize::from(line.opens), c + line.closes));
        assert_eq!((opened, closed, deep.remarks.len()), (DEEPEST - 1, DEEPEST - 1, 1));
    }
}
