//! Edited copies: a letter with other contents, which is sent in the place of the one it was made of.
//!
//! Letters that are edits of one another are a *family*, named by the first of them. All of a family but one at most
//! are discarded, and so never two of them are sent: whoever moves one holds the locks of all.

use std::time::Duration;

use amqp_message::{json, message::Message, time::Timestamp};
use failure_conventions::{FailureCount, danger::Danger};
use uuid::Uuid;

use super::{
    apply,
    commands::check_reach,
    contents::contents,
    history::{self, NewEntry},
    lock::{self, LockedLetter},
    rows::{ContentsRow, bigint},
};
use crate::{
    domain::{
        activity::{Area, AuditEntry, Concerns},
        actor::Actor,
        command::Refusal,
        content_key::ContentKey,
        letter::LetterId,
        lifecycle::{
            Transition,
            edits::{self, Edited, NewCopy},
        },
        rights::QueueScope,
    },
    store::{
        Store, StoreError, StoreReader, audit,
        counts::{facet_scope::FacetScope, facets::FacetId, place::Place, tally::Tally},
        db::{Tx, on},
        retries::schedule,
    },
};

/// An order to send an edited copy of a letter in its place.
pub struct EditOrder<'a> {
    pub letter: LetterId,
    /// The id that the copy gets.
    pub copy: LetterId,
    pub delay: Duration,
    /// Where to; if it is not named, where a retry would go.
    pub queue: Option<&'a str>,
    /// Makes the message of the copy, or says why there can be none. It is asked under the lock of the letter.
    pub edit: &'a (dyn Fn(&Original<'_>) -> Result<EditedMessage, Refusal> + Send + Sync),
    /// What it changes, for the history.
    pub summary: &'a str,
    pub by: &'a Actor,
    pub at: Timestamp,
}

/// What is to be edited.
pub struct Original<'a> {
    pub message: &'a Message,
    /// The queue it failed in, and how often.
    pub failed_queue: Option<&'a str>,
    pub count: FailureCount,
    /// Where the copy is to go.
    pub target: &'a str,
}

/// The message of a copy, with what is reported of it in lists.
pub struct EditedMessage {
    pub message: Message,
    /// What its headers say.
    pub message_type: Option<String>,
    pub content: ContentKey,
    pub id_key: Option<ContentKey>,
    /// A danger of it, which the configuration has settled.
    pub danger: Option<Danger>,
}

/// A copy that is about to be written.
struct Copy<'a> {
    order: &'a EditOrder<'a>,
    original: &'a LockedLetter,
    message: &'a EditedMessage,
    edited: Edited<'a>,
}

impl Store {
    /// Makes an edited copy of a letter, schedules that and sets the letter itself aside, all in one commit. The answer
    /// is the id of the copy, or why there is none.
    pub async fn retry_edited(&self, order: &EditOrder<'_>) -> Result<Result<LetterId, Refusal>, StoreError> {
        let mut tx = self.db.begin().await?;
        let mut scope = self.facet_scope();
        let letters = lock::lock(&mut tx, &[order.letter]).await?;
        let Some(original) = letters.get(&order.letter) else { return Ok(Err(Refusal::NotFound)) };
        if let Err(refusal) = check_reach(order.by, &original.state, order.queue) {
            return Ok(Err(refusal));
        }
        let edited = match edits::edit(&original.state, &order.new_copy()) {
            Ok(edited) => edited,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let kept = contents(&mut tx, &[order.letter]).await?.remove(&order.letter);
        let Some(message) = kept.map(ContentsRow::into_message).transpose()? else {
            return Ok(Err(Refusal::NotFound));
        };
        let original_message = Original {
            message: &message,
            failed_queue: original.state.queue.as_deref(),
            count: original.state.count(),
            target: edited.target,
        };
        let message = match (order.edit)(&original_message) {
            Ok(message) => message,
            Err(refusal) => return Ok(Err(refusal)),
        };
        Copy { order, original, message: &message, edited }.put_in_place(&mut tx, &mut scope).await?;
        let entry = AuditEntry::new(order.at, order.by, Area::Letters, "edit", order.letter.to_string());
        let detail = format!("copy {}: {}", order.copy, order.summary);
        let queue = (&*original.state.broker, original.state.queue.as_deref());
        let concerns = Concerns::of([queue], QueueScope::everything());
        audit::append(&mut tx, &AuditEntry { letters: 1, detail, concerns, ..entry }).await?;
        tx.commit().await?;
        scope.committed();
        Ok(Ok(order.copy))
    }
}

impl StoreReader {
    /// The letter that stands in the place of this one, which must not be sent as long as there is such.
    pub async fn in_place_of(&self, id: LetterId) -> Result<Option<LetterId>, StoreError> {
        const SELECT: &str = "SELECT o.id FROM letters l JOIN letters o ON o.family = l.family AND o.id <> l.id
            JOIN facets f ON f.id = o.facet_id WHERE l.id = $1 AND f.status <> 'discarded' LIMIT 1";
        if !self.sees(id).await? {
            return Ok(None);
        }
        let id: Option<Uuid> =
            on!(self.db.reader(), |pool| sqlx::query_scalar(SELECT).bind(id.as_uuid()).fetch_optional(pool).await?);
        Ok(id.map(LetterId::from_uuid))
    }
}

impl<'a> EditOrder<'a> {
    const fn new_copy(&self) -> NewCopy<'a> {
        let Self { copy: id, delay, queue, summary, by, at, .. } = *self;
        NewCopy { id, delay, queue, summary, by, at }
    }
}

