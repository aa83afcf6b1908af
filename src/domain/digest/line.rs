//! One line of a text, as long as others take it.

/// One blank where there are several in a row, and none at either end.
pub fn single_spaced(chars: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    let mut chars = chars.map(|c| if c.is_whitespace() || c.is_control() { ' ' } else { c }).peekable();
    while chars.next_if_eq(&' ').is_some() {}
    std::iter::from_fn(move || {
        let c = chars.next()?;
        if c == ' ' {
            while chars.next_if_eq(&' ').is_some() {}
            chars.peek()?;
        }
        Some(c)
    })
}

/// As much as fits into `limit`, each character being as long as `length` says; an ellipsis, which counts as one, stands
/// where something was cut.
pub fn cut(chars: impl Iterator<Item = char>, limit: usize, length: impl Fn(char) -> usize) -> String {
    let mut line = String::new();
    let mut room = limit;
    let mut chars = chars.peekable();
    while let Some(c) = chars.next() {
        let needed = length(c);
        // Where something follows, the sign that it was cut off has to fit too.
        let reserve = usize::from(chars.peek().is_some());
        if needed + reserve > room {
            line.truncate(line.trim_end().len());
            if room > 0 {
                line.push('…');
            }
            break;
        }
        room -= needed;
        line.push(c);
    }
    line
}

/// Marks that reorder the text around them, known from source code that reads other than it runs (CVE-2021-42574).
pub const fn overrides_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
