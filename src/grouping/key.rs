//! The key of a group.

use uuid::Uuid;
use xxhash_rust::xxh3::Xxh3;

use crate::domain::group::{GroupId, GroupKey};

/// Names the group of a key, the same in every version and on every machine: XXH3 of 128 bits
/// (<https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>) with no seed over the parts in the order in which
/// they are declared. Each part is its length in bytes as 8 bytes, the least first, and its bytes; what is `None` has the
/// length `u64::MAX` and no bytes.
///
/// It keeps apart what is different by chance. Whoever wants two groups to collide may manage it, and only gains that
/// failures of his own are shown as one group.
pub fn id(key: &GroupKey) -> GroupId {
    let mut hasher = Xxh3::new();
    let parts = [
        Some(key.broker.as_str()),
        key.queue.as_deref(),
        key.message_type.as_deref(),
        Some(key.reason.as_str()),
        Some(key.error.as_str()),
    ];
    for part in parts {
        let length = part.map_or(u64::MAX, |part| part.len() as u64);
        hasher.update(&length.to_le_bytes());
        hasher.update(part.unwrap_or_default().as_bytes());
    }
    // Only where there is one: what was known before there were parts keeps its name.
    if let Some(part) = &key.part {
        hasher.update(part.what.as_bytes());
    }
    GroupId::from_uuid(Uuid::from_u128(hasher.digest128()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::domain::group::GroupPart;
    use amqp_message::death::Reason;

    fn key(broker: &str, queue: Option<&str>, message_type: Option<&str>, reason: Reason, error: &str) -> GroupKey {
        GroupKey {
            broker: broker.to_owned(),
            queue: queue.map(str::to_owned),
            message_type: message_type.map(str::to_owned),
            reason,
            error: error.to_owned(),
            part: None,
        }
    }

    /// These are in people's databases: an id that changes tears their groups apart.
    #[test]
    fn ids_never_change() {
        let check = |key: GroupKey, expected: u128| assert_eq!(id(&key).as_uuid().as_u128(), expected, "{key:?}");
        check(key("", None, None, Reason::Unknown, ""), 0x09e7_112f_bba8_fd33_f727_c84c_ace6_5658);
        check(
            key("main", Some("orders"), Some("acme.Order"), Reason::Rejected, "TimeoutError: no answer after …"),
            0x3f02_6a4a_5947_b22a_eade_9ed0_a14a_fe6d,
        );
    }

    #[test]
    fn each_part_counts() {
        let keys = [
            key("a", Some("b"), Some("c"), Reason::Rejected, "d"),
            key("x", Some("b"), Some("c"), Reason::Rejected, "d"),
            key("a", Some("x"), Some("c"), Reason::Rejected, "d"),
            key("a", Some(""), Some("c"), Reason::Rejected, "d"),
            key("a", None, Some("c"), Reason::Rejected, "d"),
            key("a", Some("b"), Some(""), Reason::Rejected, "d"),
            key("a", Some("b"), None, Reason::Rejected, "d"),
            key("a", Some("bc"), Some(""), Reason::Rejected, "d"),
            key("ab", Some(""), Some("c"), Reason::Rejected, "d"),
            key("a", Some("b"), Some("c"), Reason::Expired, "d"),
            key("a", Some("b"), Some("c"), Reason::Rejected, ""),
            key("a", Some("b"), Some("c"), Reason::Rejected, "e"),
        ];
        let part = GroupPart { of: id(&keys[0]), what: "currency: EUR".to_owned() };
        let parts = keys.iter().map(|key| GroupKey { part: Some(part.clone()), ..key.clone() });
        let ids: BTreeSet<GroupId> = keys.iter().cloned().chain(parts).map(|key| id(&key)).collect();
        assert_eq!(ids.len(), 2 * keys.len());
        assert_eq!(id(&keys[0]), id(&keys[0].clone()));
    }
}
