//! Edited copies: a letter with other contents, which is sent in the place of the one it was made of.
//!
//! Letters that are edits of one another are a *family*, named by the first of them. All of a family but one at most
//! are discarded, and so never two of them are sent: whoever moves one holds the locks of all.

use amqp_message::{json, message::Message};
use failure_conventions::danger::Danger;
use uuid::Uuid;

use super::{
    apply::{self, Moved},
    contents::contents,
    history::{self, NewEntry},
    lock::{self, LockedLetter},
    order::{EditOrder, EditedMessage, MakeMessage, Order, Original},
    reach::check_reach,
    rows::{ContentsRow, bigint},
};
use crate::{
    domain::{
        activity::{Area, AuditEntry, Concerns},
        command::{Command, CommandReport, Refusal},
        letter::LetterId,
        lifecycle::{
            Transition,
            edits::{self, NewCopy},
        },
        rights::QueueScope,
    },
    store::{
        Store, StoreError, StoreReader, audit,
        counts::{facet_scope::FacetScope, facets::FacetId, place::Place, tally::Tally},
        db::{Tx, on},
        jobs::copies,
        retries::schedule,
    },
};

/// A copy that is about to be written.
struct Copy<'a> {
    new: &'a NewCopy<'a>,
    original: &'a LockedLetter,
    message: &'a EditedMessage,
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
        let mut tally = Tally::default();
        let new = order.new_copy();
        let moved = match put_in_place(&mut tx, &mut scope, &mut tally, original, &new, order.edit).await? {
            Ok(moved) => moved,
            Err(refusal) => return Ok(Err(refusal)),
        };
        apply::apply(&mut tx, &mut scope, &mut tally, &[moved]).await?;
        tally.apply(&mut tx).await?;
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

/// Makes copies of letters of an order, each with its id, and counts them. What becomes of the letters themselves is to be
/// applied; those that refuse are told in `report`.
pub(crate) async fn copy_all<'a>(
    tx: &mut Tx,
    scope: &mut FacetScope<'_>,
    tally: &mut Tally,
    order: &Order<'a>,
    letters: &[(&'a LockedLetter, LetterId)],
    job: Option<Uuid>,
    report: &mut CommandReport,
) -> Result<Vec<Moved<'a>>, StoreError> {
    let (Some(edits), Command::Retry { delay, queue }) = (order.edits, order.command) else { return Ok(Vec::new()) };
    let (mut moved, mut made) = (Vec::new(), Vec::new());
    for (original, copy) in letters {
        let id = original.state.id;
        let Order { by, at, .. } = *order;
        let new = NewCopy { id: *copy, delay: *delay, queue: queue.as_deref(), summary: edits.summary(), by, at, job };
        let edit = |message: &Original<'_>| edits.edited(id, message);
        match put_in_place(tx, scope, tally, original, &new, &edit).await? {
            Ok(original) => {
                report.done.push(id);
                moved.push(original);
                made.push(*copy);
            }
            Err(refusal) => report.refused.push((id, refusal)),
        }
    }
    if let Some(job) = job {
        copies::write(tx, job, &made, &report.refused, order.at).await?;
    }
    Ok(moved)
}

/// Writes and schedules a copy. The answer is what becomes of the original, which is to be applied, or why there is no copy.
async fn put_in_place<'a>(
    tx: &mut Tx,
    scope: &mut FacetScope<'_>,
    tally: &mut Tally,
    original: &'a LockedLetter,
    new: &NewCopy<'a>,
    edit: MakeMessage<'_>,
) -> Result<Result<Moved<'a>, Refusal>, StoreError> {
    let edited = match edits::edit(&original.state, new) {
        Ok(edited) => edited,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let id = original.state.id;
    let kept = contents(tx, &[id]).await?.remove(&id);
    let Some(message) = kept.map(ContentsRow::into_message).transpose()? else { return Ok(Err(Refusal::NotFound)) };
    let original_message = Original {
        message: &message,
        failed_queue: original.state.queue.as_deref(),
        count: original.state.count(),
        target: edited.target,
    };
    let message = match edit(&original_message) {
        Ok(message) => message,
        Err(refusal) => return Ok(Err(refusal)),
    };
    Copy { new, original, message: &message }.write(tx, scope, tally, &edited.copy).await?;
    Ok(Ok((original, edited.original)))
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
        NewCopy { id, delay, queue, summary, by, at, job: None }
    }
}

impl Copy<'_> {
    async fn write(
        &self,
        tx: &mut Tx,
        scope: &mut FacetScope<'_>,
        tally: &mut Tally,
        scheduled: &Transition<'_>,
    ) -> Result<(), StoreError> {
        let key = self.original.key(scheduled.status, scheduled.importance);
        scope.make_all(tx, [key.clone()].into()).await?;
        let facet = scope.id(tx, &key).await?;
        self.insert_letter(tx, facet).await?;
        self.insert_contents(tx).await?;
        self.link_original(tx).await?;
        tally.add(Place { facet, ..self.original.place() });
        schedule::change(tx, &[(self.new.id, &*self.original.state.broker, scheduled.retry)]).await?;
        let lines: Vec<_> = NewEntry::all(self.new.id, scheduled).collect();
        history::append_in_order(tx, &lines).await
    }

    /// A copy is its original in all but the contents: it came in then and has failed as often.
    async fn insert_letter(&self, tx: &mut Tx, facet: FacetId) -> Result<(), StoreError> {
        const INSERT: &str = "INSERT INTO letters (id, facet_id, received_at, first_received_at, first_failed_at,
                last_failed_at, exchange, routing_key, attempts, rounds, importance_by, size, error_type, error_message,
                message_type, type_source, type_confidence, group_id, key_id, danger, note, handed_over_at, edited_from,
                family, content, id_key)
            SELECT $1, $2, received_at, first_received_at, first_failed_at, last_failed_at, exchange, routing_key,
                attempts, rounds, importance_by, $3, error_type, error_message,
                CASE WHEN coalesce(type_source, 'header') = 'header' THEN $4 ELSE message_type END,
                CASE WHEN coalesce(type_source, 'header') = 'header' THEN $5 ELSE type_source END,
                type_confidence, group_id, key_id, $6, note, coalesce(handed_over_at, $7), id, coalesce(family, id), $8, $9
            FROM letters WHERE id = $10";
        let (new, edited) = (self.new, self.message);
        on!(tx, |tx| sqlx::query(INSERT)
            .bind(new.id.as_uuid())
            .bind(facet.0)
            .bind(bigint(edited.message.body.len() as u64))
            .bind(edited.message_type.as_deref())
            .bind(edited.message_type.as_ref().map(|_| "header"))
            .bind(edited.danger.map(Danger::as_str))
            .bind(new.at.as_micros())
            .bind(edited.content.0)
            .bind(edited.id_key.map(|key| key.0))
            .bind(self.original.state.id.as_uuid())
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
            .bind(self.new.id.as_uuid())
            .bind(json::properties_to_string(properties))
            .bind(json::table_to_string(headers))
            .bind(body.as_slice())
            .bind(self.original.state.id.as_uuid())
            .execute(&mut **tx)
            .await
            .map(drop)?);
        Ok(())
    }

    async fn link_original(&self, tx: &mut Tx) -> Result<(), StoreError> {
        const UPDATE: &str = "UPDATE letters SET replaced_by = $1, family = coalesce(family, id) WHERE id = $2";
        on!(tx, |tx| sqlx::query(UPDATE)
            .bind(self.new.id.as_uuid())
            .bind(self.original.state.id.as_uuid())
            .execute(&mut **tx)
            .await
            .map(drop)?);
        Ok(())
    }
}
