//! Payloads that are made to hurt.

use super::*;
use crate::wire::varint;

/// It is read, shown and, unless truncated, written back.
fn check(body: &[u8], descriptor: &MessageDescriptor, truncated: bool) -> usize {
    let decoded = decode(body, descriptor, &limits());
    let json = decoded.to_json(None);
    assert_eq!(decoded.truncated, truncated);
    assert!(decoded.problems.len() <= 201);
    match encode(&json, descriptor, Some(body), None, &limits()) {
        Ok(encoded) => assert!(!truncated && encoded == body),
        Err(problems) => assert!(truncated, "{problems:?}"),
    }
    json.len()
}

/// The same field within itself, `depth` times.
fn nested(number: u32, depth: usize) -> Vec<u8> {
    let mut body = Vec::new();
    for _ in 0..depth {
        let mut outer = Vec::new();
        varint::write(&mut outer, u64::from(number) << 3 | 2);
        varint::write(&mut outer, body.len() as u64);
        outer.append(&mut body);
        body = outer;
    }
    body
}

#[test]
fn nesting() {
    let tree = message_of(&small(), "acme.jobs.v1.Tree");
    check(&nested(2, 99), &tree, false);
    check(&nested(2, 100), &tree, false);
    check(&nested(2, 5_000), &tree, false);
    let deep = decode(&nested(2, 101), &tree, &limits()).problems;
    assert_eq!(deep.len(), 1);
    assert!(deep[0].to_string().ends_with("children[0]: messages nest deeper than 100 levels"), "{}", deep[0]);
    // Open groups, known and unknown, and closed ones.
    check(&[0x33; 5_000], &legacy(), false);
    check(&[0xf3; 5_000], &legacy(), false);
    check(&[vec![0x33; 99], vec![0x34; 99]].concat(), &legacy(), false);
    check(&[vec![0x2b; 99], vec![0x2c; 99]].concat(), &legacy(), false);
    check(&[vec![0x2b; 101], vec![0x2c; 101]].concat(), &legacy(), false);
    // Values within lists within values.
    let value = message_of(&small(), "google.protobuf.Value");
    let mut body = Vec::new();
    for i in 0..300 {
        body = [&[if i % 2 == 0 { 0x32 } else { 0x0a }][..], &length(&body), &body].concat();
    }
    check(&body, &value, false);
}

fn length(body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint::write(&mut bytes, body.len() as u64);
    bytes
}

#[test]
fn numbers() {
    check(&[0x10, 0x01].repeat(120_000), &legacy(), true);
    check(&[0x3b, 0x3c].repeat(120_000), &legacy(), true);
    check(&[0xba, 0x01, 0x00].repeat(50_000), &legacy(), false);
    check(&[0x4a, 0x00].repeat(90_000), &legacy(), false);
    check(&[&[0x22][..], &length(&[1; 120_000]), &[1; 120_000]].concat(), &legacy(), true);
    // Members of a oneof that replace each other, beside many unknown numbers.
    let mut body = Vec::new();
    for number in 1_000..20_000_u32 {
        varint::write(&mut body, u64::from(number) << 3);
        body.push(0);
    }
    body.extend([0x5a, 0x00, 0x60, 0x01].repeat(20_000));
    check(&body, &legacy(), false);
}

