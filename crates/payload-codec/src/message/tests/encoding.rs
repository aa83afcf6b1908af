//! JSON that is wrong, and JSON that was edited.

use super::*;

/// All problems of `json`, in the order of the text.
fn check_in(descriptor: &MessageDescriptor, json: &str, expected: &[&str]) {
    let problems = encode(json, descriptor, None, None, &limits()).err().unwrap_or_default();
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems, expected, "{json}");
}

/// Of members beside the id.
fn check(members: &str, expected: &[&str]) {
    check_in(&legacy(), &format!("{{\"id\": \"\",\n{members}}}"), expected);
}

#[test]
fn tells_all_that_is_wrong() {
    check_in(
        &legacy(),
        "{\"n\": 1.5,\n  \"flag\": 1, \"child\": {\"id\": 5, \"x\": 1}}",
        &[
            "1:1: the required field id is missing",
            "1:7: n: int32 is a whole number, and 1.5 is none",
            "2:11: flag: a bool is true or false, and this is a number",
            "2:30: child.id: a string was expected, and this is a number",
            "2:33: child: t.M has no field \"x\"",
        ],
    );
    check_in(&legacy(), "[]", &["1:1: t.M is an object, and this is an array"]);
    check_in(&legacy(), "{\"id\": \"\",}", &["1:10: no comma may stand before }"]);
    check_in(&legacy(), "", &["1:1: the JSON ends too early"]);
}

