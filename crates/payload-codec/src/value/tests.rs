use super::*;

fn compact(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Shown so, and written back as it came.
fn check(body: &[u8], format: Format, expected: &str) {
    let shown = to_json(body, format, &Limits::default()).unwrap();
    assert_eq!(&*compact(&shown), expected, "{body:02x?}");
    assert_eq!(patch(body, &shown, format, &Limits::default()).as_deref(), Ok(body), "{body:02x?}");
}

#[test]
fn message_pack() {
    fn check(body: &[u8], expected: &str) {
        super::tests::check(body, Format::MessagePack, expected);
    }
    check(b"\xc0", "null");
    check(b"\xc3", "true");
    check(b"\x2a", "42");
    check(b"\xff", "-1");
    check(b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615");
    check(b"\xd3\x80\0\0\0\0\0\0\0", "-9223372036854775808");
    check(b"\xd1\xff\x38", "-200");
    check(b"\xcb\x3f\xf0\0\0\0\0\0\0", "1.0");
    check(b"\xcb\x80\0\0\0\0\0\0\0", "-0.0");
    check(b"\xcb\x7f\xf0\0\0\0\0\0\0", r##"{ "#float": "Infinity" }"##);
    check(b"\xca\xff\xc0\0\x01", r##"{ "#float": "NaN" }"##);
    check(b"\xca\x3d\xcc\xcc\xcd", "0.1");
    check(b"\xcd\x00\x05", "5");
    check(b"\xa2hi", r#""hi""#);
    check(b"\xda\0\x02hi", r#""hi""#);
    check(b"\xa2\xc3\x28", r##"{ "#escaped": "\\xc3(" }"##);
    check(b"\xc4\x02\x01\x02", r##"{ "#base64": "AQI=" }"##);
    check(b"\xd4\x05\x01", r##"{ "#ext": { "type": 5, "base64": "AQ==" } }"##);
    check(b"\xd6\xff\0\0\0\x01", r##"{ "#ext": { "type": -1, "base64": "AAAAAQ==" } }"##);
    check(b"\x93\x01\x90\x80", "[ 1, [], {} ]");
    check(b"\x82\xa1a\x01\xa1b\xc0", r#"{ "a": 1, "b": null }"#);
    check(b"\x81\x05\xa1x", r#"{ "5": "x" }"#);
    check(b"\x82\x05\xa1x\xa15\xa1y", r#"{ "5": "x", "5": "y" }"#);
    check(b"\x81\x92\x01\x02\xa1x", r#"{ "[ 1, 2 ]": "x" }"#);
    check(b"\x82\xa1a\x01\xa1a\x02", r#"{ "a": 1, "a": 2 }"#);
    check(b"\x81\xa7#base64\xa0", r##"{ "#base64": "" }"##);
    check(b"\x01\x02", "1");
}

#[test]
fn cbor() {
    fn check(body: &[u8], expected: &str) {
        super::tests::check(body, Format::Cbor, expected);
    }
    check(b"\xf6", "null");
    check(b"\xf7", "null");
    check(b"\xf5", "true");
    check(b"\x18\x2a", "42");
    check(b"\x1a\0\0\0\x2a", "42");
    check(b"\x20", "-1");
    check(b"\x3b\xff\xff\xff\xff\xff\xff\xff\xff", "-18446744073709551616");
    check(b"\xf9\x3c\x00", "1.0");
    check(b"\xfa\x3d\xcc\xcc\xcd", "0.1");
    check(b"\xfb\x3f\xf0\0\0\0\0\0\0", "1.0");
    check(b"\xf9\x7e\x00", r##"{ "#float": "NaN" }"##);
    check(b"\x62hi", r#""hi""#);
    check(b"\x7f\x61h\x61i\xff", r#""hi""#);
    check(b"\x42\x01\x02", r##"{ "#base64": "AQI=" }"##);
    check(b"\xc1\x1a\x51\x4b\x67\xb0", r##"{ "#tag": { "tag": 1, "value": 1363896240 } }"##);
    check(b"\xf0", r##"{ "#simple": 16 }"##);
    check(b"\xf8\xff", r##"{ "#simple": 255 }"##);
    check(b"\x83\x01\x80\xa0", "[ 1, [], {} ]");
    check(b"\x9f\x01\x9f\xff\xbf\xff\xff", "[ 1, [], {} ]");
    check(b"\xa2\x61a\x01\x61b\xf6", r#"{ "a": 1, "b": null }"#);
    check(b"\xa1\x05\x61x", r#"{ "5": "x" }"#);
    check(b"\x01\x02", "1");
}

#[test]
fn what_is_edited_keeps_its_type_and_all_else_its_bytes() {
    fn check(body: &[u8], text: &str, format: Format, expected: &[u8]) {
        assert_eq!(patch(body, text, format, &Limits::default()).as_deref(), Ok(expected), "{text}");
    }
    fn message_pack(body: &[u8], text: &str, expected: &[u8]) {
        check(body, text, Format::MessagePack, expected);
    }
    fn cbor(body: &[u8], text: &str, expected: &[u8]) {
        check(body, text, Format::Cbor, expected);
    }
    // Whole numbers: the width, where it is not just the shortest.
    message_pack(b"\xcd\0\x05", "6", b"\xcd\0\x06");
    message_pack(b"\x05", "300", b"\xcd\x01\x2c");
    message_pack(b"\xd1\x01\x2c", "-5", b"\xfb");
    message_pack(b"\xd3\0\0\0\0\0\0\0\x05", "-6", b"\xd3\xff\xff\xff\xff\xff\xff\xff\xfa");
    cbor(b"\x19\0\x05", "-6", b"\x39\0\x05");
    cbor(b"\x05", "300", b"\x19\x01\x2c");
    // Floats: the precision. Other programs write no point where none is needed.
    message_pack(b"\x92\xca\x3d\xcc\xcc\xcd\x03", "[0.1, 4]", b"\x92\xca\x3d\xcc\xcc\xcd\x04");
    message_pack(b"\xca\x3d\xcc\xcc\xcd", "0.2", b"\xca\x3e\x4c\xcc\xcd");
    message_pack(b"\xca\x3f\x80\0\0", "1", b"\xca\x3f\x80\0\0");
    message_pack(b"\xca\x3f\x80\0\0", "2", b"\xca\x40\0\0\0");
    message_pack(b"\x03", "4.0", b"\x04");
    message_pack(b"\x03", r##"{"#float32": 2}"##, b"\xca\x40\0\0\0");
    cbor(b"\xf9\x3c\0", "1.1", b"\xfb\x3f\xf1\x99\x99\x99\x99\x99\x9a");
    cbor(b"\xfa\x3d\xcc\xcc\xcd", "0.2", b"\xfa\x3e\x4c\xcc\xcd");
    cbor(b"\xfb\x3f\xf0\0\0\0\0\0\0", "2.0", b"\xfb\x40\0\0\0\0\0\0\0");
    // Keys: their type, their order, those that are there twice.
    message_pack(b"\x82\x03\xa1x\x04\xa1y", r#"{"4": "z", "3": "x"}"#, b"\x82\x03\xa1x\x04\xa1z");
    message_pack(b"\x81\x03\xa1x", r#"{"3": "x", "4": "y"}"#, b"\x82\x03\xa1x\x04\xa1y");
    message_pack(b"\x82\xa1a\x01\xa1a\x02", r#"{"a": 1, "a": 3}"#, b"\x82\xa1a\x01\xa1a\x03");
    message_pack(b"\x81\xa1a\x01", r#"{"4": 1}"#, b"\x81\xa14\x01");
    cbor(b"\xbf\x20\xf9\x3c\0\xff", r#"{"-1": 1, "-2": 0}"#, b"\xbf\x20\xf9\x3c\0\x21\0\xff");
    // Lists: what is put in or taken out moves the others as they are.
    message_pack(b"\x93\x01\xcd\0\x02\x03", "[9, 1, 2, 3]", b"\x94\x09\x01\xcd\0\x02\x03");
    message_pack(b"\x93\x01\xcd\0\x02\x03", "[2]", b"\x91\xcd\0\x02");
    message_pack(
        b"\x92\xca\x3f\x80\0\0\xca\x3f\x80\0\0",
        "[1.0, 1.0, 2.0]",
        b"\x93\xca\x3f\x80\0\0\xca\x3f\x80\0\0\xca\x40\0\0\0",
    );
    cbor(b"\x9f\x01\xff", "[1, 2]", b"\x9f\x01\x02\xff");
    // Strings and bytes, what is tagged, what follows the end.
    message_pack(b"\x92\xda\0\x02hi\xc4\x01\x01", r##"["ho", {"#base64": "Ag=="}]"##, b"\x92\xda\0\x02ho\xc4\x01\x02");
    message_pack(b"\xa2\xc3\x28", r##"{"#escaped": "\\xc3)"}"##, b"\xa2\xc3\x29");
    message_pack(b"\xd4\x05\x01", r##"{"#ext": {"type": 5, "base64": "Ag=="}}"##, b"\xd4\x05\x02");
    message_pack(b"\x01\x02", "3", b"\x03\x02");
    cbor(b"\xd8\x01\x19\0\x05", r##"{"#tag": {"tag": 1, "value": 6}}"##, b"\xd8\x01\x19\0\x06");
    cbor(b"\x82\xf7\x01", "[null, 2]", b"\x82\xf7\x02");
    cbor(b"\xf6", r##"{"#simple": 16}"##, b"\xf0");
}

#[test]
fn what_cannot_be_written_back_is_refused() {
    fn check(body: &[u8], text: &str, format: Format, expected: &str) {
        assert_eq!(patch(body, text, format, &Limits::default()).unwrap_err().to_string(), expected, "{text}");
    }
    let message_pack = |body: &[u8], text: &str, expected: &str| check(body, text, Format::MessagePack, expected);
    message_pack(
        b"\xca\x3d\xcc\xcc\xcd",
        "0.123456789",
        "1:1: 0.123456789 does not fit: this number is of single precision (float32); 0.12345679 would",
    );
    message_pack(b"\xcd\0\x05", "70000", "1:1: 70000 is out of range: the sender writes this number as uint16");
    message_pack(b"\xd0\x05", "-200", "1:1: -200 is out of range: the sender writes this number as int8");
    message_pack(
        b"\x82\xa1a\x01\xa1a\x02",
        r#"{"a": 1}"#,
        r#"1:2: of "a" there are 2, which have to stay or go together"#,
    );
    message_pack(
        b"\x81\x03\x01",
        r#"{"3": 1, "x": 2}"#,
        r#"1:10: "x" cannot be added: the keys beside it are whole numbers, and this is none"#,
    );
    message_pack(
        b"\x82\x03\x01\xa1a\x01",
        r#"{"3": 1, "a": 1, "4": 2}"#,
        r#"1:18: "4" cannot be added: the keys beside it are not all strings, so that its type is not known"#,
    );
    check(b"\x18\x05", "300", Format::Cbor, "1:1: 300 is out of range: the sender writes this number in 8 bits");
}

/// A payload of one value, made of what is drawn.
fn arbitrary_value(u: &mut arbtest::arbitrary::Unstructured<'_>, depth: u8) -> arbtest::arbitrary::Result<rmpv::Value> {
    use rmpv::Value;
    Ok(match u.int_in_range(0..=if depth == 0 { 8 } else { 10 })? {
        0 => Value::Nil,
        1 => Value::Boolean(u.arbitrary()?),
        2 => Value::from(u.arbitrary::<u64>()?),
        3 => Value::from(u.arbitrary::<i64>()?),
        4 => Value::F32(u.arbitrary()?),
        5 => Value::F64(u.arbitrary()?),
        6 => Value::from(u.arbitrary::<&str>()?),
        7 => Value::Binary(u.arbitrary()?),
        8 => Value::Ext(u.arbitrary()?, u.arbitrary()?),
        9 => {
            Value::Array((0..u.int_in_range(0..=4)?).map(|_| arbitrary_value(u, depth - 1)).collect::<Result<_, _>>()?)
        }
        _ => {
            let pair = |_| Ok((arbitrary_value(u, 0)?, arbitrary_value(u, depth - 1)?));
            Value::Map((0..3).map(pair).collect::<Result<_, _>>()?)
        }
    })
}

#[test]
fn any_value_comes_back_as_it_went_and_one_edit_changes_one_value() {
    arbtest::arbtest(|u| {
        let fields: Vec<rmpv::Value> =
            (0..u.int_in_range(1..=5)?).map(|_| arbitrary_value(u, 3)).collect::<Result<_, _>>()?;
        let write = |fields: &[rmpv::Value]| {
            let pairs = fields.iter().enumerate().map(|(i, value)| (rmpv::Value::from(i as u64 * 100), value.clone()));
            let mut body = Vec::new();
            rmpv::encode::write_value(&mut body, &rmpv::Value::Map(pairs.collect())).unwrap();
            body
        };
        let body = write(&fields);
        let shown = to_json(&body, Format::MessagePack, &Limits::default()).unwrap();
        assert_eq!(patch(&body, &shown, Format::MessagePack, &Limits::default()).as_ref(), Ok(&body), "{shown}");
        let mut edited = fields.clone();
        let at = u.choose_index(fields.len())?;
        edited[at] = rmpv::Value::from("edited");
        let text = to_json(&write(&edited), Format::MessagePack, &Limits::default()).unwrap();
        assert_eq!(patch(&body, &text, Format::MessagePack, &Limits::default()), Ok(write(&edited)), "{shown}");
        Ok(())
    });
}

fn as_cbor(value: &rmpv::Value) -> ciborium::Value {
    use ciborium::Value;
    match value {
        rmpv::Value::Nil => Value::Null,
        rmpv::Value::Boolean(yes) => Value::Bool(*yes),
        rmpv::Value::Integer(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Value::Integer(number.into()),
            (None, number) => Value::Integer(number.unwrap_or_default().into()),
        },
        rmpv::Value::F32(number) => Value::Float((*number).into()),
        rmpv::Value::F64(number) => Value::Float(*number),
        rmpv::Value::String(text) => Value::Text(text.as_str().unwrap_or_default().to_owned()),
        rmpv::Value::Binary(bytes) => Value::Bytes(bytes.clone()),
        rmpv::Value::Ext(kind, bytes) => {
            Value::Tag(u64::from(kind.cast_unsigned()), Box::new(Value::Bytes(bytes.clone())))
        }
        rmpv::Value::Array(values) => Value::Array(values.iter().map(as_cbor).collect()),
        rmpv::Value::Map(pairs) => {
            Value::Map(pairs.iter().map(|(key, value)| (as_cbor(key), as_cbor(value))).collect())
        }
    }
}

#[test]
fn what_libraries_write_of_cbor_comes_back_as_it_went() {
    arbtest::arbtest(|u| {
        let mut body = Vec::new();
        ciborium::into_writer(&as_cbor(&arbitrary_value(u, 3)?), &mut body).unwrap();
        let shown = to_json(&body, Format::Cbor, &Limits::default()).unwrap();
        assert_eq!(patch(&body, &shown, Format::Cbor, &Limits::default()), Ok(body), "{shown}");
        Ok(())
    });
}

#[test]
fn refuses_what_is_none_of_them() {
    for (body, format) in [
        (&b""[..], Format::MessagePack),
        (b"\xc1\xc1", Format::Cbor),
        (b"\xa5ab", Format::MessagePack),
        (b"\x65ab", Format::Cbor),
        (b"\xdf\xff\xff\xff\xff", Format::MessagePack),
        (b"\xbb\xff\xff\xff\xff\xff\xff\xff\xff", Format::Cbor),
        (b"\x5b\xff\xff\xff\xff\xff\xff\xff\xff", Format::Cbor),
    ] {
        assert!(matches!(to_json(body, format, &Limits::default()), Err(Unreadable::Malformed(_))), "{body:02x?}");
    }
    for format in [Format::MessagePack, Format::Cbor] {
        let one = if format == Format::MessagePack { 0x91 } else { 0x81 };
        let nested = |n| [vec![one; n], vec![1]].concat();
        assert!(to_json(&nested(90), format, &Limits::default()).is_ok());
        assert!(matches!(to_json(&nested(90_000), format, &Limits::default()), Err(Unreadable::Malformed(_))));
        let many = [&[if one == 0x91 { 0xdd } else { 0x9a }, 0, 3, 0, 0][..], &[1; 0x3_0000]].concat();
        assert_eq!(to_json(&many, format, &Limits::default()), Err(Unreadable::TooMuch));
        assert_eq!(to_json(b"\x01\x02", format, &Limits { bytes: 1, ..Limits::default() }), Err(Unreadable::TooMuch));
    }
}

/// The text of each key is twice as long as that of the key in it.
#[test]
fn keys_in_keys_end() {
    for nested in [60, 4] {
        let around = |head: u8, text: &[u8]| [&vec![head; nested][..], text, &vec![1; nested]].concat();
        for (body, format) in [(around(0x81, b"\xa1a"), Format::MessagePack), (around(0xa1, b"\x61a"), Format::Cbor)] {
            let shown = to_json(&body, format, &Limits::default());
            assert_eq!(shown.is_ok(), nested == 4, "{shown:?}");
        }
    }
}

#[test]
fn says_where_json_cannot_be_written() {
    fn check(text: &str, format: Format, expected: &str) {
        assert_eq!(patch(b"\0", text, format, &Limits::default()).unwrap_err().to_string(), expected);
    }
    for format in [Format::MessagePack, Format::Cbor] {
        check("[1,\n 2", format, "2:3: the JSON ends too early");
        check("[1,\n 1e999]", format, "2:2: 1e999 is out of range");
        check("{\"a\": 1,\n\"a\": 2}", format, "2:1: \"a\" is here twice");
        check(r##"[{"#base64": "!"}]"##, format, "1:14: this is no base64: Invalid symbol 33, offset 0.");
        check(r##"{"#float": 1}"##, format, r#"1:12: "NaN", "Infinity" or "-Infinity" was expected"#);
    }
    check("18446744073709551616", Format::MessagePack, "1:1: MessagePack has no larger integers than 64 bits");
    check(
        r##"{"#ext": {"type": 300, "base64": ""}}"##,
        Format::MessagePack,
        "1:19: a whole number was expected, or a smaller one",
    );
    check(r##"{"#tag": {"tag": 1}}"##, Format::Cbor, "1:10: an object of \"tag\" and \"value\" was expected");
}

#[test]
fn json_nests_only_so_deep() {
    for format in [Format::MessagePack, Format::Cbor] {
        let nested = |n| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(patch(b"\0", &nested(200), format, &Limits::default()).is_ok());
        let error = patch(b"\0", &nested(10_000), format, &Limits::default()).unwrap_err();
        assert_eq!(error.reason, "more than 202 levels");
    }
    let tagged = [vec![0xc1; 99], vec![1]].concat();
    let shown = to_json(&tagged, Format::Cbor, &Limits::default()).unwrap();
    assert_eq!(patch(&tagged, &shown, Format::Cbor, &Limits::default()), Ok(tagged));
}

#[test]
fn any_bytes_are_shown_or_refused() {
    arbtest::arbtest(|u| {
        let body: Vec<u8> = u.arbitrary()?;
        for format in [Format::MessagePack, Format::Cbor] {
            let Ok(shown) = to_json(&body, format, &Limits::default()) else { continue };
            assert_eq!(patch(&body, &shown, format, &Limits::default()), Ok(body.clone()));
        }
        Ok(())
    });
}
