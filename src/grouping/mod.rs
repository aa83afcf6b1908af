//! Which failures belong together.
//!
//! Letters with the same broker, queue, message type, reason and error text form a group. For that, [`alike`] takes out
//! of an error what is about one letter and not about what is wrong: numbers, ids, addresses, times, quoted values.
//!
//! It reads one line of at most [`MAX_READ`] characters, goes through it once, and never looks back or ahead by more
//! than that; what comes out has at most [`MAX_TEXT`] characters. Nothing can make it fail.
//!
//! What people add to that are *grouping rules*: a [`Rewriter`] puts a placeholder where their patterns match, in what
//! [`alike`] returns.
//!
//! # What stays
//! - Words, class names and names of hosts: they say what is wrong. Of a URL also its path, but for the ids in it.
//! - A status of HTTP (`HTTP 503`, `status code 404`, `503 Service Unavailable`) and the codes that databases and
//!   programs give their errors (`SQLSTATE[23505]`, `ORA-00001`, `Error 1062`, `exit code 137`): they are kinds, not
//!   values.
//! - Digits in a name that has few of them, as in `utf8`, `sha256`, `x509`.

mod codes;
mod key;
mod regrouping;
mod rewriter;
mod text;
mod url;
mod word;

#[cfg(test)]
mod tests;

pub use key::id;
pub use regrouping::{Alike, to_merge, to_split};
pub use rewriter::{Rewriter, check_pattern};

/// Characters of a message that are looked at.
pub const MAX_READ: usize = 1_000;
/// Characters of what [`alike`] returns.
pub const MAX_TEXT: usize = 300;

/// What stands for a value that was taken out.
const HOLE: char = '…';

/// The text that alike errors have in common, as in `TimeoutError: POST /send returned … after …`. It is empty where
/// nothing is known of the error.
pub fn alike(error_type: Option<&str>, message: Option<&str>) -> String {
    let error_type = error_type.map(|name| text::one_line(name, MAX_TEXT).0).unwrap_or_default();
    let (line, is_cut) = text::one_line(telling_lines(message.unwrap_or_default()), MAX_READ);
    let mut line = line.as_str();
    // Some record the type as part of the message too.
    while let Some(rest) = line.strip_prefix(error_type.as_str()).and_then(|rest| rest.strip_prefix(": ")) {
        if error_type.is_empty() {
            break;
        }
        line = rest;
    }
    let message = text::without_values(line, is_cut);
    bounded(match (error_type.is_empty(), message.is_empty()) {
        (false, false) if message != error_type => format!("{error_type}: {message}"),
        (true, _) => message,
        (false, _) => error_type,
    })
}

/// The first line that is not blank; where it only announces the next, that one as well.
fn telling_lines(message: &str) -> &str {
    let message = message.trim_start();
    let end_of_line = |from: usize| {
        message.get(from..).and_then(|rest| rest.find('\n')).map_or(message.len(), |newline| from + newline)
    };
    let first = end_of_line(0);
    let announces = message.get(..first).is_some_and(|line| line.trim_end().ends_with(':'));
    let end = if announces { end_of_line((first + 1).min(message.len())) } else { first };
    message.get(..end).unwrap_or(message)
}

fn bounded(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(MAX_TEXT) {
        let kept = text.char_indices().nth(MAX_TEXT - 1).map_or(at, |(last, _)| last);
        text.truncate(kept);
        text.truncate(text.trim_end_matches([' ', HOLE]).len());
        text.push(HOLE);
    }
    text
}
