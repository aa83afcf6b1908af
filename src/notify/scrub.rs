//! Taking secrets out of texts that somebody else wrote.

/// What stands in a secret's place.
const HIDDEN: &str = "(hidden)";

/// Texts that must not be seen.
#[derive(Default)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    pub(super) fn add(&mut self, secret: &str) {
        // A lone slash is the path of most addresses and says nothing.
        if !secret.is_empty() && secret != "/" {
            self.0.push(secret.to_owned());
        }
    }

    /// The longest goes first, since one may be part of another.
    pub(super) fn taken_out_of(&self, text: &str) -> String {
        let mut secrets: Vec<&String> = self.0.iter().collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.into_iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), HIDDEN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(secrets: &[&str], text: &str, expected: &str) {
        let mut all = Secrets::default();
        secrets.iter().for_each(|secret| all.add(secret));
        assert_eq!(all.taken_out_of(text), expected);
    }

    #[test]
    fn secrets_are_taken_out() {
        check(&["hunter2"], "bad hunter2, hunter2", "bad (hidden), (hidden)");
        check(&["key", "key-and-more"], "key-and-more", "(hidden)");
        check(&["", "/"], "a/b", "a/b");
        check(&[], "a", "a");
    }
}
