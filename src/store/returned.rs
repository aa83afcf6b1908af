//! Letters that were sent back and failed again.

use std::collections::HashSet;

use sqlx::{FromRow, QueryBuilder};

use super::{
    StoreError,
    db::{Tx, on},
    facets::FacetScope,
    history::{self, NewEntry},
    letters::push_ids,
    record::{Arrival, open_facet},
    rows::{ContentsRow, bigint},
    standing,
    tally::Tally,
};
use crate::{
    domain::{
        actor::Actor,
        history::Event,
        letter::{LetterId, Status},
    },
    typed_json, xdeath,
};

/// Which arrivals are the letters they claim to be: by the ids those arrivals would get as new letters.
///
/// Services copy headers, `dlo-id` among them, into messages of their own. So the broker has to be the same and the
/// body too; anything else is a letter of its own, for what is overwritten is lost.
pub(super) async fn genuine(tx: &mut Tx, broker: &str, claims: &[&Arrival]) -> Result<HashSet<LetterId>, StoreError> {
    #[derive(FromRow)]
    struct Row {
        letter_id: uuid::Uuid,
        broker: String,
        body: Vec<u8>,
    }
    const SELECT: &str = "SELECT c.letter_id, f.broker, c.body FROM contents c JOIN letters l ON l.id = c.letter_id
        JOIN facets f ON f.id = l.facet_id WHERE c.letter_id IN ";
    if claims.is_empty() {
        return Ok(HashSet::new());
    }
    let ids: Vec<LetterId> = claims.iter().filter_map(|arrival| arrival.returning).collect();
    let rows: Vec<Row> = on!(tx, |tx| {
        let mut query = QueryBuilder::new(SELECT);
        push_ids(&mut query, &ids);
        query.build_query_as().fetch_all(&mut **tx).await?
    });
    let is_genuine = |arrival: &&&Arrival| {
        rows.iter().any(|row| {
            Some(LetterId::from_uuid(row.letter_id)) == arrival.returning
                && row.broker == broker
                && row.body == arrival.message.body
        })
    };
    Ok(claims.iter().filter(is_genuine).map(|arrival| arrival.id).collect())
}

/// Opens a letter again, with its attempts and deaths carried on.
pub(super) async fn reopen(
    tx: &mut Tx,
    scope: &mut FacetScope<'_>,
    tally: &mut Tally,
    id: LetterId,
    arrival: &Arrival,
) -> Result<(), StoreError> {
    const UPDATE: &str = "UPDATE letters SET facet_id = $1, received_at = $2, last_failed_at = $2, attempts = $3,
        problem = NULL WHERE id = $4";
    const UNSCHEDULE: &str = "DELETE FROM retries WHERE letter_id = $1";
    let Some(standing) = standing::lock(tx, &[id]).await?.pop() else { return Ok(()) };
    let waiting = standing.key.status == Status::Scheduled && standing.claimed_until.is_none();
    let mut key = open_facet(&standing.key.broker, arrival, standing.key.importance);
    if waiting {
        // Another copy of it is back while a person has already chosen when to send it again: that choice stands.
        key.status = Status::Scheduled;
    }
    let facet = scope.id(tx, &key).await?;
    let attempts = arrival.failure.attempts.max(standing.attempts.saturating_add(1));
    let at = arrival.received_at.as_micros();
    on!(&mut *tx, |tx| {
        sqlx::query(UPDATE).bind(facet.0).bind(at).bind(bigint(attempts)).bind(id.as_uuid()).execute(&mut **tx).await?;
        if !waiting {
            sqlx::query(UNSCHEDULE).bind(id.as_uuid()).execute(&mut **tx).await?;
        }
    });
    tally.remove(standing.facet, standing.received_at);
    tally.add(facet, arrival.received_at);
    replace_contents(tx, id, arrival).await?;
    let entry = NewEntry {
        letter: id,
        at: arrival.received_at,
        event: Event::CameBack,
        by: Actor::OFFICE,
        detail: format!("failed again, attempt {attempts}"),
    };
    history::append(tx, &[entry]).await
}

/// The letter shows the headers it failed with last; the deaths in the earlier ones are kept.
async fn replace_contents(tx: &mut Tx, id: LetterId, arrival: &Arrival) -> Result<(), StoreError> {
    const SELECT: &str = "SELECT letter_id, exchange, routing_key, properties, headers, earlier_deaths, remarks,
        body FROM contents WHERE letter_id = $1";
    const UPDATE: &str = "UPDATE contents SET exchange = $1, routing_key = $2, properties = $3, headers = $4,
        earlier_deaths = $5, remarks = $6 WHERE letter_id = $7";
    let row: ContentsRow = on!(&mut *tx, |tx| sqlx::query_as(SELECT).bind(id.as_uuid()).fetch_one(&mut **tx).await?);
    let earlier = row.earlier_deaths()?;
    let mut deaths = xdeath::deaths(&row.into_message()?.headers);
    deaths.extend(earlier);
    let message = &arrival.message;
    on!(tx, |tx| sqlx::query(UPDATE)
        .bind(&*message.exchange)
        .bind(&*message.routing_key)
        .bind(typed_json::properties_to_string(&message.properties))
        .bind(typed_json::table_to_string(&message.headers))
        .bind(typed_json::deaths_to_json(&deaths).to_string())
        .bind(serde_json::Value::from(arrival.remarks.clone()).to_string())
        .bind(id.as_uuid())
        .execute(&mut **tx)
        .await
        .map(drop)?);
    Ok(())
}
