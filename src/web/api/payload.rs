//! What is inside a body, as the API shows it: of letters and of bodies that are only asked about.

use payload_codec::{
    Format,
    guess::{Candidate, Evidence},
    json::in_unicode,
};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::{
    domain::access::Right,
    services::decoding::reading::{Argument, Content, Reading, Task},
    web::visitor::Visitor,
};

/// What is inside a body.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReadPayload {
    /// What was unwrapped, from the outside in: `base64`, `gzip` and others.
    encoding: Vec<&'static str>,
    /// `protobuf`, `json`, `text`, `msgpack`, `cbor`, `yaml`, `pickle`, `php`, `java` or `binary`
    format: &'static str,
    /// What it says; null where it has no form as JSON, or is hidden as a whole.
    #[schema(value_type = Option<Value>)]
    json: Option<Box<RawValue>>,
    /// What it says where it is text, also of YAML.
    text: Option<String>,
    /// What is called, and with which arguments, where it is a call of Celery, Dramatiq, TaskIQ, NestJS, Nameko or Laravel.
    task: Option<TaskItem>,
    /// The type that `json` was read as. Null: `json` is no message of a known type, or has field numbers for names.
    decoded_as: Option<String>,
    /// The types it may be, the best first; empty for formats other than protobuf.
    candidates: Vec<CandidateItem>,
    /// How many more types it may be.
    other_candidates: usize,
    /// What went wrong, and what has to be said.
    remarks: Vec<String>,
    /// Whether some value in it is hidden; to a token without the scope `payload` all of it is.
    hidden: bool,
}

/// A call.
#[derive(Debug, Serialize, ToSchema)]
struct TaskItem {
    name: String,
    arguments: Vec<ArgumentItem>,
}

/// An argument of a call.
#[derive(Debug, Serialize, ToSchema)]
struct ArgumentItem {
    /// Null where only its place tells what it is.
    name: Option<String>,
    /// Its value; null, too, where it cannot be given.
    #[schema(value_type = Option<Value>)]
    value: Option<Box<RawValue>>,
}

impl TaskItem {
    fn new(task: &Task) -> Self {
        let argument = |argument: &Argument| ArgumentItem { name: argument.name.clone(), value: raw(&argument.value) };
        Self { name: task.name.clone(), arguments: task.arguments.iter().map(argument).collect() }
    }
}

/// As it was written. What is no text of Unicode ends most readers of JSON, with all that comes after it.
fn raw(json: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(in_unicode(json).into_owned()).ok()
}

/// A type that a payload may be of.
#[derive(Debug, Serialize, ToSchema)]
struct CandidateItem {
    /// Its full name.
    r#type: String,
    /// Types that no message can tell from it, and that are as likely.
    also: Vec<String>,
    /// How likely it is this type or one of `also`, from 0 to 1.
    confidence: f64,
    /// What speaks for it and against it, the most telling first.
    evidence: Vec<String>,
}

impl ReadPayload {
    pub fn new(reading: &Reading) -> Self {
        let (text, why_hidden) = match &reading.content {
            Content::Text(text) => (Some(text.clone()), None),
            // Its text has all that may be hidden in it.
            Content::Json(_) if reading.unwrapped.format == Format::Yaml && !reading.hides => {
                (Some(String::from_utf8_lossy(reading.unwrapped.payload()).into_owned()), None)
            }
            Content::Hidden(why) => (None, Some(why.clone())),
            Content::Json(_) | Content::Binary => (None, None),
        };
        Self {
            encoding: reading.unwrapped.steps.iter().map(|step| step.kind().as_str()).collect(),
            format: reading.unwrapped.format.as_str(),
            json: reading.json().and_then(raw),
            text,
            task: reading.task.as_ref().map(TaskItem::new),
            decoded_as: reading.decoded_as.clone(),
            candidates: reading
                .candidates()
                .map(|(candidate, evidence)| CandidateItem::new(candidate, evidence))
                .collect(),
            other_candidates: reading.guess.others,
            remarks: reading.remarks.iter().cloned().chain(why_hidden).collect(),
            hidden: reading.hides,
        }
    }
}

impl ReadPayload {
    /// For who may not see it: how it is written, and nothing of what it says.
    pub fn withheld(reading: &Reading) -> Self {
        Self {
            json: None,
            text: None,
            task: None,
            candidates: Vec::new(),
            other_candidates: 0,
            remarks: Visitor::current().map(|visitor| visitor.refusal(Right::Payload)).into_iter().collect(),
            hidden: true,
            ..Self::new(reading)
        }
    }
}

impl CandidateItem {
    fn new(candidate: &Candidate, evidence: &[Evidence]) -> Self {
        Self {
            r#type: candidate.name.full_name.clone(),
            also: candidate.also.iter().map(|name| name.full_name.clone()).collect(),
            confidence: candidate.confidence,
            evidence: evidence.iter().map(ToString::to_string).collect(),
        }
    }
}
