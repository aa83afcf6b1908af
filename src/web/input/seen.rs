//! What a form was opened on: which thing, and in which version. It travels in the form.

use std::fmt::Debug;

use crate::domain::version::{Expected, Version, Versioned};

/// For a form about what has this key.
pub fn token<T: Versioned>(key: &impl Debug, there: Option<&T>) -> String {
    format!("{}.{}", Version::of(key), Version::of_perhaps(there))
}

/// What has to be there for what was typed, which may have become another thing: then nothing was seen of it.
pub fn expected(token: &str, key: &impl Debug) -> Expected {
    match token.split_once('.') {
        Some((of, version)) if of == Version::of(key).to_string() => Expected::OneOf(vec![Version::told(version)]),
        _ => Expected::nothing(),
    }
}

#[cfg(test)]
mod tests {
    use amqp_message::time::Timestamp;

    use super::*;
    use crate::domain::{actor::Actor, group::Note};

    #[test]
    fn of_something_else_nothing_was_seen() {
        let note = Note { text: "x".to_owned(), by: Actor::local(), at: Timestamp::default() };
        let seen = token(&"a", Some(&note));
        assert_eq!(expected(&seen, &"a"), Expected::OneOf(vec![note.version()]));
        assert_eq!(expected(&seen, &"b"), Expected::nothing());
        assert_eq!(expected("", &"a"), Expected::nothing());
        assert_eq!(expected(&token::<Note>(&"a", None), &"a"), Expected::nothing());
    }
}
