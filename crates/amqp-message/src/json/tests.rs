use fastrand::Rng;
use serde_json::{Value, json};

use super::*;
use crate::{
    death::Death,
    field::{FieldTable, FieldValue},
    message::Properties,
    time::Timestamp,
};

fn table<const N: usize>(fields: [(&str, FieldValue); N]) -> FieldTable {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn table_from_str(text: &str) -> Result<FieldTable, String> {
    table_from_json(&serde_json::from_str(text).map_err(|error| error.to_string())?)
}

fn properties_from_str(text: &str) -> Result<Properties, String> {
    properties_from_json(&serde_json::from_str(text).map_err(|error| error.to_string())?)
}

/// Whatever is written is read back the same, by text and by value.
fn check_round_trip(table: &FieldTable) {
    let text = table_to_string(table);
    assert_eq!(table_from_str(&text).as_ref(), Ok(table), "{text}");
    let json = table_to_json(table);
    assert_eq!(table_from_json(&json).as_ref(), Ok(table), "{json}");
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json);
}

#[test]
fn writes_values() {
    fn check(value: FieldValue, expected: Value) {
        let headers = table([("h", value)]);
        assert_eq!(table_to_json(&headers), json!({"h": expected}));
        check_round_trip(&headers);
    }
    check(FieldValue::string("text"), json!("text"));
    check(FieldValue::string(""), json!(""));
    check(FieldValue::LongString(vec![0xff, 0xfe]), json!({"t": "longstr", "base64": "//4="}));
    check(FieldValue::Boolean(true), json!(true));
    check(FieldValue::Void, json!(null));
    check(FieldValue::ShortShortInt(-1), json!({"t": "byte", "v": -1}));
    check(FieldValue::ShortShortUInt(255), json!({"t": "ubyte", "v": 255}));
    check(FieldValue::ShortInt(i16::MIN), json!({"t": "short", "v": -32768}));
    check(FieldValue::ShortUInt(1), json!({"t": "ushort", "v": 1}));
    check(FieldValue::LongInt(1), json!({"t": "long", "v": 1}));
    check(FieldValue::LongUInt(u32::MAX), json!({"t": "ulong", "v": u32::MAX}));
    check(FieldValue::LongLongInt(i64::MIN), json!({"t": "longlong", "v": i64::MIN}));
    check(FieldValue::Timestamp(u64::MAX), json!({"t": "timestamp", "v": u64::MAX}));
    check(FieldValue::Decimal { scale: 2, value: 1250 }, json!({"t": "decimal", "v": {"scale": 2, "value": 1250}}));
    check(FieldValue::ByteArray(vec![1, 2]), json!({"t": "bytes", "v": "AQI="}));
    check(FieldValue::Array(vec![]), json!({"t": "array", "v": []}));
    check(FieldValue::Array(vec![FieldValue::Void]), json!({"t": "array", "v": [null]}));
    check(FieldValue::Table(FieldTable::default()), json!({"t": "table", "v": {}}));
    // A table of our own forms is no form.
    let inner = table([("t", FieldValue::string("void")), ("v", FieldValue::Void)]);
    check(FieldValue::Table(inner), json!({"t": "table", "v": {"t": "void", "v": null}}));
}

