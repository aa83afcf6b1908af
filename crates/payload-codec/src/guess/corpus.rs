//! Messages of known types, to measure guesses with.

use std::{io::Read, path::Path};

use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use flate2::read::GzDecoder;
use prost_reflect::DescriptorPool;
use serde::Deserialize;

use super::Guess;
use crate::wire::{Value, fields, varint};

/// A message, without what it was wrapped in.
pub struct Sample {
    pub full_name: String,
    pub body: Vec<u8>,
    /// The queue it was found on, of those that have more than one message.
    pub queue: Option<String>,
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    full_name: String,
    base64: String,
    encoding_variant: String,
    queue: Option<String>,
}

pub fn small() -> (DescriptorPool, Vec<Sample>) {
    let descriptors = include_bytes!("../../fixtures/small.binpb");
    let messages = include_str!("../../fixtures/small_messages.ndjson");
    (DescriptorPool::decode(&descriptors[..]).unwrap(), samples(messages))
}

/// The corpus of some ten thousand types, which is not ours to ship.
pub fn large() -> Option<(DescriptorPool, Vec<Sample>)> {
    let Ok(folder) = std::env::var("DLO_TEST_CORPUS") else {
        println!("skipped: DLO_TEST_CORPUS does not name a folder with large.binpb and large_messages.ndjson");
        return None;
    };
    let file = |name| std::fs::read(Path::new(&folder).join(name)).unwrap();
    let messages = String::from_utf8(file("large_messages.ndjson")).unwrap();
    Some((DescriptorPool::decode(&file("large.binpb")[..]).unwrap(), samples(&messages)))
}

fn samples(lines: &str) -> Vec<Sample> {
    lines.lines().map(|line| sample(serde_json::from_str(line).unwrap())).collect()
}

fn sample(line: Line) -> Sample {
    let body = unwrap(&line.encoding_variant, BASE64_STANDARD.decode(line.base64).unwrap());
    Sample { full_name: line.full_name, body, queue: line.queue }
}

fn unwrap(encoding: &str, body: Vec<u8>) -> Vec<u8> {
    match encoding {
        "raw" => body,
        "base64" => BASE64_STANDARD.decode(body).unwrap(),
        "base64url_nopad" => BASE64_URL_SAFE_NO_PAD.decode(body).unwrap(),
        "gzip_base64" => {
            let mut inflated = vec![];
            GzDecoder::new(&BASE64_STANDARD.decode(body).unwrap()[..]).read_to_end(&mut inflated).unwrap();
            inflated
        }
        "delimited" => body[varint::read(&body, 0).unwrap().end..].to_vec(),
        "any" => match fields(&body).flatten().find(|field| field.number == 2).map(|field| field.value) {
            Some(Value::Len(value)) => value.to_vec(),
            _ => vec![],
        },
        other => panic!("{other}"),
    }
}

/// How good guesses are.
#[derive(Debug, Default)]
pub struct Measure {
    messages: f64,
    first: f64,
    first_three: f64,
    strong: f64,
    strong_and_right: f64,
}

impl Measure {
    pub fn add(&mut self, guess: &Guess, full_name: &str) {
        self.messages += 1.0;
        let (first, first_three) = rank(guess, full_name);
        self.first += first;
        self.first_three += first_three;
        if let Some(strong) = guess.strong() {
            self.strong += 1.0;
            self.strong_and_right += f64::from(u8::from(strong.name.full_name == full_name));
        }
    }

    /// In per cent: right at once, ties shared; among the first three, likewise.
    pub fn ranks(&self) -> (f64, f64) {
        (100.0 * self.first / self.messages, 100.0 * self.first_three / self.messages)
    }

    /// In per cent: of all messages named; of those named rightly.
    pub fn strong(&self) -> (f64, f64) {
        (100.0 * self.strong / self.messages, 100.0 * self.strong_and_right / self.strong.max(1.0))
    }
}

/// How likely a type comes first, and among the first three, if ties are broken at random.
fn rank(guess: &Guess, full_name: &str) -> (f64, f64) {
    let mut before = 0.0;
    for candidate in &guess.candidates {
        let tied = candidate.types().count() as f64;
        if candidate.types().any(|name| name.full_name == full_name) {
            let first = if before == 0.0 { 1.0 / tied } else { 0.0 };
            return (first, ((3.0 - before) / tied).clamp(0.0, 1.0));
        }
        before += tied;
    }
    (0.0, 0.0)
}
