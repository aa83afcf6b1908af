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
    reading::{Library, Reading},
    values::{self, Each},
};
use crate::{
    domain::{
        column::Column,
        letter::{Letter, LetterId, LetterSummary},
        split::LONGEST_VALUE,
        telling::one_line,
    },
    store::{StoreError, StoreReader},
};

/// Bytes of a body that is read for a list; larger ones say nothing there.
pub const MOST_BYTES: u64 = 64 << 10;
/// Letters whose bodies are in memory at once: 4 MiB at most.
const AT_ONCE: usize = 64;
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
    let columns = columns.to_vec();
    let look = move |of: Looked<'_>| said(&columns, |each| each_value(&of, each), shortened);
    Ok(look_into(store, reader, letters, look).await?.into_iter().collect())
}

/// What a letter that was read says in these columns, all of it, in their order; nothing is empty.
pub fn in_full(shown: &Letter, reading: &Reading, shows_payload: bool, columns: &[Column]) -> Vec<String> {
    said(columns, |each| each_of(shown, reading, shows_payload, each), str::to_owned)
}

/// What `read` tells of these columns, as `text` has it.
fn said(columns: &[Column], read: impl FnOnce(&mut Each<'_>), text: impl Fn(&str) -> String) -> Vec<String> {
    let mut found: Vec<Vec<String>> = vec![Vec::new(); columns.len()];
    read(&mut |path, value| {
        for (texts, _) in found.iter_mut().zip(columns).filter(|(_, column)| column.path() == path) {
            texts.push(text(value));
        }
    });
    found.iter().map(|texts| text(&texts.join(", "))).collect()
}

/// The columns there are in these letters, those of most letters first.
pub async fn in_letters(
    store: &StoreReader,
    reader: &Reader,
    letters: &[LetterSummary],
) -> Result<Vec<Found>, StoreError> {
    first_of_each(store, reader, letters, each_value).await
}

/// Those of them by which letters can be found.
pub async fn searchable_in_letters(
    store: &StoreReader,
    reader: &Reader,
    letters: &[LetterSummary],
) -> Result<Vec<Found>, StoreError> {
    first_of_each(store, reader, letters, each_searchable).await
}

/// The columns in what `values` tells, those of most letters first, with what the first letter says there first.
async fn first_of_each(
    store: &StoreReader,
    reader: &Reader,
    letters: &[LetterSummary],
    values: fn(&Looked<'_>, &mut Each<'_>),
) -> Result<Vec<Found>, StoreError> {
    let look = move |of: Looked<'_>| {
        let mut first: BTreeMap<Column, String> = BTreeMap::new();
        values(&of, &mut |path, text| {
            if let Ok(column) = path.parse() {
                first.entry(column).or_insert_with(|| shortened(text));
            }
        });
        first
    };
    let mut found: BTreeMap<Column, Found> = BTreeMap::new();
    for (_, first) in look_into(store, reader, letters, look).await? {
        for (column, example) in first {
            let entry = found.entry(column.clone());
            entry.or_insert_with(|| Found { column, letters: 0, example }).letters += 1;
        }
    }
    let mut found: Vec<Found> = found.into_values().collect();
    found.sort_by_key(|found| std::cmp::Reverse(found.letters));
    Ok(found)
}

/// What letters say in one column, as far as they can be found by it, and how many say it; of most letters first. What is too
/// long for a list is left out.
pub async fn searchable_values(
    store: &StoreReader,
    reader: &Reader,
    letters: &[LetterSummary],
    column: &Column,
) -> Result<Vec<(String, u64)>, StoreError> {
    let column = column.clone();
    let look = move |of: Looked<'_>| {
        let mut texts: BTreeSet<String> = BTreeSet::new();
        each_searchable(&of, &mut |path, text| {
            if path == column.path() && !text.is_empty() && shortened(text) == text {
                texts.insert(text.to_owned());
            }
        });
        texts
    };
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for text in look_into(store, reader, letters, look).await?.into_iter().flat_map(|(_, texts)| texts) {
        *found.entry(text).or_default() += 1;
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(_, letters)| std::cmp::Reverse(*letters));
    Ok(found)
}

/// A letter that is looked into.
pub(super) struct Looked<'a> {
    pub readers: (&'a Reader, &'a Library),
    pub letter: &'a Letter,
    pub confirmed: &'a Confirmed,
    /// Whether its payload may be looked into.
    pub shows_payload: bool,
}

/// What `look` finds in each letter whose body is small. Nothing else is kept of it.
pub(super) async fn look_into<T: Send + 'static>(
    store: &StoreReader,
    reader: &Reader,
    letters: &[LetterSummary],
    look: impl Fn(Looked<'_>) -> T + Clone + Send + 'static,
) -> Result<Vec<(LetterId, T)>, StoreError> {
    let small: Vec<&LetterSummary> = letters.iter().filter(|letter| letter.size <= MOST_BYTES).collect();
    let (mut found, mut confirmed) = (Vec::with_capacity(small.len()), ConfirmedTypes::new(store));
    for some in small.chunks(AT_ONCE) {
        let mut contents = Vec::with_capacity(some.len());
        for letter in store.with_contents(some.iter().copied().cloned().collect()).await? {
            let shows_payload = store.shows_payload(&letter.summary.broker, letter.summary.queue.as_deref());
            let confirmed = confirmed.of(&letter.summary).await?;
            contents.push((letter, confirmed, shows_payload));
        }
        let (library, reader, look) = (reader.library().await, reader.clone(), look.clone());
        let read = move || {
            let read = |(letter, confirmed, shows_payload): &(Letter, Arc<Confirmed>, bool)| {
                let readers = (&reader, &*library);
                (letter.summary.id, look(Looked { readers, letter, confirmed, shows_payload: *shows_payload }))
            };
            contents.iter().map(read).collect::<Vec<_>>()
        };
        found.extend(off_the_runtime(read).await);
    }
    Ok(found)
}

/// Tells of the values of a letter, of so many at most.
fn each_value(of: &Looked<'_>, each: &mut Each<'_>) {
    let (reader, library) = of.readers;
    let (shown, reading) = reader.shown(library, of.letter, of.confirmed);
    let mut left = MOST_VALUES;
    each_of(&shown, &reading, of.shows_payload, &mut |path, text| {
        if left > 0 {
            left -= 1;
            each(path, text);
        }
    });
}

/// Those by which it can be found. A header that repeats the error is found by that.
fn each_searchable(of: &Looked<'_>, each: &mut Each<'_>) {
    let error = failure_conventions::read(&of.letter.message).failure.error.unwrap_or_default();
    let repeats = |text: &str| [&error.message, &error.stacktrace].iter().any(|its| its.as_deref() == Some(text));
    each_value(of, &mut |path, text| {
        if !path.starts_with("header.") || !repeats(text) {
            each(path, text);
        }
    });
}

fn each_of(shown: &Letter, reading: &Reading, shows_payload: bool, each: &mut Each<'_>) {
    values::of_headers(shown, shows_payload, each);
    if shows_payload {
        values::of_payload(reading, each);
    }
}

pub(super) fn shortened(text: &str) -> String {
    one_line(text, LONGEST_VALUE)
}
