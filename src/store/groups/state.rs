//! How far people are with groups, as it is stored, and changing it.

use std::collections::{BTreeSet, HashMap};

use amqp_message::time::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::QueryBuilder;

use crate::{
    domain::{
        activity::{Area, AuditEntry, Concerns},
        actor::Actor,
        group::{Group, GroupId},
        group_state::{Assignee, GroupCommand, GroupRefusal, GroupState, LastChange, Phase, Progress},
        rights::Right,
        version::{Changed, Expected},
    },
    store::{
        ChangeError, Store, StoreError, audit,
        db::{Sql, Tx, id_list::push_uuids, on},
        letters::rows::parse,
    },
};

use super::{COLUMNS, Row};

/// What is to be done with groups, and by whom.
pub struct GroupOrder<'a> {
    pub ids: &'a [GroupId],
    pub command: &'a GroupCommand,
    pub by: &'a Actor,
    pub at: Timestamp,
}

/// The result for each of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupReport {
    pub done: Vec<GroupId>,
    /// Those that are as they are to be already.
    pub unchanged: Vec<GroupId>,
    pub refused: Vec<(GroupId, GroupRefusal)>,
}

/// All of a state but what has columns of its own.
#[derive(Default, Serialize, Deserialize)]
struct Stored {
    /// Its phase is that of the column.
    #[serde(flatten)]
    progress: Progress,
    #[serde(rename = "undo", skip_serializing_if = "Option::is_none")]
    last: Option<LastChange>,
}

/// The state that the columns of a group say.
pub(super) fn read(phase: &str, progress: &str, assignee: &str, ticket: String) -> Result<GroupState, StoreError> {
    let phase: Phase = parse("a state of a group", phase)?;
    let unreadable = |error: serde_json::Error| StoreError::Unreadable { what: "a group", why: error.to_string() };
    let Stored { progress, last } =
        if progress.is_empty() { Stored::default() } else { serde_json::from_str(progress).map_err(unreadable)? };
    Ok(GroupState {
        progress: Progress { phase, ..progress },
        assignee: Some(assignee).filter(|text| !text.is_empty()).map(|text| parse("an assignee", text)).transpose()?,
        ticket: Some(ticket).filter(|ticket| !ticket.is_empty()),
        last,
    })
}

fn written(GroupState { progress, last, .. }: &GroupState) -> String {
    serde_json::json!(Stored { progress: progress.clone(), last: last.clone() }).to_string()
}

/// Writes the state of a group that is locked.
pub(super) async fn write(tx: &mut Tx, id: GroupId, state: &GroupState) -> Result<(), StoreError> {
    const WRITE: &str =
        "UPDATE groups SET state = $1, progress = $2, wake_at = $3, assignee = $4, ticket = $5 WHERE id = $6";
    on!(tx, |tx| sqlx::query(WRITE)
        .bind(state.phase().as_str())
        .bind(written(state))
        .bind(state.wake_at().map(Timestamp::as_micros))
        .bind(state.assignee.as_ref().map(Assignee::to_string).unwrap_or_default())
        .bind(state.ticket.clone().unwrap_or_default())
        .bind(id.as_uuid())
        .execute(&mut **tx)
        .await
        .map(drop)?);
    Ok(())
}

/// Groups as they are, which nobody else changes until the transaction ends.
pub(super) async fn locked(tx: &mut Tx, ids: &[GroupId]) -> Result<HashMap<GroupId, Group>, StoreError> {
    const LOCK: Sql = Sql { sqlite: " ORDER BY id", postgres: " ORDER BY id FOR NO KEY UPDATE" };
    let lock = LOCK.pick(tx);
    let rows: Vec<Row> = on!(tx, |tx| {
        let mut select = QueryBuilder::new("SELECT ");
        select.push(COLUMNS).push(" FROM groups WHERE merged_into IS NULL AND id IN ");
        push_uuids(&mut select, ids.iter().map(|id| id.as_uuid()).collect());
        select.push(lock).build_query_as().fetch_all(&mut **tx).await?
    });
    rows.into_iter().map(|row| Group::try_from(row).map(|group| (group.id, group))).collect()
}

