//! Groups that are split by a field: which there are, and what their letters say.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use tokio::sync::watch;

use super::{
    audited_store::AuditedStore,
    columns::{self, Looked},
    decoding::{
        confirmed::Confirmed,
        reader::Reader,
        reading::{Content, Library},
        values,
    },
};
use crate::{
    clock::Clock,
    domain::{
        actor::Actor,
        column::Column,
        filter::{LetterFilter, PageRequest, Sort},
        group::GroupId,
        letter::Letter,
        split::{GroupSplit, LONGEST_VALUE, MOST_PARTS, Said, SplitRefusal},
    },
    store::{StoreError, StoreReader},
};

/// Letters that are read to say which values there are, the newest.
const SAMPLE: usize = 500;

/// Those in force, by group.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Splits(HashMap<GroupId, GroupSplit>);

impl Splits {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn of(&self, group: GroupId) -> Option<&GroupSplit> {
        self.0.get(&group)
    }
}

/// What the letters of a group say in a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldValues {
    /// How many letters were looked into.
    pub read: u64,
    /// How many say what, what most say first.
    pub values: Vec<(Said, u64)>,
    /// Values that are not among these.
    pub left_out: usize,
    /// Of how many letters it cannot be told; see [`said`].
    pub untold: u64,
}

/// How a group is to be split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSplit {
    pub field: Column,
    /// Each makes a part.
    pub values: Vec<Said>,
}

impl NewSplit {
    /// What is wrong with it, by field.
    pub fn mistake(&self) -> Option<(&'static str, String)> {
        let is_long = |said: &Said| said.as_ref().is_some_and(|value| value.chars().count() > LONGEST_VALUE + 1);
        match self.values.len() {
            0 => Some(("values", "it takes one value at least".to_owned())),
            n if n > MOST_PARTS => Some(("values", format!("it takes {MOST_PARTS} values at most"))),
            _ if self.values.iter().any(is_long) => {
                Some(("values", format!("a value has more than {LONGEST_VALUE} characters")))
            }
            _ => None,
        }
    }
}

/// What a letter says in a field; `None` where that cannot be told: it is hidden, or cannot be read, or is too large to be
/// read for that.
pub(super) fn said(
    (reader, library): (&Reader, &Library),
    letter: &Letter,
    confirmed: &Confirmed,
    field: &Column,
) -> Option<Said> {
    if letter.summary.size > columns::MOST_BYTES {
        return None;
    }
    let (shown, reading) = reader.shown(library, letter, confirmed);
    let (mut found, mut is_hidden) = (Vec::new(), false);
    let mut take = |path: &str, text: &str| {
        let is_above = || field.path().strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
        if values::is_hidden(text) {
            is_hidden |= path == field.path() || is_above();
        } else if path == field.path() {
            found.push(text.to_owned());
        }
    };
    if field.is_of_payload() {
        if !matches!(reading.content, Content::Json(_)) {
            return None;
        }
        values::all_of_payload(&reading, &mut take);
    } else {
        values::all_of_headers(&shown, &mut take);
    }
    let said = (!found.is_empty()).then(|| columns::shortened(&found.join(", ")));
    (!is_hidden).then_some(said)
}

/// Reads and changes them; cheap to clone.
#[derive(Clone)]
pub struct GroupSplits {
    changes: AuditedStore,
    store: StoreReader,
    reader: Reader,
    clock: Clock,
    in_force: watch::Sender<Arc<Splits>>,
}

impl GroupSplits {
    /// Without any until [`reload`](Self::reload).
    pub fn new(changes: AuditedStore, reader: Reader, clock: Clock) -> Self {
        Self { store: changes.reader(), changes, reader, clock, in_force: watch::Sender::default() }
    }

    pub fn in_force(&self) -> Arc<Splits> {
        Arc::clone(&self.in_force.borrow())
    }

    pub async fn reload(&self) -> Result<(), StoreError> {
        let splits = self.store.group_splits().await?;
        let splits = Splits(splits.into_iter().map(|split| (split.group, split)).collect());
        if **self.in_force.borrow() != splits {
            self.in_force.send_replace(Arc::new(splits));
        }
        Ok(())
    }

    /// What the newest letters of a group say in a field, as far as `seen` shows it.
    pub async fn values(&self, seen: &StoreReader, group: GroupId, field: &Column) -> Result<FieldValues, StoreError> {
        let filter = LetterFilter { groups: vec![group], ..LetterFilter::default() };
        let newest = PageRequest { sort: Sort::Newest, after: None, limit: SAMPLE };
        let letters = seen.letters(&filter, &newest).await?.items;
        let mut counts: BTreeMap<Said, u64> = BTreeMap::new();
        let of_field = field.clone();
        let look = move |of: Looked<'_>| {
            if of.shows_payload { said(of.readers, of.letter, of.confirmed, &of_field) } else { None }
        };
        let found = columns::look_into(seen, &self.reader, &letters, look).await?;
        let read = letters.len() as u64;
        // Large ones are not looked into.
        let mut untold = read.saturating_sub(found.len() as u64);
        for (_, said) in found {
            match said {
                Some(said) => *counts.entry(said).or_default() += 1,
                None => untold += 1,
            }
        }
        let mut values: Vec<(Said, u64)> = counts.into_iter().collect();
        values.sort_by_key(|(_, letters)| std::cmp::Reverse(*letters));
        let left_out = values.len().saturating_sub(MOST_PARTS);
        values.truncate(MOST_PARTS);
        Ok(FieldValues { read, values, left_out, untold })
    }

    /// Splits a group by what is well formed; its letters follow.
    pub async fn split(
        &self,
        group: GroupId,
        new: &NewSplit,
        by: &Actor,
    ) -> Result<Result<(), SplitRefusal>, StoreError> {
        let NewSplit { field, values } = new.clone();
        let split =
            GroupSplit { group, field, values: values.into_iter().collect(), by: by.clone(), at: self.clock.now() };
        let done = self.changes.split_group(&split).await?;
        self.reload().await?;
        Ok(done)
    }

    /// Merges the parts of a group into it.
    pub async fn join(&self, group: GroupId, by: &Actor) -> Result<Result<Vec<GroupId>, SplitRefusal>, StoreError> {
        self.changes.join_parts(group, by).await
    }
}
