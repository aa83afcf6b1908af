//! Unwrapping as a whole; single wrappings, corpora and hostile bodies each in a file of their own.

mod corpora;
mod hostile;
mod originals;
mod told;
mod wrappings;

use amqp_message::field::FieldTable;

use super::{Told, Unwrapped, Wish, unwrap};

/// What is found when nothing is told.
fn automatic(body: &[u8]) -> Unwrapped {
    wished(body, &Wish::Automatic)
}

fn wished(body: &[u8], wish: &Wish) -> Unwrapped {
    let headers = FieldTable::default();
    let told = Told { content_type: None, content_encoding: None, headers: &headers, known: None };
    unwrap(body, &told, wish)
}

/// The names of the steps and of the format: `base64 gzip: protobuf`.
fn summary(unwrapped: &Unwrapped) -> String {
    let steps: Vec<&str> = unwrapped.steps.iter().map(|step| step.kind().as_str()).collect();
    format!("{}: {}", steps.join(" "), unwrapped.format.as_str())
}
