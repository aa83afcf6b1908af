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
        group_state::{
            Assignee, GroupCommand, GroupRefusal, GroupState, LastChange, Phase, Progress, Regressed, Until, Why,
        },
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
    /// Those that are changed, or are as they are to be.
    pub done: Vec<GroupId>,
    pub refused: Vec<(GroupId, GroupRefusal)>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Stored {
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<StoredUntil>,
    #[serde(skip_serializing_if = "Option::is_none")]
    set: Option<(String, i64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    regressed: Option<StoredRegressed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<StoredLast>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredUntil {
    Time(i64),
    More { more: u64, come: u64 },
    Change,
}

#[derive(Serialize, Deserialize)]
struct StoredRegressed {
    at: i64,
    was: String,
    by: String,
    since: i64,
    why: StoredWhy,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredWhy {
    CameAgain,
    Time,
    More(u64),
    Changed(String),
}

#[derive(Serialize, Deserialize)]
struct StoredLast {
    at: i64,
    before: Box<Stored>,
    assignee: Option<String>,
}

impl From<&Progress> for Stored {
    fn from(progress: &Progress) -> Self {
        Self {
            phase: Some(progress.phase.to_string()),
            until: progress.until.map(|until| match until {
                Until::Time(at) => StoredUntil::Time(at.as_micros()),
                Until::More { more, come } => StoredUntil::More { more, come },
                Until::Change => StoredUntil::Change,
            }),
            set: progress.set.as_ref().map(|(by, at)| (by.to_string(), at.as_micros())),
            regressed: progress.regressed.as_ref().map(|Regressed { at, was, by, since, why }| StoredRegressed {
                at: at.as_micros(),
                was: was.to_string(),
                by: by.to_string(),
                since: since.as_micros(),
                why: match why {
                    Why::CameAgain => StoredWhy::CameAgain,
                    Why::Time => StoredWhy::Time,
                    Why::More(n) => StoredWhy::More(*n),
                    Why::Changed(what) => StoredWhy::Changed(what.clone()),
                },
            }),
            last: None,
        }
    }
}

impl Stored {
    fn progress(self, phase: Option<Phase>) -> Result<Progress, StoreError> {
        let word = |word: &str| parse("a state of a group", word);
        let regressed = self.regressed.map(|stored| {
            Ok::<_, StoreError>(Regressed {
                at: Timestamp::from_micros(stored.at),
                was: word(&stored.was)?,
                by: Actor::named(stored.by),
                since: Timestamp::from_micros(stored.since),
                why: match stored.why {
                    StoredWhy::CameAgain => Why::CameAgain,
                    StoredWhy::Time => Why::Time,
                    StoredWhy::More(n) => Why::More(n),
                    StoredWhy::Changed(what) => Why::Changed(what),
                },
            })
        });
        Ok(Progress {
            phase: match (phase, self.phase) {
                (Some(phase), _) => phase,
                (None, Some(phase)) => word(&phase)?,
                (None, None) => Phase::Open,
            },
            until: self.until.map(|until| match until {
                StoredUntil::Time(at) => Until::Time(Timestamp::from_micros(at)),
                StoredUntil::More { more, come } => Until::More { more, come },
                StoredUntil::Change => Until::Change,
            }),
            set: self.set.map(|(by, at)| (Actor::named(by), Timestamp::from_micros(at))),
            regressed: regressed.transpose()?,
        })
    }
}

/// The state that the columns of a group say.
pub(super) fn read(phase: &str, progress: &str, assignee: &str, ticket: String) -> Result<GroupState, StoreError> {
    let phase: Phase = parse("a state of a group", phase)?;
    let unreadable = |error: serde_json::Error| StoreError::Unreadable { what: "a group", why: error.to_string() };
    let mut stored: Stored =
        if progress.is_empty() { Stored::default() } else { serde_json::from_str(progress).map_err(unreadable)? };
    let last = stored.last.take().map(|StoredLast { at, before, assignee }| {
        let before = (before.progress(None)?, read_assignee(assignee.as_deref().unwrap_or_default())?);
        Ok::<_, StoreError>(LastChange { at: Timestamp::from_micros(at), before: Box::new(before) })
    });
    Ok(GroupState {
        progress: stored.progress(Some(phase))?,
        assignee: read_assignee(assignee)?,
        ticket: Some(ticket).filter(|ticket| !ticket.is_empty()),
        last: last.transpose()?,
    })
}

fn read_assignee(text: &str) -> Result<Option<Assignee>, StoreError> {
    if text.is_empty() { Ok(None) } else { parse("an assignee", text).map(Some) }
}

/// All of a state but what has columns of its own.
fn written(state: &GroupState) -> String {
    let last = state.last.as_ref().map(|LastChange { at, before }| StoredLast {
        at: at.as_micros(),
        before: Box::new(Stored::from(&before.0)),
        assignee: before.1.as_ref().map(Assignee::to_string),
    });
    serde_json::json!(Stored { phase: None, last, ..Stored::from(&state.progress) }).to_string()
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
        select.push(COLUMNS).push(" FROM groups WHERE id IN ");
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
                Ok(None) => report.done.push(id),
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
    let after = group.state.after(order.command, order.by, order.at);
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
