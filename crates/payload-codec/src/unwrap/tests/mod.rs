//! Unwrapping as a whole; single wrappings, corpora and hostile bodies each in a file of their own.

mod corpora;
mod hints;
mod hostile;
mod originals;
mod wrappings;

use amqp_message::field::FieldTable;

use super::{BodyHints, UnwrapMode, Unwrapped, unwrap};

/// What is found when nothing is told.
fn automatic(body: &[u8]) -> Unwrapped {
    wished(body, &UnwrapMode::Automatic)
}

fn wished(body: &[u8], mode: &UnwrapMode) -> Unwrapped {
    let headers = FieldTable::default();
    let told = BodyHints { content_type: None, content_encoding: None, headers: &headers, known: None };
    unwrap(body, &told, mode)
}

/// The names of the steps and of the format: `base64 gzip: protobuf`.
fn summary(unwrapped: &Unwrapped) -> String {
    let steps: Vec<&str> = unwrapped.steps.iter().map(|step| step.kind().as_str()).collect();
    format!("{}: {}", steps.join(" "), unwrapped.format.as_str())
}
