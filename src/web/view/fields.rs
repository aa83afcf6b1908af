//! Headers and properties as rows that show each value with its type.

use amqp_message::{
    field::{FieldTable, FieldValue},
    message::Properties,
    time::Timestamp,
};

use super::{hex, text, time};

/// Rows shown at most. A header table can hold thousands of values and nest as deep.
const MAX_ROWS: usize = 400;
/// Characters shown of one value at most.
const MAX_VALUE: usize = 4_000;
/// Deeper levels are not indented further.
const DEEPEST: usize = 6;

#[derive(Debug, PartialEq, Eq)]
pub struct FieldRow {
    /// How far it is indented.
    pub depth: usize,
    pub name: String,
    /// Its type, in the words of the JSON API.
    pub kind: &'static str,
    pub value: String,
}

/// Header rows, with what tables and arrays hold indented below them; whether some had to be left out.
///
/// What `x-death` holds is shown as deaths, if it could be read as such, and not again here.
pub fn header_rows(headers: &FieldTable, has_deaths: bool) -> (Vec<FieldRow>, bool) {
    let mut rows = Vec::new();
    for (name, value) in headers.iter() {
        if has_deaths && name == "x-death" {
            let (kind, _) = describe(value);
            rows.push(FieldRow { depth: 0, name: name.to_owned(), kind, value: "see Timeline".to_owned() });
        } else {
            put(&mut rows, 0, &text::one_line(name), value);
        }
    }
    let cut = rows.len() >= MAX_ROWS;
    (rows, cut)
}

pub fn property_rows(properties: &Properties) -> Vec<FieldRow> {
    let p = properties;
    let delivery_mode = p.delivery_mode.map(|mode| match mode {
        1 => "1, transient".to_owned(),
        2 => "2, persistent".to_owned(),
        other => other.to_string(),
    });
    let texts = [
        ("content_type", p.content_type.clone()),
        ("content_encoding", p.content_encoding.clone()),
        ("type", p.kind.clone()),
        ("message_id", p.message_id.clone()),
        ("correlation_id", p.correlation_id.clone()),
        ("reply_to", p.reply_to.clone()),
        ("app_id", p.app_id.clone()),
        ("user_id", p.user_id.clone()),
        ("cluster_id", p.cluster_id.clone()),
        ("expiration", p.expiration.as_ref().map(|milliseconds| format!("{milliseconds} ms"))),
        ("delivery_mode", delivery_mode),
        ("priority", p.priority.map(|priority| priority.to_string())),
        ("timestamp", p.timestamp.map(timestamp)),
    ];
    let row = |(name, value): (&str, Option<String>)| {
        Some(FieldRow { depth: 0, name: name.to_owned(), kind: "", value: clip(&value?) })
    };
    texts.into_iter().filter_map(row).collect()
}

/// Recursion ends with the rows: each level takes at least one.
fn put(rows: &mut Vec<FieldRow>, depth: usize, name: &str, value: &FieldValue) {
    if rows.len() >= MAX_ROWS {
        return;
    }
    let (kind, shown) = describe(value);
    let name = text::shortened(name, MAX_VALUE);
    rows.push(FieldRow { depth: depth.min(DEEPEST), name, kind, value: clip(&shown) });
    match value {
        FieldValue::Table(table) => {
            for (name, value) in table.iter() {
                put(rows, depth + 1, &text::one_line(name), value);
            }
        }
        FieldValue::Array(values) => {
            for (position, value) in values.iter().enumerate() {
                put(rows, depth + 1, &position.to_string(), value);
            }
        }
        _ => {}
    }
}

