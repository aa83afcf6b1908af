use super::{
    cost::{self, Reading},
    packed::Width,
    *,
};

fn check(bytes: &[u8], expected: &[(u32, Value)]) {
    let found: Vec<_> = fields(bytes).map(|field| field.map(|field| (field.number, field.value))).collect();
    let expected: Vec<_> = expected.iter().copied().map(Ok).collect();
    assert_eq!(found, expected, "{bytes:02x?}");
}

fn check_error(bytes: &[u8], at: usize, why: Why) {
    let last = fields(bytes).last();
    assert_eq!(last, Some(Err(Malformed { at, why })), "{bytes:02x?}");
}

#[test]
fn reads_every_wire_type() {
    check(&[], &[]);
    check(&[0x08, 0x96, 0x01], &[(1, Value::Varint(150))]);
    check(&[0x11, 1, 0, 0, 0, 0, 0, 0, 0x80], &[(2, Value::Fixed64(1 << 63 | 1))]);
    check(&[0x1a, 2, b'h', b'i', 0x1a, 0], &[(3, Value::Len(b"hi")), (3, Value::Len(b""))]);
    check(&[0x25, 1, 0, 0, 0x80], &[(4, Value::Fixed32(1 << 31 | 1))]);
    check(&[0x0b, 0x0c], &[(1, Value::Group(&[]))]);
    check(&[0x0b, 0x10, 5, 0x0c, 0x18, 7], &[(1, Value::Group(&[0x10, 5])), (3, Value::Varint(7))]);
}

#[test]
fn steps_over_what_is_within_a_group() {
    let inner: &[u8] =
        &[0x13, 0x08, 0xff, 1, 0x14, 0x1a, 1, 0x0c, 0x21, 0, 0, 0, 0, 0, 0, 0, 0x0c, 0x2d, 0, 0, 0, 0x0c];
    check(&[&[0x0b], inner, &[0x0c]].concat(), &[(1, Value::Group(inner))]);
}

#[test]
fn tells_where_a_field_is() {
    let bytes = [0x08, 1, 0x12, 3, b'a', b'b', b'c', 0x1b, 0x20, 1, 0x1c, 0xa5, 1, 0, 0, 0, 0];
    let places: Vec<_> = fields(&bytes).flatten().map(|field| (field.start, field.value_start, field.end)).collect();
    assert_eq!(places, [(0, 1, 2), (2, 4, 7), (7, 8, 11), (11, 13, 17)]);
}

#[test]
fn takes_overlong_varints_and_marks_them() {
    fn check(bytes: &[u8], overlong: bool) {
        let found: Vec<_> = fields(bytes).flatten().map(|field| field.overlong).collect();
        assert_eq!(found, [overlong], "{bytes:02x?}");
    }
    check(&[0x08, 0], false);
    check(&[0x08, 0x80, 0], true);
    check(&[0x88, 0x80, 0x80, 0, 1], true);
    check(&[0x0a, 0x81, 0, b'a'], true);
    check(&[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], false);
}

#[test]
fn says_where_and_why_it_stopped() {
    check_error(&[0x08], 1, Why::Truncated);
    check_error(&[0x88], 0, Why::Truncated);
    check_error(&[0x08, 1, 0x09, 1, 2], 3, Why::Truncated);
    check_error(&[0x0d, 1, 2, 3], 1, Why::Truncated);
    check_error(&[0x0a, 2, 1], 2, Why::Truncated);
    check_error(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], 11, Why::Truncated);
    check_error(&[0x0b, 0x08], 2, Why::Truncated);
    check_error(&[&[0x08][..], &[0xff; 9], &[2]].concat(), 1, Why::VarintTooLong);
    check_error(&[&[0x08][..], &[0x80; 10], &[0]].concat(), 1, Why::VarintTooLong);
    check_error(&[0x00, 1], 0, Why::FieldNumber);
    check_error(&[0x88, 0x80, 0x80, 0x80, 0x10, 1], 0, Why::FieldNumber);
    check_error(&[0x0e], 0, Why::WireType);
    check_error(&[0x0c], 0, Why::GroupEnd);
    check_error(&[0x0b, 0x14], 1, Why::GroupEnd);
    check_error(&[0x0b; 101], 100, Why::GroupDepth);
    assert_eq!(
        fields(&[0xf8, 0xff, 0xff, 0xff, 0x0f, 0]).flatten().map(|f| f.number).collect::<Vec<_>>(),
        [MAX_NUMBER]
    );
}

