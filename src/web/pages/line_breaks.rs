//! The line breaks of what is edited in a form: one sends all of them as CR LF, whatever was there.

/// One line, and the break behind it; empty at the end of a text.
struct Line<'a> {
    text: &'a str,
    ending: &'a str,
}

/// What was typed with the breaks of what was shown. Lines that are new end as the one before them.
pub fn with_breaks_of(shown: &str, typed: &str) -> String {
    let (shown, typed) = (lines(shown), lines(typed));
    let head = shown.iter().zip(&typed).take_while(is_same).count();
    let most = shown.len().min(typed.len()) - head;
    let tail = shown.iter().rev().zip(typed.iter().rev()).take(most).take_while(is_same).count();
    let was = |n: usize| match () {
        () if n < head || shown.len() == typed.len() => shown.get(n),
        () if n >= typed.len() - tail => shown.get(n + shown.len() - typed.len()),
        () => None,
    };
    let mut last = ending(shown.first()).unwrap_or("\n");
    let mut text = String::new();
    for (n, line) in typed.iter().enumerate() {
        text.push_str(line.text);
        if !line.ending.is_empty() {
            last = ending(was(n)).unwrap_or(last);
            text.push_str(last);
        }
    }
    text
}

fn is_same((one, other): &(&Line<'_>, &Line<'_>)) -> bool {
    one.text == other.text
}

fn ending<'a>(line: Option<&Line<'a>>) -> Option<&'a str> {
    line.map(|line| line.ending).filter(|ending| !ending.is_empty())
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\r', '\n']) {
        let (text, after) = rest.split_at(at);
        let (ending, next) = after.split_at(if after.starts_with("\r\n") { 2 } else { 1 });
        lines.push(Line { text, ending });
        rest = next;
    }
    lines.push(Line { text: rest, ending: "" });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is typed comes as a browser sends it, and as a script does.
    fn check(typed: &str, shown: &str, expected: &str) {
        for typed in [typed.to_owned(), typed.replace('\n', "\r\n")] {
            assert_eq!(with_breaks_of(shown, &typed), expected, "{typed:?} like {shown:?}");
        }
    }

    #[test]
    fn breaks_that_are_alike_are_those_of_new_lines_too() {
        check("a\nb", "x\ny", "a\nb");
        check("a\nb", "x\r\ny", "a\r\nb");
        check("a\nb", "x\ry", "a\rb");
        check("MSH\nPID 2\nOBX\n", "MSH\rPID 1\rOBX\r", "MSH\rPID 2\rOBX\r");
        check("0\na\n1\nb\n2\n", "a\r\nb", "0\r\na\r\n1\r\nb\r\n2\r\n");
    }

    #[test]
    fn mixed_breaks_stay_where_they_were() {
        let mixed = "a\nb\r\nc\rd";
        check("a\nb\nc\nd", mixed, mixed);
        check("a\nB\nc\nd", mixed, "a\nB\r\nc\rd");
        check("A\nB\nC\nD", mixed, "A\nB\r\nC\rD");
        check("a\nc\nd", mixed, "a\nc\rd");
        check("a\nb\nnew\nc\nd", mixed, "a\nb\r\nnew\r\nc\rd");
        check("new\na\nb\nc\nd", mixed, "new\na\nb\r\nc\rd");
        check("a\nb\nc\nd\ne\n", mixed, "a\nb\r\nc\rd\re\r");
        check("a", mixed, "a");
        check("", mixed, "");
    }

    #[test]
    fn a_text_of_one_line_gets_plain_ones() {
        check("a\n", "a", "a\n");
        check("a\nb", "", "a\nb");
        check("a", "a", "a");
    }
}
