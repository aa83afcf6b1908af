//! What can be found of a letter: what is shown of it where nothing is revealed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use amqp_message::field::FieldValue;

use crate::{
    domain::{
        letter::Letter,
        search::{
            Area,
            document::{Bounds, Document},
        },
        telling::{LOOKED_AT, Telling},
    },
    services::decoding::{
        confirmed::Confirmed,
        reader::Reader,
        reading::{Content, Library, Reading},
        scrub::scrub_error,
        values,
    },
};

/// `None` where it cannot be read by a fault of ours.
pub(super) fn document(
    reader: &Reader,
    library: &Library,
    letter: &Letter,
    confirmed: &Confirmed,
    bounds: &Bounds,
    edition: i64,
) -> Option<Document> {
    let read = || {
        let (shown, reading) = reader.shown(library, letter, confirmed);
        let mut document = Collected { document: Document::default(), bounds };
        document.add_all(&shown, letter, &reading);
        document.document.telling = Some(telling(&reading, edition));
        document.document
    };
    catch_unwind(AssertUnwindSafe(read))
        .inspect_err(|_| {
            tracing::error!(letter = %letter.summary.id, "a dead letter could not be decoded for searches; please report this");
        })
        .ok()
}

/// A call is told by its title.
fn telling(reading: &Reading, edition: i64) -> Telling {
    let mut found: Vec<(String, String)> = Vec::new();
    if reading.task.is_none() {
        values::of_payload(reading, &mut |path, text| {
            if found.len() < LOOKED_AT {
                found.push((path.to_owned(), text.to_owned()));
            }
        });
    }
    Telling::of(edition, found.iter().map(|(path, text)| (&**path, &**text)))
}

struct Collected<'a> {
    document: Document,
    bounds: &'a Bounds,
}

impl Collected<'_> {
    /// The most telling first, and what is long last: there is only so much room. `shown` is the letter without what is
    /// hidden in it.
    fn add_all(&mut self, shown: &Letter, letter: &Letter, reading: &Reading) {
        let error = failure_conventions::read(&letter.message).failure.error;
        let error = error.map(|error| scrub_error(error, &reading.hidden_values)).unwrap_or_default();
        let summary = &shown.summary;
        let kind = error.kind.as_ref().or(summary.error_type.as_ref());
        let message = error.message.as_ref().or(summary.error_message.as_ref());
        for text in kind.into_iter().chain(message) {
            self.text(Area::Error, text);
        }
        self.payload(reading);
        let repeating: Vec<&str> = failure_conventions::repeats_body(&shown.message.headers).collect();
        let quoted = [&error.message, &error.stacktrace];
        for (name, value) in shown.message.headers.iter().filter(|(name, _)| !values::LEFT_OUT.contains(name)) {
            if quoted.iter().any(|text| text.is_some() && text.as_deref() == value.as_str()) {
                continue;
            }
            // What is withheld with the payload must not be found by a header either.
            let area = if repeating.contains(&name) { Area::Payload } else { Area::Headers };
            self.header(area, name, value);
        }
        let properties = &shown.message.properties;
        let named = [&properties.message_id, &properties.correlation_id, &properties.kind, &properties.app_id];
        named.into_iter().flatten().for_each(|text| self.text(Area::Headers, text));
        if let Some(trace) = &error.stacktrace {
            self.text(Area::Stack, trace);
        }
    }

    fn payload(&mut self, reading: &Reading) {
        match &reading.content {
            Content::Json(_) => values::fields_of_payload(reading, &mut |path, text| {
                self.field(Area::Payload, path, text);
            }),
            Content::Text(text) => self.text(Area::Payload, text),
            Content::Binary | Content::Hidden(_) => {}
        }
    }

    fn header(&mut self, area: Area, name: &str, value: &FieldValue) {
        values::fields_of_header(name, value, &mut |path, text| self.field(area, path, text));
    }

    fn field(&mut self, area: Area, path: &str, text: Option<&str>) {
        match text {
            Some(text) => self.document.add_value(area, path, text, self.bounds),
            // The payload as a whole is no field.
            None if path == "payload" => {}
            None => self.document.add_presence(area, path, self.bounds),
        }
    }

    fn text(&mut self, area: Area, text: &str) {
        self.document.add_text(area, text, self.bounds);
    }
}
