//! Cursors in an address: opaque, so that what is in them may change.

use amqp_message::time::Timestamp;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use uuid::Uuid;
use xxhash_rust::xxh3::Xxh3;

use crate::{
    domain::{
        filter::Cursor,
        group::{GroupCursor, GroupId},
        job::JobPlace,
        letter::{Importance, LetterId},
        marker::MarkerPlace,
        waiting::WaitingCursor,
    },
    store::DigestPlace,
    web::error::{WebError, codes::FaultCode},
};

/// A place in a sorted list.
pub trait Place: Sized {
    fn to_bytes(&self) -> Vec<u8>;
    /// `None` for what is none of ours.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

impl Place for Cursor {
    fn to_bytes(&self) -> Vec<u8> {
        [&self.rank.to_be_bytes()[..], &time_and_id(self.received_at, self.id.as_uuid())].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (rank, bytes) = bytes.split_first_chunk::<8>()?;
        let (received_at, id) = read_time_and_id(bytes)?;
        Some(Self { rank: u64::from_be_bytes(*rank), received_at, id: LetterId::from_uuid(id) })
    }
}

impl Place for WaitingCursor {
    fn to_bytes(&self) -> Vec<u8> {
        time_and_id(self.due_at, self.id.as_uuid())
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (due_at, id) = read_time_and_id(bytes)?;
        Some(Self { due_at, id: LetterId::from_uuid(id) })
    }
}

impl Place for JobPlace {
    fn to_bytes(&self) -> Vec<u8> {
        time_and_id(self.at, self.id)
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (at, id) = read_time_and_id(bytes)?;
        Some(Self { at, id })
    }
}

impl Place for MarkerPlace {
    fn to_bytes(&self) -> Vec<u8> {
        time_and_id(self.at, self.id)
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (at, id) = read_time_and_id(bytes)?;
        Some(Self { at, id })
    }
}

impl Place for DigestPlace {
    fn to_bytes(&self) -> Vec<u8> {
        time_and_id(self.made_at, self.id)
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (made_at, id) = read_time_and_id(bytes)?;
        Some(Self { made_at, id })
    }
}

impl Place for GroupCursor {
    fn to_bytes(&self) -> Vec<u8> {
        let weight = self.importance.and_then(|importance| u8::try_from(importance as usize).ok());
        let mut bytes = vec![weight.unwrap_or(u8::MAX)];
        bytes.extend(self.open.to_be_bytes());
        bytes.extend(time_and_id(self.last_seen, self.id.as_uuid()));
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let ([weight], bytes) = bytes.split_first_chunk::<1>()?;
        let (open, bytes) = bytes.split_first_chunk::<8>()?;
        let (last_seen, id) = read_time_and_id(bytes)?;
        let importance = Importance::ALL.get(usize::from(*weight)).copied();
        Some(Self { importance, open: u64::from_be_bytes(*open), last_seen, id: GroupId::from_uuid(id) })
    }
}

fn time_and_id(at: Timestamp, id: Uuid) -> Vec<u8> {
    let mut bytes = at.as_micros().to_be_bytes().to_vec();
    bytes.extend(id.as_bytes());
    bytes
}

fn read_time_and_id(bytes: &[u8]) -> Option<(Timestamp, Uuid)> {
    let (micros, id) = bytes.split_first_chunk::<8>()?;
    Some((Timestamp::from_micros(i64::from_be_bytes(*micros)), Uuid::from_slice(id).ok()?))
}

/// A place as a text that sorts as its list does, which is sorted by these numbers and the id, the least first.
pub fn in_order(numbers: &[u64], id: u128) -> String {
    numbers.iter().map(|number| format!("{number:016x}")).chain([format!("{id:032x}")]).collect()
}

/// A place in a list whose lines are numbered.
impl Place for i64 {
    fn to_bytes(&self) -> Vec<u8> {
        self.to_be_bytes().to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self::from_be_bytes)
    }
}

/// A place in a list, and of which query: of another one it is no place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Anchor<P> {
    of: u32,
    place: P,
}

impl<P: Place> Anchor<P> {
    /// `list` is the name of the list, `pairs` what the address says of it.
    pub fn new(list: &str, pairs: &[(&'static str, String)], place: P) -> Self {
        Self { of: fingerprint(list, pairs), place }
    }

    /// The place, if it is one of this query.
    ///
    /// # Errors
    /// If it is one of another.
    pub fn place_in(self, list: &str, pairs: &[(&'static str, String)]) -> Result<P, WebError> {
        if self.of == fingerprint(list, pairs) {
            return Ok(self.place);
        }
        let why =
            "it is of another list, order or filter; begin without it, or ask as the answer was asked for that gave it";
        Err(WebError::parameter("cursor", FaultCode::Invalid, why))
    }

    pub fn encode(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode([&self.of.to_be_bytes()[..], &self.place.to_bytes()].concat())
    }

    /// `None` for what is none of ours.
    pub fn decode(text: &str) -> Option<Self> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let (of, place) = bytes.split_first_chunk::<4>()?;
        Some(Self { of: u32::from_be_bytes(*of), place: P::from_bytes(place)? })
    }
}

/// Stands for a query: how many lines a page has does not change where they are, nor what is told of each.
fn fingerprint(list: &str, pairs: &[(&'static str, String)]) -> u32 {
    let mut hasher = Xxh3::new();
    hasher.update(list.as_bytes());
    for (name, value) in pairs.iter().filter(|(name, _)| !matches!(*name, "cursor" | "limit" | "column")) {
        for part in [name, &**value] {
            hasher.update(&[0xff]);
            hasher.update(part.as_bytes());
        }
    }
    hasher.digest() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back() {
        fn check<P: Place + PartialEq + std::fmt::Debug>(place: P) {
            let text = Anchor::new("letters", &[], place).encode();
            let place = Anchor::<P>::decode(&text).unwrap().place;
            assert_eq!(Anchor::new("letters", &[], place).encode(), text);
        }
        let id = LetterId::from_uuid(Uuid::from_u128(7));
        check(Cursor { rank: 3, received_at: Timestamp::from_micros(-5), id });
        check(WaitingCursor { due_at: Timestamp::from_micros(9), id });
        check(-7_i64);
        for importance in [None, Some(Importance::Critical), Some(Importance::Low)] {
            let id = GroupId::from_uuid(Uuid::from_u128(7));
            check(GroupCursor { importance, open: 71, last_seen: Timestamp::from_micros(9), id });
        }
        assert!(Anchor::<Cursor>::decode("AAAA").is_none());
        assert!(Anchor::<Cursor>::decode(&Anchor::new("", &[], 7_i64).encode()).is_none(), "of another list");
    }

    #[test]
    fn a_cursor_is_of_one_query() {
        let asked = |queue: &str, limit: &str| vec![("queue", queue.to_owned()), ("limit", limit.to_owned())];
        let anchor = Anchor::new("letters", &asked("a", "5"), 7_i64);
        let check = |list: &str, queue: &str, limit: &str, is_its: bool| {
            assert_eq!(anchor.place_in(list, &asked(queue, limit)).is_ok(), is_its, "{list}, {queue}, {limit}");
        };
        check("letters", "a", "5", true);
        check("letters", "a", "50", true);
        check("letters", "b", "5", false);
        check("groups", "a", "5", false);
    }
}
