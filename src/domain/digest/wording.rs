//! The sentences of a digest that are the same wherever it is read.

use amqp_message::time::Timestamp;

use super::{
    group::DigestGroup,
    report::{DigestReport, DigestSection, SectionKind},
};
use crate::domain::{
    letter::Importance,
    number::{plural, span, thousands},
};

impl SectionKind {
    pub fn title(self) -> &'static str {
        match self {
            Self::New => "New",
            Self::Grew => "Grew",
            Self::Stuck => "Stuck",
            Self::Succeeded => "Succeeded",
        }
    }

    /// What its groups have in common.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::New => "error groups seen for the first time",
            Self::Grew => "known error groups with more failures",
            Self::Stuck => "error groups open for long",
            Self::Succeeded => "error groups where all retries succeeded, or are pending",
        }
    }
}

impl DigestSection {
    /// `12 groups, 345 letters`; without the letters where there are none, as when people dealt with all of them.
    pub fn size(&self) -> String {
        let groups = plural(self.n_groups, "group");
        if self.letters == 0 { groups } else { format!("{groups}, {}", plural(self.letters, "dead letter")) }
    }
}

impl DigestReport {
    /// Its figures, each in words: `1,234 letters open in 56 groups`, `78 new`.
    pub fn figures(&self) -> [String; 4] {
        [
            format!("{} open in {}", plural(self.open, "dead letter"), plural(self.open_groups, "group")),
            format!("{} new", thousands(self.new_letters)),
            format!("{} succeeded", thousands(self.succeeded)),
            format!("{} failed again", thousands(self.failed_again)),
        ]
    }

    /// What a quiet digest says.
    pub fn quiet_words(&self) -> String {
        if self.open == 0 {
            return "All quiet. Nothing in the scope of this digest is open.".to_owned();
        }
        let patience = span(self.options.stuck_after);
        format!("All quiet. Nothing is new, and none of the {} is older than {patience}.", self.open_words())
    }

    /// The time it is about, as its readers' clock shows it.
    pub fn period_words(&self) -> String {
        let first = if self.is_first() { "The first digest, about everything so far: " } else { "" };
        format!("{first}{}", self.period.label)
    }

    fn open_words(&self) -> String {
        let letters = if self.open == 1 { "dead letter that is" } else { "dead letters that are" };
        format!("{} {letters} open", thousands(self.open))
    }
}

impl DigestGroup {
    /// Its figures, those that are not zero: `critical`, `12 open`, `3 new`, `oldest 3 d`. None of it comes from a message.
    pub fn figures(&self, until: Timestamp) -> Vec<String> {
        let is_important = matches!(self.importance, Importance::Critical | Importance::High);
        let counts = [
            (self.open, "open"),
            (self.new, "new"),
            (self.succeeded, "succeeded"),
            (self.failed_again, "failed again"),
        ];
        let counts = counts.into_iter().filter(|(n, word)| *n > 0 || *word == "open");
        let oldest = self.oldest_open.map(|oldest| format!("oldest {}", span(until.since(oldest))));
        (is_important.then(|| self.importance.to_string()).into_iter())
            .chain(counts.map(|(n, word)| format!("{} {word}", thousands(n))))
            .chain(oldest)
            .collect()
    }

    /// `orders.eu · OrderPlaced`, with its broker in front where there are several.
    pub fn place(&self, with_broker: bool) -> String {
        let broker = with_broker.then_some(self.broker.as_str());
        let queue = self.queue.as_deref().unwrap_or("unknown queue");
        [broker, Some(queue), self.message_type.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    /// What went wrong, as far as it is known.
    pub fn cause(&self) -> &str {
        if self.error.trim().is_empty() { self.reason.sentence() } else { &self.error }
    }
}

/// `and 2,960 more groups with 12,345 letters`, in three parts, so that the middle one can be a link.
pub fn rest_words(groups: u64, letters: u64, shown: usize) -> [String; 3] {
    let (and, more) = if shown > 0 { ("and ", "more ") } else { ("", "") };
    let noun = if groups == 1 { "group" } else { "groups" };
    let with = if letters == 0 { String::new() } else { format!(" with {}", plural(letters, "dead letter")) };
    [and.to_owned(), format!("{} {more}{noun}", thousands(groups)), with]
}

/// Whether the groups come from more than one broker.
pub fn has_several_brokers(report: &DigestReport) -> bool {
    let mut brokers = report.sections.iter().flat_map(|section| &section.groups).map(|group| &group.broker);
    let first = brokers.next();
    brokers.any(|broker| Some(broker) != first)
}
