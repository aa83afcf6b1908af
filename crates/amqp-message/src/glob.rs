//! Names with wildcards.

use wildmatch::WildMatch;

/// Patterns for names of queues: `*` stands for any run of characters, `?` for any one.
///
/// A name without wildcards is itself. Nothing else is special, so that every name RabbitMQ allows can be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Globs(Vec<WildMatch>);

impl Globs {
    /// Patterns of which one has to match.
    pub fn new(patterns: &[String]) -> Self {
        Self(patterns.iter().map(|pattern| WildMatch::new(pattern)).collect())
    }

    /// Whether any pattern matches; without patterns everything does.
    pub fn matches(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|pattern| pattern.matches(name))
    }
}

#[cfg(test)]
mod tests {
    use super::Globs;

    fn check(pattern: &str, name: &str, expected: bool) {
        assert_eq!(Globs::new(&[pattern.to_owned()]).matches(name), expected, "{pattern} on {name}");
    }

    #[test]
    fn wildcards() {
        check("texts.*", "texts.persist", true);
        check("texts.*", "texts", false);
        check("*", "", true);
        check("a?c", "abc", true);
        check("*a*b", "xaxbxb", true);
        check("*a*b", "xaxbxc", false);
        check("[x]{y}", "[x]{y}", true);
        check("ö*", "öl", true);
    }

    #[test]
    fn many_stars_stay_quick() {
        check(&"*a".repeat(60), &"a".repeat(2_000), true);
        check(&format!("{}b", "*a".repeat(60)), &"a".repeat(2_000), false);
    }

    #[test]
    fn no_pattern_lets_all_through() {
        assert!(Globs::new(&[]).matches("anything"));
    }
}
