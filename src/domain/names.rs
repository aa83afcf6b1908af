//! What may stand for a name, whatever a message says: the database keeps names in indexes, and an index has its limits.
//!
//! Postgres keeps no NUL in text (<https://www.postgresql.org/docs/current/datatype-character.html>), and no more than
//! 2,704 bytes in a row of an index (a third of a page, <https://www.postgresql.org/docs/current/btree.html>).

/// Bytes of the longest name of a queue or exchange, and of the longest routing key: AMQP's short string
/// (<https://www.rabbitmq.com/resources/specs/amqp0-9-1.pdf>, 4.2.5.3).
pub const MAX_NAME: usize = 255;
/// Bytes of the longest name of a type. Those of protobuf and of classes stay far below.
pub const MAX_TYPE: usize = 500;

/// Whether a queue can be called that.
pub fn is_queue(text: &str) -> bool {
    fits(text, MAX_NAME)
}

/// Whether it is taken for the name of a type.
pub fn is_type(text: &str) -> bool {
    fits(text, MAX_TYPE)
}

fn fits(text: &str, most: usize) -> bool {
    text.len() <= most && !text.contains('\0')
}

/// As much of a name as there may be of one, with U+FFFD for each NUL; `true` if that is not all of it.
pub fn cut(text: String) -> (String, bool) {
    let end = text.floor_char_boundary(MAX_NAME);
    let is_whole = fits(&text, MAX_NAME);
    let kept = if is_whole { text } else { without_nul(text.get(..end).unwrap_or_default()) };
    (kept, !is_whole)
}

/// A text of any length, with U+FFFD for each NUL.
pub fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_length_and_no_nul() {
        let long = |n| "é".repeat(n);
        assert!(is_queue(&"q".repeat(MAX_NAME)) && !is_queue(&"q".repeat(MAX_NAME + 1)) && !is_queue("a\0"));
        assert!(is_type(&"t".repeat(MAX_TYPE)) && !is_type(&long(251)) && !is_type("\0"));
        assert_eq!(cut("key".to_owned()), ("key".to_owned(), false));
        assert_eq!(cut("a\0b".to_owned()), ("a\u{fffd}b".to_owned(), true));
        assert_eq!(cut(long(200)), (long(127), true), "it ends with a whole character");
    }
}
