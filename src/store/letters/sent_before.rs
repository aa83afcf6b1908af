//! What was sent back before it had a group: that takes a moment, and a retry may be due sooner.

use std::collections::HashMap;

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use uuid::Uuid;

use super::{lock::LockedLetter, rows::parse};
use crate::{
    domain::{group::GroupId, history::Event, letter::LetterId},
    store::{
        StoreError,
        counts::tally::Tally,
        db::{Tx, id_list::push_ids, on},
    },
};

/// Counts for their groups how often these letters, which had none, were sent back and failed again.
pub(super) async fn count(
    tx: &mut Tx,
    tally: &mut Tally,
    letters: &[(&LockedLetter, GroupId)],
) -> Result<(), StoreError> {
    let may_be = |letter: &&(&LockedLetter, GroupId)| letter.0.state.closed_at.is_some() || letter.0.state.rounds > 1;
    let groups: HashMap<LetterId, GroupId> =
        letters.iter().filter(may_be).map(|(letter, group)| (letter.state.id, *group)).collect();
    let ids: Vec<LetterId> = groups.keys().copied().collect();
    if ids.is_empty() {
        return Ok(());
    }
    let rows: Vec<(Uuid, i64, String)> = on!(tx, |tx| {
        let mut select = QueryBuilder::new("SELECT letter_id, at, event FROM history WHERE event IN (");
        select.push_bind(Event::Retried.as_str()).push(", ").push_bind(Event::FailedAgain.as_str());
        select.push(") AND letter_id IN ");
        push_ids(&mut select, &ids);
        select.push(" ORDER BY letter_id, seq").build_query_as().fetch_all(&mut **tx).await?
    });
    let mut away: Option<(Uuid, Timestamp)> = None;
    for (id, at, event) in rows {
        let (group, at) = (groups.get(&LetterId::from_uuid(id)).copied(), Timestamp::from_micros(at));
        if parse::<Event>("an event", &event)? == Event::Retried {
            tally.sent(group, at);
            away = Some((id, at));
        } else if let Some((_, sent_at)) = away.take_if(|(of, _)| *of == id) {
            tally.failed_again(group, sent_at);
        }
    }
    Ok(())
}
