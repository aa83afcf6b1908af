//! What is read, and what is noted.

use super::*;

/// `body` is shown as `expected` and noted as `problems`, and survives.
fn check(body: &[u8], expected: &str, problems: &[&str]) {
    let descriptor = legacy();
    let decoded = decode(body, &descriptor, &limits());
    let found: Vec<String> = decoded.problems.iter().map(ToString::to_string).collect();
    // Nearly none of them has its id.
    let found: Vec<&str> =
        found.iter().map(|it| &**it).filter(|it| !it.ends_with("required field id is missing")).collect();
    assert_eq!((&*compact(&decoded.to_json(None)), &*found), (expected, problems), "{body:02x?}");
    assert_eq!(encode(&decoded.to_json(None), &descriptor, Some(body), None, &limits()).as_deref(), Ok(body));
}

/// With an id in front, so that the JSON can be written without the original, too.
fn check_exact(body: &[u8], expected: &str, problems: &[&str]) {
    let body = [b"\x0a\x01i", body].concat();
    let expected = expected.replacen('{', r#"{ "id": "i","#, 1);
    check(&body, &expected, problems);
    let descriptor = legacy();
    let json = decode(&body, &descriptor, &limits()).to_json(None);
    assert_eq!(encode(&json, &descriptor, None, None, &limits()).as_deref(), Ok(&*body), "{json}");
}

#[test]
fn shows_what_is_declared() {
    check(b"", "{}", &[]);
    check_exact(b"\x10\x00", r#"{ "n": 0 }"#, &[]);
    check_exact(b"\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", r#"{ "n": -1 }"#, &[]);
    check_exact(b"\x1a\x01a\x1a\x00", r#"{ "phones": [ "a", "" ] }"#, &[]);
    check_exact(b"\x22\x03\x01\xac\x02", r#"{ "codes": [ 1, 300 ] }"#, &[]);
    check_exact(b"\x28\x01\x28\x02", r#"{ "loose": [ 1, 2 ] }"#, &[]);
    check_exact(b"\x33\x08\x05\x34", r#"{ "summary": { "accepted": 5 } }"#, &[]);
    check_exact(b"\x3b\x0a\x01a\x3c\x3b\x3c", r#"{ "item": [ { "name": "a" }, {} ] }"#, &[]);
    check_exact(b"\x40\x02", r#"{ "carrier": "CARRIER_B" }"#, &[]);
    check_exact(b"\x4a\x05\x0a\x01a\x10\x07", r#"{ "perCarrier": { "a": "7" } }"#, &[]);
    check_exact(b"\x52\x07\x08\x05\x12\x03\x0a\x01x", r#"{ "nested": { "5": { "id": "x" } } }"#, &[]);
    check_exact(b"\x60\x07", r#"{ "shortCode": "7" }"#, &[]);
    check_exact(b"\x70\x00", r#"{ "flag": false }"#, &[]);
    check_exact(b"\x7d\xcd\xcc\xcc\x3d", r#"{ "ratio": 0.1 }"#, &[]);
    check_exact(b"\x7d\xff\xff\x7f\x7f", r#"{ "ratio": 3.4028235e38 }"#, &[]);
    check_exact(b"\x7d\x00\x00\x00\x80", r#"{ "ratio": -0 }"#, &[]);
    check_exact(b"\x7d\x00\x00\xc0\x7f", r#"{ "ratio": "NaN" }"#, &[]);
    check_exact(b"\x81\x01\0\0\0\0\0\0\xf0\xff", r#"{ "weight": "-Infinity" }"#, &[]);
    check_exact(b"\x8a\x01\x02\xfb\xff", r#"{ "blob": "+/8=" }"#, &[]);
    check_exact(b"\x90\x01\x03", r#"{ "offset": -2 }"#, &[]);
    check_exact(b"\x9d\x01\xff\xff\xff\xff", r#"{ "f32": 4294967295 }"#, &[]);
    check_exact(b"\xa1\x01\xff\xff\xff\xff\xff\xff\xff\xff", r#"{ "s64": "-1" }"#, &[]);
    check_exact(b"\xb0\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", r#"{ "big": "18446744073709551615" }"#, &[]);
    check_exact(b"\xa2\x06\x01x\xaa\x06\x01\x07", r#"{ "[t.note]": "x", "[t.marks]": [ 7 ] }"#, &[]);
    check_exact(b"\xca\x01\x04\x08\x01\x12\x00", r#"{ "byFlag": { "true": "" } }"#, &[]);
    // A name for JSON that would be taken for an unknown field.
    check_exact(b"\xc2\x01\x01x", r#"{ "strange": "x" }"#, &[]);
}

#[test]
fn keeps_what_is_unknown() {
    check_exact(b"\xe8\x07\xac\x02", r##"{ "#125": { "varint": "300" } }"##, &[]);
    check_exact(b"\xed\x07\x01\0\0\0", r##"{ "#125": { "fixed32": "1" } }"##, &[]);
    check_exact(b"\xe9\x07\x01\0\0\0\0\0\0\x80", r##"{ "#125": { "fixed64": "9223372036854775809" } }"##, &[]);
    check_exact(b"\xea\x07\x02hi", r##"{ "#125": { "bytes": "aGk=" } }"##, &[]);
    check_exact(b"\xe8\x07\x01\xea\x07\x00", r##"{ "#125": [ { "varint": "1" }, { "bytes": "" } ] }"##, &[]);
    check_exact(
        b"\xeb\x07\x08\x01\x08\x02\x13\x14\xec\x07",
        r##"{ "#125": { "group": { "#1": [ { "varint": "1" }, { "varint": "2" } ], "#2": { "group": {} } } } }"##,
        &[],
    );
}

#[test]
fn keeps_what_does_not_fit() {
    check_exact(
        b"\x70\x02",
        r##"{ "flag": { "#varint": "2" } }"##,
        &["flag: this is neither true nor false; most readers take it for true"],
    );
    check_exact(
        b"\x10\x81\x80\x80\x80\x20",
        r##"{ "n": { "#varint": "8589934593" } }"##,
        &["n: this does not fit int32; most readers take it for another number"],
    );
    check_exact(
        b"\xa8\x01\x80\x80\x80\x80\x10",
        r##"{ "u": { "#varint": "4294967296" } }"##,
        &["u: this does not fit uint32; most readers take it for another number"],
    );
    check_exact(
        b"\x40\x07",
        r##"{ "carrier": { "#varint": "7" } }"##,
        &["carrier: this number is no value of t.Carrier"],
    );
    check_exact(
        b"\x1a\x04caf\xe9",
        r##"{ "phones": [ { "#escaped": "caf\\xe9" } ] }"##,
        &["phones[0]: this string is not UTF-8"],
    );
    check_exact(b"\x7d\x01\x00\xc0\x7f", r##"{ "ratio": { "#fixed32": "2143289345" } }"##, &[]);
    check_exact(
        b"\x22\x05\x80\x80\x80\x80\x10",
        r##"{ "codes": [ { "#varint": "4294967296" } ] }"##,
        &["codes[0]: this does not fit int32; most readers take it for another number"],
    );
}

#[test]
fn keeps_what_has_another_wire_type() {
    let varint_for_len = "it has wire type Varint where the schema says Len";
    check_exact(b"\x18\x05", r##"{ "#3": { "varint": "5" } }"##, &[&format!("phones: {varint_for_len}")]);
    check_exact(
        b"\x48\x05\x70\x01",
        r##"{ "#9": { "varint": "5" }, "flag": true }"##,
        &[&format!("per_carrier: {varint_for_len}")],
    );
    check_exact(
        b"\x12\x01\x05",
        r##"{ "#2": { "bytes": "BQ==" } }"##,
        &["n: it has wire type Len where the schema says Varint"],
    );
    check_exact(
        b"\x22\x01\x80",
        r##"{ "#4": { "bytes": "gA==" } }"##,
        &["codes: it has wire type Len where the schema says Varint"],
    );
    check_exact(
        b"\x32\x00",
        r##"{ "#6": { "bytes": "" } }"##,
        &["summary: it has wire type Len where the schema says Group"],
    );
}

#[test]
fn keeps_what_is_no_protobuf() {
    check_exact(
        b"\xff",
        r##"{ "#rest": "/w==" }"##,
        &["no t.M from there on: the message ends within a field at byte 3"],
    );
    check_exact(
        b"\xba\x01\x02\x10\x80",
        r##"{ "child": { "#rest": "EIA=" } }"##,
        &["child: no t.M from there on: the message ends within a field at byte 1"],
    );
    check_exact(
        b"\x33\x08\x05",
        r##"{ "#rest": "MwgF" }"##,
        &["no t.M from there on: the message ends within a field at byte 6"],
    );
    // What comes again after a message without end cannot be added to it.
    check_exact(
        b"\xba\x01\x01\xff\xba\x01\x00",
        r##"{ "child": { "#rest": "/w==" }, "#23": { "bytes": "" } }"##,
        &["child: no t.M from there on: the message ends within a field at byte 0"],
    );
}

#[test]
fn merges_as_parsers_do() {
    check(b"\x10\x01\x10\x02", r#"{ "n": 2 }"#, &["n: it is there more than once; the last one counts"]);
    check(
        b"\xba\x01\x02\x10\x01\xba\x01\x03\x1a\x01a",
        r#"{ "child": { "n": 1, "phones": [ "a" ] } }"#,
        &["child: it is there more than once; the parts are put together"],
    );
    check(b"\x22\x01\x01\x20\x02\x22\x00", r#"{ "codes": [ 1, 2 ] }"#, &[]);
    check(b"\x22\x00", "{}", &[]);
    check(b"\x1a\x01a\x10\x01\x1a\x01b", r#"{ "phones": [ "a", "b" ], "n": 1 }"#, &[]);
    check(
        b"\x5a\x01a\x60\x01",
        r#"{ "shortCode": "1" }"#,
        &["short_code: it replaces pool, because target has one member only"],
    );
    check(
        b"\x5a\x01a\x60\x01\x5a\x01b",
        r#"{ "pool": "b" }"#,
        &[
            "short_code: it replaces pool, because target has one member only",
            "pool: it replaces short_code, because target has one member only",
        ],
    );
    check(
        b"\x4a\x03\x0a\x01a\x4a\x05\x0a\x01a\x10\x07",
        r#"{ "perCarrier": { "a": "7" } }"#,
        &["per_carrier: a key is there more than once; its last value counts"],
    );
    check(b"\x4a\x00", r#"{ "perCarrier": { "": "0" } }"#, &[]);
    check(
        b"\x4a\x02\x18\x07",
        r##"{ "#9": { "bytes": "GAc=" } }"##,
        &["per_carrier: an entry of the map is more than a key and a value, or its key cannot be read"],
    );
}

#[test]
fn notes_what_is_required() {
    let decoded = decode(b"\xba\x01\x00", &legacy(), &limits());
    let found: Vec<String> = decoded.problems.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["child: the required field id is missing", "the required field id is missing"]);
}

/// Also in a file that comes as proto2, where all are closed.
#[test]
fn an_enum_of_an_edition_is_open_unless_it_says_otherwise() {
    let set = include_bytes!("../../../fixtures/editions.binpb");
    let schema = crate::schema::Schema::read("editions", set).unwrap();
    let outage = schema.message("acme.next.v1.CarrierOutage").unwrap();
    let check = |body: &[u8], expected: &str, n_problems: usize| {
        let decoded = decode(body, &outage, &limits());
        let json = decoded.to_json(None);
        assert_eq!((&*compact(&json), decoded.problems.len()), (expected, n_problems));
        assert_eq!(encode(&json, &outage, Some(body), None, &limits()).as_deref(), Ok(body));
    };
    check(b"\x10\x07", r#"{ "priority": 7 }"#, 0);
    check(b"\x08\x07", r##"{ "carrier": { "#varint": "7" } }"##, 1);
    let edited = |json: &str| encode(json, &outage, Some(b"\x10\x01"), None, &limits());
    assert_eq!(edited(r#"{"priority": 7}"#).as_deref(), Ok(&b"\x10\x07"[..]));
    assert!(edited(r#"{"carrier": 7}"#).is_err());
}
