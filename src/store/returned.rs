//! Letters that were sent back and failed again.

use std::collections::{HashMap, HashSet};

use sqlx::QueryBuilder;
use uuid::Uuid;

use super::{
    StoreError,
    db::{Tx, on},
    facets::{FacetKey, FacetScope},
    history::{self, NewEntry},
    id_list::push_ids,
    record::{Arrival, IntakeBatch, open_facet},
    rows::{ContentsRow, bigint},
    standing::{self, Standing},
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

/// Ids in one statement.
const CHUNK: usize = 1_000;

/// The letters that arrivals of a batch claim to be, locked until the batch is recorded.
pub(super) struct Returning {
    standings: HashMap<LetterId, Standing>,
    /// The arrivals whose claim is true, by the ids they would get as new letters.
    genuine: HashSet<LetterId>,
}

impl Returning {
    pub(super) async fn lock(tx: &mut Tx, batch: &IntakeBatch<'_>) -> Result<Self, StoreError> {
        let claims: Vec<&Arrival> = batch.arrivals.iter().filter(|arrival| arrival.returning.is_some()).collect();
        if claims.is_empty() {
            return Ok(Self { standings: HashMap::new(), genuine: HashSet::new() });
        }
        let ids: Vec<LetterId> = claims.iter().filter_map(|arrival| arrival.returning).collect();
        let mut standings = standing::lock(tx, &ids).await?;
        standings.retain(|_, standing| standing.key.broker == batch.broker);
        let genuine = genuine(tx, &standings, &claims).await?;
        Ok(Self { standings, genuine })
    }

    pub(super) fn is_genuine(&self, arrival: &Arrival) -> bool {
        self.genuine.contains(&arrival.id)
    }

    /// The facets that letters will have once they have come back.
    pub(super) fn facets(&self, came_back: &[(LetterId, &Arrival)]) -> Vec<FacetKey> {
        let facet = |(id, arrival): &(LetterId, &Arrival)| Some(facet(self.standings.get(id)?, arrival));
        came_back.iter().filter_map(facet).collect()
    }

    /// Opens a letter again, with its attempts and deaths carried on.
    pub(super) async fn reopen(
        &mut self,
        tx: &mut Tx,
        scope: &mut FacetScope<'_>,
        tally: &mut Tally,
        id: LetterId,
        arrival: &Arrival,
    ) -> Result<(), StoreError> {
        const UPDATE: &str = "UPDATE letters SET facet_id = $1, received_at = $2, last_failed_at = $2, attempts = $3,
            problem = NULL WHERE id = $4";
        const UNSCHEDULE: &str = "DELETE FROM retries WHERE letter_id = $1";
        let Some(standing) = self.standings.get_mut(&id) else { return Ok(()) };
        let key = facet(standing, arrival);
        let facet = scope.id(tx, &key).await?;
        let attempts = arrival.failure.attempts.max(standing.attempts.saturating_add(1));
        let at = arrival.received_at.as_micros();
        on!(&mut *tx, |tx| {
            let update = sqlx::query(UPDATE).bind(facet.0).bind(at).bind(bigint(attempts)).bind(id.as_uuid());
            update.execute(&mut **tx).await?;
            if !standing.waits {
                sqlx::query(UNSCHEDULE).bind(id.as_uuid()).execute(&mut **tx).await?;
            }
        });
        tally.remove(standing.facet, standing.received_at);
        tally.add(facet, arrival.received_at);
        // Another copy of it may stand further down in the batch.
        *standing = Standing { facet, key, attempts, received_at: arrival.received_at, ..standing.clone() };
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
}

/// Which arrivals are the letters they claim to be.
///
/// Services copy headers, `dlo-id` among them, into messages of their own. So the broker has to be the same and the
/// body too; anything else is a letter of its own, for what is overwritten is lost.
async fn genuine(
    tx: &mut Tx,
    standings: &HashMap<LetterId, Standing>,
    claims: &[&Arrival],
) -> Result<HashSet<LetterId>, StoreError> {
    const SELECT: &str = "SELECT letter_id, body FROM contents WHERE letter_id IN ";
    let ids: Vec<LetterId> = standings.keys().copied().collect();
    let mut bodies: HashMap<Uuid, Vec<u8>> = HashMap::with_capacity(ids.len());
    for chunk in ids.chunks(CHUNK) {
        let rows: Vec<(Uuid, Vec<u8>)> = on!(&mut *tx, |tx| {
            let mut query = QueryBuilder::new(SELECT);
            push_ids(&mut query, chunk);
            query.build_query_as().fetch_all(&mut **tx).await?
        });
        bodies.extend(rows);
    }
    let is_genuine = |arrival: &&&Arrival| {
        let body = arrival.returning.and_then(|letter| bodies.get(&letter.as_uuid()));
        body.is_some_and(|body| *body == arrival.message.body)
    };
    Ok(claims.iter().filter(is_genuine).map(|arrival| arrival.id).collect())
}

fn facet(standing: &Standing, arrival: &Arrival) -> FacetKey {
    let mut key = open_facet(&standing.key.broker, arrival, standing.key.importance);
    if standing.waits {
        // Another copy of it is back while a person has already chosen when to send it again: that choice stands.
        key.status = Status::Scheduled;
    }
    key
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
