//! What the name of a field of numbers lets one expect.

/// The kind of number a name speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NumberMeaning {
    Any,
    Time,
    Nanos,
    Port,
    Code,
    Year,
    Calendar,
    Percent,
    Id,
    Size,
    Duration,
    Pixels,
    Hash,
    Index,
    Count,
    Coordinate,
    Share,
}

use NumberMeaning::*;

/// A name that has one of the words, wherever, or ends with one of the last words, means this. The first rule counts.
struct Rule(NumberMeaning, &'static [&'static str], &'static [&'static str]);

const RULES: &[Rule] = &[
    Rule(Coordinate, &["lat", "latitude", "lng", "lon", "longitude"], &[]),
    Rule(
        Share,
        &[
            "rate",
            "ratio",
            "score",
            "confidence",
            "probability",
            "fraction",
            "threshold",
            "weight",
            "opacity",
            "accuracy",
        ],
        &[],
    ),
    Rule(
        Time,
        &[],
        &["time", "timestamp", "at", "ts", "date", "created", "updated", "expiration", "expires", "deadline"],
    ),
    Rule(Nanos, &[], &["nanos"]),
    Rule(Port, &[], &["port"]),
    Rule(Code, &["code", "status"], &[]),
    Rule(Year, &[], &["year"]),
    Rule(Calendar, &[], &["month", "day", "hour", "hours"]),
    Rule(Percent, &["percent", "percentage"], &[]),
    Rule(Id, &[], &["id", "ids", "steamid", "uid", "key", "account", "user"]),
    Rule(Size, &["bytes", "size", "length", "memory", "disk", "capacity"], &[]),
    Rule(
        Duration,
        &["ms", "millis", "latency", "duration", "timeout", "seconds", "ttl", "interval", "period", "delay"],
        &[],
    ),
    Rule(Pixels, &["height", "width", "x", "y"], &[]),
    Rule(Hash, &["hash", "crc", "fingerprint", "seed", "checksum", "bits", "mask", "flags"], &[]),
    Rule(
        Index,
        &[
            "index", "idx", "offset", "page", "attempt", "retries", "priority", "level", "version", "order", "depth",
            "rank",
        ],
        &[],
    ),
    Rule(Count, &["count", "total", "num", "number", "quantity"], &[]),
];

/// A time with its unit behind it, as in `create_time_ms`.
const TIMES: &[&str] = &["timestamp", "time", "epoch"];
const UNITS: &[&str] =
    &["ms", "millis", "us", "ns", "nanos", "nano", "micros", "sec", "seconds", "unix", "usec", "msec"];

impl NumberMeaning {
    /// What a name of these words means.
    pub fn of(words: &[String]) -> Self {
        let has = |any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
        let last = words.last().map(String::as_str).unwrap_or_default();
        if has(TIMES) && UNITS.contains(&last) {
            return Time;
        }
        RULES.iter().find(|rule| has(rule.1) || rule.2.contains(&last)).map_or(Any, |rule| rule.0)
    }
}