impl Copy<'_> {
    async fn put_in_place(self, tx: &mut Tx, scope: &mut FacetScope<'_>) -> Result<(), StoreError> {
        let key = |transition: &Transition<'_>| self.original.key(transition.status, transition.importance);
        let scheduled = key(&self.edited.copy);
        scope.make_all(tx, [key(&self.edited.original), scheduled.clone()].into()).await?;
        let facet = scope.id(tx, &scheduled).await?;
        self.insert_letter(tx, facet).await?;
        self.insert_contents(tx).await?;
        self.link_original(tx).await?;
        let mut tally = Tally::default();
        tally.add(Place { facet, ..self.original.place() });
        let broker = &*self.original.state.broker;
        schedule::change(tx, &[(self.order.copy, broker, self.edited.copy.retry)]).await?;
        let lines: Vec<_> = NewEntry::all(self.order.copy, &self.edited.copy).collect();
        history::append_in_order(tx, &lines).await?;
        apply::apply(tx, scope, &mut tally, &[(self.original, self.edited.original)]).await?;
        tally.apply(tx).await
    }

    /// A copy is its original in all but the contents: it came in then and has failed as often.
    async fn insert_letter(&self, tx: &mut Tx, facet: FacetId) -> Result<(), StoreError> {
        const INSERT: &str = "INSERT INTO letters (id, facet_id, received_at, first_received_at, first_failed_at,
                last_failed_at, exchange, routing_key, attempts, rounds, importance_by, size, error_type, error_message,
                message_type, type_source, type_confidence, group_id, danger, note, handed_over_at, edited_from, family,
                content, id_key)
            SELECT $1, $2, received_at, first_received_at, first_failed_at, last_failed_at, exchange, routing_key,
                attempts, rounds, importance_by, $3, error_type, error_message,
                CASE WHEN coalesce(type_source, 'header') = 'header' THEN $4 ELSE message_type END,
                CASE WHEN coalesce(type_source, 'header') = 'header' THEN $5 ELSE type_source END,
                type_confidence, group_id, $6, note, coalesce(handed_over_at, $7), id, coalesce(family, id), $8, $9
            FROM letters WHERE id = $10";
        let (order, edited) = (self.order, self.message);
        on!(tx, |tx| sqlx::query(INSERT)
            .bind(order.copy.as_uuid())
            .bind(facet.0)
            .bind(bigint(edited.message.body.len() as u64))
            .bind(edited.message_type.as_deref())
            .bind(edited.message_type.as_ref().map(|_| "header"))
            .bind(edited.danger.map(Danger::as_str))
            .bind(order.at.as_micros())
            .bind(edited.content.0)
            .bind(edited.id_key.map(|key| key.0))
            .bind(order.letter.as_uuid())
            .execute(&mut **tx)
            .await
            .map(drop)?);
        Ok(())
    }

    async fn insert_contents(&self, tx: &mut Tx) -> Result<(), StoreError> {
        const INSERT: &str = "INSERT INTO contents (letter_id, exchange, routing_key, properties, headers,
                earlier_deaths, remarks, body)
            SELECT $1, exchange, routing_key, $2, $3, earlier_deaths, remarks, $4
            FROM contents WHERE letter_id = $5";
        let Message { properties, headers, body, .. } = &self.message.message;
        on!(tx, |tx| sqlx::query(INSERT)
            .bind(self.order.copy.as_uuid())
            .bind(json::properties_to_string(properties))
            .bind(json::table_to_string(headers))
            .bind(body.as_slice())
            .bind(self.order.letter.as_uuid())
            .execute(&mut **tx)
            .await
            .map(drop)?);
        Ok(())
    }

    async fn link_original(&self, tx: &mut Tx) -> Result<(), StoreError> {
        const UPDATE: &str = "UPDATE letters SET replaced_by = $1, family = coalesce(family, id) WHERE id = $2";
        on!(tx, |tx| sqlx::query(UPDATE)
            .bind(self.order.copy.as_uuid())
            .bind(self.order.letter.as_uuid())
            .execute(&mut **tx)
            .await
            .map(drop)?);
        Ok(())
    }
}
