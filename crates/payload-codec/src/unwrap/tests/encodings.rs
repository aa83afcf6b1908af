//! Each encoding by hand, and texts that must stay texts.

use std::io::Write;

use base64::{Engine, prelude::BASE64_STANDARD};

use super::{automatic, summary, with_mode};
use crate::unwrap::{Kind, Problem, TypeHint, UnwrapMode, WrapError, wrap};

const MESSAGE: &[u8] = b"\n\x08ord-1042\x10\x03\x1a\x05amber";

/// Finds the encodings, the format and the payload, and wraps into the same again.
fn check(body: impl AsRef<[u8]>, expected: &str, payload: impl AsRef<[u8]>) {
    let body = body.as_ref();
    let unwrapped = automatic(body);
    let text = || String::from_utf8_lossy(body).into_owned();
    assert_eq!(summary(&unwrapped), expected, "{}", text());
    assert_eq!(unwrapped.payload(), payload.as_ref(), "{}", text());
    if !unwrapped.steps.iter().any(|step| step.kind().compresses()) {
        assert_eq!(wrap(&unwrapped.payloads, &unwrapped.steps).unwrap(), body, "{}", text());
    }
}

/// It is what it looks like, with nothing around it.
fn check_stays(body: &str, expected: &str) {
    check(body, &format!(": {expected}"), body);
}

fn base64() -> String {
    BASE64_STANDARD.encode(MESSAGE)
}

fn framed(before: &[u8]) -> Vec<u8> {
    [before, MESSAGE].concat()
}

#[test]
fn texts_stay_texts() {
    for text in [
        "hello",
        "Hello, World!",
        "true",
        "null",
        "OK",
        "test",
        "data",
        "order",
        "abcd",
        "ABCD",
        "QUJD",
        "1234",
        "65",
        "41167472",
        "1700000000",
        "20260314",
        "3132333435",
        "3.14",
        "-12",
        "deadbeef",
        "cafebabe",
        "DEADBEEF",
        "550e8400-e29b-41d4-a716-446655440000",
        "550e8400e29b41d4a716446655440000",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "d41d8cd98f00b204e9800998ecf8427e",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "dQw4w9WgXcQ",
        "cus_NffrFeUfNV2Hib",
        "order.created",
        "com.acme.orders.OrderPlaced",
        "user@example.com",
        "+4915123456789",
        "https://example.com/a?b=c",
        "id=41&name=token&ok=true",
        "a:2:{s:2:\"id\";i:68;}",
        "line one\nline two\n",
        "<?xml version=\"1.0\"?><order id=\"460\"/>",
        "id,name\n1,amber\n",
        "id: 67\nname: token\n",
        " \n\t",
        "",
        "2026-03-14T09:26:53Z",
        "Größe: 12 µm",
        "日本語のテキスト",
        "AKIAIOSFODNN7EXAMPLE",
        "EURUSD",
        "LAX",
        "BTCUSDT",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "3KfDlY2TjRgI+3QOOicniI/LOueiqaXFaoK79Ny1CYzyONbC2ZflWQ==",
        "\x08\x08hello",
        "data:,hello",
        "SGVsbG8 and more",
    ] {
        check_stays(text, "text");
    }
}

#[test]
fn json_stays_json() {
    for json in [
        "{}",
        "[]",
        "[1, 2]",
        " {\"id\": 1} ",
        "\"hello\"",
        "{\"payload\": \"hello\"}",
        "{\"token\": \"CghvcmQtMTA0Mg==\"}",
        "{\"data\": \"170e5694-8ebd-807f-b3b6-a0f9e4742d65\"}",
        "{\"message\": \"SGVsbG8sIFdvcmxkIQ==\"}",
        "{\"specversion\": 1, \"id\": 2, \"type\": 3, \"source\": 4}",
        "{\"Queue\": \"a\", \"Message\": \"b\"}",
    ] {
        check_stays(json, "json");
    }
}