/// Maps as no compiler writes them.
#[test]
fn entries_that_are_none() {
    use prost_types::{
        DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet, MessageOptions,
        field_descriptor_proto::{Label, Type},
    };
    let field = |name: &str, number, label: Label, of: Type| FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number),
        label: Some(label.into()),
        r#type: Some(of.into()),
        type_name: (of == Type::Message).then(|| ".M.E".to_owned()),
        ..Default::default()
    };
    for fields in [
        vec![],
        vec![field("key", 1, Label::Optional, Type::Float), field("value", 2, Label::Optional, Type::Int32)],
        vec![field("key", 1, Label::Optional, Type::Message), field("value", 2, Label::Optional, Type::Int32)],
        vec![field("key", 1, Label::Optional, Type::Int32), field("value", 2, Label::Repeated, Type::Int32)],
    ] {
        let entry = DescriptorProto {
            name: Some("E".to_owned()),
            field: fields,
            options: Some(MessageOptions { map_entry: Some(true), ..Default::default() }),
            ..Default::default()
        };
        let message = DescriptorProto {
            name: Some("M".to_owned()),
            field: vec![field("map", 1, Label::Repeated, Type::Message)],
            nested_type: vec![entry],
            ..Default::default()
        };
        let file = FileDescriptorProto {
            name: Some("t.proto".to_owned()),
            syntax: Some("proto3".to_owned()),
            message_type: vec![message],
            ..Default::default()
        };
        let Ok(pool) = DescriptorPool::from_file_descriptor_set(FileDescriptorSet { file: vec![file] }) else {
            continue;
        };
        for body in
            [&b"\x0a\x00"[..], b"\x0a\x04\x08\x01\x10\x02", b"\x0a\x05\x0d\0\0\0\0", b"\x0a\x04\x0a\x00\x10\x02"]
        {
            check(body, &message_of(&pool, "M"), false);
        }
    }
}

/// As much of a long list is shown as there is room for.
#[test]
fn lists_are_cut() {
    let limits = Limits { elements: 4, ..limits() };
    let decoded = decode(b"\x22\x05\x01\x02\x03\x04\x05", &legacy(), &limits);
    assert_eq!(compact(&decoded.to_json(None)), r##"{ "codes": [ 1, 2, 3 ], "#truncated": 7 }"##);
}

#[test]
fn lengths() {
    check(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], &legacy(), false);
    check(&[0x0a, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], &legacy(), false);
    check(&[0x80; 64], &legacy(), false);
    let small_limits = Limits { bytes: 7, ..limits() };
    let decoded = decode(b"\x0a\x01i\x1a\x01a\x1a\x01b", &legacy(), &small_limits);
    assert_eq!(compact(&decoded.to_json(None)), r##"{ "id": "i", "phones": [ "a" ], "#truncated": 3 }"##);
    assert!(decoded.truncated);
}

#[test]
fn a_truncated_payload_is_not_edited() {
    let body = [0x10, 0x01].repeat(120_000);
    let problems = encode("{}", &legacy(), Some(&body), None, &limits()).unwrap_err();
    assert_eq!(problems[0].to_string(), "1:1: the payload has more than can be edited");
}

/// JSON that is made to hurt.
#[test]
fn json() {
    fn check(json: &str, descriptor: &MessageDescriptor, n_problems: usize, last: &str) {
        let problems = encode(json, descriptor, None, None, &limits()).err().unwrap_or_default();
        assert_eq!((problems.len(), problems.last().map_or("", |problem| &*problem.reason)), (n_problems, last));
    }
    let too_deep = "this nests deeper than 100 levels";
    let value = message_of(&small(), "google.protobuf.Value");
    let nested = |n| format!("{}{}", "[".repeat(n), "]".repeat(n));
    check(&nested(49), &value, 0, "");
    check(&nested(500), &value, 1, too_deep);
    check(&nested(100_000), &value, 1, "more than 512 levels");
    let heartbeat = message_of(&small(), "acme.jobs.v1.Heartbeat");
    let group = |n| format!("{}{{}}{}", r##"{"#5": {"group": "##.repeat(n), "}}".repeat(n));
    check(&group(99), &heartbeat, 0, "");
    check(&group(250), &heartbeat, 1, too_deep);
    let tree = message_of(&small(), "acme.jobs.v1.Tree");
    let children = |n| format!("{}{{}}{}", r#"{"children": ["#.repeat(n), "]}".repeat(n));
    check(&children(99), &tree, 0, "");
    check(&children(250), &tree, 1, too_deep);
    let many = |piece: &str| format!("[{}]", [piece].repeat(50_000).join(","));
    let wrong = "acme.jobs.v1.Tree has no field \"lable\"; did you mean \"label\"?";
    check(&format!(r#"{{"children": {}}}"#, many(r#"{"lable": 1}"#)), &tree, 500, wrong);
    check(&many("1"), &tree, 1, "acme.jobs.v1.Tree is an object, and this is an array");
    let member = "\"a\":1,".repeat(50_000);
    check(&format!("{{{member}\"a\":1}}"), &tree, 500, "\"a\" is here twice");
}