#[test]
fn writes_floating_point() {
    fn check(value: FieldValue, expected: &str) {
        let headers = table([("h", value)]);
        assert_eq!(table_to_string(&headers), format!(r#"{{"h":{expected}}}"#));
        check_round_trip(&headers);
    }
    check(FieldValue::Double(1.5_f64.to_bits()), r#"{"t":"double","v":1.5}"#);
    check(FieldValue::Double((-0.0_f64).to_bits()), r#"{"t":"double","v":-0.0}"#);
    check(FieldValue::Double(f64::NEG_INFINITY.to_bits()), r#"{"t":"double","v":"0xfff0000000000000"}"#);
    check(FieldValue::Double(0x7ff0_0000_0000_0001), r#"{"t":"double","v":"0x7ff0000000000001"}"#);
    check(FieldValue::Float(0.5_f32.to_bits()), r#"{"t":"float","v":0.5}"#);
    check(FieldValue::Float((-0.0_f32).to_bits()), r#"{"t":"float","v":-0.0}"#);
    check(FieldValue::Float(0x7f80_0001), r#"{"t":"float","v":"0x7f800001"}"#);
    for bits in [1, f32::MAX.to_bits(), 0.1_f32.to_bits(), 16_777_217.0_f32.to_bits()] {
        check_round_trip(&table([("h", FieldValue::Float(bits))]));
    }
}

#[test]
fn keeps_order_and_duplicates() {
    fn check<const N: usize>(names: [&str; N], expected: Value) {
        let headers = table(names.map(|name| (name, FieldValue::Void)));
        assert_eq!(table_to_json(&headers), expected);
        check_round_trip(&headers);
        check_round_trip(&table([("inner", FieldValue::Table(headers))]));
    }
    check([], json!({}));
    check(["a", "b"], json!({"a": null, "b": null}));
    check(["b", "a"], json!([["b", null], ["a", null]]));
    check(["a", "a"], json!([["a", null], ["a", null]]));
}

#[test]
fn reads_what_people_write() {
    fn check(json: &str, expected: FieldValue) {
        assert_eq!(table_from_str(json), Ok(table([("h", expected)])), "{json}");
    }
    check(r#"[["h", "x"]]"#, FieldValue::string("x"));
    check(r#"{"h": {"t": "void", "v": null}}"#, FieldValue::Void);
    check(r#"{"h": {"t": "longstr", "v": "x"}}"#, FieldValue::string("x"));
    check(r#"{"h": {"t": "double", "v": 1}}"#, FieldValue::Double(1.0_f64.to_bits()));
}

#[test]
fn says_what_it_cannot_read() {
    fn check(json: &str, part: &str) {
        let why = table_from_str(json).unwrap_err();
        assert!(why.contains(part), "{why}");
    }
    check("", "EOF");
    check("1", "a table is");
    check(r#"[["a"]]"#, "[name, value]");
    check(r#"{"a": 1}"#, r#""a": numbers"#);
    check(r#"{"a": []}"#, "need their type");
    check(r#"{"a": {}}"#, "no type");
    check(r#"{"a": {"t": "guess", "v": 1}}"#, r#""guess" is no type"#);
    check(r#"{"a": {"t": "byte", "v": 128}}"#, "128");
    check(r#"{"a": {"t": "byte"}}"#, "null");
    check(r#"{"a": {"t": "float", "v": "0x1ffffffff"}}"#, "neither");
    check(r#"{"a": {"t": "decimal", "v": 3}}"#, "null");
    check(r#"{"a": {"t": "bytes", "v": "*"}}"#, "Invalid");
    check(r#"{"a": {"t": "longstr"}}"#, "no string");
    check(r#"{"a": {"t": "table", "v": {"b": 1}}}"#, r#""a": "b": numbers"#);
}

/// Arrays and tables by turns.
fn nested(levels: usize) -> FieldValue {
    (0..levels).fold(FieldValue::LongInt(7), |value, level| {
        if level % 2 == 0 {
            FieldValue::Array(vec![FieldValue::string("before"), value, FieldValue::Array(vec![])])
        } else {
            FieldValue::Table(table([("b", value), ("a", FieldValue::Void), ("a", FieldValue::Boolean(true))]))
        }
    })
}

#[test]
fn keeps_deep_nesting() {
    for levels in [23, 24, 25, 26, 27, 60, 900] {
        check_round_trip(&table([("h", nested(levels)), ("after", FieldValue::Void)]));
    }
}

#[test]
fn survives_hostile_nesting() {
    fn check(json: &str, part: &str) {
        let why = table_from_str(json).unwrap_err();
        assert!(why.contains(part), "{why}");
    }
    check(&format!(r#"{{"a":{}"#, r#"{"t":"array","v":["#.repeat(100_000)), "recursion limit");
    let array_of_one = r#"{"t":"array","v":1},"#;
    check(&format!(r#"{{"a":{{"t":"flat","v":[{}null]}}}}"#, array_of_one.repeat(100_000)), "nested more than 1000");
    for tokens in ["", "null,null", r#"{"t":"array","v":2},null"#, r#"{"t":"table","v":1},null,null"#] {
        check(&format!(r#"{{"a":{{"t":"flat","v":[{tokens}]}}}}"#), "prefix notation");
    }
    check(r#"{"a":{"t":"flat","v":[{"t":"table","v":18446744073709551615}]}}"#, "prefix notation");
}

fn any_bytes(rng: &mut Rng) -> Vec<u8> {
    (0..rng.usize(..12)).map(|_| rng.u8(..)).collect()
}

fn any_text(rng: &mut Rng) -> String {
    (0..rng.usize(..6)).map(|_| rng.char(..)).collect()
}

fn any_value(rng: &mut Rng, levels: usize) -> FieldValue {
    match rng.u8(..if levels == 0 { 15 } else { 17 }) {
        0 => FieldValue::Boolean(rng.bool()),
        1 => FieldValue::ShortShortInt(rng.i8(..)),
        2 => FieldValue::ShortShortUInt(rng.u8(..)),
        3 => FieldValue::ShortInt(rng.i16(..)),
        4 => FieldValue::ShortUInt(rng.u16(..)),
        5 => FieldValue::LongInt(rng.i32(..)),
        6 => FieldValue::LongUInt(rng.u32(..)),
        7 => FieldValue::LongLongInt(rng.i64(..)),
        8 => FieldValue::Float(rng.u32(..)),
        9 => FieldValue::Double(rng.u64(..)),
        10 => FieldValue::Decimal { scale: rng.u8(..), value: rng.u32(..) },
        11 => FieldValue::string(any_text(rng)),
        12 => FieldValue::LongString(any_bytes(rng)),
        13 => FieldValue::Timestamp(rng.u64(..)),
        14 => FieldValue::ByteArray(any_bytes(rng)),
        15 => FieldValue::Array((0..rng.usize(..4)).map(|_| any_value(rng, levels - 1)).collect()),
        _ => FieldValue::Table(any_table(rng, levels - 1)),
    }
}

fn any_table(rng: &mut Rng, levels: usize) -> FieldTable {
    (0..rng.usize(..6)).map(|_| (any_text(rng), any_value(rng, levels))).collect()
}

#[test]
fn any_table_survives() {
    let mut rng = Rng::with_seed(42);
    for _ in 0..5000 {
        check_round_trip(&any_table(&mut rng, 3));
    }
}

#[test]
fn any_properties_survive() {
    let mut rng = Rng::with_seed(42);
    for _ in 0..500 {
        let mut text = || rng.bool().then(|| any_text(&mut rng));
        let mut properties = Properties {
            content_type: text(),
            content_encoding: text(),
            correlation_id: text(),
            reply_to: text(),
            expiration: text(),
            message_id: text(),
            kind: text(),
            user_id: text(),
            app_id: text(),
            cluster_id: text(),
            ..Properties::default()
        };
        properties.delivery_mode = rng.bool().then(|| rng.u8(..));
        properties.priority = rng.bool().then(|| rng.u8(..));
        properties.timestamp = rng.bool().then(|| rng.u64(..));
        assert_eq!(properties_from_str(&properties_to_string(&properties)).as_ref(), Ok(&properties));
        assert_eq!(properties_from_json(&properties_to_json(&properties)), Ok(properties));
    }
}

#[test]
fn properties_have_their_names() {
    let properties = Properties { kind: Some("t".to_owned()), delivery_mode: Some(2), ..Properties::default() };
    assert_eq!(properties_to_string(&properties), r#"{"delivery_mode":2,"type":"t"}"#);
    assert_eq!(properties_from_str("{}"), Ok(Properties::default()));
    assert!(properties_from_str(r#"{"kind":"t"}"#).unwrap_err().contains("kind"));
    assert!(properties_from_str("{} {}").is_err());
    assert!(properties_from_str(r#"{"priority":256}"#).unwrap_err().contains("256"));
}

#[test]
fn deaths_are_as_sent() {
    let death = Death {
        queue: "orders".to_owned(),
        reason: "rejected".to_owned(),
        count: 3,
        first_at: Some(Timestamp::from_seconds(1_773_480_413)),
        exchange: String::new(),
        routing_keys: vec!["order.placed".to_owned(), "audit".to_owned()],
        original_expiration: Some("30000".to_owned()),
    };
    let bare = Death { first_at: None, routing_keys: vec![], original_expiration: None, ..death.clone() };
    let json = deaths_to_json(&[death.clone(), bare.clone()]);
    let expected = json!([
        {"count": 3, "reason": "rejected", "queue": "orders", "time": "2026-03-14T09:26:53Z", "exchange": "",
         "routing-keys": ["order.placed", "audit"], "original-expiration": "30000"},
        {"count": 3, "reason": "rejected", "queue": "orders", "time": null, "exchange": "", "routing-keys": []},
    ]);
    assert_eq!(json, expected);
    assert_eq!(deaths_from_json(&json), Ok(vec![death, bare]));
    assert_eq!(deaths_from_json(&json!([])), Ok(vec![]));
    assert!(deaths_from_json(&json!({})).is_err());
    assert!(deaths_from_json(&json!([{"queue": "q"}])).unwrap_err().contains("missing field"));
}
