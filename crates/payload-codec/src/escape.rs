//! Strings that are not UTF-8, written so that they can be read and edited.

use super::json::Node;

/// `{"#escaped": "caf\\xe9"}`: what is not UTF-8 as `\x` and two digits, a backslash doubled.
pub fn escaped(bytes: &[u8]) -> Node<'static> {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', r"\\"));
        for byte in chunk.invalid() {
            text.push_str(&format!(r"\x{byte:02x}"));
        }
    }
    Node::pair("#escaped", Node::text(text))
}

/// The bytes of such a string, without the object around it; else what is wrong with it.
pub fn unescaped(node: &Node<'_>) -> Result<Vec<u8>, String> {
    let wrong = || r"a backslash must be followed by another, or by x and two hexadecimal digits".to_owned();
    let text = node.as_text().ok_or_else(|| format!("a string was expected, and this is {}", node.describe()))?;
    let mut parts = text.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    while let Some(part) = parts.next() {
        if part.is_empty() {
            // There is nothing between two backslashes.
            bytes.push(b'\\');
            bytes.extend_from_slice(parts.next().ok_or_else(wrong)?.as_bytes());
            continue;
        }
        let digits = part.strip_prefix('x').and_then(|part| part.get(..2)).ok_or_else(wrong)?;
        let byte = u8::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'));
        bytes.push(byte.ok_or_else(wrong)?);
        bytes.extend_from_slice(part.get(3..).unwrap_or_default().as_bytes());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_is_no_text() {
        fn check(bytes: &[u8], expected: &str) {
            let node = escaped(bytes);
            let text = &node.as_pair().unwrap().value;
            assert_eq!((text.as_text(), unescaped(text)), (Some(expected), Ok(bytes.to_vec())));
        }
        check(b"", "");
        check(b"caf\xe9", r"caf\xe9");
        check(b"a\\b", r"a\\b");
        check(b"\\", r"\\");
        check(b"\\\\x41", r"\\\\x41");
        check(b"\xff\\\xfe", r"\xff\\\xfe");
        check("ä\u{0}".as_bytes(), "ä\u{0}");
    }

    #[test]
    fn refuses_other_escapes() {
        for text in [r"\", r"\n", r"\x", r"\x1", r"\xgg", r"\xé", r"\x+1", r"\\\"] {
            assert!(unescaped(&Node::text(text)).is_err(), "{text}");
        }
    }
}
