//! What somebody wants done with groups, field by field, as a form or a call says it: read and refused in one way.

use amqp_message::{time::Timestamp, word_enum};

use crate::{
    domain::{
        access::Right,
        actor::Actor,
        group::Group,
        group_state::{Assignee, GroupCommand, GroupRefusal, Until},
        link::read_link,
    },
    web::{
        error::{WebError, codes::FaultCode},
        input::{delay, path_id::missing},
        query::{Pairs, When},
        state::AppState,
        visitor::Visitor,
    },
};

word_enum! {
    /// What can be done with groups.
    GroupAction, "action" {
        Acknowledge = "acknowledge",
        Snooze = "snooze",
        Resolve = "resolve",
        Reopen = "reopen",
        Assign = "assign",
        Undo = "undo",
    }
}

/// An action, and what is said of it.
#[derive(Clone, Debug, Default)]
pub struct GroupOrderFields {
    pub action: String,
    /// `2h`, `tomorrow`, or a time; in a form also `change` and `100 more`.
    pub until: Option<String>,
    pub more: Option<u64>,
    pub change: bool,
    /// `me`, `user:NAME`, `team:NAME`; empty for nobody.
    pub assignee: Option<String>,
    /// For undo: the moment, in microseconds since the epoch.
    pub at: Option<i64>,
}

impl GroupOrderFields {
    /// Takes the fields of a form. It may send some that its action has no use for.
    pub fn take(pairs: &mut Pairs) -> Result<Self, WebError> {
        let chosen = pairs.take("until")?;
        let until = pairs.take("custom_until")?.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let until = until.or(chosen).unwrap_or_default();
        let more = until.strip_suffix(" more").map(str::trim).and_then(|n| n.parse().ok());
        let change = until == "change";
        Ok(Self {
            action: pairs.take("action")?.unwrap_or_default(),
            until: (more.is_none() && !change).then_some(until),
            more,
            change,
            // Who is nobody has no name, and an empty field is not there.
            assignee: Some(pairs.take("assignee")?.unwrap_or_default()),
            at: pairs.take_parsed("at")?,
        })
    }

    /// What it comes to. An assignee has to be there, and to see all of these groups.
    pub async fn command(self, app: &AppState, by: &Actor, groups: &[Group]) -> Result<GroupCommand, WebError> {
        let action = self.action.parse().map_err(|why| WebError::field("action", FaultCode::Choice, why))?;
        Ok(match action {
            GroupAction::Acknowledge => GroupCommand::Acknowledge,
            GroupAction::Snooze => GroupCommand::Snooze(self.until(app.clock.now())?),
            GroupAction::Resolve => GroupCommand::Resolve,
            GroupAction::Reopen => GroupCommand::Reopen,
            GroupAction::Assign => {
                let missing = || WebError::field("assignee", FaultCode::Required, "this action needs it");
                let assignee = self.assignee.ok_or_else(missing)?;
                GroupCommand::Assign(read_assignee(app, by, &assignee, groups).await?)
            }
            GroupAction::Undo => {
                let missing = || WebError::field("at", FaultCode::Required, "this action needs it");
                GroupCommand::Undo(Timestamp::from_micros(self.at.ok_or_else(missing)?))
            }
        })
    }

    /// What ends a snooze: one of these.
    pub fn until(&self, now: Timestamp) -> Result<Until, WebError> {
        let wrong = |code, why| Err(WebError::field("until", code, why));
        let given = [self.until.is_some(), self.more.is_some(), self.change];
        let is_one = match given.into_iter().filter(|is_given| *is_given).count() {
            0 => wrong(FaultCode::Required, "it takes one of until, more and change"),
            1 => Ok(()),
            _ => wrong(FaultCode::Excluded, "until, more, change: it takes one of them"),
        };
        let until = match (self.until.as_deref(), self.more) {
            (Some(text), _) => read_time(text, now).map(Until::Time),
            (None, Some(more)) => Ok(Until::More { more, arrived: 0 }),
            (None, None) => Ok(Until::Change),
        };
        let until = until.and_then(|until| until.checked(now).map_err(|refusal| refused(&refusal)));
        WebError::both(is_one, until).map(|((), until)| until)
    }
}

/// Why a group does not take a command.
pub fn refused(refusal: &GroupRefusal) -> WebError {
    match refusal {
        GroupRefusal::NotFound => missing::<Group>(),
        GroupRefusal::BadTime => WebError::field("until", FaultCode::Range, refusal),
        GroupRefusal::BadCount => WebError::field("more", FaultCode::Range, refusal),
        refusal => WebError::conflict(format!("Not possible: {refusal}.")),
    }
}

/// A length of time from now on, or a time.
fn read_time(text: &str, now: Timestamp) -> Result<Timestamp, WebError> {
    if let Ok(delay) = delay::read(text, now) {
        return Ok(now.plus(delay));
    }
    let wrong = || {
        let why =
            format!("{text:?} is no end of a snooze; it takes 2h, tomorrow, 7d, or a time as 2026-11-24T09:00:00Z");
        WebError::field("until", FaultCode::Format, why)
    };
    match text.parse() {
        Ok(when @ When::At(_)) => Ok(when.resolve(now)),
        _ => Err(wrong()),
    }
}

/// Who is meant; `None` where nobody is.
pub async fn read_assignee(
    app: &AppState,
    by: &Actor,
    text: &str,
    groups: &[Group],
) -> Result<Option<Assignee>, WebError> {
    let wrong = |why: String| WebError::field("assignee", FaultCode::Invalid, why);
    let assignee = match text.trim() {
        "" => return Ok(None),
        "me" => return me(by).map(Some).ok_or_else(|| wrong("this token is nobody's; name a user".to_owned())),
        text => text.parse::<Assignee>().map_err(wrong)?,
    };
    if groups.is_empty() || !assignable(app, by, groups).await?.contains(&assignee) {
        // Whether there is somebody who does not see it, is not said.
        return Err(wrong(format!("{} is nobody who sees all of these groups", assignee.in_words())));
    }
    Ok(Some(assignee))
}

/// Whoever asks, or whose token it is.
pub fn me(by: &Actor) -> Option<Assignee> {
    let name = Visitor::current().map_or_else(|| Some(by.as_str().to_owned()), |visitor| visitor.person());
    name.map(Assignee::User)
}

/// Users and teams that see all of these groups; whoever asks first.
pub async fn assignable(app: &AppState, by: &Actor, groups: &[Group]) -> Result<Vec<Assignee>, WebError> {
    let queue = |group: &Group| group.key.queue.clone().unwrap_or_default();
    let users = app.users.all().await?.into_iter().filter(|user| {
        let grants = app.sign_in.grants(user);
        user.may_come_in() && groups.iter().all(|group| grants.may_at(Right::Read, &group.key.broker, &queue(group)))
    });
    let mut users: Vec<Assignee> = users.map(|user| Assignee::User(user.name)).collect();
    users.sort();
    let teams = app.sign_in.teams_that_see(groups.iter().map(|group| (group.key.broker.clone(), queue(group))));
    let mut all: Vec<Assignee> = me(by).into_iter().collect();
    all.extend(users.into_iter().filter(|user| Some(user) != me(by).as_ref()));
    all.extend(teams.into_iter().map(Assignee::Team));
    Ok(all)
}

/// The address of a ticket; empty to remove it.
pub fn ticket(text: &str) -> Result<GroupCommand, WebError> {
    let ticket = read_link(text).map_err(|why| WebError::field("ticket", FaultCode::Format, why))?;
    Ok(GroupCommand::SetTicket(ticket))
}
