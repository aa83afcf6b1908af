use super::*;

#[track_caller]
fn check(text: &str, expected: &str) {
    let node = LANGUAGE.parse(text).unwrap_or_else(|mistakes| panic!("{text}: {mistakes:?}"));
    assert_eq!(node.to_string(), expected, "{text}: {node:?}");
    assert_eq!(LANGUAGE.parse(expected).map(|node| node.to_string()).as_deref(), Ok(expected));
}

#[test]
fn what_is_typed_is_read_and_printed() {
    check("", "");
    check("  ", "");
    check("NoRate", "NoRate");
    check("  a   b ", "a b");
    check("a AND b", "a b");
    check("queue:billing.* attempts:>=3", "queue:billing.* attempts:>=3");
    check("QUEUE:Billing", "queue:Billing");
    check("queue:a,\"b c\",d", "queue:a,\"b c\",d");
    check("error:\"no exchange rate\"", "error:\"no exchange rate\"");
    check("error:a,b", "error:a,b");
    check("payload.total.cents:>4000", "payload.total.cents:>4000");
    check("payload.Name:<\"m n\"", "payload.Name:<\"m n\"");
    check("-word", "-word");
    check("NOT word", "-word");
    check("-\"some text\"", "-\"some text\"");
    check("a-b", "a-b");
    check("a OR b c", "a OR (b c)");
    check("(a OR b) c", "(a OR b) c");
    check("((a) (b c)) d", "a b c d");
    check("a OR (b OR c)", "a OR b OR c");
    check("-(a OR b)", "-(a OR b)");
    check("-(a b)", "-(a b)");
    check("--a", "--a");
    check(r#""a \"b\" \\ c""#, r#""a \"b\" \\ c""#);
    check("\"queue:x\"", "\"queue:x\"");
    check("ORDER NOTE ANDREA", "ORDER NOTE ANDREA");
    check("it's 5\" wide", "it's 5\" wide");
    check(":x", ":x");
    check("a,b:c", "a,b:c");
}

#[test]
fn every_part_has_its_place() {
    let text = "é -queue:a (x OR y)";
    let node = LANGUAGE.parse(text).unwrap();
    let parts: Vec<_> = node.parts().iter().map(|part| &text[part.span.clone()]).collect();
    assert_eq!(parts, ["é", "-queue:a", "(x OR y)"]);
    let one = LANGUAGE.parse(" error:x ").unwrap();
    assert_eq!(one.parts().len(), 1);
    assert_eq!(one.span, 1..8);
}

#[test]
fn what_is_printed_is_read_as_the_same() {
    arbtest::arbtest(|u| {
        const PIECES: &[&str] = &[
            "a",
            "\"",
            "\\",
            "(",
            ")",
            " ",
            "-",
            "OR",
            "AND",
            "NOT",
            "queue:",
            "payload.x:",
            "attempts:",
            ">",
            "<=",
            ",",
            "3",
            "é",
            "error:",
            "b c",
            "status:open",
            ":",
            "\u{a0}",
            "😀",
        ];
        let n = u.int_in_range(0..=24)?;
        let mut text = String::new();
        for _ in 0..n {
            text.push_str(u.choose(PIECES)?);
        }
        if let Ok(node) = LANGUAGE.parse(&text) {
            let printed = node.to_string();
            let again = LANGUAGE.parse(&printed).unwrap_or_else(|why| panic!("{text:?} {printed:?} {why:?}"));
            assert_eq!(bare(&again), bare(&node), "{text:?} {printed:?}");
        }
        Ok(())
    });
}
