//! Commands for a POSIX shell.

/// One command on one line, each word quoted where it has to be.
pub fn line<S: AsRef<str>>(words: &[S]) -> String {
    words.iter().map(|word| quoted(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// Within single quotes nothing is special but the single quote.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn words_are_quoted_where_they_have_to_be() {
        assert_eq!(line(&["set_policy", "--vhost=/", "a.b"]), "set_policy --vhost=/ a.b");
        assert_eq!(line(&["", "a b", "$HOME", "`x`"]), "'' 'a b' '$HOME' '`x`'");
        assert_eq!(
            line(&["it's", "\"q\"", r"a\b", "~", "*", "ö", "a;b"]),
            r#"'it'\''s' '"q"' 'a\b' '~' '*' 'ö' 'a;b'"#
        );
    }
}
