//! Our evaluating beside that of the `cel` crate, which is tested against the specification.

use arbtest::{
    arbitrary::{Result, Unstructured},
    arbtest,
};
use cel::{Context, Program, Value};

use super::{Expression, Facts, headers, letter, on_fixed_cases};

/// What both say; `None` where ours refuses the text for what can never be right.
fn both(rule: &str) -> Option<(String, String)> {
    let ours = Expression::compile(rule).ok()?;
    let headers = headers();
    let ours = match ours.matches(&Facts::new(letter(&headers), None)) {
        Ok(yes) => yes.to_string(),
        Err(failure) => failure.to_string(),
    };
    let theirs = match Program::compile(rule).unwrap().execute(&Context::default()) {
        Ok(Value::Bool(yes)) => yes.to_string(),
        Ok(other) => format!("{other:?}"),
        Err(error) => error.to_string(),
    };
    Some((ours, theirs))
}

#[test]
fn written_expressions_come_to_the_same() {
    for rule in [
        "1 == 1.0 && 1u == 1 && 2 > 1.5 && 1.5 < 2u",
        "[1, 2, 3].all(x, x > 0) && [1, 2].exists_one(x, x > 1)",
        "[1, 2, 3].map(x, x * 2) == [2, 4, 6] && [1, 2, 3].map(x, x > 1, x * x) == [4, 9]",
        "[1, 2, 3].filter(x, x % 2 == 1).size() == 2",
        "{'a': 1, 'b': 2}.exists(k, k == 'b') && 'a' in {'a': 1} && !('c' in {'a': 1})",
        "{'a': {'b': [1, {'c': true}]}}.a.b[1].c",
        "{1: 'x', true: 'y'}[1] == 'x' && {1: 'x', true: 'y'}[true] == 'y'",
        "'abc'.startsWith('ab') && 'abc'.endsWith('bc') && 'abc'.contains('b') && size('äöü') == 3",
        "'a' < 'b' && 'Z' < 'a' && 'ä' > 'z' && '' < 'a'",
        "-7 / 2 == -3 && -7 % 2 == -1 && 7 / 2 == 3 && 1.0 / 0.0 > 1e308",
        "int('12') == 12 && int(1.9) == 1 && int(-1.9) == -1 && double('1.5') == 1.5 && string(12) == '12'",
        "[1, 'a', true, null] == [1, 'a', true, null] && [1] != [2] && [[1]] == [[1.0]]",
        "{'a': 1, 'b': 2} == {'b': 2, 'a': 1} && {'a': 1} != {'a': 2} && {'a': 1} != {'b': 1}",
        "true ? true : 1 / (1 - 1) == 1",
        "false && 1 / (1 - 1) == 1 || true",
        "1 / (1 - 1) == 1 || true",
        "!(1 / (1 - 1) == 1 && false)",
        "[0, 1].exists(x, 1 / x == 1) && !([0, 2].all(x, 4 / x == 1))",
        "r'\\d' == '\\\\d' && '\\u00e9' == 'é' && '''a\nb''' == 'a\\nb' && '\\x41\\101' == 'AA'",
        "0x1F == 31 && 1e3 == 1000.0 && .5 == 0.5",
        "[1, 2] + [3] == [1, 2, 3] && 'a' + 'b' == 'ab' && 'a' in ['a'] && 1.0 in [1]",
        "!!true && --1 == 1 && -(-1) == 1",
        "true || false && false",
        "[[1, 2], [3]].exists(l, l.exists(x, x == 3))",
    ] {
        assert_eq!(both(rule), Some(("true".to_owned(), "true".to_owned())), "{rule}");
    }
}

#[test]
fn what_has_no_value_never_matches() {
    for rule in ["{'a': 1}.b == 1", "[1][1] == 1", "[1].all(x, {'a': 1}.b == 1)", "{'a': 1}.b == 1 || false"] {
        let (ours, theirs) = both(rule).unwrap();
        assert_eq!(ours, "false", "{rule}");
        assert!(theirs.contains("o such key") || theirs.contains("out of bounds"), "{rule}: {theirs}");
    }
}

#[test]
fn any_expressions_come_to_the_same() {
    let mut n_compared = 0;
    let mut case = |u: &mut Unstructured<'_>| {
        let rule = boolean(u, 4)?;
        let Some((ours, theirs)) = both(&rule) else { return Ok(()) };
        // Where theirs fails, ours may have the greater numbers, and else fails too or finds something missing. Their
        // error need not tell, as it can be another side's.
        if theirs == "true" || theirs == "false" {
            assert_eq!(ours, theirs, "{rule}");
        } else if !rule.contains("922337203685477580") {
            assert_ne!(ours, "true", "{rule}: {theirs}");
        }
        n_compared += 1;
        Ok(())
    };
    on_fixed_cases(&mut case);
    arbtest(&mut case).size_max(4_096);
    assert!(n_compared > 20, "{n_compared}");
}

