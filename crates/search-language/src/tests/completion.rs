use super::*;

/// The cursor is at `|`.
#[track_caller]
fn check(text: &str, field: Option<&str>, typed: &str, replaced: &str) {
    let at = text.find('|').expect("a cursor");
    let text = text.replacen('|', "", 1);
    let cursor = LANGUAGE.at(&text, at);
    assert_eq!((cursor.field.as_deref(), &*cursor.typed), (field, typed), "{text}: {cursor:?}");
    assert_eq!(&text[cursor.span], replaced, "{text}");
}

#[test]
fn what_is_typed_is_known() {
    check("|", None, "", "");
    check("qu|", None, "qu", "qu");
    check("a qu|eue:x", None, "qu", "queue:x");
    check("a |", None, "", "");
    check("a -qu|", None, "qu", "qu");
    check("(qu|", None, "qu", "qu");
    check("queue:|", Some("queue"), "", "");
    check("a queue:bil|ling.x b", Some("queue"), "bil", "billing.x");
    check("queue:a,b|", Some("queue"), "b", "b");
    check("queue:\"a b|", Some("queue"), "a b", "\"a b");
    check("Payload.Total:>=4|", Some("payload.Total"), "4", "4");
    check("\"a b\" st|", None, "st", "st");
    check("\"a b c|", None, "\"a b c", "\"a b c");
    check("nothing:x|", Some("nothing"), "x", "x");
}

#[test]
fn a_value_is_written_so_that_it_is_read() {
    for value in ["a", "a b", "a,b", "a\"b", ">3", "a\\b", "(x)", "é"] {
        let text = format!("queue:{}", Language::written(value));
        let Kind::Term(term) = LANGUAGE.parse(&text).unwrap().kind else { panic!("{text}") };
        assert_eq!(term.values.iter().map(|value| &*value.text).collect::<Vec<_>>(), [value], "{text}");
    }
}
