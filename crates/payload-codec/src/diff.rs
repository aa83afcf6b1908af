//! What an edit changes, line by line, to be looked at before it is sent.

use similar::{ChangeTag, TextDiff};

/// Lines that are shown around a change.
const CONTEXT: usize = 3;

/// Beyond so many lines all that lies between the first and the last change is shown as changed: finding out more
/// could take very long.
const MAX_LINES: usize = 20_000;

/// Changes that lie together, with the lines around them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hunk {
    /// In the order of the texts; of a change the removed ones first.
    pub lines: Vec<Line>,
}

/// A line without its end.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Line {
    /// In both texts.
    Context(String),
    /// Only in the text before.
    Removed(String),
    /// Only in the text after.
    Added(String),
}

/// The changes from `before` to `after`; none if the lines are the same.
pub fn diff(before: &str, after: &str) -> Vec<Hunk> {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    if before.len().max(after.len()) > MAX_LINES {
        return coarse(&before, &after);
    }
    let diff = TextDiff::from_slices(&before, &after);
    let hunks = diff.grouped_ops(CONTEXT).into_iter().map(|ops| {
        let changes = ops.iter().flat_map(|op| diff.iter_changes(op));
        Hunk { lines: changes.map(|change| line(change.tag(), change.value())).collect() }
    });
    hunks.filter(|hunk| hunk.lines.iter().any(|line| !matches!(line, Line::Context(_)))).collect()
}

fn line(tag: ChangeTag, text: &str) -> Line {
    let text = text.to_owned();
    match tag {
        ChangeTag::Equal => Line::Context(text),
        ChangeTag::Delete => Line::Removed(text),
        ChangeTag::Insert => Line::Added(text),
    }
}

fn coarse(before: &[&str], after: &[&str]) -> Vec<Hunk> {
    let n_start = before.iter().zip(after).take_while(|(before, after)| before == after).count();
    let (rest_before, rest_after) =
        (before.get(n_start..).unwrap_or_default(), after.get(n_start..).unwrap_or_default());
    if rest_before.is_empty() && rest_after.is_empty() {
        return Vec::new();
    }
    let n_end =
        rest_before.iter().rev().zip(rest_after.iter().rev()).take_while(|(before, after)| before == after).count();
    let (removed, end) = rest_before.split_at(rest_before.len().saturating_sub(n_end));
    let (added, _) = rest_after.split_at(rest_after.len().saturating_sub(n_end));
    let lines = |tag, lines: &[&str]| lines.iter().map(|text| line(tag, text)).collect::<Vec<_>>();
    let start = before.get(n_start.saturating_sub(CONTEXT)..n_start).unwrap_or_default();
    let end = end.get(..CONTEXT.min(end.len())).unwrap_or_default();
    let parts = [
        lines(ChangeTag::Equal, start),
        lines(ChangeTag::Delete, removed),
        lines(ChangeTag::Insert, added),
        lines(ChangeTag::Equal, end),
    ];
    vec![Hunk { lines: parts.concat() }]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hunks as in a unified diff, `@` before each.
    fn unified(hunks: &[Hunk]) -> String {
        let mut text = String::new();
        for hunk in hunks {
            text.push('@');
            for line in &hunk.lines {
                let (sign, line) = match line {
                    Line::Context(line) => (' ', line),
                    Line::Removed(line) => ('-', line),
                    Line::Added(line) => ('+', line),
                };
                text.push_str(&format!("{sign}{line}|"));
            }
        }
        text
    }

    fn check(before: &str, after: &str, expected: &str) {
        assert_eq!(unified(&diff(before, after)), expected);
    }

    #[test]
    fn shows_changes_with_what_is_around_them() {
        check("", "", "");
        check("a\nb", "a\nb\n", "");
        check("a\r\nb", "a\nb", "");
        check("", "a", "@+a|");
        check("a", "", "@-a|");
        check("a\nb\nc", "a\nB\nc", "@ a|-b|+B| c|");
        check("1\n2\n3\n4\n5\n6\n7\n8\n9", "1\n2\n3\n4\nx\n6\n7\n8\n9", "@ 2| 3| 4|-5|+x| 6| 7| 8|");
        check("a\n1\n2\n3\n4\n5\n6\n7\n8\nb", "A\n1\n2\n3\n4\n5\n6\n7\n8\nB", "@-a|+A| 1| 2| 3|@ 6| 7| 8|-b|+B|");
    }

    #[test]
    fn is_coarse_where_there_is_much() {
        let lines = |n: usize| (0..n).map(|i| format!("{i}\n")).collect::<String>();
        let before = lines(MAX_LINES + 1);
        assert!(diff(&before, &before).is_empty());
        let after = before.replace("\n500\n", "\nx\n").replace("\n502\n", "\ny\n");
        check(&before, &after, "@ 497| 498| 499|-500|-501|-502|+x|+501|+y| 503| 504| 505|");
        check(&before, &lines(MAX_LINES), "@ 19997| 19998| 19999|-20000|");
    }

    #[test]
    fn differing_texts_take_no_time() {
        let text = |seed: usize| (0..15_000).map(|i| format!("{}\n", (i * 7_919 + seed) % 10_007)).collect::<String>();
        assert!(!diff(&text(1), &text(5_000)).is_empty());
    }
}
