//! Of which type a message is, who says so, and what else it may be.

use amqp_message::message::Message;
use failure_conventions::{TypePlace, type_place};
use payload_codec::{
    Format,
    guess::{self, Guess},
};

use super::{
    number,
    schema::{TypeLink, carrier_words},
    text,
};
use crate::{
    domain::{
        history::{Event, HistoryEntry},
        letter::{LetterSummary, TypeSource},
        mapping::Mapping,
    },
    services::decoding::reading::{Named, Reading},
};

/// The type of a message.
#[derive(Debug, PartialEq, Eq)]
pub struct TypeView {
    pub name: String,
    /// Empty where no schema describes it.
    pub href: String,
    /// Whether a schema that describes it would show more.
    pub wants_schema: bool,
    /// `guess, 97 %`
    pub how: String,
    pub is_by_hand: bool,
}

/// Types that a message may be of.
pub struct Candidates {
    /// `Why this type, and 2 other candidates`, `It may be acme.orders.v1.OrderPlaced, 97 %, or 2 other types`
    pub told: String,
    pub rows: Vec<CandidateView>,
    /// `and 12 more`; empty where these are all.
    pub more: String,
    /// Where to say that a queue carries one of them; none where the queue is unknown.
    pub queue: Option<QueueOf>,
}

pub struct QueueOf {
    pub name: String,
    pub shown: String,
    pub broker: String,
}

pub struct CandidateView {
    pub link: TypeLink,
    /// Types that are written alike.
    pub also: Vec<TypeLink>,
    pub more_also: usize,
    /// For the bar.
    pub percent: u8,
    /// `97 %`, `under 1 %`
    pub confidence: String,
    /// Sentences in runs of text, of which every other one is a name.
    pub evidence: Vec<Vec<Run>>,
}

pub struct Run {
    pub text: String,
    pub is_name: bool,
}

impl TypeView {
    /// `mapping` is the one that applies, `history` says who set it by hand, `format` is that of the payload.
    pub fn new(
        named: &Named,
        format: Format,
        message: &Message,
        mapping: Option<&Mapping>,
        history: &[HistoryEntry],
    ) -> Self {
        let how = match named.source {
            TypeSource::Manual => set_by(history),
            TypeSource::Header => from_place(&type_place(message, &named.name)),
            TypeSource::Mapping => mapping.map_or_else(|| "mapping".to_owned(), by_mapping),
            TypeSource::Detected => format!("guess, {}", percent(named.confidence.unwrap_or_default())),
        };
        Self {
            href: if named.is_described { TypeLink::new(&named.name).href } else { String::new() },
            wants_schema: !named.is_described && matches!(format, Format::Protobuf | Format::Binary),
            name: text::name(&named.name, 200),
            how,
            is_by_hand: named.source == TypeSource::Manual,
        }
    }
}

fn from_place(place: &TypePlace) -> String {
    match place {
        TypePlace::Property => "from the message's type property".to_owned(),
        TypePlace::Header(name) => format!("from the message's header {}", text::name(name, 100)),
        TypePlace::ContentType => "from the message's content type".to_owned(),
        TypePlace::Body => "from the message's body".to_owned(),
    }
}

fn set_by(history: &[HistoryEntry]) -> String {
    let last = history.iter().rev().find(|entry| entry.event == Event::TypeSet);
    last.map_or_else(|| "set by hand".to_owned(), |entry| format!("set by {}", text::one_line(entry.by.as_str())))
}

fn by_mapping(mapping: &Mapping) -> String {
    let pattern = text::name(&mapping.pattern, 100);
    format!("mapping by {} {pattern}", carrier_words(mapping.carrier))
}

impl Candidates {
    /// None where somebody has said what it is, and a schema describes that.
    pub fn new(reading: &Reading, letter: &LetterSummary) -> Option<Self> {
        let is_said = reading.named.as_ref().is_some_and(|named| named.confidence.is_none() && named.is_described);
        let guess = &reading.guess;
        if is_said || guess.candidates.is_empty() {
            return None;
        }
        let rows: Vec<_> =
            reading.candidates().map(|(candidate, evidence)| CandidateView::new(candidate, evidence)).collect();
        Some(Self {
            told: told(&rows, reading.named.is_some()),
            rows,
            more: more(guess),
            queue: letter.queue.as_ref().map(|queue| QueueOf {
                name: queue.clone(),
                shown: text::name(queue, 80),
                broker: letter.broker.clone(),
            }),
        })
    }
}