impl Store {
    /// Carries out a command on each of the groups that takes it. Each of them has to be as expected.
    ///
    /// # Errors
    /// One that is not as expected; then nothing is done.
    pub async fn act_on_groups(
        &self,
        order: &GroupOrder<'_>,
        expected: &Expected,
    ) -> Result<GroupReport, ChangeError<Group>> {
        let ids: Vec<GroupId> = order.ids.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let mut tx = self.db.begin().await?;
        let groups = locked(&mut tx, &ids).await?;
        let mut report = GroupReport::default();
        for id in ids {
            match decide(groups.get(&id), order, expected)? {
                Err(refusal) => report.refused.push((id, refusal)),
                Ok(None) => report.unchanged.push(id),
                Ok(Some((group, state))) => {
                    write(&mut tx, id, &state).await?;
                    let detail = order.command.detail();
                    log(&mut tx, group, (order.command.name(), detail), order.by, order.at).await?;
                    report.done.push(id);
                }
            }
        }
        tx.commit().await?;
        Ok(report)
    }
}

type Decision<'g> = Result<Option<(&'g Group, GroupState)>, GroupRefusal>;

fn decide<'g>(
    group: Option<&'g Group>,
    order: &GroupOrder<'_>,
    expected: &Expected,
) -> Result<Decision<'g>, Changed<Group>> {
    let may = |right: Right, group: &Group| {
        order.by.may_at(right, &group.key.broker, group.key.queue.as_deref().unwrap_or_default())
    };
    let Some(group) = group.filter(|group| may(Right::Read, group)) else { return Ok(Err(GroupRefusal::NotFound)) };
    if !may(Right::Act, group) {
        return Ok(Err(GroupRefusal::NotAllowed));
    }
    expected.check(Some(group))?;
    let after = group.state_after(order.command, order.by, order.at);
    Ok(after.map(|state| state.map(|state| (group, state))))
}

/// Writes down what was done with a group.
pub(super) async fn log(
    tx: &mut Tx,
    group: &Group,
    (action, detail): (&str, String),
    by: &Actor,
    at: Timestamp,
) -> Result<(), StoreError> {
    let entry = AuditEntry::new(at, by, Area::Groups, action, group.id.to_string());
    let concerns = Concerns::Queue(group.key.broker.clone(), group.key.queue.clone().unwrap_or_default());
    audit::append(tx, &AuditEntry { detail, concerns, ..entry }).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::group_state::{Before, Reopened, Until, Why};

    /// As version 0012 of the tables has it.
    #[test]
    fn what_was_written_before_is_read() {
        let until = r#"{"until":{"more":{"more":3,"come":1}},"set":["ada",7],"last":
            {"at":7,"before":{"phase":"open"},"assignee":null}}"#;
        let state = read("snoozed", until, "user:ada", String::new()).unwrap();
        assert_eq!(state.progress.until, Some(Until::More { more: 3, arrived: 1 }));
        assert_eq!(state.progress.set, Some((Actor::named("ada"), Timestamp::from_micros(7))));
        assert_eq!((state.phase(), state.last), (Phase::Snoozed, None), "more than was changed is not undone");
        let changed = r#"{"regressed":{"at":9,"was":"snoozed","by":"ada","since":7,"why":{"changed":"x"}}}"#;
        let at = Timestamp::from_micros;
        let reopened = Reopened {
            at: at(9),
            was: Phase::Snoozed,
            by: Actor::named("ada"),
            since: at(7),
            why: Why::Changed("x".into()),
        };
        assert_eq!(read("open", changed, "", String::new()).unwrap().progress.reopened, Some(reopened));
        for (until, expected) in [(r#""change""#, Until::Change), (r#"{"time":5}"#, Until::Time(at(5)))] {
            let text = format!(r#"{{"until":{until},"set":["ada",7]}}"#);
            assert_eq!(read("snoozed", &text, "", String::new()).unwrap().progress.until, Some(expected));
        }
        assert_eq!(read("open", "", "", String::new()).unwrap(), GroupState::default());
    }

    #[test]
    fn what_is_written_is_read() {
        let set = Some((Actor::named("ada"), Timestamp::from_micros(7)));
        let snoozed = Progress { phase: Phase::Snoozed, until: Some(Until::Change), set, ..Progress::default() };
        let assignee = Some(Assignee::Team("x".to_owned()));
        for before in [Before::Progress(Box::new(snoozed.clone())), Before::Assignee(None), Before::Assignee(assignee)]
        {
            let last = Some(LastChange { at: Timestamp::from_micros(8), before });
            let state = GroupState { progress: snoozed.clone(), last, ..GroupState::default() };
            assert_eq!(read("snoozed", &written(&state), "", String::new()).unwrap(), state);
        }
    }
}
