//! The parser, kept in bounds.

use std::thread;

use cel::{Env, ParseError};

use super::{
    check,
    mistake::Slip,
    node::Plan,
    scan::{Token, TokenKind},
};

/// Bytes of stack for reading one rule. The parser wants up to 250 KiB for each bracket in a build for development; of
/// what is not used, nothing is taken from memory.
const STACK: usize = 32 << 20;

/// Reads and checks a text that was scanned.
pub(super) fn read(rule: &str, tokens: &[Token]) -> Result<Plan, Vec<Slip>> {
    let unreadable = || vec![Slip::new(0, rule.len(), "the rule could not be read for lack of memory; try again")];
    thread::scope(|scope| {
        let reader = thread::Builder::new().name("rule".to_owned()).stack_size(STACK);
        let reader = reader.spawn_scoped(scope, || parse_and_check(rule, tokens)).map_err(|_| unreadable())?;
        reader.join().unwrap_or_else(|_| Err(unreadable()))
    })
}

/// Also drops the parser's tree, which recurses as well.
fn parse_and_check(rule: &str, tokens: &[Token]) -> Result<Plan, Vec<Slip>> {
    // Without macros: they would rewrite `has` and the comprehensions into steps that say less.
    let parser = Env::default().with_optional_support(false).parser().enable_ident_escape_syntax(true);
    match parser.parse_with_source_info(rule) {
        Ok((expression, source)) => check::check(rule, tokens, &source, &expression),
        Err(errors) => Err(vec![first_slip(rule, tokens, &errors.errors)]),
    }
}

/// What comes after the first error mostly comes from it.
fn first_slip(rule: &str, tokens: &[Token], errors: &[ParseError]) -> Slip {
    let first = errors.iter().map(|error| offset(rule, error)).min().unwrap_or_default();
    let Some((index, token)) = tokens.iter().enumerate().find(|(_, token)| token.end > first) else {
        return Slip::new(rule.len(), rule.len(), "something is missing at the end");
    };
    let before = index.checked_sub(1).and_then(|index| tokens.get(index));
    // A word that is no name is only out of place once something follows it.
    if let Some(before) = before.filter(|before| before.text(rule).eq_ignore_ascii_case("not")) {
        return Slip::new(before.at, before.end, "write ! for \"not\"");
    }
    Slip::new(token.at, token.end, message(token.text(rule), token.kind, before.map(|token| token.kind)))
}

fn message(text: &str, kind: TokenKind, before: Option<TokenKind>) -> String {
    const RESERVED: &str =
        " as break const continue else for function if import let loop package namespace return var void while ";
    match (text.to_ascii_lowercase().as_str(), kind) {
        ("and", TokenKind::Word) => "write && for \"and\"".to_owned(),
        ("or", TokenKind::Word) => "write || for \"or\"".to_owned(),
        ("is" | "equals" | "eq", TokenKind::Word) => "write == to compare".to_owned(),
        (word, TokenKind::Word) if RESERVED.contains(&format!(" {word} ")) => {
            format!("`{text}` is a reserved word and can't be used here; as a key write [\"{text}\"]")
        }
        (_, TokenKind::Number) if before == Some(TokenKind::Sign) => {
            format!("`{text}` is no number that 64 bits can hold")
        }
        (_, TokenKind::Text) => "something is missing before this text, such as == or a comma".to_owned(),
        _ => format!("`{text}` does not fit here"),
    }
}

/// Where an error stands, in bytes. The grammar counts in characters and what comes after it in bytes.
fn offset(rule: &str, error: &ParseError) -> usize {
    let (Ok(line @ 1..), Ok(column)) = (usize::try_from(error.pos.0), usize::try_from(error.pos.1)) else { return 0 };
    let start: usize = rule.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let rest = rule.get(start..).unwrap_or_default();
    let n_before = column.saturating_sub(1);
    if error.msg.starts_with("Syntax error") {
        return start + rest.char_indices().nth(n_before).map_or(rest.len(), |(at, _)| at);
    }
    (start + n_before).min(rule.len())
}