/// Where the likeliest of them is shown as the type, it is about the others.
fn told(rows: &[CandidateView], is_shown: bool) -> String {
    let Some(first) = rows.first() else { return String::new() };
    if is_shown {
        return match rows.len() {
            1 => "Why this type".to_owned(),
            n => format!("Why this type, and {}", number::plural(n as u64 - 1, "other candidate")),
        };
    }
    let it = format!("It may be {}, {}", first.link.name, first.confidence);
    match rows.len() {
        1 => it,
        n => format!("{it}, or {}", number::plural(n as u64 - 1, "other type")),
    }
}

fn more(guess: &Guess) -> String {
    match guess.others {
        0 => String::new(),
        others => format!("and {} more", number::thousands(others as u64)),
    }
}

impl CandidateView {
    fn new(candidate: &guess::Candidate, evidence: &[guess::Evidence]) -> Self {
        /// Types that are written alike; a whole family of empty messages may be.
        const ALSO: usize = 5;
        /// The most telling come first.
        const EVIDENCE: usize = 5;
        Self {
            link: TypeLink::new(&candidate.name.full_name),
            also: candidate.also.iter().take(ALSO).map(|name| TypeLink::new(&name.full_name)).collect(),
            more_also: candidate.also.len().saturating_sub(ALSO),
            percent: (candidate.confidence.clamp(0.0, 1.0) * 100.0).round() as u8,
            confidence: percent(candidate.confidence),
            evidence: evidence.iter().take(EVIDENCE).map(|it| runs(&it.to_string())).collect(),
        }
    }
}

/// Names stand between backticks.
fn runs(sentence: &str) -> Vec<Run> {
    let parts = sentence.split('`').zip([false, true].into_iter().cycle());
    parts.map(|(part, is_name)| Run { text: text::one_line(part), is_name }).collect()
}

/// No guess is certain, and none of the candidates is impossible.
fn percent(confidence: f64) -> String {
    match confidence * 100.0 {
        ..1.0 => "under 1 %".to_owned(),
        99.5.. => "over 99 %".to_owned(),
        percent => format!("{percent:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{actor::Actor, mapping::Carrier};
    use amqp_message::{field::FieldValue, time::Timestamp};

    fn how(source: TypeSource, confidence: Option<f64>) -> String {
        let named = Named { name: "a.B".to_owned(), source, confidence, is_described: true };
        let mapping = Mapping {
            broker: None,
            carrier: Carrier::RoutingKey,
            pattern: "texts.*".to_owned(),
            message_type: "a.B".to_owned(),
        };
        let entry = |event, by: &str| HistoryEntry {
            at: Timestamp::from_micros(0),
            event,
            by: Actor::named(by),
            detail: String::new(),
        };
        let history = [entry(Event::TypeSet, "bob"), entry(Event::TypeSet, "ann"), entry(Event::NoteSet, "eve")];
        let headers = [("task".to_owned(), FieldValue::string("a.B"))].into_iter().collect();
        let message = Message { headers, ..Message::default() };
        TypeView::new(&named, Format::Json, &message, Some(&mapping), &history).how
    }

    #[test]
    fn says_who_says_it() {
        assert_eq!(how(TypeSource::Manual, None), "set by ann");
        assert_eq!(how(TypeSource::Header, None), "from the message's header task");
        assert_eq!(how(TypeSource::Mapping, None), "mapping by routing key texts.*");
        assert_eq!(how(TypeSource::Detected, Some(0.971)), "guess, 97 %");
    }

    #[test]
    fn no_guess_is_certain() {
        let check = |confidence, expected| assert_eq!(percent(confidence), expected);
        check(0.0, "under 1 %");
        check(0.0099, "under 1 %");
        check(0.01, "1 %");
        check(0.994, "99 %");
        check(0.996, "over 99 %");
        check(1.0, "over 99 %");
    }

    #[test]
    fn names_stand_out_in_sentences() {
        let runs = runs("field 4, `email`, is 17");
        let shown: Vec<_> = runs.iter().map(|run| (run.text.as_str(), run.is_name)).collect();
        assert_eq!(shown, [("field 4, ", false), ("email", true), (", is 17", false)]);
    }

    #[test]
    fn what_no_schema_describes_has_no_page() {
        let named =
            Named { name: "a\nB".to_owned(), source: TypeSource::Header, confidence: None, is_described: false };
        for (format, wants_schema) in [(Format::Protobuf, true), (Format::Binary, true), (Format::Json, false)] {
            let view = TypeView::new(&named, format, &Message::default(), None, &[]);
            assert_eq!((view.name.as_str(), view.href.as_str(), view.wants_schema), ("a␊B", "", wants_schema));
        }
    }
}
