//! How a message stands inside another one.

use std::{cmp::Reverse, sync::Arc};

use amqp_message::{glob::Globs, word_enum};

word_enum! {
    /// What the text of a wrapped body is.
    InnerBody, "way to wrap a body" {
        /// The body itself, which was UTF-8.
        Text = "text",
        /// The body in base64.
        Base64 = "base64",
    }
}

/// Which queues have which, where the messages themselves do not say.
#[derive(Clone, Debug, Default)]
pub struct InnerBodies(Arc<[(Globs, InnerBody)]>);

impl InnerBodies {
    /// By names of queues or globs. The most specific wins, as among policies: a name before a glob, the longer glob
    /// before the shorter.
    pub fn new(by_queue: impl IntoIterator<Item = (String, InnerBody)>) -> Self {
        let mut by_queue: Vec<_> = by_queue.into_iter().collect();
        by_queue.sort_by_key(|(pattern, _)| {
            let literal = pattern.chars().filter(|c| !matches!(c, '*' | '?')).count();
            Reverse((literal == pattern.chars().count(), literal))
        });
        Self(by_queue.into_iter().map(|(pattern, body)| (Globs::new(&[pattern]), body)).collect())
    }

    /// For messages that failed in this queue; `None` where that is not configured.
    pub fn of(&self, queue: &str) -> Option<InnerBody> {
        self.0.iter().find(|(glob, _)| glob.matches(queue)).map(|(_, body)| *body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_wins() {
        let bodies = [("*", InnerBody::Text), ("bin_*", InnerBody::Base64), ("bin_text", InnerBody::Text)];
        let bodies = InnerBodies::new(bodies.map(|(pattern, body)| (pattern.to_owned(), body)));
        assert_eq!(bodies.of("orders"), Some(InnerBody::Text));
        assert_eq!(bodies.of("bin_worker"), Some(InnerBody::Base64));
        assert_eq!(bodies.of("bin_text"), Some(InnerBody::Text));
        assert_eq!(InnerBodies::default().of("orders"), None);
    }
}
