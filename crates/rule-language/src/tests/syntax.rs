//! Reading beside the parser of the `cel` crate, which is made from the grammar of the specification.

use std::thread;

use arbtest::{
    arbitrary::{Result, Unstructured},
    arbtest,
};
use cel::{
    Env,
    common::ast::{EntryExpr, Expr as Theirs, IdedExpr, LiteralValue, SourceInfo, operators},
};

use super::on_fixed_cases;
use crate::{
    node::{Arithmetic, Literal, Logic, Order},
    syntax::{self, Expr, Form, Operator},
};

/// What is CEL and no rule, by the beginnings and ends of the messages. Types of messages are left out as well.
const LEFT_OUT: [&str; 5] = [
    "something is missing before this dot",
    "rules know no bytes",
    "something is missing between",
    " is no number",
    "this text has no closing quote",
];

/// Compares how a text is read; `true` if both read it.
fn check(rule: &str) -> bool {
    let (ours, theirs) = (syntax::read(rule), their_tree(rule));
    match (&ours, theirs) {
        (Ok(ours), Some(theirs)) => assert_eq!(our_tree(ours), theirs, "{rule}"),
        (Ok(_), None) => panic!("only read here: {rule}"),
        (Err(_), Some(theirs)) if theirs.contains("Struct(") => {}
        (Err(slip), Some(_)) => {
            let is_left_out = LEFT_OUT.iter().any(|why| slip.message.starts_with(why) || slip.message.ends_with(why));
            assert!(is_left_out, "only refused here: {rule}: {slip:?}");
        }
        (Err(_), None) => return false,
    }
    ours.is_ok()
}

/// Their parser takes up to 250 KiB of stack for each bracket.
fn with_large_stack(test: fn()) {
    thread::Builder::new().stack_size(64 << 20).spawn(test).unwrap().join().unwrap();
}

#[test]
fn written_texts_are_read_as_cel_reads_them() {
    with_large_stack(|| {
        for rule in [
            "a + b * c - d / e % f == -1 - -2 - - 3",
            "a == b == c < d in e != f",
            "a || b && c || d && e && f || g || h || i || j && k",
            "a ? b : c ? d : e ? f || g : h",
            "(a ? b : c) ? (d ? e : f) : g",
            "!a && !!b && !!!c || --d == ---e && -f == --1 && !-1 == ---1 && -5u == --5u",
            "a.b.c[d].e(f)[g].`x y`.if.h(i, j(k), l) + (m).n + 'o'.p + 1.q + -1.r() + {}.s + [].t[0]",
            "[] == [,] && [1] == [1,] && [1, 2] == [1, 2,] && {} == {,} && {1: 2} == {1: 2,} && {a ? b : c: d, e: f}",
            "'' + '\"' + \"'\" + '''a'b''' + \"\"\"a\"b\"\"\" + r'\\' + R\"\\\" + r'''\\''' + '\\x41\\u00e9\\U0001f600\\101\\n'",
            "'é' + '''a\r\nb\rc\n''' + \"€😀\" + a // é\n + b",
            "0 + 1u + 2U + 0x1F + 0xffffffffffffffffu + 1.5 + .5 + 1e3 + 1.5E-3 + true + false + null",
            "-9223372036854775808 + 9223372036854775807 + -0x8000000000000000 + 18446744073709551615u - 1.5",
            "has(a) && size(b, c) && d.all(x, x) && e.f().g(h)",
        ] {
            assert!(check(rule), "{rule}");
        }
    });
}

#[test]
fn what_cel_refuses_is_refused() {
    with_large_stack(|| {
        for rule in [
            "",
            "a b",
            "a ? b",
            "a ? b ? c : d : e",
            "!-a",
            "-!a",
            "a +",
            "* a",
            "a..b",
            "a.",
            "a.in",
            "a.`b`(c)",
            "`a`",
            "if",
            "if(a)",
            "f(a,)",
            "f(,)",
            "[a,,]",
            "{a}",
            "{a: b c}",
            "[?a]",
            "{?a: b}",
            "a.?b",
            "a[?b]",
            "a[]",
            "()",
            "a in",
            "in a",
            "1.5u",
            "0x",
            "9223372036854775808",
            "--9223372036854775808",
            "-9223372036854775809",
            "18446744073709551616u",
            "1e400",
            "'\\ud800'",
            "'\\400'",
            "'\\d'",
            "'a\nb'",
            "'a",
            "a{b: c}.d{e: f}",
            "'a' 'b'",
            "a = b",
            "a & b",
            "a ? b :",
            "a ?: b",
            "1 2",
            "a.1",
        ] {
            assert!(!check(rule), "{rule}");
        }
    });
}

