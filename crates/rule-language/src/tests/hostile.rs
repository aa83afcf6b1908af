//! Rules and messages that want to be costly.

use std::{fmt::Write, thread};

use amqp_message::field::{FieldTable, FieldValue};

use super::{Expression, Facts, headers, letter};
use crate::{
    Fault, MAX_BRACKETS, MAX_DEPTH, MAX_PAYLOAD, MAX_PAYLOAD_VALUES, MAX_STEPS, MAX_STEPS_PER_MESSAGE, Ruleset,
    budget::Budget,
};

/// Over lists `A`, with a text `T`, a number `N`, all of the payload.
const NASTY: [&str; 47] = [
    "A.all(a, A.all(b, A.all(c, a + b + c >= 0)))",
    "A.all(a, A.all(b, A.all(c, A.all(d, A.all(e, A.all(f, A.all(g, true)))))))",
    "A.exists(a, A.exists(b, A.exists(c, a + b + c < 0)))",
    "A.exists(a, A.exists(b, X))",
    "A.all(a, A.all(b, X))",
    "A.exists_one(a, A.exists_one(b, a == b))",
    "A.map(a, A.map(b, A.map(c, [a, b, c]))).size() > 0",
    "A.map(a, A).map(a, a + a).map(a, a + a).map(a, a + a).size() > 0",
    "A.filter(a, A.filter(b, A.filter(c, true).size() > 0).size() > 0).size() > 0",
    "A.map(a, T + T).map(a, a + a + a + a).map(a, a + a + a + a).size() > 0",
    "A.map(a, T).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).size() > 0",
    "A.all(a, (T + T + T + T).contains('zzzz') == false)",
    "A.all(a, T.contains(T))",
    "A.all(a, T.endsWith(T) && T.startsWith(T))",
    "A.all(a, T == T && T <= T)",
    "A.all(a, T.size() >= 0)",
    "A.all(a, T.lowerAscii().upperAscii().lowerAscii() != '')",
    "A.all(a, string(T) != '' || int(T) == 1 || double(T) == 1.0)",
    "A.all(a, timestamp(T) < timestamp(T))",
    "A.all(a, duration(T) < duration(T))",
    "A.all(a, T.matches('a*a*a*a*a*a*a*a*b'))",
    "A.all(a, T.matches('(a|aa)+$') || T.matches('(.*)(.*)(.*)(.*)(.*)x'))",
    "A.all(a, T.matches(r'(\\w+\\s?)*z') || true)",
    "A.all(a, T.matches('(a?){200}a{200}') || true)",
    "T.matches('(x+x+)+y') || T.matches('([a-zA-Z]+)*$') && false",
    "T.matches('((a{1,10}){1,10}){1,5}z')",
    "A == A && A != A + A && A + A == A + A",
    "A.all(a, A == A)",
    "A.all(a, a in A)",
    "A.all(a, -1 in A) || A.all(a, A in A)",
    "A.all(a, payload == payload)",
    "A.map(a, payload) == A.map(a, payload)",
    "A.map(a, A.map(b, payload)) == A.map(a, A.map(b, payload))",
    "A.all(a, letter.headers == letter.headers)",
    "A.all(a, letter.headers.all(h, letter.headers[h] == letter.headers[h]))",
    "A.all(a, letter.headers.last == 1 || true)",
    "A.all(a, 'last' in letter.headers && letter.headers['last'] == 1)",
    "letter.headers.all(h, letter.headers.all(i, letter.headers[h] == letter.headers[i] || h != i))",
    "letter.headers.map(h, letter.headers.map(i, letter.headers)).size() > 0",
    "payload.all(k, payload.all(l, payload.all(m, payload[k] == payload[l] || true)))",
    "A.map(a, {a: a, 'k': A}).all(m, m == m)",
    "A.all(a, {'a': A, 'b': A, 'c': A, 'd': A} == {'d': A, 'c': A, 'b': A, 'a': A})",
    "A.all(a, N * N * N * N > 0 || N / (N - N) > 0)",
    "(A + A + A + A + A + A + A + A).map(a, A + A).size() > 0",
    "A.all(a, (T + string(a)).size() > 0)",
    "[[[[[[[[A]]]]]]]] == [[[[[[[[A]]]]]]]] && [A, A, A, A].all(b, b.all(c, A.all(d, true)))",
    "A.map(x, A.map(y, x)).map(x, x.map(y, y)).all(x, x.all(y, y in x))",
];

fn nested(open: &str, close: &str, n: usize) -> String {
    format!("{{\"a\": [1], \"t\": \"\", \"n\": 1, \"deep\": {}1{}}}", open.repeat(n), close.repeat(n))
}

