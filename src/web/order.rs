//! What somebody wants done with letters, field by field, as a form or a call says it: read and refused in one way.

use std::{str::FromStr, time::Duration};

use amqp_message::{time::Timestamp, word_enum};
use jiff::{ToSpan, tz::TimeZone};

use super::{
    AppState,
    error::{Gathered, WebError},
    query::Pairs,
};
use crate::domain::{command::Command, letter::Importance, retry_limits::Targets};

word_enum! {
    /// What can be done with letters.
    Action, "action" {
        Retry = "retry",
        Discard = "discard",
        Reopen = "reopen",
        Importance = "importance",
        Note = "note",
        Type = "type",
    }
}

impl Action {
    /// What can be done with many letters by one call.
    pub const OF_MANY: &[Self] = &[Self::Retry, Self::Discard, Self::Reopen, Self::Importance];
    /// What a page asks once more about, before it is done with all letters there.
    pub const OF_ALL: &[Self] = &[Self::Retry, Self::Reopen, Self::Discard];
}

/// An action, and what is said of it.
#[derive(Clone, Debug, Default)]
pub struct Order {
    pub action: String,
    pub delay: Option<String>,
    pub queue: Option<String>,
    pub importance: Option<String>,
    pub note: Option<String>,
    pub message_type: Option<String>,
}

impl Order {
    /// Takes the fields of a form. It may send some that its action has no use for.
    pub fn take(pairs: &mut Pairs) -> Result<Self, WebError> {
        Ok(Self {
            action: pairs.take("action")?.unwrap_or_default(),
            delay: pairs.take("custom_delay")?.or(pairs.take("delay")?),
            queue: pairs.take("queue")?,
            importance: pairs.take("importance")?,
            note: pairs.take("note")?,
            message_type: pairs.take("message_type")?,
        })
    }

    /// Refuses what the action has no use for: in a call that is more likely a mistake than a mode.
    pub fn refuse_what_does_not_belong(&self) -> Result<(), WebError> {
        let fields = [
            ("delay", self.delay.is_some(), Action::Retry),
            ("queue", self.queue.is_some(), Action::Retry),
            ("importance", self.importance.is_some(), Action::Importance),
            ("note", self.note.is_some(), Action::Discard),
        ];
        match fields.into_iter().find(|(_, given, action)| *given && action.as_str() != self.action) {
            Some((field, _, action)) => Err(WebError::field(field, format!("it goes only with {action}"))),
            None => Ok(()),
        }
    }

    /// What it comes to, where only these actions are possible.
    pub fn command(self, possible: &[Action], app: &AppState) -> Result<Command, WebError> {
        let action = possible.iter().find(|action| action.as_str() == self.action);
        let takes = || possible.iter().map(|action| action.as_str()).collect::<Vec<_>>().join(", ");
        let unknown = || format!("{:?} is not possible; it takes one of {}", self.action, takes());
        Ok(match action.ok_or_else(|| WebError::field("action", unknown()))? {
            Action::Retry => {
                let (delay, queue) = read_retry(self.delay, self.queue, app)?;
                Command::Retry { delay, queue }
            }
            Action::Discard => Command::Discard { note: self.note.as_deref().map(read_note).transpose()? },
            Action::Reopen => Command::Reopen,
            Action::Importance => {
                let missing = || WebError::field("importance", "this action needs it");
                Command::SetImportance(read_importance(&self.importance.ok_or_else(missing)?)?)
            }
            Action::Note => Command::SetNote(read_note(&self.note.unwrap_or_default())?),
            Action::Type => Command::SetType(read_type(&self.message_type.unwrap_or_default())?),
        })
    }
}

/// When a retry is due, and where it goes.
pub fn read_retry(
    delay: Option<String>,
    queue: Option<String>,
    app: &AppState,
) -> Result<(Duration, Option<String>), WebError> {
    let mut gathered = Gathered::default();
    let delay = gathered.take(read_delay(delay, app.clock.now()));
    let queue = gathered.take(read_queue(queue, app.triage.targets()));
    gathered.end().map(|()| (delay, queue))
}