#[test]
fn any_texts_are_read_as_cel_reads_them() {
    with_large_stack(|| {
        let mut n_read = 0;
        let mut case = |u: &mut Unstructured<'_>| {
            n_read += usize::from(check(&text(u)?));
            Ok(())
        };
        on_fixed_cases(&mut case);
        arbtest(&mut case).size_max(4_096);
        assert!(n_read > 20, "{n_read}");
    });
}

/// Words and signs: mostly an expression, but for a few that were put in or taken out.
fn text(u: &mut Unstructured<'_>) -> Result<String> {
    let mut parts = if u.ratio(1, 4)? { Vec::new() } else { written(u, 4)? };
    for _ in 0..u.int_in_range(0..=3)? {
        let at = u.int_in_range(0..=parts.len())?;
        if u.arbitrary()? {
            parts.insert(at, u.choose(&PARTS)?);
        } else if at < parts.len() {
            parts.remove(at);
        }
    }
    Ok(parts.join(u.choose(&["", " ", "\n"])?))
}

const PARTS: [&str; 62] = [
    "a",
    "x",
    "size",
    "if",
    "not",
    "true",
    "null",
    "in",
    "0",
    "5u",
    "1.5",
    ".5",
    "1e3",
    "0x1F",
    "9223372036854775808",
    "'a'",
    "\"b\"",
    "r'\\d'",
    "'''q'''",
    "'\\u00e9'",
    "'😀'",
    "`x-y`",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "&&",
    "||",
    "!",
    "-",
    "+",
    "*",
    "/",
    "%",
    "?",
    ":",
    ".",
    ",",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "=",
    "&",
    "'",
    "\"",
    "'''",
    "`",
    "\\",
    "//",
    "\n",
    "\r",
    "b'c'",
    "é",
    "#",
    "_",
    "0x",
    "u",
];

type Parts = Result<Vec<&'static str>>;

/// The words and signs of an expression.
fn written(u: &mut Unstructured<'_>, depth: usize) -> Parts {
    let Some(depth) = depth.checked_sub(1) else { return Ok(vec![u.choose(&PARTS[..22])?]) };
    let one = |u: &mut Unstructured<'_>| {
        let depth = u.int_in_range(0..=depth)?;
        written(u, depth)
    };
    Ok(match u.int_in_range(0..=9)? {
        0..=2 => [one(u)?, vec![u.choose(&PARTS[22..36])?], one(u)?].concat(),
        3 => [vec![*u.choose(&["!", "-"])?], one(u)?].concat(),
        4 => [one(u)?, vec!["?"], one(u)?, vec![":"], one(u)?].concat(),
        5 => [one(u)?, vec![".", u.choose(&["b", "`c d`", "if"])?]].concat(),
        6 => [one(u)?, vec![".", "f", "("], one(u)?, vec![",", "g", "("], one(u)?, vec![")", ")"]].concat(),
        7 => [one(u)?, vec!["["], one(u)?, vec!["]"]].concat(),
        8 => [vec!["[", "("], one(u)?, vec![")", ","], one(u)?, vec![u.choose(&[",", ""])?, "]"]].concat(),
        _ => [vec!["{"], one(u)?, vec![":"], one(u)?, vec!["}"]].concat(),
    })
}