type Text = Result<String>;

fn boolean(u: &mut Unstructured<'_>, depth: usize) -> Text {
    let Some(depth) = depth.checked_sub(1) else {
        return Ok((*u.choose(&["true", "false"])?).to_owned());
    };
    Ok(match u.int_in_range(0..=12)? {
        0 => format!("({} && {})", boolean(u, depth)?, boolean(u, depth)?),
        1 => format!("({} || {})", boolean(u, depth)?, boolean(u, depth)?),
        2 => format!("!{}", boolean(u, depth)?),
        3 => format!("({} ? {} : {})", boolean(u, depth)?, boolean(u, depth)?, boolean(u, depth)?),
        4 => format!("({} {} {})", number(u, depth)?, comparison(u)?, number(u, depth)?),
        5 => format!("({} {} {})", text(u, depth)?, comparison(u)?, text(u, depth)?),
        6 => format!("({} == {})", list(u, depth)?, list(u, depth)?),
        7 => format!("({} in {})", number(u, depth)?, list(u, depth)?),
        8 => format!("{}.{}({})", text(u, depth)?, u.choose(&["startsWith", "endsWith", "contains"])?, text(u, depth)?),
        9 => format!("{}.{}(x, {})", list(u, depth)?, u.choose(&["all", "exists", "exists_one"])?, about_x(u, depth)?),
        10 => format!("({} != {})", map(u, depth)?, map(u, depth)?),
        11 => format!("({} in {})", text(u, depth)?, map(u, depth)?),
        _ => format!("({}.{} == {})", map(u, depth)?, u.choose(&["a", "b", "c"])?, number(u, depth)?),
    })
}

fn about_x(u: &mut Unstructured<'_>, depth: usize) -> Text {
    Ok(format!("(x {} {} && {})", comparison(u)?, number(u, depth)?, boolean(u, depth)?))
}

fn comparison(u: &mut Unstructured<'_>) -> Result<&'static str> {
    Ok(u.choose(&["==", "!=", "<", "<=", ">", ">="])?)
}

fn number(u: &mut Unstructured<'_>, depth: usize) -> Text {
    let Some(depth) = depth.checked_sub(1) else {
        let values = ["0", "1", "-1", "2", "7", "-9223372036854775808", "9223372036854775807"];
        return Ok((*u.choose(&values)?).to_owned());
    };
    Ok(match u.int_in_range(0..=5)? {
        0 => format!("({} {} {})", number(u, depth)?, u.choose(&["+", "-", "*", "/", "%"])?, number(u, depth)?),
        1 => format!("size({})", list(u, depth)?),
        2 => format!("{}.size()", text(u, depth)?),
        3 => format!("(-{})", number(u, depth)?),
        4 => format!("{}[{}]", list(u, depth)?, u.int_in_range(0..=2)?),
        _ => format!("({} ? {} : {})", boolean(u, depth)?, number(u, depth)?, number(u, depth)?),
    })
}

fn text(u: &mut Unstructured<'_>, depth: usize) -> Text {
    let Some(depth) = depth.checked_sub(1) else {
        return Ok((*u.choose(&["''", "'a'", "\"ab\"", "'é'", "r'\\d'", "'😀b'"])?).to_owned());
    };
    Ok(match u.int_in_range(0..=1)? {
        0 => format!("({} + {})", text(u, depth)?, text(u, depth)?),
        _ => format!("string({})", number(u, depth)?),
    })
}

fn list(u: &mut Unstructured<'_>, depth: usize) -> Text {
    let Some(depth) = depth.checked_sub(1) else {
        return Ok((*u.choose(&["[]", "[1]", "[1, 2, 3]", "[0, -1]"])?).to_owned());
    };
    Ok(match u.int_in_range(0..=3)? {
        0 => format!("({} + {})", list(u, depth)?, list(u, depth)?),
        1 => format!("{}.map(x, x + {})", list(u, depth)?, number(u, depth)?),
        2 => format!("{}.filter(x, {})", list(u, depth)?, about_x(u, depth)?),
        _ => format!("[{}, {}]", number(u, depth)?, number(u, depth)?),
    })
}

fn map(u: &mut Unstructured<'_>, depth: usize) -> Text {
    Ok(format!("{{'a': {}, {}: {}}}", number(u, depth.saturating_sub(1))?, u.choose(&["'b'", "'x'"])?, number(u, 0)?))
}
