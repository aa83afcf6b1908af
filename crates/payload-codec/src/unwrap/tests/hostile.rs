//! Bodies that are made to do harm, and real ones with something changed.

use std::io::Write;

use amqp_message::field::FieldTable;
use arbtest::{arbitrary::Unstructured, arbtest};
use base64::{Engine, prelude::BASE64_STANDARD};

use super::{automatic, corpora::fixture, summary, with_mode};
use crate::{
    format::Format,
    unwrap::{BodyHints, Encoding, Kind, Problem, UnwrapMode, Unwrapped, bounds::MAX_STEP_BYTES, unwrap, wrap},
};

/// One byte more than is allowed, all zeros, in a hundredth of the room.
fn bomb(kind: Kind) -> Vec<u8> {
    const BLOCK: usize = 1 << 20;
    let block = wrapped(kind, &[0; BLOCK]);
    // All of them let one compressed part follow another.
    [block.repeat(MAX_STEP_BYTES / BLOCK), wrapped(kind, &[0])].concat()
}

#[test]
fn bombs_are_not_inflated() {
    for kind in [Kind::Gzip, Kind::Zstd, Kind::Bzip2, Kind::Xz] {
        let bomb = bomb(kind);
        assert!(bomb.len() < MAX_STEP_BYTES / 100);
        let unwrapped = automatic(&bomb);
        assert_eq!(unwrapped.payload(), bomb);
        assert_eq!(unwrapped.problems, [Problem::TooLarge { kind, max_bytes: MAX_STEP_BYTES }]);
        let asked = with_mode(&bomb, &UnwrapMode::Exactly(vec![kind]));
        assert_eq!(asked.problems, unwrapped.problems, "it is {kind}");
    }
}

#[test]
fn what_is_said_to_be_a_bomb_is_one() {
    let bomb = bomb(Kind::Gzip);
    let headers = FieldTable::default();
    let hints = BodyHints { content_encoding: Some("gzip"), ..BodyHints::new(&headers) };
    let problems = unwrap(&bomb, &hints, &UnwrapMode::Automatic).problems;
    assert_eq!(problems, [Problem::TooLarge { kind: Kind::Gzip, max_bytes: MAX_STEP_BYTES }]);
    assert!(problems[0].to_string().contains("unpacks to more than 16777216 bytes"), "{}", problems[0]);
}

#[test]
fn a_body_larger_than_allowed_is_left_alone() {
    let body = b"CghvcmQtMTA0MhAD".repeat(MAX_STEP_BYTES / 16 + 1);
    let unwrapped = automatic(&body);
    assert_eq!(summary(&unwrapped), ": text");
    assert_eq!(unwrapped.problems, [Problem::BodyTooLarge { max_bytes: MAX_STEP_BYTES }]);
}

#[test]
fn a_zstd_window_larger_than_bodies_is_refused() {
    // A frame that says no more than that its window has 2^41 bytes; then one empty last block.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 31 << 3, 1, 0, 0];
    let unwrapped = automatic(&frame);
    assert_eq!(unwrapped.payload(), frame);
    assert_eq!(unwrapped.problems, [Problem::Damaged(Kind::Zstd)]);
}

