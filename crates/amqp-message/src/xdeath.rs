//! Reads what RabbitMQ writes on a message when it dead-letters it.
//!
//! The headers are read tolerantly: clients that republish them narrow integers, drop fields and change types.
//! What cannot be read is left out; nothing here fails.

use crate::{
    death::Death,
    field::{FieldTable, FieldValue},
    time::Timestamp,
};

/// The most deaths one entry is believed to stand for; it fits every integer column and JSON reader.
pub const MAX_COUNT: u64 = 1_000_000_000;

/// The last second of the year 9999, the latest time RFC 3339 can write. A later one is no time at all.
const LATEST_SECOND: u64 = 253_402_300_799;

/// The entries of `x-death`, newest first as RabbitMQ sends them.
pub fn deaths(headers: &FieldTable) -> Vec<Death> {
    let entries = headers.get("x-death").and_then(FieldValue::as_array).unwrap_or_default();
    entries.iter().filter_map(FieldValue::as_table).filter_map(death).collect()
}

/// The first death of all, from `x-first-death-*` (since RabbitMQ 3.7). It has neither time nor routing keys.
pub fn first_death(headers: &FieldTable) -> Option<Death> {
    Some(Death {
        queue: headers.get_str("x-first-death-queue")?.to_owned(),
        reason: text(headers, "x-first-death-reason"),
        count: 1,
        first_at: None,
        exchange: text(headers, "x-first-death-exchange"),
        routing_keys: Vec::new(),
        original_expiration: None,
    })
}

/// An entry that does not name its queue says nothing.
fn death(entry: &FieldTable) -> Option<Death> {
    Some(Death {
        queue: entry.get_str("queue")?.to_owned(),
        reason: text(entry, "reason"),
        count: entry.get("count").and_then(whole_number).unwrap_or(1).clamp(1, MAX_COUNT),
        first_at: entry.get("time").and_then(time),
        exchange: text(entry, "exchange"),
        routing_keys: entry.get("routing-keys").map(routing_keys).unwrap_or_default(),
        original_expiration: entry.get_str("original-expiration").map(str::to_owned),
    })
}

fn text(table: &FieldTable, name: &str) -> String {
    table.get_str(name).unwrap_or_default().to_owned()
}

fn whole_number(value: &FieldValue) -> Option<u64> {
    value.as_i64().and_then(|n| u64::try_from(n).ok())
}

/// Seconds, also where a client has turned the timestamp into a plain number.
fn time(value: &FieldValue) -> Option<Timestamp> {
    let seconds = match value {
        FieldValue::Timestamp(seconds) => *seconds,
        other => whole_number(other)?,
    };
    (seconds <= LATEST_SECOND).then(|| Timestamp::from_seconds(seconds))
}

fn routing_keys(value: &FieldValue) -> Vec<String> {
    let keys = value.as_array().unwrap_or(std::slice::from_ref(value));
    keys.iter().filter_map(FieldValue::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table<const N: usize>(fields: [(&str, FieldValue); N]) -> FieldTable {
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn check_headers(x_death: FieldValue, expected: &[(&str, &str, u64, Option<u64>)]) {
        let deaths = deaths(&table([("x-death", x_death)]));
        let found: Vec<_> = deaths.iter().map(|d| (&*d.queue, &*d.reason, d.count, d.first_at)).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|&(queue, reason, n, at)| (queue, reason, n, at.map(Timestamp::from_seconds)))
            .collect();
        assert_eq!(found, expected);
    }

    fn check<const N: usize>(entry: [(&str, FieldValue); N], expected: (&str, &str, u64, Option<u64>)) {
        check_headers(FieldValue::Array(vec![FieldValue::Table(table(entry))]), &[expected]);
    }

    fn queue() -> (&'static str, FieldValue) {
        ("queue", FieldValue::string("q"))
    }

    #[test]
    fn reads_any_whole_number_as_the_count() {
        check([queue()], ("q", "", 1, None));
        for count in [
            FieldValue::ShortShortInt(3),
            FieldValue::ShortShortUInt(3),
            FieldValue::ShortInt(3),
            FieldValue::ShortUInt(3),
            FieldValue::LongInt(3),
            FieldValue::LongUInt(3),
            FieldValue::LongLongInt(3),
        ] {
            check([queue(), ("count", count)], ("q", "", 3, None));
        }
    }

    #[test]
    fn does_not_believe_absurd_counts() {
        check([queue(), ("count", FieldValue::LongLongInt(i64::MAX))], ("q", "", MAX_COUNT, None));
        check([queue(), ("count", FieldValue::LongInt(0))], ("q", "", 1, None));
        check([queue(), ("count", FieldValue::LongInt(-3))], ("q", "", 1, None));
        check([queue(), ("count", FieldValue::string("3"))], ("q", "", 1, None));
    }

    #[test]
    fn reads_seconds() {
        check([queue(), ("time", FieldValue::Timestamp(1_773_480_413))], ("q", "", 1, Some(1_773_480_413)));
        check([queue(), ("time", FieldValue::LongLongInt(5))], ("q", "", 1, Some(5)));
        check([queue(), ("time", FieldValue::Timestamp(u64::MAX))], ("q", "", 1, None));
        check([queue(), ("time", FieldValue::LongInt(-1))], ("q", "", 1, None));
        check([queue(), ("time", FieldValue::string("now"))], ("q", "", 1, None));
    }

    #[test]
    fn skips_what_has_another_shape() {
        check_headers(FieldValue::string("junk"), &[]);
        check_headers(FieldValue::Void, &[]);
        check_headers(FieldValue::Table(table([queue()])), &[]);
        check_headers(FieldValue::Array(vec![FieldValue::LongInt(1), FieldValue::Table(FieldTable::default())]), &[]);
        check_headers(
            FieldValue::Array(vec![
                FieldValue::Boolean(true),
                FieldValue::Table(table([queue(), ("reason", FieldValue::string("expired"))])),
                FieldValue::Table(table([("queue", FieldValue::LongString(vec![0xff]))])),
                FieldValue::Table(table([("queue", FieldValue::string("older"))])),
            ]),
            &[("q", "expired", 1, None), ("older", "", 1, None)],
        );
    }

    #[test]
    fn reads_routing_keys_and_expiration() {
        let keys = FieldValue::Array(vec![FieldValue::string("a"), FieldValue::Void, FieldValue::string("b")]);
        let entry = table([queue(), ("routing-keys", keys), ("original-expiration", FieldValue::string("30000"))]);
        let death = death(&entry).unwrap();
        assert_eq!(death.routing_keys, ["a", "b"]);
        assert_eq!(death.original_expiration.as_deref(), Some("30000"));
        assert_eq!(routing_keys(&FieldValue::string("only")), ["only"]);
        assert!(routing_keys(&FieldValue::LongInt(1)).is_empty());
    }

    #[test]
    fn reads_the_first_death() {
        assert_eq!(first_death(&FieldTable::default()), None);
        let headers = table([
            ("x-first-death-queue", FieldValue::string("q")),
            ("x-first-death-reason", FieldValue::string("maxlen")),
        ]);
        let first = first_death(&headers).unwrap();
        assert_eq!((&*first.queue, &*first.reason, &*first.exchange, first.count), ("q", "maxlen", "", 1));
    }
}
