//! Types of `google.protobuf` and their own forms.

use super::*;

const SOURCE: &str = r#"
    syntax = "proto3";
    package t;
    import "google/protobuf/any.proto";
    import "google/protobuf/duration.proto";
    import "google/protobuf/field_mask.proto";
    import "google/protobuf/struct.proto";
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto";
    message M {
        google.protobuf.Any any = 1;
        google.protobuf.Duration duration = 2;
        google.protobuf.FieldMask mask = 3;
        google.protobuf.Struct struct = 4;
        google.protobuf.Value value = 5;
        google.protobuf.ListValue list = 6;
        google.protobuf.Timestamp time = 7;
        google.protobuf.Int64Value long = 8;
        google.protobuf.StringValue text = 9;
        google.protobuf.NullValue null = 10;
        repeated google.protobuf.Value values = 11;
        google.protobuf.FloatValue float = 12;
        optional string name = 13;
        Open open = 14;
    }
    enum Open { ZERO = 0; ONE = 1; }
"#;

fn descriptor() -> MessageDescriptor {
    message_of(&pool_of(SOURCE), "t.M")
}

/// One member of JSON and the field it is; both ways.
fn check(member: &str, field: &[u8]) {
    let descriptor = descriptor();
    let json = format!("{{ {member} }}");
    assert_eq!(encode(&json, &descriptor, None, None, &limits()).as_deref(), Ok(field), "{member}");
    let decoded = decode(field, &descriptor, &limits());
    assert_eq!((compact(&decoded.to_json(None)), &*decoded.problems), (json, &[][..]), "{field:02x?}");
}

/// A field that is shown as something longer, with why.
fn check_odd(field: &[u8], member: &str, problem: &str) {
    let descriptor = descriptor();
    let decoded = decode(field, &descriptor, &limits());
    let problems: Vec<String> = decoded.problems.iter().map(ToString::to_string).collect();
    assert_eq!((compact(&decoded.to_json(None)), &*problems), (format!("{{ {member} }}"), &[problem.to_owned()][..]));
    assert_eq!(encode(&decoded.to_json(None), &descriptor, None, None, &limits()).as_deref(), Ok(field), "{member}");
}