#[test]
fn a_member_that_stands_there_many_times_is_read_once() {
    let long = "a".repeat(1 << 20);
    let twins = r#""data":"CghvcmQtMTA0MhAD","#.repeat(100_000);
    let body = |last: &str| format!(r#"{{"data":"{long} a",{twins}"{last}":"CghvcmQtMTA0MhAD"}}"#).into_bytes();
    assert_eq!(summary(&automatic(&body("data"))), ": json", "the first of them counts");
    let member = with_mode(&body("Data"), &UnwrapMode::Exactly(vec![Kind::JsonMember]));
    assert_eq!(member.payload(), b"CghvcmQtMTA0MhAD", "another name is another member");
}

#[test]
fn encodings_without_end_are_undone_to_a_depth() {
    let mut body = b"\n\x08ord-1042\x10\x03".to_vec();
    for _ in 0..12 {
        body = BASE64_STANDARD.encode(body).into_bytes();
    }
    let unwrapped = automatic(&body);
    assert!(unwrapped.steps.len() <= 6, "{}", summary(&unwrapped));
    assert!(with_mode(&body, &UnwrapMode::Exactly(vec![Kind::Base64; 6])).problems.is_empty());
}

#[test]
fn what_is_claimed_is_not_allocated() {
    for body in [
        b"\xdd\xff\xff\xff\xff".as_slice(),
        b"\xdf\xff\xff\xff\xff\xa1a",
        b"\xc6\xff\xff\xff\xff",
        b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xbb\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x5b\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x0a\xff\xff\xff\xff\x0f",
        b"\xff\xff\xff\xff\x0f",
        b"\0\xff\xff\xff\xff",
        b"\xff\xff\xff\xff\x01",
    ] {
        assert_eq!(summary(&automatic(body)), ": binary", "{body:?}");
    }
}

#[test]
fn deep_nesting_does_not_overflow() {
    for body in [b"[".repeat(100_000), b"{\"a\":".repeat(100_000), b"\x81".repeat(100_000), b"\x9f".repeat(100_000)] {
        assert!(automatic(&body).steps.is_empty());
    }
    let mut nested = Vec::new();
    for _ in 0..2000 {
        let mut outer = vec![0x0a];
        crate::wire::varint::write(&mut outer, nested.len() as u64);
        outer.append(&mut nested);
        nested = outer;
    }
    assert_eq!(automatic(&nested).format, Format::Protobuf);
}

/// Encoding what was unwrapped gives the body again, unless a problem or a compression says why not.
fn check_identity(body: &[u8], unwrapped: &Unwrapped) {
    let is_free = unwrapped.steps.iter().any(|step| step.kind().compresses());
    let is_irregular = unwrapped.problems.iter().any(|problem| matches!(problem, Problem::Irregular(_)));
    let again = wrap(&unwrapped.payloads, &unwrapped.steps).unwrap();
    assert!(is_free || is_irregular || again == body, "{:?} {body:?}", unwrapped.steps);
    assert!(unwrapped.sureness > 0.0 && unwrapped.sureness <= 1.0);
    assert!(!unwrapped.payloads.is_empty());
}

#[test]
fn any_bytes_at_all() {
    arbtest(|u| {
        let body: Vec<u8> = u.arbitrary()?;
        check_identity(&body, &automatic(&body));
        let kinds: Vec<Kind> =
            (0..u.int_in_range(0..=3)?).map(|_| u.choose(&Kind::ALL).copied()).collect::<Result<_, _>>()?;
        check_identity(&body, &with_mode(&body, &UnwrapMode::Exactly(kinds)));
        Ok(())
    });
}

#[test]
fn real_bodies_with_something_changed() {
    let bodies: Vec<Vec<u8>> = ["small_messages.ndjson", "envelopes.ndjson", "negatives.ndjson"]
        .iter()
        .flat_map(|name| fixture(name))
        .collect();
    arbtest(|u| {
        let mut body = u.choose(&bodies)?.clone();
        for _ in 0..u.int_in_range(1..=4)? {
            mutate(&mut body, u)?;
        }
        check_identity(&body, &automatic(&body));
        Ok(())
    });
}

fn mutate(body: &mut Vec<u8>, u: &mut Unstructured) -> arbtest::arbitrary::Result<()> {
    let at = u.choose_index(body.len() + 1)?;
    match u.int_in_range(0..=3)? {
        0 => body.truncate(at),
        1 => body.insert(at, u.arbitrary()?),
        2 if at < body.len() => body[at] = u.arbitrary()?,
        _ if at < body.len() => drop(body.remove(at)),
        _ => {}
    }
    Ok(())
}

/// Wraps a message in encodings that need nothing else to be known.
fn wrapped(kind: Kind, payload: &[u8]) -> Vec<u8> {
    let frame = |head: &[u8]| [head, payload].concat();
    let n = payload.len() as u32;
    match kind {
        Kind::Base64 => BASE64_STANDARD.encode(payload).into_bytes(),
        Kind::Hex => payload.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes(),
        Kind::Grpc => frame(&[&[0], n.to_be_bytes().as_slice()].concat()),
        Kind::LengthPrefix4 => frame(&n.to_be_bytes()),
        Kind::Zstd => zstd::stream::encode_all(payload, 1).unwrap(),
        Kind::Bzip2 => wrap(&[payload], &[Encoding::Bzip2]).unwrap(),
        Kind::Xz => wrap(&[payload], &[Encoding::Xz]).unwrap(),
        _ => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(payload).unwrap();
            encoder.finish().unwrap()
        }
    }
}

#[test]
fn a_chain_that_is_asked_for_is_undone_exactly() {
    let kinds =
        [Kind::Base64, Kind::Hex, Kind::Grpc, Kind::LengthPrefix4, Kind::Zstd, Kind::Gzip, Kind::Bzip2, Kind::Xz];
    arbtest(|u| {
        let payload: Vec<u8> = u.arbitrary()?;
        let chain: Vec<Kind> =
            (0..u.int_in_range(0..=3)?).map(|_| u.choose(&kinds).copied()).collect::<Result<_, _>>()?;
        // Hexadecimal digits of nearly nothing are too few to be told from a word.
        if payload.len() < 4 {
            return Ok(());
        }
        let body = chain.iter().rev().fold(payload.clone(), |inner, kind| wrapped(*kind, &inner));
        let unwrapped = with_mode(&body, &UnwrapMode::Exactly(chain.clone()));
        assert_eq!(unwrapped.payload(), payload, "{chain:?}");
        check_identity(&body, &unwrapped);
        Ok(())
    });
}
