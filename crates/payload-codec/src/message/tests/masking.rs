//! Values that are not for everybody.

use super::*;

const SOURCE: &str = r#"
    syntax = "proto3";
    package t;
    message M {
        string email = 1 [debug_redact = true];
        string name = 2;
        repeated M friends = 3;
        repeated string phones = 4 [debug_redact = true];
        Secret secret = 5;
        map<string, M> by_name = 6;
    }
    message Secret { bytes key = 1 [debug_redact = true]; }
"#;

fn descriptor() -> MessageDescriptor {
    message_of(&pool_of(SOURCE), "t.M")
}

fn body(json: &str) -> Vec<u8> {
    encode(json, &descriptor(), None, None, &limits()).unwrap()
}

fn masks(patterns: &[&str]) -> Masks {
    let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    Masks::new(descriptor().parent_pool(), &patterns)
}

/// `debug_redact` stands at fields of any message, and at extensions of any scope.
#[test]
fn finds_what_is_redacted() {
    let pool = pool_of(
        r#"
        syntax = "proto2";
        package t;
        message A {
            extensions 10 to 20;
            message B {
                optional string x = 1 [debug_redact = true];
                optional string y = 2 [debug_redact = false];
                extend A { optional string of_b = 10 [debug_redact = true]; }
            }
            map<string, string> map = 3 [debug_redact = true];
            optional group G = 4 [debug_redact = true] { optional int32 n = 1; }
        }
        extend A { optional string of_file = 11 [deprecated = true, debug_redact = true]; }
        "#,
    );
    let a = message_of(&pool, "t.A");
    let json = r#"{"map": {"a": "b"}, "g": {"n": 1}, "[t.A.B.of_b]": "c", "[t.of_file]": "d"}"#;
    let body = encode(json, &a, None, None, &limits()).unwrap_or_else(|e| panic!("{e:?}"));
    let masked = decode(&body, &a, &limits()).to_json(Some(&Masks::new(&pool, &[])));
    let expected = r#"{ "map": "•••1", "g": "•••2", "[t.A.B.of_b]": "•••3", "[t.of_file]": "•••4" }"#;
    assert_eq!(compact(&masked), expected);
    let b = message_of(&pool, "t.A.B");
    let body = encode(r#"{"x": "1", "y": "2"}"#, &b, None, None, &limits()).unwrap();
    let masked = decode(&body, &b, &limits()).to_json(Some(&Masks::new(&pool, &[])));
    assert_eq!(compact(&masked), r#"{ "x": "•••1", "y": "2" }"#);
}

#[test]
fn hides_what_the_schema_or_a_pattern_says() {
    fn check(json: &str, patterns: &[&str], expected: &str) {
        let body = body(json);
        let decoded = decode(&body, &descriptor(), &limits());
        assert_eq!(compact(&decoded.to_json(Some(&masks(patterns)))), expected);
        assert_eq!(values(&decoded.to_json(None)), values(json));
    }
    check(r#"{"email": "a", "name": "b"}"#, &[], r#"{ "email": "•••1", "name": "b" }"#);
    check(r#"{"phones": ["1", "2"]}"#, &[], r#"{ "phones": "•••1" }"#);
    check(r#"{"name": "b"}"#, &["name"], r#"{ "name": "•••1" }"#);
    check(r#"{"name": "b"}"#, &["t.M.n*"], r#"{ "name": "•••1" }"#);
    check(r#"{"name": "b"}"#, &["friends.name"], r#"{ "name": "b" }"#);
    check(
        r#"{"name": "b", "friends": [{"name": "c", "email": "d"}, {"name": "e"}]}"#,
        &["friends.name"],
        r#"{ "name": "b", "friends": [ { "email": "•••1", "name": "•••2" }, { "name": "•••3" } ] }"#,
    );
    check(r#"{"byName": {"x": {"email": "d"}}}"#, &[], r#"{ "byName": { "x": { "email": "•••1" } } }"#);
    check(r#"{"secret": {"key": ""}}"#, &[], r#"{ "secret": { "key": "•••1" } }"#);
}

/// What cannot be read may be what is to be hidden.
#[test]
fn hides_what_cannot_be_read() {
    fn check(body: &[u8], expected: &str) {
        let decoded = decode(body, &descriptor(), &limits());
        let masked = decoded.to_json(Some(&masks(&[])));
        assert_eq!(compact(&masked), expected);
        assert_eq!(encode(&masked, &descriptor(), Some(body), Some(&masks(&[])), &limits()).as_deref(), Ok(body));
        // Something else is edited, and the hidden bytes come back.
        let edited = masked.replacen('{', r##"{"#999": {"varint": 1},"##, 1).replace(",\n}", "\n}");
        let expected = [b"\xb8\x3e\x01", body].concat();
        assert_eq!(encode(&edited, &descriptor(), Some(body), Some(&masks(&[])), &limits()), Ok(expected), "{edited}");
    }
    check(b"\x0a\x01\xff", r#"{ "email": "•••1" }"#);
    check(b"\x08\x05", r##"{ "#1": "•••1" }"##);
    check(b"\x28\x05", r##"{ "#5": "•••1" }"##);
    check(b"\x10\x05", r##"{ "#2": { "varint": "5" } }"##);
    check(b"\x0a\x05ab", r##"{ "#rest": "•••1" }"##);
    check(b"\x32\x03\x0a\x01\xff", r##"{ "#6": "•••1" }"##);
    check(b"\x2a\x02\x0a\x05", r##"{ "secret": { "#rest": "•••1" } }"##);
}

/// After `from` was replaced by `to` in the masked JSON of one message, it is written as another is.
fn check_edit(original: &str, from: &str, to: &str, expected: Result<&str, &str>) {
    let (body, masks) = (body(original), masks(&["friends.name"]));
    let json = compact(&decode(&body, &descriptor(), &limits()).to_json(Some(&masks)));
    assert!(json.contains(from), "{json}");
    let encoded = encode(&json.replace(from, to), &descriptor(), Some(&body), Some(&masks), &limits());
    match expected {
        Ok(expected) => assert_eq!(encoded, Ok(self::body(expected))),
        Err(expected) => assert_eq!(encoded.unwrap_err()[0].to_string(), expected),
    }
}

#[test]
fn marks_take_their_values_back() {
    check_edit(r#"{"email": "a", "name": "b"}"#, "b", "c", Ok(r#"{"email": "a", "name": "c"}"#));
    check_edit(r#"{"email": "a", "name": "b"}"#, "•••1", "new", Ok(r#"{"email": "new", "name": "b"}"#));
    check_edit(r#"{"email": "a", "name": "b"}"#, r#""email": "•••1","#, "", Ok(r#"{"name": "b"}"#));
    let two = r#"{"friends": [{"email": "d"}, {"email": "e"}]}"#;
    check_edit(two, r#"{ "email": "•••1" },"#, "", Ok(r#"{"friends": [{"email": "e"}]}"#));
    check_edit(
        two,
        r#"{ "email": "•••1" }, { "email": "•••2" }"#,
        r#"{ "email": "•••2" }, { "email": "•••1" }"#,
        Ok(r#"{"friends": [{"email": "e"}, {"email": "d"}]}"#),
    );
}

#[test]
fn marks_show_nothing_elsewhere() {
    let hidden = "this mark stands for the hidden value of email and can be used only there";
    check_edit(r#"{"email": "a", "name": "b"}"#, "\"b\"", "\"•••1\"", Err(&format!("1:28: name: {hidden}")));
    // The name of a friend is hidden, but one's own is not.
    check_edit(
        r#"{"name": "b", "friends": [{"name": "c"}]}"#,
        "\"b\"",
        "\"•••1\"",
        Err("1:11: name: this mark stands for the hidden value of friends.name and can be used only there"),
    );
    check_edit(
        r#"{"email": "a", "friends": [{}]}"#,
        "{}",
        r#"{"email": "•••1"}"#,
        Err(&format!("1:43: friends[0].email: {hidden}")),
    );
    check_edit(r#"{"name": "b"}"#, "b", "•••1", Err("1:11: name: no hidden value has this mark"));
    let two = r#"{"phones": ["1"], "byName": {"x": {}}}"#;
    check_edit(
        two,
        "{}",
        r#"{"phones": ["•••1"]}"#,
        Err("1:50: by_name[\"x\"].phones[0]: this mark stands for a hidden value and cannot be used here"),
    );
}

/// A text that was there before is what it looks like.
#[test]
fn texts_that_look_like_marks_survive() {
    check_edit(
        r#"{"email": "a", "name": "•••1", "secret": {"key": ""}}"#,
        r#", "secret": { "key": "•••2" }"#,
        "",
        Ok(r#"{"email": "a", "name": "•••1"}"#),
    );
}
