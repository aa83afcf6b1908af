use super::*;

fn compact(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn check(body: &[u8], format: Format, expected: &str, fidelity: Fidelity) {
    let shown = to_json(body, format, &Limits::default()).unwrap();
    assert_eq!((&*compact(&shown.json), shown.fidelity), (expected, fidelity), "{body:02x?}");
    if fidelity == Fidelity::Lossy {
        return;
    }
    let again = from_json(&shown.json, format, &Limits::default()).unwrap();
    assert_eq!(again == body, fidelity == Fidelity::Exact);
    assert_eq!(to_json(&again, format, &Limits::default()), Ok(Shown { fidelity: Fidelity::Exact, ..shown }));
}

#[test]
fn message_pack() {
    use Fidelity::{Exact, Lossy, Values};
    fn check(body: &[u8], expected: &str, fidelity: Fidelity) {
        super::tests::check(body, Format::MessagePack, expected, fidelity);
    }
    check(b"\xc0", "null", Exact);
    check(b"\xc3", "true", Exact);
    check(b"\x2a", "42", Exact);
    check(b"\xff", "-1", Exact);
    check(b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615", Exact);
    check(b"\xd3\x80\0\0\0\0\0\0\0", "-9223372036854775808", Exact);
    check(b"\xcb\x3f\xf0\0\0\0\0\0\0", "1.0", Exact);
    check(b"\xcb\x7f\xf0\0\0\0\0\0\0", r##"{ "#float": "Infinity" }"##, Exact);
    check(b"\xca\x3d\xcc\xcc\xcd", "0.1", Values);
    check(b"\xcd\x00\x05", "5", Values);
    check(b"\xa2hi", r#""hi""#, Exact);
    check(b"\xa2\xc3\x28", r##"{ "#escaped": "\\xc3(" }"##, Lossy);
    check(b"\xc4\x02\x01\x02", r##"{ "#base64": "AQI=" }"##, Exact);
    check(b"\xd4\x05\x01", r##"{ "#ext": { "type": 5, "base64": "AQ==" } }"##, Exact);
    check(b"\xd6\xff\0\0\0\x01", r##"{ "#ext": { "type": -1, "base64": "AAAAAQ==" } }"##, Exact);
    check(b"\x93\x01\x90\x80", "[ 1, [], {} ]", Exact);
    check(b"\x82\xa1a\x01\xa1b\xc0", r#"{ "a": 1, "b": null }"#, Exact);
    check(b"\x81\x05\xa1x", r#"{ "5": "x" }"#, Lossy);
    check(b"\x81\x92\x01\x02\xa1x", r#"{ "[ 1, 2 ]": "x" }"#, Lossy);
    check(b"\x82\xa1a\x01\xa1a\x02", r#"{ "a": 1, "a": 2 }"#, Lossy);
    check(b"\x81\xa7#base64\xa0", r##"{ "#base64": "" }"##, Lossy);
    check(b"\x01\x02", "1", Lossy);
}

#[test]
fn cbor() {
    use Fidelity::{Exact, Lossy, Values};
    fn check(body: &[u8], expected: &str, fidelity: Fidelity) {
        super::tests::check(body, Format::Cbor, expected, fidelity);
    }
    check(b"\xf6", "null", Exact);
    check(b"\xf5", "true", Exact);
    check(b"\x18\x2a", "42", Exact);
    check(b"\x20", "-1", Exact);
    check(b"\x3b\xff\xff\xff\xff\xff\xff\xff\xff", "-18446744073709551616", Exact);
    check(b"\xf9\x3c\x00", "1.0", Exact);
    check(b"\xfb\x3f\xf0\0\0\0\0\0\0", "1.0", Values);
    check(b"\xf9\x7e\x00", r##"{ "#float": "NaN" }"##, Exact);
    check(b"\x62hi", r#""hi""#, Exact);
    check(b"\x7f\x61h\x61i\xff", r#""hi""#, Values);
    check(b"\x42\x01\x02", r##"{ "#base64": "AQI=" }"##, Exact);
    check(b"\xc1\x1a\x51\x4b\x67\xb0", r##"{ "#tag": { "tag": 1, "value": 1363896240 } }"##, Exact);
    check(b"\x83\x01\x80\xa0", "[ 1, [], {} ]", Exact);
    check(b"\xa2\x61a\x01\x61b\xf6", r#"{ "a": 1, "b": null }"#, Exact);
    check(b"\xa1\x05\x61x", r#"{ "5": "x" }"#, Lossy);
    check(b"\x01\x02", "1", Lossy);
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

#[test]
fn says_where_json_cannot_be_written() {
    fn check(text: &str, format: Format, expected: &str) {
        assert_eq!(from_json(text, format, &Limits::default()).unwrap_err().to_string(), expected);
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
        assert!(from_json(&nested(200), format, &Limits::default()).is_ok());
        let error = from_json(&nested(10_000), format, &Limits::default()).unwrap_err();
        assert_eq!(error.reason, "more than 200 levels");
    }
    let tagged = [vec![0xc1; 99], vec![1]].concat();
    let shown = to_json(&tagged, Format::Cbor, &Limits::default()).unwrap();
    assert_eq!(shown.fidelity, Fidelity::Exact);
}

#[test]
fn any_bytes_are_shown_or_refused() {
    arbtest::arbtest(|u| {
        let body: Vec<u8> = u.arbitrary()?;
        for format in [Format::MessagePack, Format::Cbor] {
            let Ok(shown) = to_json(&body, format, &Limits::default()) else { continue };
            serde_json::from_str::<serde_json::Value>(&shown.json).unwrap();
            if shown.fidelity == Fidelity::Exact {
                assert_eq!(from_json(&shown.json, format, &Limits::default()), Ok(body.clone()));
            }
        }
        Ok(())
    })
    .budget_ms(500);
}
