//! Which names are meant: of queues, of types.

use amqp_message::glob::Globs;

/// Names that are meant: these, and those that one of the patterns matches. All of them where neither says anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// As they are: no character in them stands for another.
    pub exact: Vec<String>,
    /// `*` is any run of characters, `?` any one.
    pub globs: Vec<String>,
}

impl Names {
    /// Exactly these.
    pub fn exact<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self { exact: names.into_iter().map(Into::into).collect(), globs: Vec::new() }
    }

    /// Those that one of these patterns matches.
    pub fn globs<N: Into<String>>(globs: impl IntoIterator<Item = N>) -> Self {
        Self { exact: Vec::new(), globs: globs.into_iter().map(Into::into).collect() }
    }

    /// Whether all names are meant.
    pub const fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.globs.is_empty()
    }

    /// To ask about many names.
    pub fn matcher(&self) -> NameMatcher<'_> {
        NameMatcher { names: self, globs: Globs::new(&self.globs) }
    }
}

/// [`Names`] whose patterns are read.
pub struct NameMatcher<'a> {
    names: &'a Names,
    globs: Globs,
}

impl NameMatcher<'_> {
    pub fn matches(&self, name: &str) -> bool {
        let Names { exact, globs } = self.names;
        self.names.is_empty() || exact.iter().any(|one| one == name) || (!globs.is_empty() && self.globs.matches(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_itself_and_a_pattern_is_said_to_be_one() {
        fn check(names: &Names, name: &str, expected: bool) {
            assert_eq!(names.matcher().matches(name), expected, "{names:?} on {name}");
        }
        check(&Names::default(), "anything", true);
        let exact = Names::exact(["payments.eu,texts.sms", "a*", ""]);
        check(&exact, "payments.eu,texts.sms", true);
        check(&exact, "payments.eu", false);
        check(&exact, "a*", true);
        check(&exact, "ab", false);
        check(&exact, "", true);
        let both = Names { exact: vec!["b".to_owned()], ..Names::globs(["a*"]) };
        check(&both, "ab", true);
        check(&both, "b", true);
        check(&both, "c", false);
    }
}
