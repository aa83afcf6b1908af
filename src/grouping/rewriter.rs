//! Grouping rules at work: what they match in the text of an error gives way to a placeholder.

use regex::{Captures, Match, Regex, RegexBuilder};

use super::bounded;

/// Bytes that a pattern may take up when it is compiled: what it costs to look at a text grows with them.
const MAX_SIZE: usize = 64 << 10;

/// So often rules are tried on what they have made of a text.
const MOST_ROUNDS: usize = 4;

/// Rewrites texts by all rules, in the order in which they were added.
#[derive(Debug, Default)]
pub struct Rewriter {
    steps: Vec<(Regex, String)>,
}

/// # Errors
/// Why that is no pattern, or none for this placeholder.
pub fn check_pattern(pattern: &str, placeholder: &str) -> Result<(), String> {
    let regex = compile(pattern)?;
    if regex.is_match("") {
        return Err("it matches an empty text, and so every error".to_owned());
    }
    if replaced(placeholder, &regex, placeholder) != placeholder {
        return Err("it matches in its own placeholder, and would never come to an end".to_owned());
    }
    Ok(())
}

fn compile(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).size_limit(MAX_SIZE).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "it is too large; take fewer or smaller repetitions".to_owned(),
        // The last line of several says why; those before it show where.
        error => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
    })
}

impl Rewriter {
    /// By these patterns and their placeholders. What is no pattern, as only another version has let in, does nothing.
    pub fn new<'r>(rules: impl IntoIterator<Item = (&'r str, &'r str)>) -> Self {
        let step = |(pattern, placeholder): (&str, &str)| Some((compile(pattern).ok()?, placeholder.to_owned()));
        Self { steps: rules.into_iter().filter_map(step).collect() }
    }

    /// The text that is left of an error, as it comes from [`alike`](super::alike). What has been rewritten once is not
    /// changed any more: the rules are tried until they change nothing, and where that never comes they do nothing.
    pub fn rewrite(&self, error: &str) -> String {
        let mut text = error.to_owned();
        for _ in 0..MOST_ROUNDS {
            let next = self.rewrite_once(text.clone());
            if next == text {
                return text;
            }
            text = next;
        }
        error.to_owned()
    }

    fn rewrite_once(&self, text: String) -> String {
        let step =
            |text: String, (pattern, placeholder): &(Regex, String)| bounded(replaced(&text, pattern, placeholder));
        self.steps.iter().fold(text, step)
    }
}

fn replaced(text: &str, pattern: &Regex, placeholder: &str) -> String {
    let has_brackets = pattern.captures_len() > 1;
    let parts = |found: Captures<'_>| -> Vec<(usize, usize)> {
        let place = |part: Match<'_>| (part.start(), part.end());
        found
            .iter()
            .skip(usize::from(has_brackets))
            .take(if has_brackets { usize::MAX } else { 1 })
            .flatten()
            .map(place)
            .collect()
    };
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    for (start, end) in pattern.captures_iter(text).flat_map(parts) {
        // Brackets may be in brackets; the outer ones come first.
        if start >= done && end > start {
            out.push_str(text.get(done..start).unwrap_or_default());
            out.push_str(placeholder);
            done = end;
        }
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewrite(rules: &[(&str, &str)], text: &str) -> String {
        Rewriter::new(rules.iter().copied()).rewrite(text)
    }

    #[test]
    fn what_is_in_brackets_is_replaced_or_all_that_matches() {
        assert_eq!(
            rewrite(&[("customer [a-z]+", "customer …")], "no customer acme, customer b"),
            "no customer …, customer …"
        );
        assert_eq!(rewrite(&[("customer ([a-z]+) in (eu|us)", "…")], "no customer acme in eu"), "no customer … in …");
        assert_eq!(rewrite(&[("((a)b)", "x")], "abab"), "xx");
        assert_eq!(rewrite(&[("a(b)?", "x")], "a ab"), "a ax");
        assert_eq!(rewrite(&[("é([0-9]+)", "…")], "aé12é3"), "aé…é…");
    }

    #[test]
    fn rules_follow_each_other() {
        assert_eq!(rewrite(&[("a", "b"), ("b", "c")], "ab"), "cc");
        assert_eq!(rewrite(&[("(", "b"), ("b", "c")], "ab"), "ac");
        assert_eq!(rewrite(&[], "ab"), "ab");
    }

    #[test]
    fn what_is_rewritten_is_changed_no_more() {
        for rules in [&[("a", "b"), ("b", "c")][..], &[("a", "aa")], &[("a", "b"), ("b", "a")], &[("x|b", "ab")]] {
            for text in ["a", "bab", "xxx", "abc", &"xa".repeat(200)] {
                let once = rewrite(rules, text);
                assert_eq!(rewrite(rules, &once), once, "{rules:?}, {text}");
                assert!(once == text || once.chars().count() <= super::super::MAX_TEXT);
            }
        }
    }

    #[test]
    fn what_is_no_pattern_is_told() {
        let check = |pattern: &str, part: &str| {
            let why = check_pattern(pattern, "aa").unwrap_err();
            assert!(why.contains(part), "{pattern}: {why}");
        };
        check("(", "unclosed group");
        check("a*", "matches an empty text");
        check(r"\w{1000}", "too large");
        check("(?<=a)b", "look-around");
        check("a", "its own placeholder");
        assert_eq!(check_pattern(r"customer (\w+)", "…"), Ok(()));
    }
}
