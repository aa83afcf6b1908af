//! Why a letter failed: in one line for lists, in full for its own page.

use amqp_message::{
    death::Reason,
    error_report::{self, ErrorReport},
};

use super::{number, text};
use crate::{
    domain::letter::{Letter, LetterSummary},
    services::decoding::{reading::Reading, scrub::scrub_error},
};

/// The error in one line or, where none is recorded, what RabbitMQ says.
pub fn in_short(letter: &LetterSummary) -> String {
    letter.error().map_or_else(|| letter.reason.sentence().to_owned(), |error| text::one_line(&error))
}

/// What failed, as a title: what the error says, else its class, else what RabbitMQ says; and the class beside it.
pub fn title(letter: &LetterSummary) -> (String, String) {
    let message = error_report::headline(None, letter.error_message.as_deref());
    let message = message.map(|message| text::one_line(message.trim())).filter(|message| !message.is_empty());
    let kind = letter.error_type.as_deref().map(text::one_line).unwrap_or_default();
    match message {
        Some(message) => (message, kind),
        None if kind.is_empty() => (text::capitalized(letter.reason.sentence()), kind),
        None => (kind, String::new()),
    }
}

pub struct Why {
    pub error: Option<ErrorView>,
    /// What is known where no error is recorded: whole sentences.
    pub unrecorded: &'static str,
    /// How the service could tell next time: of its framework, or of any. Empty where there is nothing to say.
    pub advice: &'static str,
    /// Whether an example for any language helps.
    pub shows_example: bool,
    /// `by MassTransit`, `in x-exception headers`; empty where it was not recognised as any framework's.
    pub recorded: String,
    pub framework: &'static str,
    /// What its queue may be called.
    pub candidates: Vec<String>,
    pub cautions: Vec<&'static str>,
    /// For the example: the queue it failed in, as one line.
    pub queue: String,
    pub dead_letter_exchange: String,
}

pub struct ErrorView {
    /// Empty where it is not recorded; so is the message.
    pub kind: String,
    pub message: String,
    pub trace: Option<TraceView>,
}

pub struct TraceView {
    pub first_line: String,
    pub text: String,
    /// `1 line`, `40 lines`
    pub lines: String,
}

impl Why {
    /// As [`title`], with the error that the message has recorded where its last failure has none.
    pub fn title(&self, letter: &LetterSummary) -> (String, String) {
        let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        match &self.error {
            Some(error) if letter.error().is_none() && error.message.is_empty() => (error.kind.clone(), String::new()),
            Some(error) if letter.error().is_none() => (first(&error.message), error.kind.clone()),
            _ => title(letter),
        }
    }

    pub fn new(letter: &Letter, reading: &Reading, dead_letter_exchange: &str) -> Self {
        let summary = &letter.summary;
        let account = failure_conventions::read(&letter.message);
        let could_tell = matches!(summary.reason, Reason::Rejected | Reason::DeliveryLimit | Reason::Unknown);
        let is_silent = account.failure.error.is_none() && could_tell;
        Self {
            unrecorded: unrecorded(summary.reason),
            advice: if is_silent { account.advice.unwrap_or(ANY_SERVICE) } else { "" },
            shows_example: is_silent && account.advice.is_none(),
            error: account.failure.error.map(|error| ErrorView::new(&scrub_error(error, &reading.hidden_values))),
            recorded: account.framework.map(recorded).unwrap_or_default(),
            framework: account.framework.unwrap_or_default(),
            candidates: account.queue_candidates.iter().map(|name| text::one_line(name)).collect(),
            cautions: account.cautions,
            queue: summary.queue.as_deref().map_or_else(|| "the queue".to_owned(), text::one_line),
            dead_letter_exchange: text::one_line(dead_letter_exchange),
        }
    }
}

/// Headers that anybody may write are nobody's name.
fn recorded(framework: &str) -> String {
    let how = if framework.starts_with("x-") { "in" } else { "by" };
    format!("{how} {framework}")
}

const ANY_SERVICE: &str = "A reject carries no reason. A service can publish a copy of the message instead, with \
    headers that say what went wrong, and then acknowledge it. Libraries that do so: Spring's \
    RepublishMessageRecoverer, Sneakers' Maxretry, Wolverine's EnableEnhancedDeadLettering, the error queues of \
    MassTransit, NServiceBus and Rebus.";

const fn unrecorded(reason: Reason) -> &'static str {
    match reason {
        Reason::Rejected => "It was rejected by the consumer; no reason is recorded.",
        Reason::Expired => "It expired (TTL) before a consumer received it. No service failed.",
        Reason::MaxLen => "Its queue was full. No consumer received it.",
        Reason::DeliveryLimit => {
            "It was delivered too often without success; what went wrong each time is not recorded."
        }
        Reason::Unknown => "The message does not say why it failed.",
    }
}

impl ErrorView {
    fn new(error: &ErrorReport) -> Self {
        let shown = |text: &Option<String>| text.as_deref().map(|text| text::visible(text).into_owned());
        Self {
            kind: error.kind.as_deref().map(text::one_line).unwrap_or_default(),
            message: shown(&error.message).unwrap_or_default(),
            trace: shown(&plain_breaks(error.stacktrace.as_deref())).map(TraceView::new),
        }
    }
}

/// Windows ends its lines with two characters, of which the first would be shown as a picture.
fn plain_breaks(text: Option<&str>) -> Option<String> {
    text.map(|text| text.replace("\r\n", "\n"))
}

impl TraceView {
    fn new(text: String) -> Self {
        const FIRST_LINE: usize = 200;
        let first_line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Self {
            first_line: text::shortened(first_line.trim(), FIRST_LINE),
            lines: number::plural(text.lines().count() as u64, "line"),
            text,
        }
    }
}