#[test]
fn suggests_names() {
    check(r#""weigth": 1"#, &["2:1: t.M has no field \"weigth\"; did you mean \"weight\"?"]);
    check(r#""[t.nots]": 1"#, &["2:1: t.M has no field \"[t.nots]\"; did you mean \"[t.note]\"?"]);
    check(
        r#""per_carrier": {}, "perCarriers": {}"#,
        &["2:20: t.M has no field \"perCarriers\"; did you mean \"perCarrier\"?"],
    );
    check(
        r#""carrier": "CARRIER_C""#,
        &["2:12: carrier: t.Carrier has no value \"CARRIER_C\"; did you mean \"CARRIER_A\"?"],
    );
    check(r#""@x": 1"#, &["2:1: t.M has no field \"@x\""]);
}

#[test]
fn checks_ranges() {
    let int32 = "2:6: n: int32 reaches from -2147483648 to 2147483647";
    check(r#""n": 2147483647"#, &[]);
    check(r#""n": 2147483648"#, &[int32]);
    check(r#""n": -2147483649"#, &[int32]);
    check(r#""n": 99999999999999999999999999999999999999999999"#, &[int32]);
    check(r#""n": 1e3"#, &[]);
    check(r#""n": "17""#, &[]);
    check(r#""n": "017""#, &["2:6: n: int32 is a whole number, and \"017\" is none"]);
    check(r#""n": """#, &["2:6: n: int32 is a whole number, and \"\" is none"]);
    check(r#""u": -1"#, &["2:6: u: uint32 reaches from 0 to 4294967295"]);
    check(r#""big": "18446744073709551616""#, &["2:8: big: uint64 reaches from 0 to 18446744073709551615"]);
    check(
        r#""s64": 9223372036854775808"#,
        &["2:8: s64: sfixed64 reaches from -9223372036854775808 to 9223372036854775807"],
    );
    check(
        r#""big": 1e19"#,
        &["2:8: big: uint64 is a whole number, and this one is better written with all its digits"],
    );
    check(r#""ratio": 1e39"#, &["2:10: ratio: this is larger than any float"]);
    check(r#""ratio": "Infinity""#, &[]);
    check(r#""weight": 1e309"#, &["2:11: weight: this is larger than any double"]);
    check(r#""weight": "inf""#, &["2:11: weight: a number was expected, or \"NaN\", \"Infinity\" or \"-Infinity\""]);
    check(r#""carrier": 3"#, &["2:12: carrier: t.Carrier has no value 3"]);
    check(r#""carrier": 2"#, &[]);
    check(
        r#""carrier": 3000000000"#,
        &["2:12: carrier: the numbers of t.Carrier are whole and reach from -2147483648 to 2147483647"],
    );
    check(r#""blob": "a-_b""#, &[]);
    check(r#""blob": "a""#, &["2:9: blob: this is no base64: Invalid input length: 1"]);
}

#[test]
fn checks_structure() {
    check(r#""n": 1, "n": 2"#, &["2:9: n: this field is here twice"]);
    check(r#""per_carrier": {}, "perCarrier": {}"#, &["2:20: per_carrier: this field is here twice"]);
    check(
        r#""pool": "", "shortCode": "1""#,
        &["2:13: short_code: pool is set already, and target can have only one of its members"],
    );
    check(r#""pool": "", "shortCode": null"#, &[]);
    check(r#""phones": "x""#, &["2:11: phones: this field is a list, and this is a string"]);
    check(
        r#""phones": ["x", null, 1]"#,
        &[
            "2:17: phones[1]: null is no value; leave it out",
            "2:23: phones[2]: a string was expected, and this is a number",
        ],
    );
    check(r#""perCarrier": []"#, &["2:15: per_carrier: this field is a map, so an object, and this is an array"]);
    check(r#""perCarrier": {"a": 1, "a": 2}"#, &["2:24: per_carrier[\"a\"]: this key is here twice"]);
    check(
        r#""nested": {"x": {"id": ""}, "1": null}"#,
        &[
            "2:12: nested[\"x\"]: int32 is a whole number, and \"x\" is none",
            "2:34: nested[\"1\"]: null is no value; leave it out",
        ],
    );
    check(r#""byFlag": {"yes": ""}"#, &["2:12: by_flag[\"yes\"]: the keys of this map are \"true\" and \"false\""]);
    check(r##""#125": {"varint": "-1"}"##, &["2:20: #125: this must be a whole number from 0 to 18446744073709551615"]);
    check(
        r##""#0": {"varint": 1}, "#x": {}"##,
        &[
            "2:1: #0: \"#\" is followed by a field number from 1 to 536870911, or by \"rest\"",
            "2:22: #x: \"#\" is followed by a field number from 1 to 536870911, or by \"rest\"",
        ],
    );
    check(
        r##""#125": {"bytes": "", "varint": 1}"##,
        &[
            "2:9: #125: an unknown field is {\"varint\": …}, {\"fixed32\": …}, {\"fixed64\": …}, {\"bytes\": …} or {\"group\": {…}}",
        ],
    );
    check(r##""flag": {"#fixed32": 1}"##, &["2:9: flag: bool has wire type Varint, not Fixed32"]);
    check(r##""#truncated": 7"##, &["2:1: #truncated: the payload was cut to be shown, so it cannot be edited"]);
}

#[test]
fn a_broken_text_has_a_place() {
    check(
        r##""phones": [{"#escaped": "\\q"}]"##,
        &[r"2:25: phones[0]: a backslash must be followed by another, or by x and two hexadecimal digits"],
    );
}

/// After `from` was replaced by `to` in the JSON of `body`, `expected` is written.
fn check_edit(body: &[u8], from: &str, to: &str, expected: &[u8]) {
    let descriptor = legacy();
    let json = decode(body, &descriptor, &limits()).to_json(None);
    assert_eq!(json.matches(from).count(), 1, "{json}");
    let edited = json.replace(from, to);
    assert_eq!(encode(&edited, &descriptor, Some(body), None, &limits()).as_deref(), Ok(expected), "{edited}");
}

#[test]
fn keeps_the_bytes_of_what_was_not_edited() {
    // Out of order, an overlong varint, and a list that should be packed.
    let body = b"\x10\x85\x00\x0a\x01i\x20\x01\x20\x02\x70\x01";
    check_edit(body, "true", "false", b"\x10\x85\x00\x0a\x01i\x20\x01\x20\x02\x70\x00");
    check_edit(body, "\"i\"", "\"j\"", b"\x10\x85\x00\x0a\x01j\x20\x01\x20\x02\x70\x01");
    check_edit(body, "2\n", "3\n", b"\x10\x85\x00\x0a\x01i\x22\x02\x01\x03\x70\x01");
    // Within messages and lists of them.
    let body = b"\x0a\x01i\xba\x01\x07\x10\x85\x00\x0a\x02ab";
    check_edit(body, "ab", "c", b"\x0a\x01i\xba\x01\x06\x10\x85\x00\x0a\x01c");
    let body = b"\x0a\x01i\x3b\x08\x85\x00\x0a\x01a\x3c\x3b\x08\x85\x00\x0a\x01b\x3c";
    check_edit(body, "\"a\"", "\"c\"", b"\x0a\x01i\x3b\x08\x85\x00\x0a\x01c\x3c\x3b\x08\x85\x00\x0a\x01b\x3c");
}

#[test]
fn writes_by_number_what_has_no_original() {
    let json = r##"{"#125": {"varint": 1}, "flag": true, "id": "i"}"##;
    let expected = b"\x0a\x01i\x70\x01\xe8\x07\x01";
    assert_eq!(encode(json, &legacy(), None, None, &limits()).as_deref(), Ok(&expected[..]));
}
