//! Any bytes as any type, and any change to any JSON.

use super::*;

/// Whatever the bytes are, JSON holds all of them.
fn check(body: &[u8], descriptor: &MessageDescriptor, masks: &Masks) {
    let decoded = decode(body, descriptor, &limits());
    let (json, masked) = (decoded.to_json(None), decoded.to_json(Some(masks)));
    assert_eq!(encode(&json, descriptor, Some(body), None, &limits()).as_deref(), Ok(body));
    assert_eq!(encode(&masked, descriptor, Some(body), Some(masks), &limits()).as_deref(), Ok(body));
    match encode(&json, descriptor, None, None, &limits()) {
        Ok(encoded) => assert_eq!(values(&decode(&encoded, descriptor, &limits()).to_json(None)), values(&json)),
        Err(problems) => {
            assert!(
                problems.iter().all(|problem| problem.reason.starts_with("the required field")),
                "{problems:?}\n{json}"
            );
        }
    }
}

/// Messages with a few bytes wrong, as a broken producer or a bad connection leaves them.
#[test]
fn messages_with_wrong_bytes() {
    let pool = small();
    let masks = Masks::new(&pool, &["*.name".to_owned()]);
    let samples = corpus::samples(corpus::SMALL);
    arbtest::arbtest(|u| {
        let sample = u.choose(&samples)?;
        let mut body = sample.body.clone();
        for _ in 0..u.int_in_range(1..=4)? {
            let at = u.int_in_range(0..=body.len())?;
            let end = at.saturating_add(u.int_in_range(0..=2)?).min(body.len());
            body.splice(at..end, u.arbitrary::<[u8; 2]>()?.into_iter().take(u.int_in_range(0..=2)?));
        }
        check(&body, &message_of(&pool, &sample.of), &masks);
        Ok(())
    });
}

/// Of a field: a number where a message belongs, a message without its end, and a whole one. Their order decides what is read.
#[test]
fn a_field_in_doubt_stays_apart_from_what_comes_after_it() {
    let descriptor = legacy();
    let masks = Masks::new(descriptor.parent_pool(), &[]);
    let (id, odd, cut, whole) = (b"\x0a\x01a", b"\x68\x05", b"\x6a\x02\x0a\x7f", b"\x6a\x03\x0a\x01x");
    for body in
        [[&id[..], odd, cut, whole].concat(), [&id[..], cut, odd, whole].concat(), [&id[..], cut, whole, odd].concat()]
    {
        check(&body, &descriptor, &masks);
    }
}

#[test]
fn any_bytes_of_any_type() {
    let pool = small();
    let masks = Masks::new(&pool, &["*.name".to_owned()]);
    let types: Vec<_> = pool.all_messages().filter(|message| !message.is_map_entry()).collect();
    let legacy = legacy();
    arbtest::arbtest(|u| {
        let descriptor = if u.ratio(1, 3)? { &legacy } else { u.choose(&types)? };
        let mut body: Vec<u8> = Vec::new();
        for _ in 0..u.int_in_range(0..=6)? {
            // Likely fields, now and then with garbage between them.
            crate::wire::varint::write(
                &mut body,
                u.int_in_range(1..=26_u64)? << 3 | u64::from(u.int_in_range(0..=5_u8)?),
            );
            let value: Vec<u8> = u.arbitrary()?;
            let value = value.get(..value.len().min(u.int_in_range(0..=12)?)).unwrap_or_default();
            if u.ratio(1, 2)? {
                body.push(value.len() as u8);
            }
            body.extend_from_slice(value);
        }
        check(&body, descriptor, &masks);
        Ok(())
    });
}

#[test]
fn any_change_to_any_json() {
    let descriptor = legacy();
    let body = b"\x0a\x01i\x10\x05\x1a\x01a\x1a\x01b\x22\x02\x01\x02\x33\x08\x05\x34\x40\x02\x4a\x05\x0a\x01a\x10\x07\xea\x07\x02hi";
    let json = decode(body, &descriptor, &limits()).to_json(None);
    let pieces =
        ["{", "}", "[", "]", ",", ":", "\"", "\\", "#", "1", "-", "null", "\"id\"", "•", "\"#5\": 1", "\"n\": 9,"];
    arbtest::arbtest(|u| {
        let mut text: Vec<char> = json.chars().collect();
        for _ in 0..u.int_in_range(1..=3)? {
            let at = u.int_in_range(0..=text.len())?;
            let end = at.saturating_add(u.int_in_range(0..=4)?).min(text.len());
            text.splice(at..end, u.choose(&pieces)?.chars());
        }
        let text: String = text.into_iter().collect();
        let n_lines = text.matches('\n').count() + 1;
        match encode(&text, &descriptor, Some(body), None, &limits()) {
            Ok(encoded) => assert!(decode(&encoded, &descriptor, &limits()).message.rest.is_empty()),
            Err(problems) => {
                assert!(!problems.is_empty());
                for problem in problems {
                    assert!((1..=n_lines).contains(&problem.position.line), "{problem}\n{text}");
                    let line = text.split('\n').nth(problem.position.line - 1).unwrap();
                    assert!((1..=line.chars().count() + 1).contains(&problem.position.column), "{problem}\n{text}");
                }
            }
        }
        Ok(())
    });
}
