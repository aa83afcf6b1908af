//! The letter: a dead message in dlo's keeping.

use std::{fmt, str::FromStr, time::Duration};

use amqp_message::{
    death::{Death, Reason},
    error_report,
    field::FieldTable,
    message::Message,
    time::Timestamp,
    word_enum,
};
use failure_conventions::{FailureCount, danger::Danger, dlo_headers};
use uuid::Uuid;

use super::{group_id::GroupId, telling::Telling};

/// Names a letter for its whole life. It travels with the message as the header `dlo-id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LetterId(Uuid);

impl LetterId {
    /// Behind those of all letters.
    pub const LAST: Self = Self(Uuid::max());

    pub const fn from_uuid(id: Uuid) -> Self {
        Self(id)
    }

    pub const fn as_uuid(self) -> Uuid {
        self.0
    }

    /// When it was given, to the millisecond: mostly when its message came in for the first time.
    pub fn made_at(self) -> Option<Timestamp> {
        let (seconds, nanos) = self.0.get_timestamp()?.to_unix();
        let at = Timestamp::default().plus(Duration::new(seconds, nanos));
        (self.0.get_version_num() == 7).then_some(at)
    }

    /// The letter that a message with these headers has been before.
    pub fn from_headers(headers: &FieldTable) -> Option<Self> {
        dlo_headers::dlo_id(headers).map(Self)
    }
}

impl fmt::Display for LetterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for LetterId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Uuid::try_parse(text).map(Self).map_err(|_| format!("{text:?} is no letter's id; it takes a UUID"))
    }
}

word_enum! {
    /// Where a letter stands.
    Status, "status" {
        /// Needs attention.
        Open = "open",
        /// A retry is due at `retry_at`.
        Scheduled = "scheduled",
        /// Sent back to its queue.
        Retried = "retried",
        /// Set aside for good.
        Discarded = "discarded",
    }
}

word_enum! {
    /// How much a letter matters, the most important first.
    #[derive(serde::Serialize, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    Importance, "importance" {
        Critical = "critical",
        High = "high",
        Normal = "normal",
        Low = "low",
    }
}

word_enum! {
    /// Who says of which type a message is.
    TypeSource, "source of a type" {
        Manual = "manual",
        Header = "header",
        Mapping = "mapping",
        Detected = "detected",
    }
}

/// What a list shows of a letter: all but its contents.
#[derive(Clone, Debug, PartialEq)]
pub struct LetterSummary {
    pub id: LetterId,
    pub broker: String,
    /// The queue it failed in; `None` where nothing says so.
    pub queue: Option<String>,
    pub exchange: String,
    pub routing_key: String,
    pub reason: Reason,
    /// The class of the error, and the beginning of what it says, where its consumer recorded them.
    pub error_type: Option<String>,
    pub error_message: Option<String>,
    /// What the message is, where it is a call: `billing.charge(order=42)`. `None` until that is found out, too.
    pub title: Option<String>,
    /// The type of the message, and who says so.
    pub message_type: Option<String>,
    pub type_source: Option<TypeSource>,
    /// From 0 to 1, for a type that was guessed.
    pub type_confidence: Option<f64>,
    /// What failed like it; `None` until that is found out.
    pub group: Option<GroupId>,
    /// How often it has failed, the tries that its framework made by itself included.
    pub attempts: u64,
    /// How often dlo has seen it fail: that decides which delay of its policy is the next.
    pub rounds: u64,
    pub first_failed_at: Option<Timestamp>,
    pub last_failed_at: Timestamp,
    pub received_at: Timestamp,
    pub retry_at: Option<Timestamp>,
    pub status: Status,
    pub importance: Importance,
    /// `rule:<name>`, `manual` or `default`.
    pub importance_by: String,
    /// Bytes of the body.
    pub size: u64,
    pub note: Option<String>,
    /// What went wrong with the last retry, when something did.
    pub problem: Option<String>,
    /// Why it must not be retried, when it must not.
    pub danger: Option<Danger>,
    /// The letter it is an edited copy of.
    pub edited_from: Option<LetterId>,
    /// The edited copy that was made of it last.
    pub replaced_by: Option<LetterId>,
    /// A few fields of the payload, as far as they may be shown; `None` until they are found out, and where nothing is.
    pub telling: Option<Telling>,
}

impl LetterSummary {
    /// How often it has failed.
    pub const fn count(&self) -> FailureCount {
        FailureCount { attempts: self.attempts, rounds: self.rounds }
    }

    /// `type: message` of its error in one line; `None` where no error is recorded.
    pub fn error(&self) -> Option<String> {
        error_report::headline(self.error_type.as_deref(), self.error_message.as_deref())
    }
}

/// A letter with its contents.
#[derive(Clone, Debug, PartialEq)]
pub struct Letter {
    pub summary: LetterSummary,
    pub message: Message,
    /// Newest first, those of earlier rounds included.
    pub deaths: Vec<Death>,
    /// What dlo has to say about how the message came in, for instance that a property was not UTF-8.
    pub remarks: Vec<String>,
}
