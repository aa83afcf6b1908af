//! A marker as it comes in by a form or a call, read field by field.

use amqp_message::time::Timestamp;

use super::policy::Wrong;
use crate::{
    domain::{
        link::read_link,
        marker::{FURTHEST_AHEAD, LONGEST_SERVICE, LONGEST_TITLE, MOST_QUEUES, MarkerKind},
        when::When,
    },
    services::triage::markers::NewMarker,
    web::error::codes::FaultCode,
};

/// Characters of a pattern for queues: RabbitMQ takes names of 255 bytes.
const LONGEST_PATTERN: usize = 255;

/// What was given.
#[derive(Clone, Debug, Default)]
pub struct MarkerDraft {
    pub kind: String,
    pub title: String,
    pub at: String,
    pub service: String,
    pub queues: Vec<String>,
    pub link: String,
}

impl MarkerDraft {
    /// The marker it comes to.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn read(&self, now: Timestamp) -> Result<NewMarker, Vec<Wrong>> {
        let mut wrong = Vec::new();
        let kind = self.kind.parse().map_err(|why: String| Wrong::new("kind", why).of(FaultCode::Choice));
        let kind = kind.unwrap_or_else(|why| {
            wrong.push(why);
            MarkerKind::default()
        });
        let at = self.time(now).unwrap_or_else(|why| {
            wrong.push(why);
            now
        });
        let title = self.title.trim();
        if title.is_empty() {
            wrong.push(Wrong::new("title", "say what happened: a version, a flag, what broke").of(FaultCode::Required));
        }
        wrong.extend(of_one_line("title", title, LONGEST_TITLE));
        wrong.extend(of_one_line("service", self.service.trim(), LONGEST_SERVICE));
        wrong.extend(self.queue_mistakes());
        let link = read_link(&self.link).unwrap_or_else(|why| {
            wrong.push(Wrong::new("link", why).of(FaultCode::Format));
            None
        });
        let service = Some(self.service.trim().to_owned()).filter(|service| !service.is_empty());
        let title = title.to_owned();
        if !wrong.is_empty() {
            return Err(wrong);
        }
        Ok(NewMarker { kind, title, at, service, queues: self.queues.clone(), link })
    }

    /// Now, if it is not said.
    fn time(&self, now: Timestamp) -> Result<Timestamp, Wrong> {
        let text = self.at.trim();
        if text.is_empty() || text.eq_ignore_ascii_case("now") {
            return Ok(now);
        }
        let when: When = text.parse().map_err(|why: String| Wrong::new("at", why).of(FaultCode::Format))?;
        let at = when.resolve(now);
        if at > now.plus(FURTHEST_AHEAD) {
            let why = "it is more than a day ahead; a marker says what has happened";
            return Err(Wrong::new("at", why).of(FaultCode::Range));
        }
        Ok(at)
    }

    fn queue_mistakes(&self) -> Vec<Wrong> {
        let wrong = |item, code, why: String| Wrong { item, ..Wrong::new("queues", why).of(code) };
        let mut all = Vec::new();
        if self.queues.len() > MOST_QUEUES {
            all.push(wrong(None, FaultCode::Range, format!("there are more than {MOST_QUEUES}")));
        }
        for (n, queue) in self.queues.iter().enumerate() {
            if queue.trim().is_empty() || queue.len() > LONGEST_PATTERN {
                let why = format!("a name or a pattern has 1 to {LONGEST_PATTERN} characters");
                all.push(wrong(Some(n), FaultCode::Range, why));
            }
        }
        all
    }
}

fn of_one_line(field: &'static str, text: &str, longest: usize) -> Option<Wrong> {
    if text.chars().count() > longest {
        return Some(Wrong::new(field, format!("it has more than {longest} characters")).of(FaultCode::Range));
    }
    let has_control = text.chars().any(char::is_control);
    has_control.then(|| Wrong::new(field, "it takes one line, without control characters").of(FaultCode::Format))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_795_255_440_000_000);

    fn draft() -> MarkerDraft {
        MarkerDraft { kind: "deploy".to_owned(), title: "4711".to_owned(), ..MarkerDraft::default() }
    }

    #[test]
    fn without_a_time_it_is_now() {
        let read = |at: &str| MarkerDraft { at: at.to_owned(), ..draft() }.read(NOW).map(|new| new.at);
        assert_eq!([read(""), read("now"), read(" Now ")], [Ok(NOW), Ok(NOW), Ok(NOW)]);
        assert_eq!(read("5m").map(|at| NOW.since(at).as_secs()), Ok(300));
        assert!(read("2026-11-21T09:00:00Z").is_ok_and(|at| at < NOW));
    }

    #[test]
    fn all_mistakes_are_told_by_field() {
        let all = MarkerDraft {
            kind: "deployment".to_owned(),
            title: " ".to_owned(),
            at: "2027-01-01".to_owned(),
            service: "a\nb".to_owned(),
            queues: vec!["a".to_owned(), String::new()],
            link: "javascript:alert(1)".to_owned(),
        };
        let wrong = all.read(NOW).unwrap_err();
        let fields: Vec<_> = wrong.iter().map(|wrong| (wrong.field, wrong.item)).collect();
        let expected =
            [("kind", None), ("at", None), ("title", None), ("service", None), ("queues", Some(1)), ("link", None)];
        assert_eq!(fields, expected);
    }
}
