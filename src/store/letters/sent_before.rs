//! What was sent back while it had no group: to find one takes a moment, and a retry may be due sooner.

use std::collections::{HashMap, HashSet};

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

/// Counts for their groups how often these letters, which had none, were sent back and failed again since they had one.
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
    let counted = counted(&rows, letters);
    let mut away: Option<(Uuid, Timestamp)> = None;
    for (n, (id, at, event)) in rows.into_iter().enumerate() {
        if counted.get(&id).is_some_and(|last| n <= *last) {
            continue;
        }
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

/// The last rows of letters that were in a group before, which are counted there: they left it when they failed again.
fn counted(rows: &[(Uuid, i64, String)], letters: &[(&LockedLetter, GroupId)]) -> HashMap<Uuid, usize> {
    let had_one = letters.iter().filter(|(letter, _)| letter.state.enriched_at.is_some());
    let had_one: HashSet<Uuid> = had_one.map(|(letter, _)| letter.state.id.as_uuid()).collect();
    let rows = rows.iter().enumerate();
    let failed = rows.filter(|(_, (id, _, event))| event == Event::FailedAgain.as_str() && had_one.contains(id));
    failed.map(|(n, (id, ..))| (*id, n)).collect()
}
