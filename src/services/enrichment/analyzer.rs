//! Finding out all there is to know of one letter.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use crate::{
    domain::{
        group::GroupKey,
        letter::{Importance, Letter, LetterSummary, TypeSource},
    },
    grouping::{self, Rewriter},
    services::{
        decoding::{
            confirmed::Confirmed,
            reader::Reader,
            reading::{Library, Named},
        },
        group_splits::{self, Splits},
        rules::{DEFAULT, RuleBook, Ruled, RuledOut, facts},
    },
    store::{Enriched, RuleFailure},
};

/// What letters are looked at with.
pub(crate) struct Analyzer {
    pub(crate) reader: Reader,
    pub(crate) library: Arc<Library>,
    pub(crate) rules: Arc<RuleBook>,
    /// What makes errors alike beside what is alike by itself.
    pub(crate) rewriter: Arc<Rewriter>,
    /// By what letters of one group are told apart.
    pub(crate) splits: Arc<Splits>,
}

impl Analyzer {
    pub(crate) fn look_at(&self, letter: &Letter, confirmed: &Confirmed) -> (Enriched, Vec<RuleFailure>) {
        let given = &letter.summary;
        let letter = &*self.reader.scrubbed(&self.library, letter, confirmed);
        let summary = &letter.summary;
        let (named, title, Ruled { importance, by, failures, .. }) = self.evaluate(letter, confirmed);
        let by_hand = summary.type_source == Some(TypeSource::Manual);
        let is_scrubbed = summary.error_message != given.error_message || summary.error_type != given.error_type;
        let key = self.group_key(letter, confirmed, named.as_ref());
        let enriched = Enriched {
            letter: summary.id,
            received_at: summary.received_at,
            type_by_hand: summary.message_type.clone().filter(|_| by_hand),
            confidence: named.as_ref().and_then(|named| named.confidence),
            source: named.as_ref().map(|named| named.source),
            message_type: named.map(|named| named.name),
            title,
            error_type: summary.error_type.clone().filter(|_| is_scrubbed),
            error_message: summary.error_message.clone().filter(|_| is_scrubbed),
            importance,
            importance_by: by,
            group: grouping::id(&key),
            key,
        };
        let failed = |RuledOut { name, why, .. }| RuleFailure { rule: name, letter: summary.id, error: why };
        (enriched, failures.into_iter().map(failed).collect())
    }

    fn group_key(&self, letter: &Letter, confirmed: &Confirmed, named: Option<&Named>) -> GroupKey {
        let plain = plain_key(letter, named);
        let key = GroupKey { error: self.rewriter.rewrite(&plain.error), ..plain.clone() };
        let part = self.key_of_part(&key, letter, confirmed);
        // A group that was split before a rule gave its error another text stays split.
        let before = || if plain == key { None } else { self.key_of_part(&plain, letter, confirmed) };
        part.or_else(before).unwrap_or(key)
    }

    /// The key of the part that the letter is in, where the group of that key is split and has one for it.
    fn key_of_part(&self, key: &GroupKey, letter: &Letter, confirmed: &Confirmed) -> Option<GroupKey> {
        let split = self.splits.of(grouping::id(key))?;
        let said = || group_splits::said((&self.reader, &self.library), letter, confirmed, &split.field);
        let part = catch_unwind(AssertUnwindSafe(said)).ok().flatten().and_then(|said| split.part(&said))?;
        Some(GroupKey { part: Some(part), ..key.clone() })
    }

    /// Nothing in there panics, as far as we know. If it does, one letter is of no type and the others go on.
    fn evaluate(&self, letter: &Letter, confirmed: &Confirmed) -> (Option<Named>, Option<String>, Ruled) {
        let evaluate = || {
            self.reader.analyze(&self.library, letter, confirmed, |named, title, payload| {
                let message_type = named.as_ref().map(|named| &*named.name);
                let ruled = self.rules.evaluate(&facts(letter, message_type, payload));
                (named, title, ruled)
            })
        };
        catch_unwind(AssertUnwindSafe(evaluate)).unwrap_or_else(|_| {
            tracing::error!(letter = %letter.summary.id, "a dead letter could not be decoded; please report this");
            (None, None, self.rules.evaluate(&facts(letter, None, &|| None)))
        })
    }
}

/// What a letter is grouped by, without what people say of its error.
fn plain_key(letter: &Letter, named: Option<&Named>) -> GroupKey {
    let summary = &letter.summary;
    GroupKey {
        broker: summary.broker.clone(),
        queue: summary.queue.clone(),
        message_type: named.map(|named| named.name.clone()),
        reason: summary.reason,
        error: grouping::alike(summary.error_type.as_deref(), summary.error_message.as_deref()),
        part: None,
    }
}

/// A letter of which nothing is known but what RabbitMQ says.
pub(super) fn plain(summary: &LetterSummary) -> Enriched {
    let key = GroupKey {
        broker: summary.broker.clone(),
        queue: summary.queue.clone(),
        message_type: None,
        reason: summary.reason,
        error: String::new(),
        part: None,
    };
    let by_hand = summary.type_source == Some(TypeSource::Manual);
    Enriched {
        letter: summary.id,
        received_at: summary.received_at,
        type_by_hand: summary.message_type.clone().filter(|_| by_hand),
        message_type: None,
        title: None,
        error_type: None,
        error_message: None,
        source: None,
        confidence: None,
        importance: Importance::Normal,
        importance_by: DEFAULT.to_owned(),
        group: grouping::id(&key),
        key,
    }
}