#[test]
fn base64_in_all_manners() {
    let standard = base64();
    check(&standard, "base64: protobuf", MESSAGE);
    check(standard.trim_end_matches('='), "base64: protobuf", MESSAGE);
    check(format!(" {standard}\r\n"), "base64: protobuf", MESSAGE);
    let long = MESSAGE.repeat(8);
    let digits = BASE64_STANDARD.encode(&long);
    for separator in ["\n", "\r\n"] {
        let lines: Vec<&str> = digits.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).unwrap()).collect();
        check(lines.join(separator), "base64: protobuf", &long);
        check(lines.join(separator) + separator, "base64: protobuf", &long);
    }
    check("Cgj_78-9gICAgBAD", "base64: protobuf", b"\n\x08\xff\xef\xcf\xbd\x80\x80\x80\x80\x10\x03");
    check(BASE64_STANDARD.encode("{\"id\": 1}"), "base64: json", "{\"id\": 1}");
    check(BASE64_STANDARD.encode("order placed by amber"), "base64: text", "order placed by amber");
}

#[test]
fn hexadecimal_digits() {
    let lower = "0a086f72642d3130343210031a05616d626572";
    check(lower, "hex: protobuf", MESSAGE);
    check(lower.to_uppercase(), "hex: protobuf", MESSAGE);
    check(format!("\\x{lower}\n"), "hex: protobuf", MESSAGE);
    check(format!("0x{lower}"), "hex: protobuf", MESSAGE);
}

#[test]
fn framings() {
    let n = MESSAGE.len() as u8;
    check(framed(&[n]), "length-delimited: protobuf", MESSAGE);
    check(framed(&[0, 0, 0, n]), "length-prefix: protobuf", MESSAGE);
    check(framed(&[0, 0, 0, 0, n]), "grpc: protobuf", MESSAGE);
    check(framed(&[0, 0, 0, 0, 7, 0]), "confluent: protobuf", MESSAGE);
    check(framed(&[0, 0, 0, 0, 7, 2, 0]), "confluent: protobuf", MESSAGE);
    check(b"\0\0\0\0\x07{\"id\": 1}", "confluent: json", "{\"id\": 1}");
    check(BASE64_STANDARD.encode(framed(&[n])), "base64 length-delimited: protobuf", MESSAGE);
    for frame in [framed(&[n]), framed(&[0, 0, 0, n]), framed(&[0, 0, 0, 0, n])] {
        let body = frame.repeat(3);
        let unwrapped = automatic(&body);
        assert_eq!(unwrapped.payloads, [MESSAGE; 3]);
        assert_eq!(wrap(&unwrapped.payloads, &unwrapped.steps).unwrap(), body);
    }
}

#[test]
fn noughts_are_no_messages_in_a_row() {
    for n in [10, 1_000, 300_000] {
        check(vec![0; n], ": binary", vec![0; n]);
    }
}

#[test]
fn a_confluent_frame_tells_the_way_to_its_message() {
    let unwrapped = automatic(&framed(&[0, 0, 0, 1, 2, 4, 2, 6]));
    assert_eq!(unwrapped.type_hints, [TypeHint::Confluent { schema_id: 258, indexes: vec![1, 3] }]);
}

#[test]
fn json_around_base64() {
    let base64 = base64();
    check(format!("\"{base64}\""), "json-string base64: protobuf", MESSAGE);
    check(format!("{{\"id\":7, \"payload\" : \"{base64}\"}}"), "json-member base64: protobuf", MESSAGE);
    check("\"{\\u0022id\\u0022: \\u00221\\u002B1\\u0022}\"", "json-string: json", "{\"id\": \"1+1\"}");
    check("\"[\\\"a\\/b\\\", \\\"\\ud83d\\ude00\\\"]\"", "json-string: json", "[\"a/b\", \"😀\"]");
    check(format!("data:application/x-protobuf;base64,{base64}"), "data-uri: protobuf", MESSAGE);
}

#[test]
fn cloud_events() {
    let event = |data: &str| {
        format!("{{\"specversion\":\"1.0\",\"id\":\"7\",\"source\":\"/a\",\"type\":\"acme.order\",{data}}}")
    };
    check(event("\"data\": {\"id\": 1}"), "cloudevents: json", "{\"id\": 1}");
    check(event("\"data\": \"<a/>\""), "cloudevents: text", "<a/>");
    check(event(&format!("\"data_base64\":\"{}\"", base64())), "cloudevents: protobuf", MESSAGE);
    check_stays(&event("\"subject\": \"nothing\""), "json");
    let unwrapped = automatic(event("\"data\": 1, \"dataschema\": \"https://a.io/s\"").as_bytes());
    let event_type = "acme.order".to_owned();
    let data_schema = Some("https://a.io/s".to_owned());
    assert_eq!(unwrapped.type_hints, [TypeHint::CloudEvent { event_type, data_schema }]);
}

