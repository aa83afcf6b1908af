use super::*;
use crate::wire::varint;

fn first(body: &[u8]) -> String {
    tree(body, &Limits::default()).to_json().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn puts_the_plausible_first() {
    fn check(body: &[u8], expected: &str) {
        assert_eq!(first(body), expected, "{body:02x?}");
    }
    check(&[], "{}");
    check(&[0x08, 0x96, 0x01], r#"{ "1": 150 }"#);
    check(&[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], r#"{ "1": -1 }"#);
    check(b"\x12\x07testing", r#"{ "2": "testing" }"#);
    check(b"\x12\x00", r#"{ "2": "" }"#);
    check(b"\x12\x03\xff\xfe\xfd", r#"{ "2": { "bytes": "//79" } }"#);
    check(&[0x1d, 0, 0, 0x80, 0x3f], r#"{ "3": 1.0 }"#);
    check(&[0x1d, 7, 0, 0, 0], r#"{ "3": 7 }"#);
    check(&[0x19, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f], r#"{ "3": 1.5 }"#);
    check(&[0x19, 7, 0, 0, 0, 0, 0, 0, 0], r#"{ "3": 7 }"#);
    check(b"\x0a\x12\x0a\x10some longer text", r#"{ "1": { "1": "some longer text" } }"#);
    check(b"\x0a\x10\0\0\0\0\0\0\xf8\x3f\0\0\0\0\0\0\x04\x40", r#"{ "1": [ 1.5, 2.5 ] }"#);
    check(b"\x0a\x08\0\0\xc0\x3f\0\0\x20\x40", r#"{ "1": [ 1.5, 2.5 ] }"#);
    check(b"\x0a\x0a\x01\x02\x03\x04\x05\x06\x07\x08\x07\x06", r#"{ "1": [ 1, 2, 3, 4, 5, 6, 7, 8, 7, 6 ] }"#);
    check(&[0x0b, 0x10, 0x05, 0x0c], r#"{ "1": { "2": 5 } }"#);
    check(&[0x08, 1, 0x10, 2, 0x08, 3], r#"{ "1": [ 1, 3 ], "2": 2 }"#);
    check(&[0x08, 1, 0xff], r##"{ "1": 1, "#rest": { "bytes": "/w==" } }"##);
}

#[test]
fn knows_times() {
    fn check(number: u64, expected: &str) {
        let mut body = vec![0x08];
        varint::write(&mut body, number);
        assert_eq!(first(&body), format!(r#"{{ "1": {expected} }}"#));
    }
    check(1_763_740_800, r#""2025-11-21T16:00:00Z""#);
    check(1_763_740_800_250, r#""2025-11-21T16:00:00.25Z""#);
    check(1_763_740_800_000_001, r#""2025-11-21T16:00:00.000001Z""#);
    check(1_763_740_800_000_000_001, r#""2025-11-21T16:00:00.000000001Z""#);
    check(946_684_799, "946684799");
}

#[test]
fn offers_the_other_readings() {
    fn check(body: &[u8], expected: &[Reading<'_>]) {
        let tree = tree(body, &Limits::default());
        assert_eq!(tree.fields[0].readings, expected);
    }
    check(&[0x08, 1], &[Reading::Unsigned(1), Reading::Bool(true), Reading::Zigzag(-1)]);
    check(
        &[0x0d, 0x78, 0x56, 0x34, 0x12],
        &[Reading::Unsigned(0x1234_5678), Reading::Float(f32::from_bits(0x1234_5678))],
    );
    check(
        b"\x0a\x02ab",
        &[
            Reading::Text("ab"),
            Reading::Packed { width: Width::Varint, elements: vec![97, 98], n_elements: 2 },
            Reading::Bytes(b"ab"),
        ],
    );
}

#[test]
fn is_bounded() {
    fn check(body: &[u8], limits: Limits) -> bool {
        let tree = tree(body, &limits);
        let _json = tree.to_json();
        tree.truncated
    }
    let many = [0x08, 0x01].repeat(300_000);
    assert!(check(&many, Limits::default()));
    assert!(!check(&many[..2_000], Limits::default()));
    let mut nested = Vec::new();
    for _ in 0..20_000 {
        let mut outer = vec![0x0a];
        varint::write(&mut outer, nested.len() as u64);
        outer.extend_from_slice(&nested);
        nested = outer;
        if nested.len() > 60_000 {
            break;
        }
    }
    assert!(check(&nested, Limits::default()));
    assert!(check(&many, Limits { bytes: 10, ..Limits::default() }));
    let mut unclosed = vec![0x0b; 100_000];
    assert!(!check(&unclosed, Limits::default()));
    unclosed.extend(vec![0x0c; 100_000]);
    assert!(!check(&unclosed, Limits::default()));
}

#[test]
fn reads_any_bytes() {
    arbtest::arbtest(|u| {
        let body: Vec<u8> = u.arbitrary()?;
        let tree = tree(&body, &Limits { elements: 50, ..Limits::default() });
        assert!(body.ends_with(tree.rest));
        assert!(tree.fields.iter().all(|field| !field.readings.is_empty()));
        serde_json::from_str::<serde_json::Value>(&tree.to_json()).unwrap();
        Ok(())
    });
}
