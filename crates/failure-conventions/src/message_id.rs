//! Whether a `message_id` can tell a message from all others.
//!
//! Most services write a UUID or a number there, some the name of what happened, which is the same on every message.

/// Letters and digits of which there are so many, and that change as often, were most likely drawn at random.
const RANDOM: usize = 12;

/// How far the looks of an id are to be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKind {
    /// Drawn at random, or a long number: no two messages have it.
    Random,
    /// Numbered, as `order-1090` is: perhaps the number of something that several messages are about.
    Numbered,
    /// A name, which every message may have.
    Name,
}

impl IdKind {
    /// By its looks alone.
    pub fn of(id: &str) -> Self {
        let marks: Vec<u8> = id.bytes().filter(u8::is_ascii_alphanumeric).collect();
        if distinct(&marks) < 4 && marks.len() >= 8 {
            // Nil UUIDs and the like.
            return Self::Name;
        }
        let changes = marks.windows(2).filter(|pair| is_change(pair[0], pair[1])).count();
        let is_random = marks.len() >= RANDOM && changes * 4 >= marks.len();
        if is_random || longest_number(id) >= RANDOM {
            return Self::Random;
        }
        if is_numbered(id) { Self::Numbered } else { Self::Name }
    }

    /// So many messages that say different things, none of which can be a copy of another, and all with this id: it tells
    /// nothing. Of a random one two may be copies of one message, published when its consumer was cut short.
    pub const fn is_shared_by(self, messages: usize) -> bool {
        match self {
            Self::Random => messages > 2,
            Self::Numbered => messages > 1,
            Self::Name => true,
        }
    }
}

fn distinct(marks: &[u8]) -> usize {
    let mut marks = marks.to_vec();
    marks.sort_unstable();
    marks.dedup();
    marks.len()
}

/// After a capital a small letter is how any word begins.
fn is_change(one: u8, next: u8) -> bool {
    class(one) != class(next) && !(one.is_ascii_uppercase() && next.is_ascii_lowercase())
}

/// Digits, small letters and capitals.
const fn class(mark: u8) -> u8 {
    match mark {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        _ => 2,
    }
}

fn longest_number(id: &str) -> usize {
    id.split(|c: char| !c.is_ascii_digit()).map(str::len).max().unwrap_or(0)
}

/// Whether there is a number in it beside that of a version.
fn is_numbered(id: &str) -> bool {
    let bytes = id.as_bytes();
    let begins = |at: &usize| bytes[*at].is_ascii_digit() && !(*at > 0 && bytes[*at - 1].is_ascii_digit());
    (0..bytes.len()).filter(begins).any(|at| at == 0 || !matches!(bytes[at - 1], b'v' | b'V'))
}

#[cfg(test)]
mod tests {
    use super::{IdKind::*, *};

    #[test]
    fn looks_tell_what_was_drawn_at_random() {
        fn check(id: &str, expected: IdKind) {
            assert_eq!(IdKind::of(id), expected, "{id}");
        }
        check("6f1c2f1e-4a0b-4a63-9d6b-0f4f6a1c7e55", Random);
        check("01ARZ3NDEKTSV4RRFFQ69G5FAV", Random);
        check("507f1f77bcf86cd799439011", Random);
        check("V1StGXR8_Z5jdHi6B-myT", Random);
        check("VtStGXRs_ZhjdHiTB-myT", Random);
        check("1795262400123", Random);
        check("urn:uuid:6f1c2f1e-4a0b-4a63-9d6b-0f4f6a1c7e55", Random);

        check("m-1", Numbered);
        check("7", Numbered);
        check("order-1090", Numbered);
        check("order-1090-created", Numbered);

        check("", Name);
        check("order-created", Name);
        check("OrderCreatedEvent", Name);
        check("com.acme.orders.OrderCreatedV2", Name);
        check("orders/created/v1", Name);
        check("00000000-0000-0000-0000-000000000000", Name);
        check("übermäßig", Name);
    }
}
