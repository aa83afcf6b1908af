//! Formats told apart, with the help of libraries that write them.

use super::{Format, readings};

/// The cheapest reading.
fn format(payload: &[u8]) -> Format {
    readings(payload, None).into_iter().min_by(|a, b| a.nats.total_cmp(&b.nats)).unwrap().format
}

fn check(payload: &[u8], expected: Format) {
    assert_eq!(format(payload), expected, "{:?}", String::from_utf8_lossy(payload));
}

#[test]
fn by_hand() {
    check(b"hello", Format::Text);
    check(b"true", Format::Text);
    check(b"-12.5", Format::Text);
    check(b"", Format::Text);
    check(b"{\"id\": 1}", Format::Json);
    check(b" [1, 2]\n", Format::Json);
    check(b"\"hello\"", Format::Json);
    check(b"{\"id\": 1", Format::Text);
    check(b"{} {}", Format::Text);
    check(b"\x08\x01\x12\x05hello", Format::Protobuf);
    check(b"\x08\x01\x12\x05hell", Format::Binary);
    check(b"\x82\xa2id\x07\xa4name\xa5amber", Format::MessagePack);
    check(b"\x82\xa2id\x07\xa4name\xa5ambe", Format::Binary);
    check(b"\xa2\x62id\x07\x64name\x65amber", Format::Cbor);
    check(b"\xbf\x62id\x07\x64name\x65amber\xff", Format::Cbor);
    check(b"\xa2\x62id\x07\x64name\x65ambe", Format::Binary);
    check(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xcd\xcd\xed\x3f", Format::Binary);
}

/// Many of them are well-formed protobuf by chance: `xx` is field 15 with the value 120.
#[test]
fn a_repeated_letter_is_text_however_often() {
    for letter in (b'0'..=b'z').filter(u8::is_ascii_alphanumeric) {
        for n in [40, 300_000] {
            assert_eq!(format(&vec![letter; n]), Format::Text, "{n} of {:?}", char::from(letter));
        }
    }
    let field = [b"\x0a\x20".as_slice(), &[b'n'; 32]].concat();
    assert_eq!(format(&field.repeat(10_000)), Format::Protobuf);
}

#[test]
fn what_languages_serialize_is_recognised() {
    check(b"---\norder: 42\nlines: [1, 2]\n", Format::Yaml);
    check(b"order: 42\nlines: [1, 2]\n", Format::Text);
    check(b"\x80\x04\x95\x0e\0\0\0\0\0\0\0}\x94\x8c\x05order\x94K*s.", Format::Pickle);
    check(b"\x80\x02}q\0X\x05\0\0\0orderq\x01K*s.", Format::Pickle);
    check(b"(dp0\nVorder\np1\nI42\ns.", Format::Pickle);
    check(b"(see above).", Format::Text);
    check(b"a:1:{s:5:\"order\";i:42;}", Format::Php);
    check(b"O:8:\"stdClass\":1:{s:5:\"order\";i:42;}", Format::Php);
    check(b"\xac\xed\0\x05t\0\x05amber", Format::Java);
    check(b"\xac\xed\0\x05sr\0\x0aacme.Order", Format::Java);
    let declared = |payload: &[u8], format| {
        let readings = readings(payload, Some(format));
        readings.into_iter().any(|reading| reading.format == format)
    };
    assert!(declared(b"order: 42\n", Format::Yaml));
    assert!(!declared(b"just words", Format::Yaml));
}

/// Values of every kind, as JSON, which both libraries can be given.
fn values() -> serde_json::Value {
    serde_json::json!({
        "null": null, "yes": true, "no": false, "small": 7, "negative": -3, "large": 5_000_000_000_i64,
        "low": -70_000, "real": 0.25, "text": "amber", "long": "amber ".repeat(60), "empty": "", "list": [1, [2, {}], []],
        "map": {"a": {"b": [300, -300, 70_000]}},
    })
}

fn as_msgpack(json: &serde_json::Value) -> rmpv::Value {
    use serde_json::Value;
    match json {
        Value::Null => rmpv::Value::Nil,
        Value::Bool(yes) => rmpv::Value::Boolean(*yes),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => integer.into(),
            None => number.as_f64().unwrap().into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(values) => rmpv::Value::Array(values.iter().map(as_msgpack).collect()),
        Value::Object(fields) => {
            rmpv::Value::Map(fields.iter().map(|(name, value)| (name.as_str().into(), as_msgpack(value))).collect())
        }
    }
}

#[test]
fn what_libraries_write_is_recognised() {
    let mut msgpack = Vec::new();
    rmpv::encode::write_value(&mut msgpack, &as_msgpack(&values())).unwrap();
    check(&msgpack, Format::MessagePack);
    let mut cbor = Vec::new();
    ciborium::into_writer(&values(), &mut cbor).unwrap();
    check(&cbor, Format::Cbor);
}

#[test]
fn every_kind_of_messagepack_value_is_read() {
    let values = [
        rmpv::Value::Binary(vec![1; 3]),
        rmpv::Value::Binary(vec![1; 300]),
        rmpv::Value::Binary(vec![1; 70_000]),
        rmpv::Value::Ext(5, vec![1; 4]),
        rmpv::Value::Ext(5, vec![1; 5]),
        rmpv::Value::Ext(5, vec![1; 300]),
        rmpv::Value::F32(0.1),
        rmpv::Value::from(u64::MAX),
        rmpv::Value::from(i64::MIN),
        rmpv::Value::from("amber ".repeat(20_000)),
        rmpv::Value::Array(vec![rmpv::Value::Nil; 20]),
        rmpv::Value::Array(vec![rmpv::Value::Nil; 70_000]),
    ];
    for value in values {
        let mut bytes = Vec::new();
        rmpv::encode::write_value(&mut bytes, &rmpv::Value::Map(vec![("k".into(), value.clone())])).unwrap();
        assert!(super::msgpack::nats(&bytes).is_some(), "{value:?}");
        bytes.push(0xc0);
        assert_eq!(super::msgpack::nats(&bytes), None);
    }
}

#[test]
fn every_kind_of_cbor_item_is_read() {
    for item in [
        b"\x18\xff".as_slice(),
        b"\x3b\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x43abc",
        b"\x5f\x41a\x42bc\xff",
        b"\x7f\x61a\x62bc\xff",
        b"\xc1\x1a\x51\x4b\x67\xb0",
        b"\xf9\x3c\x00",
        b"\xfa\x3f\x80\x00\x00",
        b"\xfb\x3f\xf0\x00\x00\x00\x00\x00\x00",
        b"\xf6",
        b"\xf8\xff",
        b"\x9f\x01\x02\xff",
        b"\xbf\x61a\x01\xff",
        b"\x80",
    ] {
        let bytes = [b"\x81", item].concat();
        assert!(super::cbor::nats(&bytes).is_some(), "{item:?}");
        assert_eq!(super::cbor::nats(&[bytes.as_slice(), b"\xf6"].concat()), None, "{item:?}");
    }
    for broken in [b"\xff".as_slice(), b"\x1c", b"\xdf\x01", b"\x62\xff\xfe"] {
        assert_eq!(super::cbor::nats(&[b"\x81", broken].concat()), None, "{broken:?}");
    }
}
