use super::*;

/// The JSON is what serde_json takes it for, and is written so that it is read the same.
fn check(text: &str) {
    let node = read(text, 1_000, 50).unwrap();
    let written = node.to_string();
    assert_eq!(read(&written, 1_000, 50).as_ref(), Ok(&node), "{written}");
    let expected: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), expected, "{written}");
}

#[test]
fn reads_what_is_json() {
    check("null");
    check(" true ");
    check("[]");
    check("{}");
    check("[1, -0, 1.5e3, -2E-2, 0.10]");
    check(r#"{"a": [{"b": null}, []], "": false}"#);
    check(r#""\"\\\/\b\f\n\r\té€😀\ud83d\ude00 plain""#);
    check("\"\\u202e\u{202e}\u{200b}\u{7f}\"");
}

#[test]
fn keeps_digits_and_double_keys() {
    let node = read(r#"{"a": 1.000, "a": 18446744073709551616}"#, 10, 1).unwrap();
    let keys: Vec<_> =
        node.as_object().unwrap().iter().map(|member| (&*member.key, member.value.to_string())).collect();
    assert_eq!(keys, [("a", "1.000".to_owned()), ("a", "18446744073709551616".to_owned())]);
}

#[test]
fn says_where_it_is_no_json() {
    fn check(text: &str, line: usize, column: usize, reason: &str) {
        let error = read(text, 20, 50).unwrap_err();
        assert_eq!((Position::of(text, error.at), &*error.reason), (Position { line, column }, reason), "{text:?}");
        assert!(serde_json::from_str::<serde_json::Value>(text).is_err() || reason.starts_with("too many"), "{text:?}");
    }
    check("", 1, 1, "the JSON ends too early");
    check("{\n  \"a\": 1,\n}", 2, 9, "no comma may stand before }");
    check("[1, 2,]", 1, 6, "no comma may stand before ]");
    check("[1 2]", 1, 4, "a comma or ] was expected here");
    check("[1", 1, 3, "the JSON ends too early");
    check("{a: 1}", 1, 2, "a key in double quotes was expected here");
    check("{\"a\" 1}", 1, 6, "a colon was expected here");
    check("{\"ä\": tru}", 1, 7, "a value was expected here");
    check("[01]", 1, 2, "a number may not begin with 0");
    check("[1.]", 1, 4, "a digit was expected here");
    check("[-]", 1, 3, "a digit was expected here");
    check("[+1]", 1, 2, "a value was expected here");
    check("1 2", 1, 3, "nothing may follow the end of the JSON");
    check("\"ab", 1, 1, "this string has no end");
    check("\"a\nb\"", 1, 3, "a line break or control character must be written as an escape");
    check(r#""\x""#, 1, 2, "JSON has no such escape");
    check(r#""\u12g4""#, 1, 2, "\\u needs four hexadecimal digits");
    check(r#""\ud83d""#, 1, 2, "half a surrogate pair is no character");
    check(r#""\ud83dA""#, 1, 2, "half a surrogate pair is no character");
    check(&format!("[{}0]", "0,".repeat(20)), 1, 40, "too many values");
    check(&format!("{}{}", "[".repeat(9), "]".repeat(8)), 1, 18, "the JSON ends too early");
}

#[test]
fn ends_at_a_depth() {
    let error = read(&"[".repeat(100_000), 100_000, 512).unwrap_err();
    assert_eq!((error.at, &*error.reason), (513, "more than 512 levels"));
}

#[test]
fn depth_is_known_without_reading() {
    let check = |text: &str, expected| assert_eq!(super::depth(text.as_bytes()), expected, "{text}");
    check("1", 0);
    check(r#"[{"a": [1]}, [2]]"#, 3);
    check(r#"["[[[", "\"[", {"{": "\\"}]"#, 2);
    check(&"[".repeat(20_000), 20_000);
    check("]]]]", 0);
}

#[test]
fn agrees_with_serde_json_on_any_text() {
    arbtest::arbtest(|u| {
        let alphabet = [
            "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u00e9", "\\ud83d", "\\ude00", "1", "0", "-", ".", "e", "true",
            "null", " ", "\n", "ä", "a",
        ];
        let mut text = String::new();
        for _ in 0..u.arbitrary_len::<u8>()?.min(12) {
            text.push_str(u.choose(&alphabet)?);
        }
        let ours = read(&text, 1_000, 50);
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        // Numbers that no double can hold are JSON, but not to serde_json.
        let out_of_range = theirs.as_ref().is_err_and(|e| e.to_string().contains("out of range"));
        assert!(ours.is_ok() == theirs.is_ok() || out_of_range, "{text:?} {ours:?} {theirs:?}");
        if let Err(error) = ours {
            assert!(text.is_char_boundary(error.at), "{text:?} {error:?}");
        }
        Ok(())
    });
}

#[test]
fn places_follow_each_other() {
    let text = "a\nbä€c\n\nd";
    let mut positions = Positions::new(text);
    for at in [0, 0, 1, 2, 3, 5, 8, 9, 10, 11, 12, 99] {
        let before = text.get(..at).unwrap_or(text);
        let (line, column) =
            (before.matches('\n').count() + 1, before.rsplit('\n').next().unwrap().chars().count() + 1);
        assert_eq!(positions.at(at), Position { line, column }, "{at}");
        assert_eq!(Position::of(text, at), Position { line, column }, "{at}");
    }
}

#[test]
fn a_key_that_is_there_twice_is_found() {
    fn check(text: &str, found: Option<(&str, usize)>) {
        let node = read(text, 100, 10).unwrap();
        assert_eq!(node.repeated().map(|member| (&*member.key, member.at)), found, "{text}");
    }
    check(r#"{"a": 1, "b": [{"a": 2}, {"a": 3}]}"#, None);
    check(r#"{"a": 1, "b": 2, "a": 3}"#, Some(("a", 17)));
    check(r#"[0, {"b": {"c": 1, "\u0063": 1}, "b": 2}]"#, Some(("c", 19)));
}