#[test]
fn stops_at_the_first_error() {
    assert_eq!(fields(&[0x0e, 0x08, 1]).count(), 1);
    assert!(!is_message(&[0x08, 1, 0x0e]));
}

#[test]
fn writes_varints_as_it_reads_them() {
    for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX >> 1, u64::MAX] {
        let mut bytes = vec![];
        varint::write(&mut bytes, value);
        assert_eq!(bytes.len(), varint::len(value));
        assert_eq!(varint::read(&bytes, 0), Ok(varint::Varint { value, end: bytes.len(), overlong: false }));
    }
}

#[test]
fn zigzags() {
    for (number, value) in [(0, 0), (-1, 1), (1, 2), (-2, 3), (i64::MAX, u64::MAX - 1), (i64::MIN, u64::MAX)] {
        assert_eq!((varint::zigzag(number), varint::unzigzag(value)), (value, number));
    }
}

#[test]
fn reads_packed_lists() {
    fn check(span: &[u8], width: Width, expected: &[u64]) {
        assert!(packed::fits(span, width));
        assert_eq!(packed::elements(span, width).collect::<Result<Vec<_>, _>>().as_deref(), Ok(expected));
    }
    check(&[], Width::Varint, &[]);
    check(&[3, 0x8e, 2, 0x9e, 0xa7, 5], Width::Varint, &[3, 270, 86942]);
    check(&[1, 0, 0, 0, 2, 0, 0, 0], Width::Fixed32, &[1, 2]);
    check(&[1, 0, 0, 0, 2, 0, 0, 0], Width::Fixed64, &[2 << 32 | 1]);
    for (span, width) in [(&[0x80][..], Width::Varint), (&[0; 6], Width::Fixed32), (&[0; 12], Width::Fixed64)] {
        assert!(!packed::fits(span, width));
    }
    assert!(!packed::fits(&[0x80; 11], Width::Varint));
    assert!(!packed::fits(&[&[0x80; 10][..], &[0]].concat(), Width::Varint));
}

#[test]
fn finds_the_likeliest_reading_of_a_span() {
    fn check(span: &[u8], expected: Reading) {
        assert_eq!(cost::opaque(span).reading, expected, "{span:02x?}");
    }
    check(b"The parcel was left with a neighbour.", Reading::Text);
    check("Grüße aus Köln".as_bytes(), Reading::Text);
    check(&[0x0a, 5, b'h', b'e', b'l', b'l', b'o', 0x10, 0x96, 1, 0x18, 1], Reading::Message);
    check(&[0x08, 0x80, 0xe2, 0xcf, 0xaa, 6], Reading::Message);
    check(&[3, 1, 2, 0, 1, 1, 3, 2, 0, 1, 1, 2, 3, 0, 1, 2], Reading::Packed);
    check(&[0x9c, 0xe1, 0x55, 0xfe, 0x03, 0xb7, 0xd0, 0xff], Reading::Bytes);
}

#[test]
fn round_numbers_are_cheaper() {
    assert!(cost::double(12.5) < cost::double(12.518_273_645_19));
    assert!(cost::float(12.5) < cost::float(12.518_273));
    assert!(cost::magnitude(3, 64.0) < cost::magnitude(3_000_000, 64.0));
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, f64::MAX, -0.0] {
        assert!(cost::double(odd).is_finite() && cost::float(odd as f32).is_finite());
    }
}

#[test]
fn looks_only_so_deep() {
    let mut nested = vec![];
    for _ in 0..60 {
        let mut outer = vec![0x0a];
        varint::write(&mut outer, nested.len() as u64);
        outer.extend(&nested);
        nested = outer;
    }
    assert!(cost::message(&nested).is_some_and(f64::is_finite));
}

/// Whatever the bytes, the fields lie one behind the other and within the span, and every cost is a number.
#[test]
fn any_bytes_are_read_or_refused() {
    arbtest::arbtest(|u| {
        let bytes: Vec<u8> = u.arbitrary()?;
        let mut end = 0;
        for field in fields(&bytes).flatten() {
            assert_eq!(field.start, end);
            assert!(field.start < field.value_start && field.value_start <= field.end && field.end <= bytes.len());
            end = field.end;
        }
        assert_eq!(is_message(&bytes), end == bytes.len());
        assert!(cost::opaque(&bytes).nats.is_finite());
        for width in [Width::Varint, Width::Fixed32, Width::Fixed64] {
            assert!(packed::elements(&bytes, width).count() <= bytes.len());
        }
        Ok(())
    });
}
