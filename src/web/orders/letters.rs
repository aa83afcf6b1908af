//! What somebody wants done with letters, field by field, as a form or a call says it: read and refused in one way.

use std::{str::FromStr, time::Duration};

use amqp_message::{time::Timestamp, word_enum};
use payload_codec::json::MergePatch;

use crate::{
    domain::{
        access::Right,
        command::{Command, LONGEST_NOTE},
        letter::Importance,
        retry_limits::{LONGEST_NAME, Targets},
    },
    web::{
        error::{Gathered, WebError, codes::FaultCode},
        input::delay,
        query::Pairs,
        state::AppState,
        visitor::Visitor,
    },
};

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
    /// Which one, or none: what the rules say.
    pub importance: Option<Option<String>>,
    pub note: Option<String>,
    pub message_type: Option<String>,
}

impl Order {
    /// Takes the fields of a form. It may send some that its action has no use for.
    pub fn take(pairs: &mut Pairs) -> Result<Self, WebError> {
        Ok(Self {
            action: pairs.take("action")?.unwrap_or_default(),
            delay: pairs.take("custom_delay")?.or(pairs.take("delay")?),
            queue: take_queue(pairs)?,
            importance: pairs.take("importance")?.map(|word| Some(word).filter(|word| word != BY_RULES)),
            note: pairs.take("note")?,
            message_type: pairs.take("message_type")?,
        })
    }

    /// Refuses what the action has no use for: in a call that is more likely a mistake than a mode. What goes with one that
    /// is none is not known.
    pub fn refuse_what_does_not_belong(&self) -> Result<(), WebError> {
        let mut gathered = Gathered::default();
        let fields = [
            ("delay", self.delay.is_some(), Action::Retry),
            ("queue", self.queue.is_some(), Action::Retry),
            ("importance", self.importance.is_some(), Action::Importance),
            ("note", self.note.is_some(), Action::Discard),
        ];
        let is_known = Action::OF_MANY.iter().any(|action| action.as_str() == self.action);
        for (field, given, action) in fields {
            if is_known && given && action.as_str() != self.action {
                gathered.add(WebError::field(field, FaultCode::Excluded, format!("it goes only with {action}")));
            }
        }
        gathered.end()
    }

    /// What it comes to, where only these actions are possible.
    pub fn command(&self, possible: &[Action], app: &AppState) -> Result<Command, WebError> {
        let action = possible.iter().find(|action| action.as_str() == self.action);
        let takes = || possible.iter().map(|action| action.as_str()).collect::<Vec<_>>().join(", ");
        let unknown = || format!("{:?} is not possible; it takes one of {}", self.action, takes());
        Ok(match action.ok_or_else(|| WebError::field("action", FaultCode::Choice, unknown()))? {
            Action::Retry => {
                let (delay, queue) = read_retry(self.delay.as_deref(), self.queue.clone(), app)?;
                Command::Retry { delay, queue }
            }
            Action::Discard => Command::Discard { note: self.note.as_deref().map(read_note).transpose()? },
            Action::Reopen => Command::Reopen,
            Action::Importance => {
                let missing = || WebError::field("importance", FaultCode::Required, "this action needs it");
                read_set_importance(self.importance.as_ref().ok_or_else(missing)?.as_deref())?
            }
            Action::Note => Command::SetNote(read_note(self.note.as_deref().unwrap_or_default())?),
            Action::Type => Command::SetType(read_type(self.message_type.as_deref().unwrap_or_default())?),
        })
    }
}

/// The name of a queue, as a form has it: blanks around it were hardly meant.
///
/// # Errors
/// If it is given more than once.
pub fn take_queue(pairs: &mut Pairs) -> Result<Option<String>, WebError> {
    Ok(pairs.take("queue")?.map(|queue| queue.trim().to_owned()))
}

/// When a retry is due, and where it goes.
pub fn read_retry(
    delay: Option<&str>,
    queue: Option<String>,
    app: &AppState,
) -> Result<(Duration, Option<String>), WebError> {
    let mut gathered = Gathered::default();
    let delay = gathered.take(read_delay(delay, app.clock.now()));
    let queue = gathered.take(read_queue(queue, app.triage.targets()));
    gathered.end().map(|()| (delay, queue))
}

/// At once, where nothing is said.
fn read_delay(delay: Option<&str>, now: Timestamp) -> Result<Duration, WebError> {
    let read = delay.map_or(Ok(Duration::ZERO), |text| delay::read(text, now));
    read.map_err(|why| WebError::field("delay", FaultCode::Format, why))
}

fn read_queue(queue: Option<String>, targets: &Targets) -> Result<Option<String>, WebError> {
    let Some(name) = queue.as_deref() else { return Ok(None) };
    let (code, why) = match name {
        name if name.trim().is_empty() => (FaultCode::Empty, "it takes a name, or is left out".to_owned()),
        name if name.len() > LONGEST_NAME => {
            (FaultCode::Length, format!("it takes a name of {LONGEST_NAME} bytes at most"))
        }
        name => match targets.check(name) {
            Ok(()) => return Ok(queue),
            Err(why) => (FaultCode::Invalid, why),
        },
    };
    Err(WebError::field("queue", code, why))
}

/// One edit for the payloads of many letters, from somebody who may see some.
pub fn read_merge_patch(text: &str) -> Result<MergePatch, WebError> {
    Visitor::need(Right::Payload)?;
    MergePatch::read(text).map_err(|mistake| WebError::field("merge_patch", FaultCode::Invalid, mistake.to_string()))
}

pub fn read_importance(word: &str) -> Result<Importance, WebError> {
    Importance::from_str(word).map_err(|why| WebError::field("importance", FaultCode::Choice, why))
}

/// What a form says where the rules are to decide.
pub const BY_RULES: &str = "rules";

/// An importance that is set by hand, or none: what the rules say.
pub fn read_set_importance(word: Option<&str>) -> Result<Command, WebError> {
    word.map_or(Ok(Command::ReleaseImportance), |word| read_importance(word).map(Command::SetImportance))
}

/// A note as it is kept. Forms send a line break as two characters, and count it as one.
pub fn read_note(text: &str) -> Result<String, WebError> {
    let text = text.trim().replace("\r\n", "\n");
    if text.chars().count() > LONGEST_NOTE {
        return Err(WebError::field("note", FaultCode::Length, format!("it takes {LONGEST_NOTE} characters at most")));
    }
    Ok(text)
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
            FaultCode::Format,
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
}