/// At once, where nothing is said.
fn read_delay(delay: Option<String>, now: Timestamp) -> Result<Duration, WebError> {
    let read = match delay.as_deref() {
        // A variable that is unset is no order to send at once.
        Some(text) if text.trim().is_empty() => Err("it is empty; leave it out to retry at once".to_owned()),
        text => parse_delay(text.unwrap_or_default(), now),
    };
    read.map_err(|why| WebError::field("delay", why))
}

/// The longest name of a queue in AMQP, in bytes.
const LONGEST_QUEUE: usize = 255;

fn read_queue(queue: Option<String>, targets: &Targets) -> Result<Option<String>, WebError> {
    let Some(name) = queue.as_deref() else { return Ok(None) };
    let why = match name {
        "" => "it takes a name, or is left out".to_owned(),
        name if name.len() > LONGEST_QUEUE => format!("it takes a name of {LONGEST_QUEUE} bytes at most"),
        name => match targets.check(name) {
            Ok(()) => return Ok(queue),
            Err(why) => why,
        },
    };
    Err(WebError::field("queue", why))
}

pub fn read_importance(word: &str) -> Result<Importance, WebError> {
    Importance::from_str(word).map_err(|why| WebError::field("importance", why))
}

/// Characters of a note.
pub const LONGEST_NOTE: usize = 8_000;

/// A note as it is kept.
pub fn read_note(text: &str) -> Result<String, WebError> {
    let text = text.trim();
    if text.chars().count() > LONGEST_NOTE {
        return Err(WebError::field("note", format!("it takes {LONGEST_NOTE} characters at most")));
    }
    Ok(text.to_owned())
}

/// How long a retry waits: `now`, `tomorrow` (nine o'clock, UTC) or a duration.
pub fn parse_delay(text: &str, now: Timestamp) -> Result<Duration, String> {
    /// A retry later than this is surely a slip.
    const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);
    let delay = match text.trim() {
        "" | "now" | "0" => Duration::ZERO,
        "tomorrow" => until_tomorrow(now),
        text => {
            humantime::parse_duration(text).map_err(|_| format!("{text:?} is no delay; it takes 30s, 10m, 2h or 7d"))?
        }
    };
    if delay > LONGEST { Err(format!("{text:?} is too far away; a delay is a year at most")) } else { Ok(delay) }
}

fn until_tomorrow(now: Timestamp) -> Duration {
    let nine_tomorrow = || {
        let now = jiff::Timestamp::from_microsecond(now.as_micros())?.to_zoned(TimeZone::UTC);
        now.checked_add(1.day())?.date().at(9, 0, 0, 0).to_zoned(TimeZone::UTC)
    };
    // Fails only at the end of the calendar.
    nine_tomorrow().map_or(Duration::ZERO, |at| Timestamp::from_micros(at.timestamp().as_microsecond()).since(now))
}

/// The full name of a message type; empty to take it back.
pub fn read_type(name: &str) -> Result<Option<String>, WebError> {
    let name = name.trim();
    if name.is_empty() {
        return Ok(None);
    }
    let is_part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if name.len() > 1_024 || !name.split('.').all(is_part) {
        return Err(WebError::field(
            "message_type",
            "it takes the full name of a message type, like acme.texts.v1.Text",
        ));
    }
    Ok(Some(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_goes_to_a_queue_of_somebody_else() {
        let targets = Targets::default();
        let check = |name: &str, is_possible: bool| {
            assert_eq!(read_queue(Some(name.to_owned()), &targets).is_ok(), is_possible, "{name}");
        };
        check("orders", true);
        check("dlo.obituaries", false);
        check("", false);
        check(&"x".repeat(255), true);
        check(&"x".repeat(256), false);
        check("dlo.due", false);
    }

    #[test]
    fn delays() {
        // 21 Nov 2026, 10:04 UTC
        let now = Timestamp::from_micros(1_795_255_440_000_000);
        let check =
            |text, seconds| assert_eq!(parse_delay(text, now).ok().map(|delay| delay.as_secs()), seconds, "{text}");
        check("", Some(0));
        check("now", Some(0));
        check("30s", Some(30));
        check("1h 30m", Some(5_400));
        check("tomorrow", Some(22 * 3_600 + 56 * 60));
        check("soon", None);
        check("-1s", None);
        check("400d", None);
    }
}