#[test]
fn another_payload_is_wrapped_in_the_same_manner() {
    let unwrapped = automatic(format!("{{\"n\": 1, \"data\": \"{}\"}}", base64().trim_end_matches('=')).as_bytes());
    let again = wrap(&[b"\x08\x01"], &unwrapped.steps).unwrap();
    assert_eq!(again, b"{\"n\": 1, \"data\": \"CAE\"}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let string = automatic(b"\"{\\\"id\\\": 1}\"").steps;
    assert_eq!(wrap(&[b"\xff"], &string), Err(WrapError::NotText(Kind::JsonString)));
    let event = automatic(b"{\"specversion\":\"1.0\",\"id\":\"7\",\"source\":\"/a\",\"type\":\"t\",\"data\":{}}").steps;
    assert_eq!(wrap(&[b"}"], &event), Err(WrapError::NotJson(Kind::CloudEvent)));
    let base64 = automatic(base64().as_bytes()).steps;
    assert_eq!(wrap(&[MESSAGE, MESSAGE], &base64), Err(WrapError::Count { kind: Kind::Base64, n: 2 }));
    assert_eq!(wrap::<&[u8]>(&[], &base64), Err(WrapError::Count { kind: Kind::Base64, n: 0 }));
}

/// Compresses, checks that it is undone, and that encoding again gives the same container and content.
fn check_compression(kind: Kind, name: &str) {
    let payload = MESSAGE.repeat(4);
    let mut out = Vec::new();
    let level = flate2::Compression::best();
    match kind {
        Kind::Gzip => flate2::write::GzEncoder::new(&mut out, level).write_all(&payload).unwrap(),
        Kind::Zlib => flate2::write::ZlibEncoder::new(&mut out, level).write_all(&payload).unwrap(),
        Kind::RawDeflate => flate2::write::DeflateEncoder::new(&mut out, level).write_all(&payload).unwrap(),
        Kind::Bzip2 => out = wrap(&[&payload], &[crate::unwrap::Encoding::Bzip2]).unwrap(),
        Kind::Xz => out = wrap(&[&payload], &[crate::unwrap::Encoding::Xz]).unwrap(),
        Kind::Lzma => out = wrap(&[&payload], &[crate::unwrap::Encoding::Lzma]).unwrap(),
        _ => out = zstd::stream::encode_all(payload.as_slice(), 19).unwrap(),
    }
    check(&out, &format!("{name}: protobuf"), &payload);
    let steps = automatic(&out).steps;
    check(wrap(&[&payload], &steps).unwrap(), &format!("{name}: protobuf"), &payload);
    check(BASE64_STANDARD.encode(&out), &format!("base64 {name}: protobuf"), &payload);
}

#[test]
fn compressions() {
    check_compression(Kind::Gzip, "gzip");
    check_compression(Kind::Zlib, "deflate");
    check_compression(Kind::RawDeflate, "raw-deflate");
    check_compression(Kind::Zstd, "zstd");
    check_compression(Kind::Bzip2, "bzip2");
    check_compression(Kind::Xz, "xz");
    check_compression(Kind::Lzma, "lzma");
}

/// What Python's `bz2.compress`, `lzma.compress` and `lzma.compress(format=FORMAT_ALONE)` make of an order.
#[test]
fn compressions_of_python() {
    const ORDER: &[u8] = br#"{"order": 42, "lines": [1, 2, 3]}"#;
    for (name, compressed) in [
        ("bzip2", "QlpoOTFBWSZTWQ6csb0AAA+bgFAEPBAACgYlmAogACIIDRoHohTCaaA0xJHcvCjqqM1TySNjYFggdIj4u5IpwoSAdOWN6A=="),
        (
            "xz",
            "/Td6WFoAAATm1rRGAgAhARYAAAB0L+WjAQAgeyJvcmRlciI6IDQyLCAibGluZXMiOiBbMSwgMiwgM119AAAAAL4KbbIyY0gVAAE5Ic8oa2IftvN9AQAAAAAEWVo=",
        ),
        ("lzma", "XQAAgAD//////////wA9iInnY5u/uSxdxbln0BkhACYxp/iEvI1FOvwBDslnaT7kFf/9yHAA"),
    ] {
        let body = BASE64_STANDARD.decode(compressed).unwrap();
        check(&body, &format!("{name}: json"), ORDER);
        let again = wrap(&[b"{}"], &automatic(&body).steps).unwrap();
        check(&again, &format!("{name}: json"), b"{}");
        for cut in 0..body.len() {
            assert_eq!(automatic(&body[..cut]).payload(), &body[..cut], "{name} cut at {cut}");
        }
    }
}

