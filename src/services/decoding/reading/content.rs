//! A payload in a form for people.

use payload_codec::{
    Format,
    guess::Guess,
    json,
    message::{self, MASK},
    structure, tree,
    unwrap::Unwrapped,
    value,
};
use prost_reflect::MessageDescriptor;

use super::{Content, Library, Named, Reading};

/// From this confidence on, what a candidate hides is hidden, though it may not be the type.
const POSSIBLE: f64 = 0.01;

pub(crate) fn read(
    library: &Library,
    unwrapped: Unwrapped,
    named: Option<Named>,
    described: Option<MessageDescriptor>,
    guess: Guess,
    reveal: bool,
) -> Reading {
    let mut reading = Reading {
        remarks: unwrapped.problems.iter().map(|problem| sentence(&problem.to_string())).collect(),
        content: Content::Binary,
        decoded_as: None,
        task: None,
        evidence: Vec::new(),
        is_unread: false,
        hides: false,
        hidden_headers: Vec::new(),
        unwrapped,
        named,
        guess,
    };
    if reading.unwrapped.payloads.len() > 1 {
        let n_payloads = reading.unwrapped.payloads.len();
        reading.remarks.push(format!("There are {n_payloads} messages in a row; this is the first of them."));
    }
    match reading.unwrapped.format {
        Format::Protobuf => reading.protobuf(library, described, reveal),
        Format::Json => reading.json_text(library, reveal),
        Format::MessagePack => reading.value(library, value::Format::MessagePack, reveal),
        Format::Cbor => reading.value(library, value::Format::Cbor, reveal),
        Format::Text => {
            reading.content = Content::Text(String::from_utf8_lossy(reading.unwrapped.payload()).into_owned())
        }
        Format::Yaml | Format::Pickle | Format::Php | Format::Java => reading.structure(library, reveal),
        Format::Binary => {}
    }
    reading
}

impl Reading {
    fn protobuf(&mut self, library: &Library, described: Option<MessageDescriptor>, reveal: bool) {
        if let Some(named) = self.named.as_ref().filter(|named| !named.is_described) {
            self.remarks.push(format!("No schema describes {}; upload one that does.", named.name));
        }
        match described {
            Some(descriptor) => self.message(library, &descriptor, reveal),
            None => self.fields(library, reveal),
        }
    }

    fn message(&mut self, library: &Library, descriptor: &MessageDescriptor, reveal: bool) {
        let is_certain = self.named.as_ref().is_some_and(|named| named.confidence.is_none());
        if !reveal && !is_certain && self.hide_all(library, Some(descriptor)) {
            return;
        }
        let payload = self.unwrapped.payload();
        let decoded = message::decode(payload, descriptor, &library.limits);
        let open = decoded.to_json(None);
        let shown = if reveal { open.clone() } else { decoded.to_json(library.masks(descriptor)) };
        let remarks: Vec<String> = decoded.problems.iter().map(|problem| sentence(&problem.to_string())).collect();
        self.hides = shown != open;
        self.remarks.extend(remarks);
        self.decoded_as = Some(descriptor.full_name().to_owned());
        self.content = Content::Json(shown);
    }

    /// The fields by their numbers.
    fn fields(&mut self, library: &Library, reveal: bool) {
        if !reveal && self.hide_all(library, None) {
            return;
        }
        let tree = tree::tree(self.unwrapped.payload(), &library.limits);
        if tree.truncated {
            self.remarks.push("There is more of it than is shown.".to_owned());
        }
        let problem = tree.problem.as_deref().map(sentence);
        let json = tree.to_json();
        self.remarks.extend(problem);
        self.content = Content::Json(json);
    }

    /// Hides all if one of the types it may be, but another than it is read as, hides something.
    fn hide_all(&mut self, library: &Library, read_as: Option<&MessageDescriptor>) -> bool {
        let possible = self.guess.candidates.iter().filter(|candidate| candidate.confidence > POSSIBLE);
        let hiding = possible.flat_map(|candidate| candidate.types()).find(|name| {
            let descriptor = library.candidate(name).filter(|descriptor| Some(descriptor) != read_as);
            descriptor.is_some_and(|it| library.masks(&it).is_some_and(|masks| masks.redact_within(&it)))
        });
        let Some(hiding) = hiding else { return false };
        let name = hiding.full_name.clone();
        self.hide(&format!("It may be of the type {name}, which has redacted fields."));
        true
    }

    /// Hides all of it.
    pub(crate) fn hide(&mut self, why: &str) {
        self.content = Content::Hidden(why.to_owned());
        self.decoded_as = None;
        self.hides = true;
    }

    fn json_text(&mut self, library: &Library, reveal: bool) {
        let text = String::from_utf8_lossy(self.unwrapped.payload()).into_owned();
        self.content = Content::Json(if reveal { text } else { self.masked(library, text) });
    }

    fn value(&mut self, library: &Library, format: value::Format, reveal: bool) {
        match value::to_json(self.unwrapped.payload(), format, &library.limits) {
            Ok(json) => self.content = Content::Json(if reveal { json } else { self.masked(library, json) }),
            Err(error) => self.remarks.push(sentence(&error.to_string())),
        }
    }

    /// What is only ever read.
    fn structure(&mut self, library: &Library, reveal: bool) {
        let Some(format) = self.unwrapped.format.structure() else { return };
        match structure::to_json(self.unwrapped.payload(), format, &library.limits) {
            Ok(json) => self.content = Content::Json(if reveal { json } else { self.masked(library, json) }),
            Err(error) => {
                let label = self.unwrapped.format.as_str();
                self.remarks.push(format!("It begins as {label}, but cannot be read: {error}."));
            }
        }
    }

    /// What cannot be read cannot be hidden in part.
    fn masked(&mut self, library: &Library, text: String) -> String {
        if library.hidden.is_empty() {
            return text;
        }
        let Ok(mut node) = json::read(&text, library.limits.elements, library.limits.depth) else {
            self.hides = true;
            return format!("\"{MASK}\"");
        };
        if !library.hidden.hide(&mut node) {
            return text;
        }
        self.hides = true;
        node.to_string()
    }
}

/// The first letter large, a full stop behind it.
fn sentence(clause: &str) -> String {
    let mut chars = clause.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.chain(chars).chain((!clause.ends_with('.')).then_some('.')).collect()
}
