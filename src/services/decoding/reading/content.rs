//! A payload in a form for people.

use payload_codec::{
    Format, Limits,
    guess::Guess,
    json,
    message::{self, MASK},
    structure, tree,
    unwrap::Unwrapped,
    value,
};
use prost_reflect::MessageDescriptor;

use super::{Content, Library, Named, Reading, hidden::Hidden};
use crate::domain::disclosure::{Disclosure, Extent, HiddenValues, PayloadFacts};

/// A payload that is to be read.
pub(crate) struct Subject {
    pub unwrapped: Unwrapped,
    pub named: Option<Named>,
    /// The type that is named.
    pub described: Option<MessageDescriptor>,
    /// Other types that it may be, or was taken for before a user named one.
    pub possible: Vec<MessageDescriptor>,
    pub guess: Guess,
    /// Whether it is said to be something with fields.
    pub is_declared: bool,
}

pub(crate) fn read(library: &Library, subject: Subject, reveal: bool) -> Reading {
    let Subject { unwrapped, named, described, possible, guess, is_declared } = subject;
    let mut reading = Reading {
        remarks: unwrapped.problems.iter().map(|problem| sentence(&problem.to_string())).collect(),
        content: Content::Binary,
        decoded_as: None,
        task: None,
        evidence: Vec::new(),
        is_unread: false,
        hides: false,
        hidden_values: HiddenValues::default(),
        hidden_headers: Vec::new(),
        unwrapped,
        named,
        guess,
    };
    if reading.unwrapped.payloads.len() > 1 {
        let n_payloads = reading.unwrapped.payloads.len();
        reading.remarks.push(format!("There are {n_payloads} messages in a row; this is the first of them."));
    }
    reading.bound_depth(&library.limits);
    let types: Vec<MessageDescriptor> = described.iter().chain(&possible).cloned().collect();
    let masks = (!reveal).then_some(&*types);
    match reading.unwrapped.format {
        Format::Protobuf => reading.protobuf(library, described.as_ref(), reveal),
        Format::Json => reading.json_text(library, masks),
        Format::MessagePack => reading.value(library, value::Format::MessagePack, masks),
        Format::Cbor => reading.value(library, value::Format::Cbor, masks),
        Format::Text => {
            reading.content = Content::Text(String::from_utf8_lossy(reading.unwrapped.payload()).into_owned())
        }
        Format::Yaml | Format::Pickle | Format::Php | Format::Java => reading.structure(library, masks),
        Format::Binary => {}
    }
    if !reveal {
        reading.disclose(library, described.as_ref(), &possible, is_declared);
    }
    reading
}

impl Reading {
    fn protobuf(&mut self, library: &Library, described: Option<&MessageDescriptor>, reveal: bool) {
        if let Some(named) = self.named.as_ref().filter(|named| !named.is_described) {
            self.remarks.push(format!("No schema describes {}; upload one that does.", named.name));
        }
        match described {
            Some(descriptor) => self.message(library, descriptor, reveal),
            None => self.fields(library),
        }
    }

    fn message(&mut self, library: &Library, descriptor: &MessageDescriptor, reveal: bool) {
        let payload = self.unwrapped.payload();
        let decoded = message::decode(payload, descriptor, &library.limits);
        let open = decoded.to_json(None);
        let shown = if reveal { open.clone() } else { decoded.to_json(library.masks(descriptor)) };
        let remarks: Vec<String> = decoded.problems.iter().map(|problem| sentence(&problem.to_string())).collect();
        self.remarks.extend(remarks);
        self.decoded_as = Some(descriptor.full_name().to_owned());
        let masked = if reveal { None } else { self.compared(library, &open, &shown) };
        if masked.is_some() {
            // A key of a map or a struct is hidden, or a copy of a hidden value, which no edit could keep.
            self.decoded_as = None;
        }
        self.content = Content::Json(masked.unwrap_or(shown));
    }

    /// Notes what `shown` hides of `open`. The answer is `shown` where it hides more: by names that are no fields' of the
    /// type, or what quotes a hidden value.
    fn compared(&mut self, library: &Library, open: &str, shown: &str) -> Option<String> {
        if open == shown && library.hidden.is_empty() {
            return None;
        }
        let read = |text| json::read(text, usize::MAX, usize::MAX).ok();
        let (Some(open), Some(mut node)) = (read(open), read(shown)) else {
            self.hide("Its hidden values cannot be told from the others.");
            return None;
        };
        let hides_names = library.hidden.hide(&mut node);
        self.hides = hides_names || open != node;
        let hides_more = self.note_hidden(library, &open, &mut node) || hides_names;
        hides_more.then(|| node.to_string())
    }

    /// Notes what `shown` hides of `open`, takes out of it what quotes that, and says whether there was any.
    fn note_hidden(&mut self, library: &Library, open: &json::Node<'_>, shown: &mut json::Node<'_>) -> bool {
        let hidden = Hidden::found(&library.hidden, open, shown);
        let quotes = hidden.scrub(shown);
        self.hidden_values = hidden.into_values(self.unwrapped.payload());
        quotes
    }

    /// The fields by their numbers.
    fn fields(&mut self, library: &Library) {
        let tree = tree::tree(self.unwrapped.payload(), &library.limits);
        if tree.truncated {
            self.remarks.push("There is more of it than is shown.".to_owned());
        }
        let problem = tree.problem.as_deref().map(sentence);
        let json = tree.to_json();
        self.remarks.extend(problem);
        self.content = Content::Json(json);
    }