/// A header that asks for a dictionary of 1.5 GiB is not obeyed.
#[test]
fn lzma_takes_no_more_memory_than_allowed() {
    let mut body = wrap(&[MESSAGE], &[crate::unwrap::Encoding::Lzma]).unwrap();
    body[1..5].copy_from_slice(&(3_u32 << 29).to_le_bytes());
    assert_eq!(automatic(&body).steps, []);
}

#[test]
fn damaged_compressions_stay() {
    let whole = wrap(&[MESSAGE], &automatic(&gzip(MESSAGE)).steps).unwrap();
    let cut = &whole[..whole.len() - 3];
    let unwrapped = automatic(cut);
    assert_eq!(unwrapped.payload(), cut);
    assert_eq!(unwrapped.problems, [Problem::Damaged(Kind::Gzip)]);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn an_any_in_an_odd_form_stays_a_message() {
    let url = "type.googleapis.com/acme.Order";
    let any = [b"\n\x1e", url.as_bytes(), b"\x12\x02\x08\x01"].concat();
    check(&any, "any: protobuf", b"\x08\x01");
    check([b"\n\x1e", url.as_bytes()].concat(), "any: protobuf", b"");
    // Fields the other way round, an empty value written out, another field, no type, no message.
    let swapped = [b"\x12\x02\x08\x01\n\x1e", url.as_bytes()].concat();
    check(&swapped, ": protobuf", &swapped);
    for after in [b"\x12\0".as_slice(), b"\x12\x02\x08\x01\x18\x01", b"\x12\x02\x08\xff"] {
        let odd = [b"\n\x1e", url.as_bytes(), after].concat();
        check(&odd, ": protobuf", &odd);
    }
    check(b"\n\x0dprojects/a/bc\x12\x02\x08\x01", ": protobuf", b"\n\x0dprojects/a/bc\x12\x02\x08\x01");
}

#[test]
fn a_person_may_say_otherwise() {
    let body = BASE64_STANDARD.encode(gzip(MESSAGE));
    let check = |mode: UnwrapMode, expected: &str| {
        assert_eq!(summary(&with_mode(body.as_bytes(), &mode)), expected, "{mode:?}")
    };
    check(UnwrapMode::Automatic, "base64 gzip: protobuf");
    check(UnwrapMode::AtMost(9), "base64 gzip: protobuf");
    check(UnwrapMode::AtMost(1), "base64: binary");
    check(UnwrapMode::AtMost(0), ": text");
    check(UnwrapMode::Exactly(vec![]), ": text");
    check(UnwrapMode::Exactly(vec![Kind::Base64]), "base64: binary");
    check(UnwrapMode::Exactly(vec![Kind::Base64, Kind::Gzip]), "base64 gzip: protobuf");
}

#[test]
fn a_person_may_be_wrong() {
    let unwrapped = with_mode(base64().as_bytes(), &UnwrapMode::Exactly(vec![Kind::Base64, Kind::Hex, Kind::Gzip]));
    assert_eq!(summary(&unwrapped), "base64: protobuf");
    assert_eq!(unwrapped.problems, [Problem::NotWrappedSo(Kind::Hex)]);
}

#[test]
fn irregular_base64_is_undone_with_a_warning() {
    let digits = BASE64_STANDARD.encode(MESSAGE.repeat(4));
    let body = format!("{}\n{}\n\n{}", &digits[..40], &digits[40..60], &digits[60..]);
    let unwrapped = automatic(body.as_bytes());
    assert_eq!(summary(&unwrapped), "base64: protobuf");
    assert_eq!(unwrapped.problems, [Problem::Irregular(Kind::Base64)]);
}
