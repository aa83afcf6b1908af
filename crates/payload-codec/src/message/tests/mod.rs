//! What is common to the tests of messages.

mod corpus;
mod encoding;
mod fuzz;
mod hostile;
mod masking;
mod reading;
mod well_known;

use prost_reflect::{DescriptorPool, MessageDescriptor};

use super::*;

/// The types of an invented messaging company.
fn small() -> DescriptorPool {
    DescriptorPool::decode(&include_bytes!("../../../fixtures/small.binpb")[..]).unwrap()
}

fn message_of(pool: &DescriptorPool, name: &str) -> MessageDescriptor {
    pool.get_message_by_name(name).unwrap_or_else(|| panic!("there is no {name}"))
}

fn limits() -> Limits {
    Limits::default()
}

/// How a message came back from JSON.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct RoundTrip {
    /// It is byte for byte what it was.
    same_bytes: bool,
    has_problems: bool,
}

/// Whatever a body holds survives as JSON: with the original its bytes, without it its values.
fn check_round_trip(body: &[u8], descriptor: &MessageDescriptor, masks: &Masks) -> RoundTrip {
    let decoded = decode(body, descriptor, &limits());
    let json = decoded.to_json(None);
    assert_eq!(encode(&json, descriptor, Some(body), None, &limits()).as_deref(), Ok(body), "{json}");

    let encoded = encode(&json, descriptor, None, None, &limits()).unwrap_or_else(|e| panic!("{e:?}\n{json}"));
    let again = decode(&encoded, descriptor, &limits());
    assert_eq!(values(&again.to_json(None)), values(&json), "{body:02x?}");

    let masked = decoded.to_json(Some(masks));
    assert_eq!(encode(&masked, descriptor, Some(body), Some(masks), &limits()).as_deref(), Ok(body), "{masked}");
    RoundTrip { same_bytes: encoded == body, has_problems: !decoded.problems.is_empty() }
}

/// JSON as `serde_json` compares it: without the order of its keys, for fields may have been sorted.
fn values(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

/// JSON on one line.
fn compact(json: &str) -> String {
    json.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Types of proto2, with all that proto3 has not.
const LEGACY: &str = r##"
    syntax = "proto2";
    package t;
    message M {
        required string id = 1;
        optional int32 n = 2;
        repeated string phones = 3;
        repeated int32 codes = 4 [packed = true];
        repeated int32 loose = 5;
        optional group Summary = 6 { optional uint32 accepted = 1; optional M inner = 2; }
        repeated group Item = 7 { optional string name = 1; }
        optional Carrier carrier = 8;
        map<string, int64> per_carrier = 9;
        map<int32, M> nested = 10;
        oneof target { string pool = 11; uint64 short_code = 12; M deep = 13; }
        optional bool flag = 14;
        optional float ratio = 15;
        optional double weight = 16;
        optional bytes blob = 17;
        optional sint32 offset = 18;
        optional fixed32 f32 = 19;
        optional sfixed64 s64 = 20;
        optional uint32 u = 21;
        optional uint64 big = 22;
        optional M child = 23;
        optional string strange = 24 [json_name = "#24"];
        map<bool, string> by_flag = 25;
        extensions 100 to 199;
    }
    enum Carrier { CARRIER_A = 1; CARRIER_B = 2; }
    extend M { optional string note = 100; repeated int32 marks = 101 [packed = true]; }
"##;

/// The pool of a schema that stands in a test. It may import the well-known types.
fn pool_of(source: &str) -> DescriptorPool {
    use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

    struct Only(String);
    impl FileResolver for Only {
        fn open_file(&self, name: &str) -> Result<File, protox::Error> {
            match name {
                "t.proto" => File::from_source(name, &self.0),
                _ => Err(protox::Error::file_not_found(name)),
            }
        }
    }
    let mut resolver = ChainFileResolver::new();
    resolver.add(Only(source.to_owned()));
    resolver.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.include_imports(true).open_file("t.proto").unwrap();
    DescriptorPool::decode(&*compiler.encode_file_descriptor_set()).unwrap()
}

fn legacy() -> MessageDescriptor {
    message_of(&pool_of(LEGACY), "t.M")
}