#[test]
fn have_their_own_forms() {
    check(r#""time": "1970-01-01T00:00:00Z""#, b"\x3a\x00");
    check(r#""time": "2025-11-21T16:00:00.250Z""#, b"\x3a\x0b\x08\x80\x99\x82\xc9\x06\x10\x80\xe5\x9a\x77");
    check(
        r#""time": "1969-12-31T23:59:59.999999999Z""#,
        b"\x3a\x11\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\xff\x93\xeb\xdc\x03",
    );
    check(r#""time": "9999-12-31T23:59:59Z""#, b":\x07\x08\xff\x82\xd1\xff\xaf\x07");
    check(r#""duration": "0s""#, b"\x12\x00");
    check(r#""duration": "3.500s""#, b"\x12\x08\x08\x03\x10\x80\xca\xb5\xee\x01");
    check(r#""duration": "-0.000001s""#, b"\x12\x0b\x10\x98\xf8\xff\xff\xff\xff\xff\xff\xff\x01");
    check(r#""mask": """#, b"\x1a\x00");
    check(r#""mask": "a,userName.b""#, b"\x1a\x10\x0a\x01a\x0a\x0buser_name.b");
    check(r#""long": "0""#, b"\x42\x00");
    check(r#""long": "-1""#, b"\x42\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    check(r#""text": """#, b"\x4a\x00");
    check(r#""text": "x""#, b"\x4a\x03\x0a\x01x");
    check(r#""float": "NaN""#, b"\x62\x05\x0d\x00\x00\xc0\x7f");
    check(r#""null": null"#, b"\x50\x00");
    check(r#""name": """#, b"\x6a\x00");
    check(r#""open": 7"#, b"\x70\x07");
}

#[test]
fn times_may_have_a_zone() {
    fn check(text: &str, same: &str) {
        let written = |text: &str| encode(&format!(r#"{{"time": "{text}"}}"#), &descriptor(), None, None, &limits());
        assert_eq!(written(text), written(same));
        assert!(written(same).is_ok());
    }
    check("2026-11-21T18:05:00+02:00", "2026-11-21T16:05:00Z");
    check("2026-11-21T00:05:00.5-01:30", "2026-11-21T01:35:00.500Z");
    check("2026-11-21t16:05:00z", "2026-11-21T16:05:00Z");
}

#[test]
fn hold_json() {
    check(r#""struct": {}"#, b"\x22\x00");
    check(r#""value": null"#, b"\x2a\x02\x08\x00");
    check(r#""value": 1.5"#, b"\x2a\x09\x11\0\0\0\0\0\0\xf8\x3f");
    check(r#""value": "x""#, b"\x2a\x03\x1a\x01x");
    check(r#""value": false"#, b"\x2a\x02\x20\x00");
    check(r#""value": {}"#, b"\x2a\x02\x2a\x00");
    check(r#""value": [ null ]"#, b"\x2a\x06\x32\x04\x0a\x02\x08\x00");
    check(r#""list": []"#, b"\x32\x00");
    check(r#""values": [ null, true ]"#, b"\x5a\x02\x08\x00\x5a\x02\x20\x01");
    check(
        r#""struct": { "a": { "b": "c" } }"#,
        b"\x22\x13\x0a\x11\x0a\x01a\x12\x0c\x2a\x0a\x0a\x08\x0a\x01b\x12\x03\x1a\x01c",
    )
}

#[test]
fn any_holds_what_it_says() {
    check(r#""any": { "@type": "x/t.M", "name": "a" }"#, b"\x0a\x0c\x0a\x05x/t.M\x12\x03\x6a\x01a");
    check(
        r#""any": { "@type": "x/google.protobuf.Duration", "value": "1s" }"#,
        b"\x0a\x20\x0a\x1ax/google.protobuf.Duration\x12\x02\x08\x01",
    );
    check(r##""any": { "@type": "x/t.M", "#99": { "varint": "1" } }"##, b"\x0a\x0c\x0a\x05x/t.M\x12\x03\x98\x06\x01");
    check_odd(
        b"\x0a\x0a\x0a\x05x/t.N\x12\x01a",
        r##""any": { "#message": { "typeUrl": "x/t.N", "value": "YQ==" } }"##,
        "any: \"t.N\" is not in the schema set; its fields are shown",
    );
    check_odd(
        b"\x0a\x00",
        r##""any": { "#message": {} }"##,
        "any: this Any does not say what it holds; its fields are shown",
    );
}

#[test]
fn show_their_fields_where_the_form_cannot() {
    check_odd(
        b"\x3a\x03\x10\xff\xff",
        r##""time": { "#message": { "#rest": "EP//" } }"##,
        "time: no google.protobuf.Timestamp from there on: the message ends within a field at byte 1",
    );
}

#[test]
fn are_out_of_range() {
    check_odd(
        b"\x3a\x0b\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        r##""time": { "#message": { "nanos": -1 } }"##,
        "time: it is not within the years 1 to 9999; its fields are shown",
    );
    check_odd(
        b"\x12\x0d\x08\x01\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        r##""duration": { "#message": { "seconds": "1", "nanos": -1 } }"##,
        "duration: it is no duration of up to 10,000 years; its fields are shown",
    );
    check_odd(
        b"\x1a\x05\x0a\x03a_B",
        r##""mask": { "#message": { "paths": [ "a_B" ] } }"##,
        "mask: a path of this mask cannot be written as JSON; its fields are shown",
    );
    check_odd(
        b"\x2a\x00",
        r##""value": { "#message": {} }"##,
        "value: it holds something that JSON cannot; its fields are shown",
    );
    check_odd(
        b"\x22\x0b\x0a\x09\x0a\x03#ab\x12\x02\x08\x00",
        r##""struct": { "#message": { "fields": { "#ab": null } } }"##,
        "struct: it holds something that JSON cannot; its fields are shown",
    );
    check_odd(
        b"\x3a\x02\x18\x07",
        r##""time": { "#message": { "#3": { "varint": "7" } } }"##,
        "time: a Timestamp has no fields but those of its type; its fields are shown",
    );
}

#[test]
fn are_refused_where_they_are_wrong() {
    fn check(member: &str, expected: &str) {
        let problems = encode(&format!("{{{member}}}"), &descriptor(), None, None, &limits()).unwrap_err();
        assert_eq!(problems.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected], "{member}");
    }
    let time = "1:10: time: a timestamp looks like \"2026-11-21T16:05:00.25Z\", from the year 1 to 9999";
    for wrong in [
        "",
        "yesterday",
        "2026-02-30T00:00:00Z",
        "2026-11-21",
        "2026-11-21T16:05:00",
        "2026-11-21 16:05:00Z",
        "2026-11-21T16:05:00+2",
        "2026-11-21T16:05:00+24:00",
        "2026-11-21T16:05:00Z[UTC]",
        "0000-12-31T23:59:59Z",
        "9999-12-31T23:59:59-00:01",
        "-2026-11-21T16:05:00Z",
        "2026-11-21T16:05:00.1234567891Z",
    ] {
        check(&format!(r#" "time": "{wrong}""#), &time.replace("1:10", "1:11"));
    }
    check(r#""time": 5"#, "1:10: time: a string was expected, and this is a number");
    for wrong in ["", "s", "1", "1.s", ".5s", "1.0000000001s", "--1s", "+1s", "315576000001s"] {
        check(
            &format!(r#""duration": "{wrong}""#),
            "1:14: duration: a duration looks like \"3.5s\", of no more than 315576000000 seconds",
        );
    }
    check(r#""mask": "a_b""#, "1:10: mask: \"a_b\" is no path in camel case, such as \"user.displayName\"");
    check(r#""value": 1e999"#, "1:11: value: this is larger than any double");
    check(r#""struct": 1"#, "1:12: struct: this field is a map, so an object, and this is a number");
    check(r#""any": {"@type": "x/t.N"}"#, "1:9: any: the type \"t.N\" is not in the schema set");
    check(r#""any": {"name": ""}"#, "1:9: any: an Any says in one \"@type\" what it holds");
}
