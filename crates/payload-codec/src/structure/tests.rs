use base64::{Engine, prelude::BASE64_STANDARD};

use super::*;

fn compact(bytes: &[u8], format: Format) -> Result<String, Unreadable> {
    let json = to_json(bytes, format, &Limits::default())?;
    serde_json::from_str::<serde_json::Value>(&json).unwrap();
    Ok(json.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn check(bytes: &[u8], format: Format, expected: &str) {
    assert_eq!(compact(bytes, format).as_deref(), Ok(expected), "{:?}", String::from_utf8_lossy(bytes));
}

fn from_base64(text: &str) -> Vec<u8> {
    BASE64_STANDARD.decode(text).unwrap()
}

/// What Python 3.11 wrote of the same dictionary.
const PICKLES: [&str; 6] = [
    "KGRwMApWdGFzawpwMQpWYmlsbGluZy5jaGFyZ2UKcDIKc1ZhcmdzCnAzCihscDQKSTQyCmFGMS41CmFOYUkwMQphY19jb2RlY3MKZW5jb2RlCnA1CihWXHUwMDAw/wpwNgpWbGF0aW4xCnA3CnRwOApScDkKYXNWbgpwMTAKSS0zCnNWYmlnCnAxMQpMMTI2NzY1MDYwMDIyODIyOTQwMTQ5NjcwMzIwNTM3NkwKc1ZuZWcKcDEyCkwtMTE4MDU5MTYyMDcxNzQxMTMwMzQyNEwKc1Z0CnAxMwooSTEKSTIKdHAxNApzVnMKcDE1ClZo6WxsbwpwMTYKc1Z0dXBsZTEKcDE3CihJMQp0cDE4CnMu",
    "fXEAKFgEAAAAdGFza3EBWA4AAABiaWxsaW5nLmNoYXJnZXECWAQAAABhcmdzcQNdcQQoSypHP/gAAAAAAABOSTAxCmNfY29kZWNzCmVuY29kZQpxBShYAwAAAADDv3EGWAYAAABsYXRpbjFxB3RxCFJxCWVYAQAAAG5xCkr9////WAMAAABiaWdxC0wxMjY3NjUwNjAwMjI4MjI5NDAxNDk2NzAzMjA1Mzc2TApYAwAAAG5lZ3EMTC0xMTgwNTkxNjIwNzE3NDExMzAzNDI0TApYAQAAAHRxDShLAUsCdHEOWAEAAABzcQ9YBgAAAGjDqWxsb3EQWAYAAAB0dXBsZTFxEShLAXRxEnUu",
    "gAJ9cQAoWAQAAAB0YXNrcQFYDgAAAGJpbGxpbmcuY2hhcmdlcQJYBAAAAGFyZ3NxA11xBChLKkc/+AAAAAAAAE6IY19jb2RlY3MKZW5jb2RlCnEFWAMAAAAAw79xBlgGAAAAbGF0aW4xcQeGcQhScQllWAEAAABucQpK/f///1gDAAAAYmlncQuKDQAAAAAAAAAAAAAAABBYAwAAAG5lZ3EMigkAAAAAAAAAAMBYAQAAAHRxDUsBSwKGcQ5YAQAAAHNxD1gGAAAAaMOpbGxvcRBYBgAAAHR1cGxlMXERSwGFcRJ1Lg==",
    "gAN9cQAoWAQAAAB0YXNrcQFYDgAAAGJpbGxpbmcuY2hhcmdlcQJYBAAAAGFyZ3NxA11xBChLKkc/+AAAAAAAAE6IQwIA/3EFZVgBAAAAbnEGSv3///9YAwAAAGJpZ3EHig0AAAAAAAAAAAAAAAAQWAMAAABuZWdxCIoJAAAAAAAAAADAWAEAAAB0cQlLAUsChnEKWAEAAABzcQtYBgAAAGjDqWxsb3EMWAYAAAB0dXBsZTFxDUsBhXEOdS4=",
    "gASVjQAAAAAAAAB9lCiMBHRhc2uUjA5iaWxsaW5nLmNoYXJnZZSMBGFyZ3OUXZQoSypHP/gAAAAAAABOiEMCAP+UZYwBbpRK/f///4wDYmlnlIoNAAAAAAAAAAAAAAAAEIwDbmVnlIoJAAAAAAAAAADAjAF0lEsBSwKGlIwBc5SMBmjDqWxsb5SMBnR1cGxlMZRLAYWUdS4=",
    "gAWVjQAAAAAAAAB9lCiMBHRhc2uUjA5iaWxsaW5nLmNoYXJnZZSMBGFyZ3OUXZQoSypHP/gAAAAAAABOiEMCAP+UZYwBbpRK/f///4wDYmlnlIoNAAAAAAAAAAAAAAAAEIwDbmVnlIoJAAAAAAAAAADAjAF0lEsBSwKGlIwBc5SMBmjDqWxsb5SMBnR1cGxlMZRLAYWUdS4=",
];

#[test]
fn pickles_of_every_protocol() {
    let common = r##""n": -3, "big": 1267650600228229401496703205376, "neg": -1180591620717411303424, "t": [ 1, 2 ], "s": "héllo", "tuple1": [ 1 ] }"##;
    for (protocol, pickle) in PICKLES.into_iter().enumerate() {
        let bytes = match protocol {
            // Before there were bytes, they were text that is encoded again.
            0..=2 => r##"{ "#call": "_codecs.encode", "args": [ "\u0000ÿ", "latin1" ] }"##,
            _ => r##"{ "#base64": "AP8=" }"##,
        };
        let args = format!(r##"{{ "task": "billing.charge", "args": [ 42, 1.5, null, true, {bytes} ], "##);
        check(&from_base64(pickle), Format::Pickle, &(args + common));
    }
}

#[test]
fn integers_of_python_have_any_length() {
    let long = |bytes: &[u8]| [&[0x80, 2, 0x8a, bytes.len() as u8][..], bytes, b"."].concat();
    let check = |bytes: &[u8], expected: &str| check(bytes, Format::Pickle, expected);
    check(&long(&[&[0; 16][..], &[1]].concat()), "340282366920938463463374607431768211456");
    check(&long(&[&[0xff; 64][..], &[0]].concat()), &format!("\"0x{}\"", "f".repeat(128)));
    check(&long(&[&[0; 69][..], &[0xff]].concat()), &format!("\"-0x1{}\"", "0".repeat(138)));
    let (digits, long) = ("7".repeat(192), "7".repeat(193));
    check(format!("]I-{digits}\na.").as_bytes(), &format!("[ -{digits} ]"));
    check(format!("]L-0{long}L\na.").as_bytes(), &format!("[ \"-{long}\" ]"));
}

#[test]
fn a_pickle_is_never_executed() {
    // Its object calls os.system.
    check(
        &from_base64("gASVJQAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjAplY2hvIHB3bmVklIWUUpQu"),
        Format::Pickle,
        r##"{ "#call": "posix.system", "args": [ "echo pwned" ] }"##,
    );
    check(
        &from_base64(
            "gASVgQAAAAAAAAB9lCiMBHdoZW6UjAhkYXRldGltZZSMBGRhdGWUk5RDBAfqAQKUhZRSlIwFcHJpY2WUjAdkZWNpbWFslIwHRGVjaW1hbJSTlIwEMS4xMJSFlFKUjAJvZJSMC2NvbGxlY3Rpb25zlIwLT3JkZXJlZERpY3SUk5QpUpSMAWGUSwFzdS4=",
        ),
        Format::Pickle,
        r##"{ "when": { "#call": "datetime.date", "args": [ { "#base64": "B+oBAg==" } ] }, "price": { "#call": "decimal.Decimal", "args": [ "1.10" ] }, "od": { "#call": "collections.OrderedDict", "args": [], "items": { "a": 1 } } }"##,
    );
    check(&from_base64("gASVEAAAAAAAAAB9lIwDc2V0lI+UKEsHkHMu"), Format::Pickle, r##"{ "set": { "#set": [ 7 ] } }"##);
    // A list in itself, one in two places, and one of 2^40 elements.
    check(
        &from_base64("gASVBgAAAAAAAABdlGgAYS4="),
        Format::Pickle,
        r##"[ { "#reference": "a value around this one" } ]"##,
    );
    check(&from_base64("gASVDAAAAAAAAABdlChdlEsBYWgBZS4="), Format::Pickle, "[ [ 1 ], [ 1 ] ]");
    assert_eq!(
        compact(
            &from_base64(
                "gASV8wAAAAAAAABdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlChdlGgoZWgnZWgmZWglZWgkZWgjZWgiZWghZWggZWgfZWgeZWgdZWgcZWgbZWgaZWgZZWgYZWgXZWgWZWgVZWgUZWgTZWgSZWgRZWgQZWgPZWgOZWgNZWgMZWgLZWgKZWgJZWgIZWgHZWgGZWgFZWgEZWgDZWgCZWgBZS4="
            ),
            Format::Pickle
        ),
        Err(Unreadable::TooMuch)
    );
}

#[test]
fn php() {
    let check = |text: &str, expected: &str| check(text.as_bytes(), Format::Php, expected);
    check("a:3:{i:0;i:1;i:1;d:0.5;i:2;N;}", "[ 1, 0.5, null ]");
    check("a:2:{s:1:\"a\";b:1;i:7;s:6:\"héllo\";}", r#"{ "a": true, "7": "héllo" }"#);
    check(
        "O:15:\"App\\Jobs\\Charge\":2:{s:10:\"\0*\0orderId\";i:42;s:18:\"\0App\\Jobs\\Charge\0x\";r:1;}",
        r##"{ "#class": "App\\Jobs\\Charge", "orderId": 42, "x": { "#reference": 1 } }"##,
    );
    check(
        "O:8:\"stdClass\":1:{s:1:\"e\";E:8:\"Suit:Red\";}",
        r##"{ "#class": "stdClass", "e": { "#enum": "Suit:Red" } }"##,
    );
    check("a:1:{i:0;C:1:\"A\":3:{x:y}}", r##"[ { "#class": "A", "#data": "x:y" } ]"##);
    check("a:1:{i:0;d:INF;}", r##"[ { "#float": "Infinity" } ]"##);
    // After addslashes, as Symfony sends it.
    check(r#"O:8:\"stdClass\":1:{s:3:\"a\0b\";s:3:\"c\"d\";}"#, r##"{ "#class": "stdClass", "a\u0000b": "c\"d" }"##);
    for wrong in ["a:1:{i:0;i:1;}x", "a:2:{i:0;i:1;}", "a:1:{i:0;s:9:\"abc\";}", "a:99999999999999999999:{}", "O:1:{}"]
    {
        assert!(matches!(compact(wrong.as_bytes(), Format::Php), Err(Unreadable::Malformed(_))), "{wrong}");
    }
    let nested = format!("{}N;{}", "a:1:{i:0;".repeat(5_000), "}".repeat(5_000));
    assert_eq!(compact(nested.as_bytes(), Format::Php), Err(Unreadable::TooMuch));
}

#[test]
fn java() {
    // class Order implements Serializable { int id = 42; boolean paid = true; String name = "amber"; }
    let class =
        b"sr\0\x0aacme.Order\0\0\0\0\0\0\0\x01\x02\0\x03I\0\x02idZ\0\x04paidL\0\x04namet\0\x12Ljava/lang/String;xp";
    let order = [b"\xac\xed\0\x05", &class[..], b"\0\0\0\x2a\x01t\0\x05amber"].concat();
    check(&order, Format::Java, r##"{ "#class": "acme.Order", "id": 42, "paid": true, "name": "amber" }"##);
    check(b"\xac\xed\0\x05t\0\x02hi", Format::Java, r#""hi""#);
    check(b"\xac\xed\0\x05w\x02\x01\x02", Format::Java, r##"{ "#base64": "AQI=" }"##);
    // java.util.ArrayList of a string, twice: it writes its elements by itself.
    check(
        ARRAY_LIST,
        Format::Java,
        r##"{ "#class": "java.util.ArrayList", "size": 2, "#data": [ { "#base64": "AAAAAg==" }, "a", "a" ] }"##,
    );
    for cut in 0..order.len() {
        assert!(compact(&order[..cut], Format::Java).is_err(), "{cut}");
    }
    assert!(matches!(compact(b"\xac\xed\0\x05q\0~\0\x05", Format::Java), Err(Unreadable::Malformed(_))));
}

const ARRAY_LIST: &[u8] = b"\xac\xed\0\x05sr\0\x13java.util.ArrayListx\x81\xd2\x1d\x99\xc7a\x9d\x03\0\x01I\0\x04sizexp\0\0\0\x02w\x04\0\0\0\x02t\0\x01aq\0~\0\x02x";

#[test]
fn yaml() {
    let check = |text: &str, expected: &str| check(text.as_bytes(), Format::Yaml, expected);
    check(
        "---\norder: 42\nname: amber\nlines: [1, 2.5, ~, yes, true]\n",
        r#"{ "order": 42, "name": "amber", "lines": [ 1, 2.5, null, "yes", true ] }"#,
    );
    check("\u{feff}# of a file\n--- {a: 1}\n", r#"{ "a": 1 }"#);
    check("a: '1'\nb: \"2\"\nc: |\n  x\n  y\n", r#"{ "a": "1", "b": "2", "c": "x\ny\n" }"#);
    check("- &x {a: 1}\n- *x\n", r#"[ { "a": 1 }, { "a": 1 } ]"#);
    check("1: a\n? [1, 2]\n: b\n", r#"{ "1": "a", "[ 1, 2 ]": "b" }"#);
    check(
        "!!python/object/apply:os.system [ls]",
        r##"{ "#class": "tag:yaml.org,2002:python/object/apply:os.system", "value": [ "ls" ] }"##,
    );
    check(
        "a: !!str 5\nb: 0x1F\nc: 007\nd: 1e3\ne: .inf",
        r##"{ "a": "5", "b": 31, "c": 7, "d": 1000.0, "e": { "#float": "Infinity" } }"##,
    );
    // A billion laughs.
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..12 {
        let before = format!("*a{}", i - 1);
        bomb += &format!("a{i}: &a{i} [{}]\n", [before.as_str(); 10].join(", "));
    }
    assert_eq!(compact(bomb.as_bytes(), Format::Yaml), Err(Unreadable::TooMuch));
    assert!(compact(b"&a [*a]", Format::Yaml).is_ok());
    assert!(matches!(compact(b"a: 1\n---\nb: 2\n", Format::Yaml), Err(Unreadable::Malformed(_))));
    for text in ["a: 1\nb: }\n", "---\nb: }\n", "\u{feff}# of a file\nb: }\n"] {
        let why = compact(text.as_bytes(), Format::Yaml).unwrap_err().to_string();
        assert!(why.contains("at line 2 column"), "{why}");
    }
    assert!(compact(&[b'['; 100_000], Format::Yaml).is_err());
    assert!(compact(&b"? ".repeat(100_000), Format::Yaml).is_err());
}

/// The text of each key is twice as long as that of the key in it.
#[test]
fn keys_in_keys_end() {
    const NESTED: usize = 60;
    let yaml = format!("---\n{}a{}\n", "{".repeat(NESTED), ": 1}".repeat(NESTED));
    let php = format!("{}i:1;{}", "a:1:{".repeat(NESTED), "i:1;}".repeat(NESTED));
    let pickle = [&[0x80, 4][..], &[b'}'; NESTED], b"\x8c\x01a", &b"K\x01s".repeat(NESTED), b"."].concat();
    for (bytes, format) in
        [(yaml.into_bytes(), Format::Yaml), (php.into_bytes(), Format::Php), (pickle, Format::Pickle)]
    {
        assert_eq!(compact(&bytes, format), Err(Unreadable::TooMuch), "{format:?}");
    }
}

/// Damaged pickles, PHP, Java and YAML end, and never panic.
/// Each has a parent that was described before it, so that nothing is nested deep.
#[test]
fn a_chain_of_java_classes_ends() {
    const NESTED: u32 = 90;
    let mut bytes = vec![0xac, 0xed, 0, 5];
    for described in 0..20 {
        for _ in 0..NESTED {
            bytes.extend([0x72, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0x78]);
        }
        match described {
            0 => bytes.push(0x70),
            _ => {
                bytes.push(0x71);
                bytes.extend((0x7e_0000 + (described - 1) * NESTED).to_be_bytes());
            }
        }
    }
    assert_eq!(compact(&bytes, Format::Java), Err(Unreadable::TooMuch));
}

/// A few bytes that are compressed well, and would take a hundred times as many.
#[test]
fn what_is_kept_is_bounded_too() {
    for kept in [0x94, b'2', b'('] {
        let pickle = [&[0x80, 4, b'N'][..], &vec![kept; 3 << 20], b"."].concat();
        assert_eq!(compact(&pickle, Format::Pickle), Err(Unreadable::TooMuch), "{kept:#x}");
    }
    let texts = "a,".repeat(2_000);
    let yaml = format!("---\n{}{texts}{}\n", "&a [".repeat(90), "]".repeat(90));
    assert_eq!(compact(yaml.as_bytes(), Format::Yaml), Err(Unreadable::TooMuch));
}

/// A name stands there once, and each of its uses would be a copy of it.
#[test]
fn names_that_are_used_again_are_counted_each_time() {
    const NAME: usize = 60_000;
    const USES: usize = 3_000;
    let class = |kind: &[u8]| {
        let name = [&(NAME as u16).to_be_bytes()[..], &vec![b'x'; NAME]].concat();
        [kind, b"\x72", &name, &[0; 8], b"\x02\0\0\x78\x70"].concat()
    };
    let java = |first: &[u8], next: &[u8]| {
        let n = (USES as u32 + 1).to_be_bytes();
        [b"\xac\xed\0\x05\x75\x70".as_slice(), &n, &class(first), &next.repeat(USES)].concat()
    };
    let handle = b"\x71\0\x7e\0\x01".as_slice();
    let text = [&[b'X'][..], &(NAME as u32).to_le_bytes(), &vec![b'x'; NAME], &[0x94]].concat();
    let pickle = [&[0x80, 4][..], &text, &b"h\0h\0\x930".repeat(USES), b"N."].concat();
    let yaml = format!("%TAG !e! tag:{}\n---\n{}", "x".repeat(NAME), "- !e!a\n".repeat(USES));
    for (bytes, format) in [
        (java(&[0x76], handle), Format::Java),
        (java(&[0x76], &[b"\x76".as_slice(), handle].concat()), Format::Java),
        (java(&[0x73], &[b"\x73".as_slice(), handle].concat()), Format::Java),
        (pickle, Format::Pickle),
        (yaml.into_bytes(), Format::Yaml),
    ] {
        assert_eq!(compact(&bytes, format), Err(Unreadable::TooMuch), "{format:?}, {} bytes", bytes.len());
    }
    // A list of many small objects is shown all the same.
    let class = b"\x73\x72\0\x20com.acme.orders.domain.OrderLine\0\0\0\0\0\0\0\x01\x02\0\0\x78\x70";
    let objects = b"\x73\x71\0\x7e\0\x01".repeat(20_000);
    let java = [b"\xac\xed\0\x05\x75\x70".as_slice(), &20_001_u32.to_be_bytes(), class, &objects].concat();
    assert_eq!(compact(&java, Format::Java).unwrap().matches("OrderLine").count(), 20_001);
}

#[test]
fn anything_is_read_or_refused() {
    let seeds: Vec<(Vec<u8>, Format)> = vec![
        (from_base64(PICKLES[0]), Format::Pickle),
        (from_base64(PICKLES[4]), Format::Pickle),
        (b"O:8:\"stdClass\":1:{s:1:\"a\";a:2:{i:0;d:0.5;i:1;R:2;}}".to_vec(), Format::Php),
        (ARRAY_LIST.to_vec(), Format::Java),
        (b"a: &x [1, {b: *x}]\n? c\n: 'd'\n".to_vec(), Format::Yaml),
    ];
    arbtest::arbtest(|u| {
        let (seed, format) = u.choose(&seeds)?;
        let mut bytes = seed.clone();
        for _ in 0..u.int_in_range(1..=4)? {
            let at = u.choose_index(bytes.len())?;
            match u.int_in_range(0..=3)? {
                0 => bytes[at] = u.arbitrary()?,
                1 => bytes.insert(at, u.arbitrary()?),
                2 => bytes.truncate(at.max(1)),
                _ => bytes.extend_from_within(at..),
            }
        }
        _ = compact(&bytes, *format);
        let any: Vec<u8> = u.arbitrary()?;
        for format in [Format::Pickle, Format::Php, Format::Java, Format::Yaml] {
            _ = compact(&any, format);
        }
        Ok(())
    });
}
