//! What can be seen of a text.

use super::line::single_spaced;

/// The characters of one line: line breaks and other blanks as single spaces, and nothing that cannot be seen or that
/// turns the text around.
pub fn visible(text: &str) -> impl Iterator<Item = char> {
    single_spaced(text.chars().filter(|c| !is_hidden(*c)))
}

/// Characters without a width, those that change the direction of a text, and blanks that are no whitespace. An emoji
/// that is joined of several falls into them.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{8e2}'
        | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn what_cannot_be_seen_is_left_out() {
        fn check(text: &str, expected: &str) {
            assert_eq!(visible(text).collect::<String>(), expected);
        }
        check(" a\r\n\tb\u{0}c\u{2028}d\u{a0}e ", "a b c d e");
        check("pay\u{202e}lap\u{200b}\u{2066}x\u{feff}", "paylapx");
        check("a \u{200b} b \u{200b}", "a b");
        check("\u{200b} \u{3164}", "");
        check("", "");
        check("שלום 日本 café", "שלום 日本 café");
    }
}
