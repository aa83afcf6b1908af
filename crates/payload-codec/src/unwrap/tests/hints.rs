//! What properties and headers say.

use amqp_message::field::{FieldTable, FieldValue};

use super::summary;
use crate::unwrap::{BodyHints, Encoding, Grpc, Problem, TypeHint, UnwrapMode, Unwrapped, unwrap, wrap};

fn with_hints(body: &[u8], content_type: &str, content_encoding: &str, headers: &[(&str, &str)]) -> Unwrapped {
    let headers: FieldTable =
        headers.iter().map(|(name, value)| ((*name).to_owned(), FieldValue::string(*value))).collect();
    let hints = BodyHints {
        content_type: Some(content_type).filter(|text| !text.is_empty()),
        content_encoding: Some(content_encoding).filter(|text| !text.is_empty()),
        headers: &headers,
        known: None,
    };
    unwrap(body, &hints, &UnwrapMode::Automatic)
}

#[test]
fn a_content_type_decides_what_bytes_leave_open() {
    let check = |body: &[u8], content_type: &str, expected: &str| {
        assert_eq!(summary(&with_hints(body, content_type, "", &[])), expected, "{body:?} as {content_type}");
    };
    check(b"", "", ": text");
    check(b"", "application/x-protobuf", ": protobuf");
    check(b"", "application/protobuf; charset=binary", ": protobuf");
    check(b"EINi", "", ": text");
    check(b"EINi", "application/vnd.google.protobuf", "base64: protobuf");
    check(b"\x91\x01", "", ": binary");
    check(b"\x91\x01", "application/msgpack", ": msgpack");
    check(b"\x91\x01", "application/x-msgpack", ": msgpack");
    check(b"\x81\x01", "", ": binary");
    check(b"\x81\x01", "application/cbor", ": cbor");
    check(b"\x81\x01", "application/vnd.acme+cbor", ": cbor");
}

#[test]
fn a_content_type_is_not_blindly_believed() {
    let check = |body: &[u8], content_type: &str, expected: &str| {
        assert_eq!(summary(&with_hints(body, content_type, "", &[])), expected, "{body:?} as {content_type}");
    };
    let message = b"\n\x08ord-1042\x10\x03\x1a\x05amber";
    check(message, "application/json", ": protobuf");
    check(message, "text/plain", ": protobuf");
    check(b"CghvcmQtMTA0MhADGgVhbWJlcg==", "text/plain", "base64: protobuf");
    check(b"CghvcmQtMTA0MhADGgVhbWJlcg==", "application/json", "base64: protobuf");
    check(b"{\"id\": 1}", "application/x-protobuf", ": json");
    check(b"not a message at all", "application/x-protobuf", ": text");
}

#[test]
fn encodings_are_declared_in_many_places() {
    let check = |encoding: &str, headers: &[(&str, &str)], expected: &[Problem]| {
        assert_eq!(with_hints(b"hello", "", encoding, headers).problems, expected, "{encoding} {headers:?}");
    };
    check("utf-8", &[], &[]);
    check("identity", &[], &[]);
    check("gzip", &[], &[Problem::NotAsDeclared("gzip".into())]);
    check("GZIP", &[], &[Problem::NotAsDeclared("gzip".into())]);
    check("br", &[], &[Problem::Unsupported("br".into())]);
    check("", &[("grpc-encoding", "deflate")], &[Problem::NotAsDeclared("deflate".into())]);
    check("", &[("rbs2-content-encoding", "gzip")], &[Problem::NotAsDeclared("gzip".into())]);
    check("", &[("compression", "application/x-gzip")], &[Problem::NotAsDeclared("application/x-gzip".into())]);
}

#[test]
fn a_compressed_frame_is_undone_with_its_compression() {
    let message = b"\n\x08ord-1042\x10\x03\x1a\x05amber";
    for (encoding, compression) in [("gzip", Encoding::Gzip), ("deflate", Encoding::Zlib)] {
        let steps = [Encoding::Grpc(Grpc { compressed: true }), compression];
        let unwrapped =
            with_hints(&wrap(&[message], &steps).unwrap(), "application/grpc", "", &[("grpc-encoding", encoding)]);
        assert_eq!(summary(&unwrapped), format!("grpc {encoding}: protobuf"));
        assert_eq!((unwrapped.steps.as_slice(), unwrapped.payload()), (steps.as_slice(), message.as_slice()));
        assert_eq!(unwrapped.problems, []);
    }
}

#[test]
fn a_declared_encoding_tips_the_balance() {
    assert_eq!(summary(&with_hints(b"QUJD", "", "", &[])), ": text");
    assert_eq!(summary(&with_hints(b"QUJD", "", "base64", &[])), "base64: text");
    assert_eq!(summary(&with_hints(b"/+7dzA==", "", "base64", &[])), "base64: binary");
}

#[test]
fn types_are_named_in_many_places() {
    let check = |content_type: &str, headers: &[(&str, &str)], expected: TypeHint| {
        assert_eq!(
            with_hints(b"\x08\x01", content_type, "", headers).type_hints,
            [expected],
            "{content_type} {headers:?}"
        );
    };
    let named = |name: &str| TypeHint::ContentType { type_name: name.into() };
    check("application/x-protobuf; messageType=\"acme.Order\"", &[], named("acme.Order"));
    check("application/vnd.google.protobuf; proto=acme.Order; encoding=delimited", &[], named("acme.Order"));
    let event = |schema: Option<&str>| TypeHint::CloudEvent {
        event_type: "acme.order".into(),
        data_schema: schema.map(str::to_owned),
    };
    check("", &[("cloudEvents:type", "acme.order")], event(None));
    check("", &[("cloudEvents_type", "acme.order"), ("cloudEvents_dataschema", "urn:s")], event(Some("urn:s")));
}

#[test]
fn a_judge_who_knows_types_is_heard() {
    let headers = FieldTable::default();
    let judge = |payload: &[u8]| (payload == b"\x20\xe2\x2d").then_some(9.0);
    let hints = BodyHints { known: Some(&judge), ..BodyHints::new(&headers) };
    assert_eq!(summary(&unwrap(b"IOIt", &hints, &UnwrapMode::Automatic)), "base64: protobuf");
    let hints = BodyHints { known: None, ..hints };
    assert_eq!(summary(&unwrap(b"IOIt", &hints, &UnwrapMode::Automatic)), ": text");
}
