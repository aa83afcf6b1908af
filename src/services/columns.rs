//! What letters say in columns that somebody has chosen.
//!
//! That is read when it is shown, with what is hidden now: nothing else would know all fields. It is read of the letters of
//! one page, and of those whose bodies are small.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use super::decoding::{
    confirmed::{Confirmed, ConfirmedTypes},
    reader::{Reader, off_the_runtime},
    reading::Library,
    values,
};
use crate::{
    domain::{
        column::Column,
        letter::{Letter, LetterId, LetterSummary},
        split::LONGEST_VALUE,
    },
    store::{StoreError, StoreReader},
};

/// Bytes of a body that is read for a list; larger ones say nothing there.
pub const MOST_BYTES: u64 = 64 << 10;
/// Values of one letter that are looked at.
const MOST_VALUES: usize = 1_000;

/// A column that there is something in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub column: Column,
    /// How many letters say something in it.
    pub letters: u64,
    pub example: String,
}

/// What letters say in these columns, in their order; nothing is empty.
pub async fn of_letters(
    store: &StoreReader,
    reader: &Reader,
    letters: &[LetterSummary],
    columns: &[Column],
) -> Result<HashMap<LetterId, Vec<String>>, StoreError> {
    if columns.is_empty() {
        return Ok(HashMap::new());
    }
    let said = |values: &[Value], column: &Column| {
        let its = values.iter().filter(|value| value.path == column.path()).map(|value| &*value.text);
        shortened(&its.collect::<Vec<_>>().join(", "))
    };
    let read = look_into(store, reader, letters, values_of).await?;
    let row = |(id, values): (LetterId, Vec<Value>)| (id, columns.iter().map(|column| said(&values, column)).collect());
    Ok(read.into_iter().map(row).collect())
}

/// The columns there are in these letters, those of most letters first.
pub async fn in_letters(
    store: &StoreReader,
    reader: &Reader,
    letters: &[LetterSummary],
) -> Result<Vec<Found>, StoreError> {
    Ok(of_most_first(look_into(store, reader, letters, values_of).await?))
}

/// Those of them by which letters can be found.
pub async fn searchable_in_letters(
    store: &StoreReader,
    reader: &Reader,
    letters: &[LetterSummary],
) -> Result<Vec<Found>, StoreError> {
    Ok(of_most_first(look_into(store, reader, letters, searchable_values_of).await?))
}

fn of_most_first(read: Vec<(LetterId, Vec<Value>)>) -> Vec<Found> {
    let mut found: BTreeMap<Column, Found> = BTreeMap::new();
    for (_, values) in read {
        let mut of_letter: BTreeMap<Column, String> = BTreeMap::new();
        for value in values {
            if let Ok(column) = value.path.parse() {
                of_letter.entry(column).or_insert(value.text);
            }
        }
        for (column, text) in of_letter {
            let entry = found.entry(column.clone());
            entry.or_insert_with(|| Found { column, letters: 0, example: shortened(&text) }).letters += 1;
        }
    }
    let mut found: Vec<Found> = found.into_values().collect();
    found.sort_by_key(|found| std::cmp::Reverse(found.letters));
    found
}

/// What letters say in one column, as far as they can be found by it, and how many say it; of most letters first. What is too
/// long for a list is left out.
pub async fn searchable_values(
    store: &StoreReader,
    reader: &Reader,
    letters: &[LetterSummary],
    column: &Column,
) -> Result<Vec<(String, u64)>, StoreError> {
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for (_, values) in look_into(store, reader, letters, searchable_values_of).await? {
        let is_short = |value: &Value| !value.text.is_empty() && shortened(&value.text) == value.text;
        let its = values.into_iter().filter(|value| value.path == column.path() && is_short(value));
        for text in its.map(|value| value.text).collect::<BTreeSet<_>>() {
            *found.entry(text).or_default() += 1;
        }
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(_, letters)| std::cmp::Reverse(*letters));
    Ok(found)
}

struct Value {
    path: String,
    text: String,
}

/// What `look` finds in each letter whose body is small; it is told whether payloads may be looked into.
pub(super) async fn look_into<T: Send + 'static>(
    store: &StoreReader,
    reader: &Reader,
    letters: &[LetterSummary],
    look: impl Fn((&Reader, &Library), &Letter, &Confirmed, bool) -> T + Send + 'static,
) -> Result<Vec<(LetterId, T)>, StoreError> {
    let small = letters.iter().filter(|letter| letter.size <= MOST_BYTES).cloned().collect();
    let (mut contents, mut confirmed) = (Vec::new(), ConfirmedTypes::new(store));
    for letter in store.with_contents(small).await? {
        let shows_payload = store.shows_payload(&letter.summary.broker, letter.summary.queue.as_deref());
        let confirmed = confirmed.of(&letter.summary).await?;
        contents.push((letter, confirmed, shows_payload));
    }
    let (library, reader) = (reader.library().await, reader.clone());
    let read = move || {
        let read = |(letter, confirmed, shows_payload): &(Letter, Arc<Confirmed>, bool)| {
            (letter.summary.id, look((&reader, &library), letter, confirmed, *shows_payload))
        };
        contents.iter().map(read).collect()
    };
    Ok(off_the_runtime(read).await)
}

fn values_of(
    (reader, library): (&Reader, &Library),
    letter: &Letter,
    confirmed: &Confirmed,
    shows_payload: bool,
) -> Vec<Value> {
    let (shown, reading) = reader.shown(library, letter, confirmed);
    let mut found = Vec::new();
    let mut take = |path: &str, text: &str| {
        if found.len() < MOST_VALUES {
            found.push(Value { path: path.to_owned(), text: text.to_owned() });
        }
    };
    values::of_headers(&shown, shows_payload, &mut take);
    if shows_payload {
        values::of_payload(&reading, &mut take);
    }
    found
}

/// A header that repeats the error is found by that.
fn searchable_values_of(
    readers: (&Reader, &Library),
    letter: &Letter,
    confirmed: &Confirmed,
    shows_payload: bool,
) -> Vec<Value> {
    let mut values = values_of(readers, letter, confirmed, shows_payload);
    let error = failure_conventions::read(&letter.message).failure.error.unwrap_or_default();
    let repeats = |text: &String| error.message.as_ref() == Some(text) || error.stacktrace.as_ref() == Some(text);
    values.retain(|value| !value.path.starts_with("header.") || !repeats(&value.text));
    values
}

pub(super) fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_VALUE) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