    /// Hides all of it where what is hidden in it cannot be told from the rest.
    fn disclose(
        &mut self,
        library: &Library,
        read_as: Option<&MessageDescriptor>,
        possible: &[MessageDescriptor],
        is_declared: bool,
    ) {
        let text = match &self.content {
            Content::Text(text) => Some(text.clone()),
            _ => None,
        };
        let is_message = self.unwrapped.format == Format::Protobuf;
        let extent = match &self.content {
            Content::Json(_) if is_message && read_as.is_none() => Extent::Unnamed,
            Content::Json(_) | Content::Hidden(_) => Extent::Fields,
            Content::Text(_) => {
                let text = text.as_deref().unwrap_or_default();
                Extent::Text { text, names_hidden: library.hidden.are_in_text(text), is_declared }
            }
            // Nothing is in it.
            Content::Binary if self.unwrapped.payload().is_empty() => Extent::Fields,
            Content::Binary => Extent::Part,
        };
        let read_as = read_as.filter(|_| is_message);
        let other = possible.iter().find(|other| library.hides_more(other, read_as));
        let is_part = matches!(extent, Extent::Part);
        let facts = PayloadFacts {
            hides_names: !library.hidden.is_empty(),
            may_redact: other.is_some() || is_part && possible.is_empty() && library.redacts(),
            other_type: other.filter(|_| is_message).map(MessageDescriptor::full_name),
            extent,
        };
        if let Disclosure::Nothing(why) = facts.disclosure() {
            self.hide(&why);
        } else if self.unwrapped.payloads.len() > 1 && (facts.hides_names || facts.may_redact || self.hides) {
            // Only the first of them was read.
            self.hides = true;
            let others = self.unwrapped.payloads.iter().skip(1).map(|payload| HiddenValues::salvaged(payload));
            self.hidden_values = others.fold(std::mem::take(&mut self.hidden_values), HiddenValues::and);
        }
    }

    /// Hides all of it.
    pub(crate) fn hide(&mut self, why: &str) {
        if self.hidden_values.is_empty() {
            self.hidden_values = HiddenValues::salvaged(self.unwrapped.payload());
        }
        self.task = None;
        self.content = Content::Hidden(why.to_owned());
        self.decoded_as = None;
        self.hides = true;
    }

    /// Most readers of JSON end far above what would take all their stack.
    fn bound_depth(&mut self, limits: &Limits) {
        if self.unwrapped.format != Format::Json {
            return;
        }
        let depth = json::depth(self.unwrapped.payload());
        if depth > limits.depth {
            let max = limits.depth;
            self.remarks.push(format!(
                "It is JSON of {depth} levels, more than the {max} that are read, and is shown as text."
            ));
            self.unwrapped.format = Format::Text;
        }
    }

    fn json_text(&mut self, library: &Library, masks: Option<&[MessageDescriptor]>) {
        let text = String::from_utf8_lossy(self.unwrapped.payload()).into_owned();
        self.content = Content::Json(self.masked(library, masks, text));
    }

    fn value(&mut self, library: &Library, format: value::Format, masks: Option<&[MessageDescriptor]>) {
        match value::to_json(self.unwrapped.payload(), format, &library.limits) {
            Ok(json) => self.content = Content::Json(self.masked(library, masks, json)),
            Err(error) => self.remarks.push(sentence(&error.to_string())),
        }
    }

    /// What is only ever read.
    fn structure(&mut self, library: &Library, masks: Option<&[MessageDescriptor]>) {
        let Some(format) = self.unwrapped.format.structure() else { return };
        match structure::to_json(self.unwrapped.payload(), format, &library.limits) {
            Ok(json) => self.content = Content::Json(self.masked(library, masks, json)),
            Err(error) => {
                let label = self.unwrapped.format.as_str();
                self.remarks.push(format!("It begins as {label}, but cannot be read: {error}."));
            }
        }
    }

    /// Without what is hidden by its name, and what one of these types redacts: `None` where all is revealed. What cannot be
    /// read cannot be hidden in part.
    fn masked(&mut self, library: &Library, types: Option<&[MessageDescriptor]>, text: String) -> String {
        let Some(types) = types else { return text };
        let redacting = |of: &MessageDescriptor| library.masks(of).filter(|masks| masks.may_hide_within(of));
        let masks: Vec<_> = types.iter().filter_map(|of| Some((of, redacting(of)?))).collect();
        if library.hidden.is_empty() && masks.is_empty() {
            return text;
        }
        let Ok(open) = json::read(&text, library.limits.elements, library.limits.depth) else {
            self.hides = true;
            self.hidden_values = HiddenValues::salvaged(text.as_bytes());
            return format!("\"{MASK}\"");
        };
        let mut node = open.clone();
        let by_type = masks.iter().filter(|(of, masks)| masks.hide_in_json(of, &mut node)).count() > 0;
        if !library.hidden.hide(&mut node) && !by_type {
            return text;
        }
        self.hides = true;
        self.note_hidden(library, &open, &mut node);
        node.to_string()
    }
}

/// The first letter large, a full stop behind it.
fn sentence(clause: &str) -> String {
    let mut chars = clause.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.chain(chars).chain((!clause.ends_with('.')).then_some('.')).collect()
}
