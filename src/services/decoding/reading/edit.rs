//! Bringing an edited payload back into the form of the body it came in.

use std::fmt;

use payload_codec::{
    Format, Limits,
    json::{self, Kind, Member, Node, Position},
    message, structure,
    unwrap::{self, Unwrapped},
    value,
};

use super::{Content, Library, Question, Reading};

/// What is wrong with what a user wrote, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditProblem {
    /// Line and column, both from 1; none where it is not about a place.
    pub at: Option<(usize, usize)>,
    /// The field it is about; empty for the whole.
    pub path: String,
    pub reason: String,
}

impl fmt::Display for EditProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.reason) } else { write!(f, "{}: {}", self.path, self.reason) }
    }
}

/// The form in which an edited payload is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditedAs {
    /// That in which it is shown.
    Shown,
    /// JSON, which is refused where the payload is text: it would go out as JSON.
    Json,
    /// Text, which is refused where the payload is bytes.
    Text,
}

impl EditedAs {
    /// Why a payload of this format is not to be written so.
    fn check(self, format: Format) -> Result<(), Vec<EditProblem>> {
        let is_text = matches!(format, Format::Text | Format::Yaml);
        let label = format.as_str();
        match self {
            Self::Json if is_text => Err(whole(format!(
                "the payload is {label}, and JSON would go out as JSON; send it as text or as bytes"
            ))),
            Self::Text if !is_text && format != Format::Json => {
                Err(whole(format!("the payload is {label}, no text; send it as JSON or as bytes")))
            }
            _ => Ok(()),
        }
    }
}

impl Reading {
    /// Whether `text` says no more than what is shown, so that whoever wrote it has not guessed at what is hidden.
    pub fn says_no_more(&self, text: &str) -> bool {
        match &self.content {
            Content::Json(shown) => same(shown, text),
            Content::Text(shown) => shown == text,
            Content::Binary | Content::Hidden(_) => false,
        }
    }
}

/// The same JSON, but for spaces and the order of members.
fn same(one: &str, other: &str) -> bool {
    let read = |text| json::read(text, usize::MAX, Limits::default().depth).map(in_order);
    matches!((read(one), read(other)), (Ok(one), Ok(other)) if one == other)
}

fn in_order(mut node: Node<'_>) -> Node<'_> {
    node.kind = match node.kind {
        Kind::Array(nodes) => Kind::Array(nodes.into_iter().map(in_order).collect()),
        Kind::Object(members) => {
            let in_order = members.into_iter().map(|member| Member { value: in_order(member.value), ..member });
            let mut members: Vec<_> = in_order.collect();
            members.sort_by(|one, other| one.key.cmp(&other.key));
            Kind::Object(members)
        }
        kind => kind,
    };
    node
}

impl Library {
    /// The body whose payload says what `text` says, in all else like that of the question. `text` is what
    /// [`read`](Self::read) showed, with the same `reveal`, after an edit, or that in another form; hidden
    /// values in it stay what they are.
    ///
    /// # Errors
    /// All that is wrong with it. A message is written only by a type that somebody has named for it, never by a guess.
    pub fn write(
        &self,
        question: &Question<'_>,
        text: &str,
        edited: EditedAs,
        reveal: bool,
    ) -> Result<Vec<u8>, Vec<EditProblem>> {
        let reading = self.read(question, reveal);
        let unwrapped = &reading.unwrapped;
        edited.check(unwrapped.format)?;
        let payload = match unwrapped.format {
            Format::Protobuf if reading.hides && reading.decoded_as.is_none() && reading.is_certain() => {
                return Err(whole("it has hidden values; reveal them before you edit it".to_owned()));
            }
            Format::Protobuf => {
                let certain = reading.named.filter(|named| named.confidence.is_none());
                let descriptor = certain.and_then(|named| self.find(&named.name)).ok_or_else(|| {
                    whole("its type is not known for certain; choose one before you edit it".to_owned())
                })?;
                let masks = self.masks(&descriptor).filter(|_| !reveal);
                message::encode(text, &descriptor, Some(unwrapped.payload()), masks, &self.limits)
                    .map_err(|problems| problems.into_iter().map(EditProblem::from).collect::<Vec<_>>())?
            }
            _ if reading.hides => return Err(whole("it has hidden values; reveal them before you edit it".to_owned())),
            Format::Json => self.json(text)?,
            Format::MessagePack => self.value(unwrapped.payload(), text, value::Format::MessagePack)?,
            Format::Cbor => self.value(unwrapped.payload(), text, value::Format::Cbor)?,
            Format::Text => text.as_bytes().to_vec(),
            Format::Yaml => self.yaml(text)?,
            Format::Pickle | Format::Php | Format::Java => {
                let label = unwrapped.format.as_str();
                return Err(whole(format!(
                    "the payload is {label}, which is shown and never written; send bytes instead"
                )));
            }
            Format::Binary => return Err(whole("only bytes can be shown of it; send other bytes instead".to_owned())),
        };
        wrapped(unwrapped, payload, question.body)
    }

    fn json(&self, text: &str) -> Result<Vec<u8>, Vec<EditProblem>> {
        match json::read(text, self.limits.elements, self.limits.depth) {
            Ok(_) => Ok(text.as_bytes().to_vec()),
            Err(error) => {
                let position = Position::of(text, error.at);
                let at = Some((position.line, position.column));
                Err(vec![EditProblem { at, path: String::new(), reason: error.reason }])
            }
        }
    }

    /// YAML is edited as the text it is, with its comments.
    fn yaml(&self, text: &str) -> Result<Vec<u8>, Vec<EditProblem>> {
        match structure::read(text.as_bytes(), structure::Format::Yaml, &self.limits) {
            Ok(_) => Ok(text.as_bytes().to_vec()),
            Err(error) => Err(whole(format!("this is no YAML: {error}"))),
        }
    }

    fn value(&self, payload: &[u8], text: &str, format: value::Format) -> Result<Vec<u8>, Vec<EditProblem>> {
        value::patch(payload, text, format, &self.limits).map_err(|error| {
            let at = Some((error.position.line, error.position.column));
            vec![EditProblem { at, path: String::new(), reason: error.reason }]
        })
    }
}

/// What has not changed goes back as it came, byte for byte.
fn wrapped(unwrapped: &Unwrapped, payload: Vec<u8>, body: &[u8]) -> Result<Vec<u8>, Vec<EditProblem>> {
    if payload == unwrapped.payload() {
        return Ok(body.to_vec());
    }
    let mut payloads = vec![payload];
    payloads.extend(unwrapped.payloads.iter().skip(1).cloned());
    unwrap::wrap(&payloads, &unwrapped.steps).map_err(|error| whole(error.to_string()))
}

fn whole(reason: String) -> Vec<EditProblem> {
    vec![EditProblem { at: None, path: String::new(), reason }]
}

impl From<message::EncodeProblem> for EditProblem {
    fn from(problem: message::EncodeProblem) -> Self {
        let at = Some((problem.position.line, problem.position.column));
        Self { at, path: problem.path, reason: problem.reason }
    }
}
