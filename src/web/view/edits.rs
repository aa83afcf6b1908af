//! What a letter has to do with edits of it.

use crate::domain::letter::{LetterId, LetterSummary, Status};

/// How the letters stand that this one is linked with by edits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linked {
    /// The one it is an edited copy of.
    pub original: Option<(LetterId, Status)>,
    /// The copy that was made of it last.
    pub copy: Option<(LetterId, Status)>,
    /// The one that stands in its place.
    pub in_place: Option<LetterId>,
}

/// A sentence with a link in it.
#[derive(Debug, PartialEq, Eq)]
pub struct Banner {
    pub before: &'static str,
    pub href: String,
    pub link: &'static str,
    pub after: &'static str,
}

impl Banner {
    fn new(before: &'static str, id: LetterId, link: &'static str, after: &'static str) -> Self {
        Self { before, href: format!("/letters/{id}"), link, after }
    }

    /// All that is to be said of `letter`.
    pub fn all(letter: &LetterSummary, linked: &Linked) -> Vec<Self> {
        let of_copy = linked.original.map(|original| as_copy(letter.status, original));
        let of_original = linked.copy.map(|copy| as_original(letter.status, copy, linked.in_place));
        of_copy.into_iter().chain(of_original).collect()
    }
}

fn as_copy(status: Status, (original, its_status): (LetterId, Status)) -> Banner {
    let (link, after) = match (status, its_status) {
        (Status::Discarded, Status::Discarded) => ("a dead letter", " that is discarded too."),
        (Status::Discarded, _) => ("a dead letter", " that is active again. This one is not retried as long as it is."),
        (Status::Retried, _) => ("the original", ", which is discarded and is not retried."),
        (Status::Open | Status::Scheduled, _) => (
            "the original",
            ", which is discarded and is not retried. To undo the edit, discard this one, then reopen the original.",
        ),
    };
    Banner::new("An edited copy of ", original, link, after)
}

fn as_original(status: Status, (copy, its_status): (LetterId, Status), in_place: Option<LetterId>) -> Banner {
    const COPY: &str = "edited copy";
    match (status, in_place) {
        (Status::Discarded, None) => Banner::new("Its ", copy, COPY, " is discarded too; this one can be reopened."),
        (Status::Discarded, Some(other)) if other != copy => {
            Banner::new("Discarded: ", other, "another edit", " of the same message replaces it.")
        }
        (Status::Discarded, Some(_)) if its_status == Status::Retried => {
            Banner::new("Discarded: its ", copy, COPY, " was retried in its place.")
        }
        (Status::Discarded, Some(_)) => Banner::new(
            "Discarded: its ",
            copy,
            COPY,
            " is retried in its place. To undo the edit, discard the copy, then reopen this one.",
        ),
        (Status::Open | Status::Scheduled | Status::Retried, _) => {
            Banner::new("It was edited, but its ", copy, COPY, " is discarded, and this one is active.")
        }
    }
}
