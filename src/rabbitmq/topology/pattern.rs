//! Regular expressions as RabbitMQ's policies have them.

/// The pattern that matches this name and no other.
///
/// RabbitMQ matches bytes with PCRE, so that what is not ASCII stands for itself. The end is `\z`: a `$` would also
/// match before a line break at the end.
pub fn exactly(name: &str) -> String {
    const SPECIAL: &str = r"\^$.[]|()?*+{}";
    let mut pattern = "^".to_owned();
    for character in name.chars() {
        if SPECIAL.contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern + r"\z"
}

#[cfg(test)]
mod tests {
    use super::exactly;

    #[test]
    fn only_what_is_special_is_escaped() {
        for (name, expected) in [
            ("orders", r"^orders\z"),
            ("a.b-c_d", r"^a\.b-c_d\z"),
            ("-a+b", r"^-a\+b\z"),
            (r"\Qa\E", r"^\\Qa\\E\z"),
            ("^$[](){}|?*", r"^\^\$\[\]\(\)\{\}\|\?\*\z"),
            ("it's \"ö\" #1", "^it's \"ö\" #1\\z"),
        ] {
            assert_eq!(exactly(name), expected);
        }
    }
}
