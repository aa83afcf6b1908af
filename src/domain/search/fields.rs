//! The fields that a search may name. Parser, completion and the page of the docs go by this one table.

use std::{fmt::Display, str::FromStr};

use amqp_message::death::Reason;
use search_language::{Field, Language};

use super::words::words;
use crate::domain::{
    group_id::GroupId,
    letter::{Importance, LetterId, Status},
    when::When,
};

/// The language of searches on letters.
pub const LANGUAGE: Language = Language::new(FIELDS);

/// What each field takes; the order is that of the completion.
pub const FIELDS: &[Field] = &[
    list("queue", |_| Ok(())),
    list("type", |_| Ok(())),
    list("status", |value| one_of(value, Status::ALL)),
    Field { is_ordered: true, ..list("importance", |value| one_of(value, Importance::ALL)) },
    list("reason", |value| one_of(value, Reason::ALL)),
    list("broker", |_| Ok(())),
    Field { is_list: false, ..list("error", has_words) },
    Field { is_list: false, ..list("stack", has_words) },
    Field { is_path: true, is_ordered: true, ..list("payload", |_| Ok(())) },
    Field { is_path: true, is_ordered: true, ..list("header", |_| Ok(())) },
    Field { is_ordered: true, is_list: false, ..list("attempts", whole_number) },
    Field { is_ordered: true, is_list: false, ..list("size", whole_number) },
    Field { is_list: false, ..list("since", time) },
    Field { is_list: false, ..list("until", time) },
    list("group", |value| parsed::<GroupId>(value).map_err(|_| "it takes the id of an error group".to_owned())),
    list("id", |value| parsed::<LetterId>(value).map_err(|_| "it takes the id of a dead letter".to_owned())),
];

/// What each of them is, for whoever types.
pub const ABOUT: &[(&str, &str)] = &[
    ("queue", "queue it failed in: name or pattern"),
    ("type", "message type: full or last name, or pattern"),
    ("status", "open, scheduled, retried, discarded"),
    ("importance", "critical, high, normal, low; >=high"),
    ("reason", "why it was dead-lettered"),
    ("broker", "name in the configuration"),
    ("error", "words of the error"),
    ("stack", "words of the stack trace"),
    ("payload", "field of the payload: payload.total:>40"),
    ("header", "header: header.x-tenant:eu"),
    ("attempts", "how often it failed: >3"),
    ("size", "bytes of the body: >10000"),
    ("since", "received at or after: 2h, 2026-11-21T10:00Z"),
    ("until", "received before"),
    ("group", "id of an error group"),
    ("id", "id of a dead letter"),
];

const fn list(name: &'static str, check: fn(&str) -> Result<(), String>) -> Field {
    Field { name, is_path: false, is_ordered: false, is_list: true, check }
}

fn one_of<T: Display + FromStr>(value: &str, all: &[T]) -> Result<(), String> {
    if value.parse::<T>().is_ok() {
        return Ok(());
    }
    let all: Vec<String> = all.iter().map(T::to_string).collect();
    Err(format!("it takes {}", all.join(", ")))
}

fn parsed<T: FromStr>(value: &str) -> Result<(), T::Err> {
    value.parse::<T>().map(drop)
}

fn whole_number(value: &str) -> Result<(), String> {
    parsed::<u32>(value).map_err(|_| "it takes a whole number".to_owned())
}

fn time(value: &str) -> Result<(), String> {
    let takes = "it takes 2026-11-21T10:00:00Z, or how long ago as 30m, 24h, 7d";
    parsed::<When>(value).map_err(|_| takes.to_owned())
}

pub(super) fn has_words(value: &str) -> Result<(), String> {
    let has_some = words(value).next().is_some();
    if has_some { Ok(()) } else { Err("it has no letter and no digit to look for".to_owned()) }
}
