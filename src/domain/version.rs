//! Versions of what several people change: whether it still is as somebody has seen it.

use std::fmt::{self, Debug, Display};

use xxhash_rust::xxh3::xxh3_128;

use super::{
    group::{Group, Note},
    group_state::{GroupState, Progress, Until},
    letter::{Importance, LetterSummary, TypeSource},
    lifecycle::LetterState,
    mapping::ActiveMapping,
    policy::ActivePolicy,
    rule::ActiveRule,
    saved_view::SavedView,
};

/// A version, which follows from the content: what is changed back is what it was. To everybody else it is opaque.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version(String);

impl Version {
    /// That of this content.
    pub fn of(content: &impl Debug) -> Self {
        Self(format!("{:032x}", xxh3_128(format!("{content:?}").as_bytes())))
    }

    /// That of what is not there.
    pub fn none() -> Self {
        Self("none".to_owned())
    }

    /// That of what may be there.
    pub fn of_perhaps<T: Versioned>(there: Option<&T>) -> Self {
        there.map_or_else(Self::none, Versioned::version)
    }

    /// One that somebody has been told.
    pub fn told(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What several people change.
pub trait Versioned {
    fn version(&self) -> Version;
}

impl Versioned for ActiveRule {
    fn version(&self) -> Version {
        Version::of(&self.rule)
    }
}

impl Versioned for ActivePolicy {
    fn version(&self) -> Version {
        Version::of(&self.policy)
    }
}

impl Versioned for ActiveMapping {
    fn version(&self) -> Version {
        Version::of(&self.mapping)
    }
}

impl Versioned for SavedView {
    fn version(&self) -> Version {
        Version::of(&self.content)
    }
}

impl Versioned for Note {
    fn version(&self) -> Version {
        Version::of(&self.text)
    }
}

/// What people see of it: letters that come while it is snoozed make no other version.
impl Versioned for GroupState {
    fn version(&self) -> Version {
        let Progress { phase, until, set, reopened, known: _ } = &self.progress;
        let until = until.map(|until| match until {
            Until::More { more, .. } => Until::More { more, arrived: 0 },
            until => until,
        });
        let reopened = reopened.as_ref().map(|reopened| reopened.at);
        Version::of(&(phase, until, set.as_ref().map(|(by, _)| by), reopened, &self.assignee, &self.ticket))
    }
}

/// All that people change of it.
impl Versioned for Group {
    fn version(&self) -> Version {
        Version::of(&(self.state.version(), self.note.as_ref().map(|note| &note.text)))
    }
}

impl Versioned for LetterState {
    fn version(&self) -> Version {
        by_hand(self.importance, &self.importance_by, self.note.as_deref(), self.type_by_hand.as_deref())
    }
}

/// Of a letter people change only what they set by hand.
impl Versioned for LetterSummary {
    fn version(&self) -> Version {
        let is_by_hand = self.type_source == Some(TypeSource::Manual);
        let message_type = self.message_type.as_deref().filter(|_| is_by_hand);
        by_hand(self.importance, &self.importance_by, self.note.as_deref(), message_type)
    }
}

fn by_hand(importance: Importance, by: &str, note: Option<&str>, message_type: Option<&str>) -> Version {
    Version::of(&(importance, by, note, message_type))
}

/// What has to be there for a change to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Expected {
    /// Whatever there is, or nothing.
    #[default]
    Anything,
    /// Something, in whatever version.
    Something,
    /// One of these; [`Version::none`] is that nothing is there.
    OneOf(Vec<Version>),
}

impl Expected {
    /// This one, or where none was seen, anything.
    pub fn seen(version: &str) -> Self {
        if version.is_empty() { Self::Anything } else { Self::OneOf(vec![Version::told(version)]) }
    }

    pub fn nothing() -> Self {
        Self::OneOf(vec![Version::none()])
    }

    /// # Errors
    /// [`Changed`] where something else is there.
    pub fn check<T: Versioned + Clone>(&self, there: Option<&T>) -> Result<(), Changed<T>> {
        if self.is_met(there) { Ok(()) } else { Err(Changed(there.cloned().map(Box::new))) }
    }

    /// Whether this is what was expected.
    pub fn is_met<T: Versioned>(&self, there: Option<&T>) -> bool {
        match self {
            Self::Anything => true,
            Self::Something => there.is_some(),
            Self::OneOf(versions) => versions.contains(&Version::of_perhaps(there)),
        }
    }
}

/// It is not as it was expected: what is there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed<T>(pub Option<Box<T>>);

#[cfg(test)]
mod tests {
    use amqp_message::time::Timestamp;

    use super::*;
    use crate::domain::actor::Actor;

    fn note(text: &str, seconds: u64) -> Note {
        Note { text: text.to_owned(), by: Actor::local(), at: Timestamp::from_seconds(seconds) }
    }

    #[test]
    fn a_version_follows_from_the_content_alone() {
        assert_eq!(note("a", 1).version(), note("a", 2).version());
        assert_ne!(note("a", 1).version(), note("b", 1).version());
    }

    #[test]
    fn what_is_expected_has_to_be_there() {
        let (a, b) = (note("a", 1), note("b", 1));
        let seen = Expected::OneOf(vec![a.version()]);
        let check = |expected: &Expected, there: Option<&Note>, is_met: bool| {
            let changed = Err(Changed(there.cloned().map(Box::new)));
            assert_eq!(expected.check(there), if is_met { Ok(()) } else { changed }, "{expected:?}, {there:?}");
        };
        for there in [None, Some(&a), Some(&b)] {
            check(&Expected::Anything, there, true);
            check(&Expected::Something, there, there.is_some());
            check(&Expected::nothing(), there, there.is_none());
            check(&seen, there, there == Some(&a));
        }
    }
}
