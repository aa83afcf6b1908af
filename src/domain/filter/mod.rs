//! Which letters are meant. The same value lists, counts and draws the histogram.

pub(super) mod names;
mod narrow;

use std::cmp::Ordering;

use amqp_message::{death::Reason, time::Timestamp, word_enum};

use super::{
    group_id::GroupId,
    letter::{Importance, LetterId, LetterSummary, Status},
    search::Search,
};

pub use names::{NameMatcher, Names};

/// Letters that match every field; an empty list in a field lets all through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LetterFilter {
    pub statuses: Vec<Status>,
    pub importances: Vec<Importance>,
    pub brokers: Vec<String>,
    /// The empty name is that of letters whose queue is unknown.
    pub queues: Names,
    pub reasons: Vec<Reason>,
    /// Full names of types. The empty one is that of letters whose type is unknown.
    pub types: Names,
    pub groups: Vec<GroupId>,
    /// Received at or after.
    pub since: Option<Timestamp>,
    /// Received before.
    pub until: Option<Timestamp>,
    /// What a search asks for besides.
    pub search: Option<Search>,
}

impl LetterFilter {
    /// Whether it asks for certain groups or types, of which no counts by facets are kept.
    pub fn is_of_groups(&self) -> bool {
        !(self.groups.is_empty() && self.types.is_empty())
    }

    /// Whether what it asks for is counted letter by letter: of all else counts are kept.
    pub fn is_counted_anew(&self) -> bool {
        self.is_of_groups() || self.search.is_some()
    }

    /// The same for letters of any status and importance.
    #[must_use]
    pub fn of_any_status(&self) -> Self {
        Self { statuses: Vec::new(), importances: Vec::new(), ..self.clone() }
    }

    /// Whether it asks for certain queues, brokers or reasons, of which no sums are kept.
    pub fn tells_facets_apart(&self) -> bool {
        !(self.brokers.is_empty() && self.queues.is_empty() && self.reasons.is_empty())
    }
}

word_enum! {
    #[derive(Default)]
    Sort, "order" {
        /// Received last first.
        #[default]
        Newest = "newest",
        Oldest = "oldest",
        /// The most important first, and of these the newest.
        Importance = "importance",
        /// What has failed most often first.
        Attempts = "attempts",
        /// The largest body first.
        Size = "size",
    }
}

impl Sort {
    /// Which of two places comes first.
    pub fn compare(self, one: Cursor, other: Cursor) -> Ordering {
        match self {
            Self::Oldest => one.cmp(&other),
            Self::Newest | Self::Attempts | Self::Size => other.cmp(&one),
            // The most important are the first of their kind.
            Self::Importance => {
                let newest = |place: Cursor| (place.received_at, place.id);
                one.rank.cmp(&other.rank).then_with(|| newest(other).cmp(&newest(one)))
            }
        }
    }
}

/// The place in a sorted list after which a page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// What the list is sorted by before the time; 0 where it is sorted by time alone.
    pub rank: u64,
    pub received_at: Timestamp,
    pub id: LetterId,
}

impl Cursor {
    /// A place in a list that is sorted by time alone.
    pub const fn at(received_at: Timestamp, id: LetterId) -> Self {
        Self { rank: 0, received_at, id }
    }

    /// The place of a letter in a list.
    pub const fn of(letter: &LetterSummary, sort: Sort) -> Self {
        let rank = match sort {
            Sort::Newest | Sort::Oldest => 0,
            Sort::Importance => letter.importance as u64,
            Sort::Attempts => letter.attempts,
            Sort::Size => letter.size,
        };
        Self { rank, received_at: letter.received_at, id: letter.id }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    pub sort: Sort,
    pub after: Option<Cursor>,
    /// At least 1.
    pub limit: usize,
}

/// One page of letters, and where the next begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LetterPage {
    pub items: Vec<LetterSummary>,
    pub next: Option<Cursor>,
}

/// How many letters share broker, queue, reason, status and importance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FacetCount {
    pub broker: String,
    pub queue: Option<String>,
    pub reason: Reason,
    pub status: Status,
    pub importance: Importance,
    pub count: u64,
}

/// How many letters there are, as far as pages need it: of many queues in the past only sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LetterCounts {
    /// By all that they share.
    pub facets: Vec<FacetCount>,
    /// Those that are in no facet here.
    pub sums: Vec<(Status, Importance, u64)>,
}

impl LetterCounts {
    /// Whether there are no letters.
    pub const fn is_empty(&self) -> bool {
        self.facets.is_empty() && self.sums.is_empty()
    }
}

impl From<Vec<FacetCount>> for LetterCounts {
    fn from(facets: Vec<FacetCount>) -> Self {
        Self { facets, sums: Vec::new() }
    }
}

/// How many letters there are, as far as they were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub n: u64,
    /// Whether there may be more.
    pub is_least: bool,
}

/// Letters received in one slice of time, by importance in the order of [`Importance::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistogramBar {
    pub from: Timestamp,
    pub counts: [u64; Importance::ALL.len()],
}
