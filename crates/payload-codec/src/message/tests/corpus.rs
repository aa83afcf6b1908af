//! Every message of the corpora goes to JSON and back.

use std::{collections::BTreeMap, io::Read, path::Path};

use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use prost_reflect::DescriptorPool;

use super::*;
use crate::wire;

pub(super) const SMALL: &str = include_str!("../../../fixtures/small_messages.ndjson");

/// Takes a body out of what it is wrapped in, as its line says.
fn unwrapped(body: &[u8], encoding: &str) -> Vec<u8> {
    match encoding {
        "raw" => body.to_vec(),
        "base64" => BASE64_STANDARD.decode(body).unwrap(),
        "base64url_nopad" => BASE64_URL_SAFE_NO_PAD.decode(body).unwrap(),
        "gzip_base64" => {
            let mut bytes = Vec::new();
            flate2::read::GzDecoder::new(&*BASE64_STANDARD.decode(body).unwrap()).read_to_end(&mut bytes).unwrap();
            bytes
        }
        "delimited" => body[wire::varint::read(body, 0).unwrap().end..].to_vec(),
        "any" => wire::fields(body)
            .map(Result::unwrap)
            .find_map(|field| match (field.number, field.value) {
                (2, wire::Value::Len(value)) => Some(value.to_vec()),
                _ => None,
            })
            .unwrap_or_default(),
        other => panic!("{other} is new"),
    }
}

#[derive(Debug, Default, Eq, PartialEq)]
struct Tally {
    n_messages: usize,
    n_same_bytes: usize,
    n_with_problems: usize,
}

/// A message of a corpus, taken out of what it was wrapped in.
pub(super) struct Sample {
    pub of: String,
    pub body: Vec<u8>,
    category: String,
}

pub(super) fn samples(lines: &str) -> Vec<Sample> {
    let sample = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| line[name].as_str().unwrap().to_owned();
        let wrapped = BASE64_STANDARD.decode(text("base64")).unwrap();
        let body = unwrapped(&wrapped, &text("encoding_variant"));
        Sample { of: text("type"), body, category: text("category") }
    };
    lines.lines().map(sample).collect()
}

/// By category of the corpus.
fn check_corpus(pool: &DescriptorPool, lines: &str) -> BTreeMap<String, Tally> {
    let masks = Masks::new(pool, &[]);
    let mut tallies = BTreeMap::<String, Tally>::new();
    for sample in samples(lines) {
        let round_trip = check_round_trip(&sample.body, &message_of(pool, &sample.of), &masks);
        let tally = tallies.entry(sample.category).or_default();
        tally.n_messages += 1;
        tally.n_same_bytes += usize::from(round_trip.same_bytes);
        tally.n_with_problems += usize::from(round_trip.has_problems);
    }
    tallies
}

/// Only what was written oddly is written otherwise.
fn check_same_bytes(tallies: &BTreeMap<String, Tally>) {
    assert!(!tallies.is_empty());
    for (category, tally) in tallies.iter().filter(|(category, _)| *category != "odd_wire") {
        assert_eq!(tally.n_same_bytes, tally.n_messages, "{category}");
    }
}

#[test]
fn small_corpus() {
    let tallies = check_corpus(&small(), SMALL);
    assert_eq!(tallies.values().map(|tally| tally.n_messages).sum::<usize>(), 513);
    check_same_bytes(&tallies);
}

/// Of edition 2023, whose descriptors come as proto2 and proto3.
#[test]
fn editions_corpus() {
    let source = r#"
        syntax = "proto2";
        package acme.next.v1;
        import "google/protobuf/timestamp.proto";
        enum Priority { PRIORITY_UNSPECIFIED = 0; LOW = 1; HIGH = 2; }
        enum Carrier { CARRIER_A = 1; CARRIER_B = 2; }
        message OptOutBatch {
            required string batch_id = 1;
            repeated string phones = 2 [debug_redact = true];
            repeated int32 reason_codes = 3 [packed = true];
            repeated int32 legacy_codes = 4;
            optional group Summary = 5 { optional uint32 accepted = 1; optional uint32 rejected = 2; }
            optional int32 total = 6;
            optional google.protobuf.Timestamp closed_at = 7;
            map<string, int64> per_carrier = 8;
        }
        message CarrierOutage {
            optional Carrier carrier = 1;
            optional Priority priority = 2;
            optional string description = 3;
            optional google.protobuf.Timestamp started_at = 4;
        }
        message RouteChanged {
            optional string route_id = 1;
            oneof target { string pool = 2; uint64 short_code = 3; }
            optional double weight = 4;
        }
    "#;
    let lines = include_str!("../../../fixtures/editions_messages.ndjson");
    let tallies = check_corpus(&pool_of(source), lines);
    assert_eq!(tallies.values().map(|tally| tally.n_messages).sum::<usize>(), 60);
    check_same_bytes(&tallies);
}

/// Not ours to ship: `DLO_TEST_CORPUS` names the folder of `large.binpb` and `large_messages.ndjson`.
#[test]
fn large_corpus() {
    let Ok(folder) = std::env::var("DLO_TEST_CORPUS") else {
        println!("skipped: DLO_TEST_CORPUS names no folder");
        return;
    };
    let folder = Path::new(&folder);
    let pool = DescriptorPool::decode(&*std::fs::read(folder.join("large.binpb")).unwrap()).unwrap();
    let lines = std::fs::read_to_string(folder.join("large_messages.ndjson")).unwrap();
    let tallies = check_corpus(&pool, &lines);
    println!("{tallies:#?}");
    check_same_bytes(&tallies);
}
