//! Payloads of protobuf whose type is not known: what each field could mean.
//!
//! This knows the wire format and what values usually look like. It must never know a schema. The order of the
//! readings is a guess and nothing else; see `wire::cost`.

mod json;
mod readings;

use jiff::Timestamp;

use super::{
    limits::Limits,
    wire::{self, Width, WireType},
};

#[cfg(test)]
mod tests;

/// A payload field by field.
#[derive(Debug, PartialEq)]
pub struct Tree<'a> {
    /// In the order of the wire, each occurrence on its own.
    pub fields: Vec<Field<'a>>,
    /// The bytes behind the last field.
    pub rest: &'a [u8],
    /// Why there is a rest.
    pub problem: Option<String>,
    /// Whether something was left out because there is too much.
    pub truncated: bool,
}

/// A field of a message whose type is not known.
#[derive(Debug, PartialEq)]
pub struct Field<'a> {
    /// The field number.
    pub number: u32,
    /// How it is laid out.
    pub wire_type: WireType,
    /// The most plausible first; there is at least one.
    pub readings: Vec<Reading<'a>>,
}

/// What a value could be.
#[derive(Debug, PartialEq)]
pub enum Reading<'a> {
    /// A number without a sign.
    Unsigned(u64),
    /// As `int32` and `int64` are written.
    Signed(i64),
    /// As `sint32` and `sint64` are written.
    Zigzag(i64),
    /// A boolean.
    Bool(bool),
    /// Counted since 1970 in this unit.
    Time(Unit, Timestamp),
    /// Single precision.
    Float(f32),
    /// Double precision.
    Double(f64),
    /// A string.
    Text(&'a str),
    /// The fields of a message or a group.
    Message(Vec<Field<'a>>),
    /// A packed list of numbers.
    Packed {
        /// How wide its elements are.
        width: Width,
        /// The first of them, no more than [`MAX_PACKED`].
        elements: Vec<u64>,
        /// How many there are in all.
        n_elements: usize,
    },
    /// Bytes of no known meaning.
    Bytes(&'a [u8]),
}

/// What a time is counted in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unit {
    /// 10⁰ s
    Seconds,
    /// 10⁻³ s
    Milliseconds,
    /// 10⁻⁶ s
    Microseconds,
    /// 10⁻⁹ s
    Nanoseconds,
}

/// So many elements of a packed list are shown.
pub const MAX_PACKED: usize = 100;

/// Every byte is looked at so often on average, since each level of messages looks at what is in it.
const LOOKS: usize = 4;

/// Reads `body` without a schema. It never fails: what cannot be read is the rest.
pub fn tree<'a>(body: &'a [u8], limits: &Limits) -> Tree<'a> {
    let mut reader = Reader {
        elements_left: limits.elements,
        bytes_left: limits.bytes.saturating_mul(LOOKS),
        max_depth: limits.depth,
        truncated: false,
    };
    let mut tree = Tree { fields: Vec::new(), rest: &[], problem: None, truncated: false };
    let mut end = 0;
    for field in wire::fields(body) {
        let field = match field {
            Ok(field) if field.end > limits.bytes || reader.elements_left == 0 => {
                reader.truncated = true;
                tree.problem = Some(format!("the fields from byte {} on are not shown", field.start));
                break;
            }
            Ok(field) => field,
            Err(malformed) => {
                tree.problem = Some(malformed.to_string());
                break;
            }
        };
        tree.fields.push(reader.field(&field, 0));
        end = field.end;
    }
    tree.rest = body.get(end..).unwrap_or_default();
    tree.truncated = reader.truncated;
    tree
}

impl Tree<'_> {
    /// The most plausible readings as JSON, for show: field numbers are the keys, fields that repeat are arrays.
    pub fn to_json(&self) -> String {
        json::tree(self).to_string()
    }
}

/// Reads with what is left of the limits.
struct Reader {
    elements_left: usize,
    bytes_left: usize,
    max_depth: usize,
    truncated: bool,
}

impl Reader {
    fn field<'a>(&mut self, field: &wire::Field<'a>, depth: usize) -> Field<'a> {
        self.elements_left = self.elements_left.saturating_sub(1);
        let readings = match field.value {
            wire::Value::Varint(bits) => readings::varint(bits),
            wire::Value::Fixed32(bits) => readings::fixed32(bits),
            wire::Value::Fixed64(bits) => readings::fixed64(bits),
            wire::Value::Len(span) => self.len(span, depth),
            wire::Value::Group(span) => {
                vec![self.message(span, depth.saturating_add(1)).map_or(Reading::Bytes(span), Reading::Message)]
            }
        };
        Field { number: field.number, wire_type: field.value.wire_type(), readings }
    }

    fn len<'a>(&mut self, span: &'a [u8], depth: usize) -> Vec<Reading<'a>> {
        let Some(bytes_left) = self.bytes_left.checked_sub(span.len()) else {
            self.truncated = true;
            return vec![Reading::Bytes(span)];
        };
        self.bytes_left = bytes_left;
        let message = if span.is_empty() { None } else { self.message(span, depth.saturating_add(1)) };
        readings::len(span, message)
    }

    /// `None` if the span is no message, or there is no room for it.
    fn message<'a>(&mut self, span: &'a [u8], depth: usize) -> Option<Vec<Field<'a>>> {
        let mut n_fields = 0_usize;
        for field in wire::fields(span) {
            field.ok()?;
            n_fields = n_fields.saturating_add(1);
        }
        if depth >= self.max_depth || n_fields > self.elements_left {
            self.truncated = true;
            return None;
        }
        Some(wire::fields(span).map_while(Result::ok).map(|field| self.field(&field, depth)).collect())
    }
}