fn payloads() -> Vec<String> {
    let numbers = |n: usize| vec!["1"; n].join(",");
    let of = |a: &str, t: &str| format!("{{\"a\": [{a}], \"t\": \"{t}\", \"n\": 9223372036854775807}}");
    let mut wide = "{\"a\": [1, 2], \"t\": \"t\", \"n\": 2".to_owned();
    (0..20_000).for_each(|n| write!(wide, ", \"k{n}\": {n}").unwrap());
    wide.push('}');
    vec![
        of(&numbers(10), "aaaa"),
        of(&numbers(1_000), &"a".repeat(1_000)),
        of(&numbers(40_000), &"a".repeat(60_000)),
        of("1,2", &"a".repeat(MAX_PAYLOAD - 100)),
        of(&vec!["\"aaaaaaaaaaaaaaa\""; 40_000].join(","), &"é ".repeat(20_000)),
        of(&vec!["[[[[1]]]]"; 9_000].join(","), "2026-01-01T00:00:00Z"),
        wide,
        nested("[", "]", 100),
        nested("{\"a\":", "}", 100),
        nested("[", "]", 20_000),
        nested("{\"a\":", "}", 100_000),
    ]
}

fn large_headers() -> FieldTable {
    let deep = (0..2_000)
        .fold(FieldValue::Void, |inner, _| FieldValue::Table(FieldTable::from_iter([("in".to_owned(), inner)])));
    let long = FieldValue::LongString(vec![0xff; 100_000]);
    let many = (0..5_000).map(|n| (format!("header-{n}"), FieldValue::LongInt(n)));
    many.chain([("deep".to_owned(), deep), ("long".to_owned(), long), ("last".to_owned(), FieldValue::Boolean(true))])
        .collect()
}

/// Each nasty rule, and again as part of others.
fn rules() -> Vec<String> {
    let written = NASTY.map(|rule| {
        let words = rule.split_inclusive(|c: char| !c.is_alphanumeric());
        words.map(with_fields).collect::<String>()
    });
    let twice = written.iter().map(|rule| format!("({rule}) && ({rule})"));
    let negated = written.iter().map(|rule| format!("!({rule}) || false"));
    let within = written.iter().map(|rule| format!("payload.a.all(z, {rule})"));
    let after = written.iter().map(|rule| format!("payload.a.map(z, z)[0] != null && ({rule})"));
    twice.chain(negated).chain(within).chain(after).chain(written.clone()).collect()
}

fn with_fields(word: &str) -> String {
    let name = word.trim_end_matches(|c: char| !c.is_alphanumeric());
    let rest = &word[name.len()..];
    let field = match name {
        "A" => "payload.a",
        "T" => "payload.t",
        "N" => "payload.n",
        "X" => "payload.nothing",
        other => other,
    };
    format!("{field}{rest}")
}

#[test]
fn no_rule_and_message_take_more_steps_than_there_are() {
    let rules: Vec<Expression> = rules().iter().map(|rule| super::compile(rule)).collect();
    assert!(rules.len() > 200);
    let headers = large_headers();
    let mut n_costly = 0;
    for (p, payload) in payloads().iter().enumerate() {
        let facts = Facts::new(letter(&headers), Some(payload));
        // Each nasty rule stands here in five forms, and one or two of them meet each payload.
        for rule in rules.iter().skip(p % 3).step_by(3) {
            let mut budget = Budget::new();
            let answer = rule.matches_within(&facts, &mut budget);
            assert!(budget.used() <= MAX_STEPS, "{}", budget.used());
            let fault = answer.err().map(|failure| failure.fault);
            assert_ne!(fault, Some(Fault::Broken));
            n_costly += usize::from(fault == Some(Fault::TooCostly));
        }
    }
    assert!(n_costly > 100, "{n_costly}");
}

#[test]
fn many_costly_rules_leave_a_little_for_the_last() {
    let costly = "payload.a.all(a, payload.a.all(b, true))";
    let n_rules = 2 * MAX_STEPS_PER_MESSAGE / MAX_STEPS;
    let mut rules = vec![costly; n_rules];
    rules.push("letter.queue.startsWith('campaigns.') && payload.n == 1");
    let rules = Ruleset::new(rules.into_iter().map(super::compile).zip(0..).collect());
    let payload = format!("{{\"n\": 1, \"a\": [1{}]}}", ",1".repeat(1_000));
    let headers = headers();
    let decision = rules.first(&Facts::new(letter(&headers), Some(&payload)));
    assert_eq!((decision.outcome, decision.failures.len()), (Some(&n_rules), n_rules));
    assert!(decision.failures.iter().all(|(_, failure)| failure.fault == Fault::TooCostly));
}

#[test]
fn header_tables_are_compared_to_a_depth() {
    let headers = large_headers();
    let facts = Facts::new(letter(&headers), None);
    let answer = super::compile("letter.headers.deep == letter.headers.deep").matches(&facts);
    assert_eq!(answer.map_err(|failure| failure.fault), Err(Fault::TooDeep));
}

