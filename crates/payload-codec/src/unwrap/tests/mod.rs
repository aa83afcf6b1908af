//! Unwrapping as a whole; single encodings, corpora and hostile bodies each in a file of their own.

mod corpora;
mod easynetq;
mod encodings;
mod hints;
mod hostile;

use amqp_message::field::FieldTable;

use super::{BodyHints, UnwrapMode, Unwrapped, unwrap};

/// What is found without any hints.
fn automatic(body: &[u8]) -> Unwrapped {
    with_mode(body, &UnwrapMode::Automatic)
}

fn with_mode(body: &[u8], mode: &UnwrapMode) -> Unwrapped {
    let headers = FieldTable::default();
    unwrap(body, &BodyHints::new(&headers), mode)
}

/// The names of the steps and of the format: `base64 gzip: protobuf`.
fn summary(unwrapped: &Unwrapped) -> String {
    let steps: Vec<&str> = unwrapped.steps.iter().map(|step| step.kind().as_str()).collect();
    format!("{}: {}", steps.join(" "), unwrapped.format.as_str())
}
