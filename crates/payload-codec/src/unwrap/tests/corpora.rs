//! Generated messages in their encodings, and bodies that are no messages.

use std::{fs, path::Path};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

use super::{automatic, summary};
use crate::{
    format::Format,
    unwrap::{Base64, Confluent, Encoding, Escaping, Grpc, Hex, Lines, wrap},
};

/// One line of a corpus.
struct Sample {
    body: Vec<u8>,
    variant: String,
}

fn read(path: &Path) -> Vec<Sample> {
    let text = fs::read_to_string(path).unwrap();
    let sample = |line: &str| {
        let json: Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| json[name].as_str().unwrap();
        Sample { body: BASE64_STANDARD.decode(field("base64")).unwrap(), variant: field("encoding_variant").to_owned() }
    };
    text.lines().map(sample).collect()
}

pub(super) fn fixture(name: &str) -> Vec<Vec<u8>> {
    samples(name).into_iter().map(|sample| sample.body).collect()
}

fn samples(name: &str) -> Vec<Sample> {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name))
}

/// The encodings that a corpus means by its word.
fn meant(variant: &str) -> &'static str {
    match variant {
        "raw" => "",
        "base64"
        | "base64url_nopad"
        | "base64_mime_lines"
        | "base64_trailing_newline"
        | "base64_crlf"
        | "base64_no_padding" => "base64",
        "double_base64" => "base64 base64",
        "gzip_base64" => "base64 gzip",
        "json_string_base64" => "json-string base64",
        "json_field_base64" => "json-member base64",
        "grpc_web_base64" => "base64 grpc",
        "delimited" | "delimited_x2" => "length-delimited",
        "fixed32be_prefix" => "length-prefix",
        "any" => "any",
        "grpc5" => "grpc",
        "confluent" => "confluent",
        "hex" | "hex_upper" => "hex",
        "zlib" => "deflate",
        "gzip" => "gzip",
        "deflate_raw" => "raw-deflate",
        "data_uri" => "data-uri",
        other => panic!("no encoding is meant by {other}"),
    }
}

/// At least `n_right` of the messages are recognised as what they are. Empty bodies count as wrong: they say nothing.
fn check_recognised(samples: &[Sample], n_right: usize) {
    let is_wrong =
        |sample: &&Sample| summary(&automatic(&sample.body)) != format!("{}: protobuf", meant(&sample.variant));
    let wrong: Vec<&Sample> = samples.iter().filter(is_wrong).collect();
    let n = samples.len() - wrong.len();
    let shown: Vec<String> = wrong.iter().map(|sample| format!("{} {:?}", sample.variant, sample.body)).collect();
    assert!(n >= n_right, "only {n} of {} are recognised; not so:\n{}", samples.len(), shown.join("\n"));
}

/// What was unwrapped can be wrapped again into the same bytes, or, where it is compressed, into the same content.
fn check_wraps_again(body: &[u8]) {
    let unwrapped = automatic(body);
    let again = wrap(&unwrapped.payloads, &unwrapped.steps).unwrap();
    if unwrapped.steps.iter().any(|step| step.kind().compresses()) {
        let twice = automatic(&again);
        assert_eq!((twice.steps, twice.payloads), (unwrapped.steps, unwrapped.payloads));
    } else {
        assert_eq!(again, body, "{}", summary(&unwrapped));
    }
}

#[test]
fn messages_are_recognised() {
    check_recognised(&samples("small_messages.ndjson"), 508);
}

#[test]
fn rarer_encodings_are_recognised() {
    let samples = samples("envelopes.ndjson");
    check_recognised(&samples, 120);
    for sample in samples.iter().filter(|sample| sample.variant == "delimited_x2") {
        assert_eq!(automatic(&sample.body).payloads.len(), 2);
    }
}

#[test]
fn nothing_else_is_taken_for_protobuf() {
    for body in fixture("negatives.ndjson") {
        let unwrapped = automatic(&body);
        assert_ne!(unwrapped.format, Format::Protobuf, "{:?} in {:?}", unwrapped.steps, String::from_utf8_lossy(&body));
    }
}

#[test]
fn all_are_wrapped_again() {
    for name in ["small_messages.ndjson", "envelopes.ndjson", "negatives.ndjson"] {
        fixture(name).iter().for_each(|body| check_wraps_again(body));
    }
}

#[test]
fn a_large_set_is_recognised() {
    let Ok(folder) = std::env::var("DLO_TEST_CORPUS") else {
        println!("skipped: DLO_TEST_CORPUS names no folder with large_messages.ndjson");
        return;
    };
    let samples = read(&Path::new(&folder).join("large_messages.ndjson"));
    check_recognised(&samples, samples.len() * 98 / 100);
    samples.iter().for_each(|sample| check_wraps_again(&sample.body));
}

/// Encodings as services make them.
fn chains() -> Vec<Vec<Encoding>> {
    let base64 = |url_safe, padded, lines| Encoding::Base64(Base64 { url_safe, padded, lines, ..Base64::default() });
    let standard = || base64(false, true, None);
    let confluent = Confluent { schema_id: 7, indexes: vec![0], head: vec![0, 0, 0, 0, 7, 0] };
    vec![
        vec![],
        vec![standard()],
        vec![base64(false, false, None)],
        vec![base64(true, false, None)],
        vec![base64(false, true, Some(Lines { width: 76, separator: "\r\n" }))],
        vec![standard(), standard()],
        vec![standard(), Encoding::Gzip],
        vec![standard(), Encoding::Grpc(Grpc { compressed: false })],
        vec![standard(), Encoding::LengthDelimited],
        vec![Encoding::JsonString(Escaping::default()), standard()],
        vec![Encoding::Hex(Hex::default())],
        vec![Encoding::Gzip],
        vec![Encoding::Zlib],
        vec![Encoding::RawDeflate],
        vec![Encoding::Zstd],
        vec![Encoding::LengthDelimited],
        vec![Encoding::LengthDelimited, Encoding::Gzip],
        vec![Encoding::LengthPrefix4],
        vec![Encoding::Grpc(Grpc { compressed: false })],
        vec![Encoding::Confluent(confluent)],
    ]
}

#[test]
fn each_message_in_each_encoding() {
    let raw = samples("small_messages.ndjson").into_iter().filter(|sample| sample.variant == "raw");
    let messages: Vec<Vec<u8>> = raw.map(|sample| sample.body).filter(|body| body.len() >= 12).collect();
    for chain in chains() {
        let is_right = |message: &&Vec<u8>| {
            let found = automatic(&wrap(&[message], &chain).unwrap());
            found.format == Format::Protobuf && found.payload() == message.as_slice()
        };
        let n_wrong = messages.len() - messages.iter().filter(is_right).count();
        assert!(n_wrong <= messages.len() / 50, "{chain:?}: {n_wrong} of {} are wrong", messages.len());
    }
}

#[test]
fn a_message_is_the_same_in_every_encoding() {
    let message = b"\n\x08ord-1042\x10\x03\x1a\x05amber";
    let urls = ["type.googleapis.com/acme.Order", "/acme.orders.v1.Order"];
    for url in urls {
        let any = [b"\n", &[url.len() as u8][..], url.as_bytes(), b"\x12", &[message.len() as u8], message].concat();
        let unwrapped = automatic(&any);
        assert_eq!(unwrapped.payload(), message);
        let [Encoding::Any(any)] = unwrapped.steps.as_slice() else { panic!("{:?}", unwrapped.steps) };
        assert_eq!(any.type_url, url);
    }
}