#[test]
fn no_text_stops_the_parser() {
    let n = 3_000;
    let texts = [
        "(".repeat(n),
        "[".repeat(n),
        "{1:".repeat(n / 3),
        "f(".repeat(n / 2),
        "a[".repeat(n / 2),
        "a{b:".repeat(n / 4),
        "payload.all(x,".repeat(n / 14),
        format!("payload{}", ".a".repeat(400)),
        format!("payload{}", "[0]".repeat(300)),
        format!("payload{} == 1", "+payload".repeat(400)),
        format!("payload{}", "==payload".repeat(400)),
        format!("payload{}", ".size()".repeat(180)),
        format!("payload{}", ".map(x,x)".repeat(130)),
        format!("{}true", "true?true:".repeat(200)),
        format!("{}true{}", "true?".repeat(200), ":true".repeat(200)),
        format!("{}true", "!".repeat(900)),
        format!("{}1 == 1", "-".repeat(900)),
        format!("{}1 == 1", "- ".repeat(900)),
        "true?".repeat(400),
        "payload<".repeat(400),
        "+*/".repeat(300),
        "?:".repeat(400),
        "true true ".repeat(400),
        "(true)".repeat(300),
        "'".repeat(n),
        "\"\"\"".repeat(n / 3),
        "`".repeat(n),
        "//".repeat(n / 2),
        "\0".repeat(n),
        "\u{202e}".repeat(n),
        "0x1r\"\\\"".to_owned() + &"[".repeat(n) + "\"",
        "1ur\"\\\"".to_owned() + &"[".repeat(n) + "\"",
        "r'\\'".to_owned() + &"[".repeat(n) + "'",
        "'''a\\''''".to_owned() + &"[".repeat(n) + "'",
        format!("{}{}{}", "[".repeat(MAX_BRACKETS), "'", "]".repeat(n)),
        "]'".repeat(n / 2),
    ];
    with_small_stack(move || {
        for text in texts {
            let shown: String = text.chars().take(30).collect();
            // That this returns at all is the point: an overflow of the stack would end the process.
            if let Err(mistakes) = Expression::compile(&text) {
                assert!(!mistakes.is_empty() && mistakes.iter().all(|mistake| !mistake.message.is_empty()), "{shown}");
            }
        }
    });
}

/// A quarter of what a thread usually has, also in a build that is not optimised.
fn with_small_stack(test: impl FnOnce() + Send + 'static) {
    thread::Builder::new().stack_size(512 << 10).spawn(test).unwrap().join().unwrap();
}

/// Of each shape the deepest rule that is one.
#[test]
fn the_deepest_rules_are_read_and_evaluated() {
    // Begins, opens, is, closes and ends.
    const SHAPES: [[&str; 5]; 12] = [
        ["", "!(true && true == ", "true", ")", ""],
        ["", "(1 + 1 * -", "1", ")", " < 100"],
        ["", "[1, ", "1", "]", " != []"],
        ["", "{1: ", "1", "}", " != {}"],
        ["", "int(", "1", ")", " == 1"],
        ["", "payload[", "1", "]", " == 1"],
        ["", "[1].all(x, true && ", "true", ")", ""],
        ["", "[1].map(x, true, ", "true", ")[0]", ""],
        ["", "(true ? true : ", "true", ")", ""],
        ["", "true ? true : ", "true", "", ""],
        ["", "", "1", " - 1", " < 0"],
        ["!has(", "", "payload", ".a", ")"],
    ];
    with_small_stack(|| {
        for [start, open, inside, close, end] in SHAPES {
            let of_depth = |n: usize| format!("{start}{}{inside}{}{end}", open.repeat(n), close.repeat(n));
            let deepest = (0..2 * MAX_DEPTH).rev().find_map(|n| Expression::compile(&of_depth(n)).ok()).unwrap();
            let headers = headers();
            let answer = deepest.matches(&Facts::new(letter(&headers), Some("{}")));
            assert!(answer.is_ok(), "{open}{close}: {answer:?}");
        }
    });
}

/// The brackets of a rule may not be miscounted, wherever they stand.
#[test]
fn no_mixture_of_signs_stops_the_parser() {
    const PARTS: [&str; 24] = [
        "'", "\"", "'''", "\"\"\"", "r'", "R\"", "b'", "\\", "\\'", "\\x41", "\n", "\r", "//", "`", "[", "[[[[",
        "(((((", "{1:", "]", ")", "0x1", "1u", "e", "x",
    ];
    arbtest::arbtest(|u| {
        let n_parts = u.int_in_range(0..=120)?;
        let text = (0..n_parts).map(|_| u.choose(&PARTS).copied()).collect::<arbtest::arbitrary::Result<String>>()?;
        if let Err(mistakes) = Expression::compile(&text) {
            assert!(!mistakes.is_empty());
        }
        Ok(())
    });
}

#[test]
fn the_largest_payloads_are_read_in_bounds() {
    let objects = format!("[{}]", vec!["{\"\":0}"; MAX_PAYLOAD_VALUES - 2].join(","));
    assert!(objects.len() <= MAX_PAYLOAD);
    let headers = headers();
    let facts = Facts::new(letter(&headers), Some(&objects));
    let told = super::compile("payload.size() > 0").matches(&facts).map_err(|failure| failure.fault);
    assert_eq!(told, Err(Fault::PayloadTooLarge));
}