fn describe(value: &FieldValue) -> (&'static str, String) {
    match value {
        FieldValue::Boolean(b) => ("bool", b.to_string()),
        FieldValue::ShortShortInt(n) => ("byte", n.to_string()),
        FieldValue::ShortShortUInt(n) => ("ubyte", n.to_string()),
        FieldValue::ShortInt(n) => ("short", n.to_string()),
        FieldValue::ShortUInt(n) => ("ushort", n.to_string()),
        FieldValue::LongInt(n) => ("long", n.to_string()),
        FieldValue::LongUInt(n) => ("ulong", n.to_string()),
        FieldValue::LongLongInt(n) => ("longlong", n.to_string()),
        FieldValue::Float(bits) => ("float", f32::from_bits(*bits).to_string()),
        FieldValue::Double(bits) => ("double", f64::from_bits(*bits).to_string()),
        FieldValue::Decimal { scale, value } => ("decimal", decimal(*scale, *value)),
        FieldValue::LongString(bytes) => string(bytes),
        FieldValue::Array(values) => ("array", count(values.len(), "value")),
        FieldValue::Timestamp(seconds) => ("timestamp", timestamp(*seconds)),
        FieldValue::Table(table) => ("table", count(table.len(), "value")),
        FieldValue::ByteArray(bytes) => ("bytes", short_hex(bytes)),
        FieldValue::Void => ("void", String::new()),
    }
}

fn string(bytes: &[u8]) -> (&'static str, String) {
    match std::str::from_utf8(bytes) {
        Ok(text) => ("", text.to_owned()),
        Err(_) => ("longstr", short_hex(bytes)),
    }
}

fn decimal(scale: u8, value: u32) -> String {
    let digits = format!("{value:0>width$}", width = usize::from(scale) + 1);
    let (whole, fraction) = digits.split_at(digits.len() - usize::from(scale));
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

fn timestamp(seconds: u64) -> String {
    format!("{seconds}, {}", time::format(Timestamp::from_seconds(seconds), "%-d %b %Y, %H:%M:%S UTC"))
}

fn count(n: usize, noun: &str) -> String {
    super::number::plural(n as u64, noun)
}

fn short_hex(bytes: &[u8]) -> String {
    hex::dump(&bytes[..bytes.len().min(MAX_VALUE / 8)])
}

fn clip(value: &str) -> String {
    text::visible(&text::shortened(value, MAX_VALUE)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(fields: &[(&str, FieldValue)]) -> FieldTable {
        fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn shows_types() {
        let check = |value, expected: (&str, &str)| {
            let (kind, shown) = describe(&value);
            assert_eq!((kind, &*shown), expected);
        };
        check(FieldValue::string("hi"), ("", "hi"));
        check(FieldValue::Decimal { scale: 2, value: 5 }, ("decimal", "0.05"));
        check(FieldValue::Decimal { scale: 0, value: 7 }, ("decimal", "7"));
        check(FieldValue::LongLongInt(-1), ("longlong", "-1"));
        check(FieldValue::Double(f64::NAN.to_bits()), ("double", "NaN"));
        check(FieldValue::Timestamp(0), ("timestamp", "0, 1 Jan 1970, 00:00:00 UTC"));
    }

    #[test]
    fn nested_values_are_indented_and_ended() {
        let inner = table(&[("b", FieldValue::Boolean(true))]);
        let (rows, cut) = header_rows(&table(&[("a", FieldValue::Array(vec![FieldValue::Table(inner)]))]), false);
        let shown: Vec<_> = rows.iter().map(|row| (row.depth, &*row.name)).collect();
        assert_eq!((shown, cut), (vec![(0, "a"), (1, "0"), (2, "b")], false));

        let (rows, _) = header_rows(&table(&[("x-death", FieldValue::Array(vec![FieldValue::Void]))]), true);
        assert_eq!(rows.len(), 1);

        let mut deep = FieldValue::Void;
        for _ in 0..1_000 {
            deep = FieldValue::Array(vec![deep]);
        }
        let (rows, cut) = header_rows(&table(&[("deep", deep)]), false);
        assert_eq!((rows.len(), cut), (MAX_ROWS, true));
    }
}