/// A tree in words, with the bytes where its steps stand.
fn our_tree(expr: &Expr<'_>) -> String {
    let at = expr.token.at;
    let all = |exprs: &[Expr<'_>]| exprs.iter().map(our_tree).collect::<Vec<_>>().join(" ");
    match &expr.form {
        Form::Literal(Literal::Int(number)) => format!("{number}@{at}"),
        Form::Literal(literal) => format!("{literal:?}@{at}"),
        Form::Name(name) => format!("{name}@{at}"),
        Form::Select(of, name) => format!("(select {} {name:?})", our_tree(of)),
        Form::Item(sides) => format!("({}@{at} {})", operators::INDEX, all(sides.as_slice())),
        Form::Call { name, target, arguments } => {
            format!("({name} {:?} {})", target.as_deref().map(our_tree), all(arguments))
        }
        Form::List(items) => format!("[@{at} {}]", all(items)),
        Form::Map(entries) => {
            let entries: Vec<_> = entries.iter().map(|(k, v)| format!("{}: {}", our_tree(k), our_tree(v))).collect();
            format!("{{@{at} {}}}", entries.join(" "))
        }
        Form::Not(of) => format!("({}@{at} {})", operators::LOGICAL_NOT, our_tree(of)),
        Form::Negate(of) => format!("({}@{at} {})", operators::NEGATE, our_tree(of)),
        Form::Binary(operator, sides) => format!("({}@{at} {})", name(*operator), all(sides.as_slice())),
        Form::Choice(parts) => format!("({}@{at} {})", operators::CONDITIONAL, all(parts.as_slice())),
    }
}

/// Theirs in the same words; `None` where they refuse the text.
fn their_tree(rule: &str) -> Option<String> {
    let parser = Env::default().with_optional_support(false).parser().enable_ident_escape_syntax(true);
    let (tree, source) = parser.parse_with_source_info(rule).ok()?;
    Some(in_words(&tree, &source))
}

fn in_words(expr: &IdedExpr, source: &SourceInfo) -> String {
    let at = source.offset_for(expr.id).map_or(0, |(start, _)| start);
    let tree = |expr: &IdedExpr| in_words(expr, source);
    let all = |exprs: &[IdedExpr]| exprs.iter().map(tree).collect::<Vec<_>>().join(" ");
    match &expr.expr {
        Theirs::Literal(literal) => format!("{}@{at}", value(literal)),
        Theirs::Ident(name) => format!("{name}@{at}"),
        Theirs::Select(select) => format!("(select {} {:?})", tree(&select.operand), select.field),
        Theirs::Call(call) if call.func_name.chars().all(|c| c.is_alphanumeric() || c == '_') => {
            format!("({} {:?} {})", call.func_name, call.target.as_deref().map(tree), all(&call.args))
        }
        Theirs::Call(call) => format!("({}@{at} {})", call.func_name, all(&call.args)),
        Theirs::List(list) => format!("[@{at} {}]", all(&list.elements)),
        Theirs::Map(map) => {
            let entries = map.entries.iter().map(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => format!("{}: {}", tree(&entry.key), tree(&entry.value)),
                other => format!("{other:?}"),
            });
            format!("{{@{at} {}}}", entries.collect::<Vec<_>>().join(" "))
        }
        other => format!("{other:?}"),
    }
}

fn value(literal: &LiteralValue) -> String {
    let text = |literal: Literal| format!("{literal:?}");
    match literal {
        LiteralValue::Null => text(Literal::Null),
        LiteralValue::Boolean(yes) => text(Literal::Bool(*yes.inner())),
        LiteralValue::Int(number) => number.inner().to_string(),
        LiteralValue::UInt(number) => number.inner().to_string(),
        LiteralValue::Double(number) => text(Literal::Double(*number.inner())),
        LiteralValue::String(string) => text(Literal::Text(string.inner().into())),
        LiteralValue::Bytes(_) => "bytes".to_owned(),
    }
}

const fn name(operator: Operator) -> &'static str {
    match operator {
        Operator::Logic(Logic::And) => operators::LOGICAL_AND,
        Operator::Logic(Logic::Or) => operators::LOGICAL_OR,
        Operator::Equal => operators::EQUALS,
        Operator::NotEqual => operators::NOT_EQUALS,
        Operator::Order(Order::Less) => operators::LESS,
        Operator::Order(Order::LessOrEqual) => operators::LESS_EQUALS,
        Operator::Order(Order::Greater) => operators::GREATER,
        Operator::Order(Order::GreaterOrEqual) => operators::GREATER_EQUALS,
        Operator::In => operators::IN,
        Operator::Arithmetic(Arithmetic::Add) => operators::ADD,
        Operator::Arithmetic(Arithmetic::Subtract) => operators::SUBSTRACT,
        Operator::Arithmetic(Arithmetic::Multiply) => operators::MULTIPLY,
        Operator::Arithmetic(Arithmetic::Divide) => operators::DIVIDE,
        Operator::Arithmetic(Arithmetic::Remainder) => operators::MODULO,
    }
}
