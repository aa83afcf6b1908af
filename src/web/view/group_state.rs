//! How far people are with a group, in words.

use amqp_message::time::Timestamp;

use super::{number, text, time::Moment};
use crate::domain::{
    group::Group,
    group_state::{Assignee, GroupCommand, GroupState, Phase, Progress, Reopened, Until},
    version::Versioned,
};

/// Characters of a name.
const NAME: usize = 60;

#[derive(Debug)]
pub struct GroupStateView {
    pub phase: &'static str,
    /// `acknowledged by ada`
    pub said: String,
    /// Since when.
    pub at: Option<Moment>,
    /// What a snooze waits for.
    pub until: String,
    /// That it came again.
    pub reopened: Option<ReopenedView>,
    pub assignee: Option<AssigneeView>,
    pub ticket: Option<TicketView>,
    /// What a form is about.
    pub version: String,
}

#[derive(Debug)]
pub struct ReopenedView {
    /// `regressed after 9 d`
    pub said: String,
    /// Why, and what it was.
    pub why: String,
    pub at: Moment,
}

#[derive(Debug)]
pub struct AssigneeView {
    pub name: String,
    /// Two letters.
    pub initials: String,
    pub is_team: bool,
}

#[derive(Debug)]
pub struct TicketView {
    pub href: String,
    /// The end of the address: `BILL-2291`.
    pub name: String,
}

impl GroupStateView {
    pub fn new(group: &Group, now: Timestamp) -> Self {
        let GroupState { progress, assignee, ticket, .. } = &group.state;
        let Progress { phase, until, set, reopened, known: _ } = progress;
        let by = set.as_ref().map(|(by, _)| format!(" by {}", name(by.as_str()))).unwrap_or_default();
        Self {
            phase: phase.as_str(),
            said: if *phase == Phase::Open { phase.to_string() } else { format!("{phase}{by}") },
            at: set.as_ref().filter(|_| *phase != Phase::Open).map(|(_, at)| Moment::new(*at, now)),
            until: until.map(|until| waits_for(until, now)).unwrap_or_default(),
            reopened: reopened.as_ref().map(|reopened| ReopenedView::new(reopened, now)),
            assignee: assignee.as_ref().map(AssigneeView::new),
            ticket: ticket.as_deref().map(TicketView::new),
            version: group.version().to_string(),
        }
    }
}

/// `for 4 h, until 24 Nov 09:00`, `98 of 100 more dead letters have come`
fn waits_for(until: Until, now: Timestamp) -> String {
    match until {
        Until::Time(at) => format!("until {} ({})", Moment::new(at, now).compact, Moment::new(at, now).relative),
        Until::More { more, arrived } => {
            format!("{} of {} have come", number::thousands(arrived), number::plural(more, "more dead letter"))
        }
        Until::Change => "until something about it changes".to_owned(),
    }
}

impl ReopenedView {
    fn new(reopened: &Reopened, now: Timestamp) -> Self {
        let Reopened { at, was, by, since, .. } = reopened;
        let after = number::span(at.since(*since));
        let said = match was {
            Phase::Resolved => "regressed",
            Phase::Snoozed => "snooze over",
            Phase::Acknowledged | Phase::Open => "open again",
        };
        let since = Moment::new(*since, now).compact;
        let was = format!("{was} by {} at {since}", name(by.as_str()));
        let why = text::one_line(&reopened.reason());
        Self { said: format!("{said} after {after}"), why: format!("{why}; {was}"), at: Moment::new(*at, now) }
    }
}

impl AssigneeView {
    pub fn new(assignee: &Assignee) -> Self {
        Self {
            name: name(assignee.name()),
            initials: initials(assignee.name()),
            is_team: matches!(assignee, Assignee::Team(_)),
        }
    }
}

/// `Ada Moreno` as `AM`, `ada` as `AD`.
fn initials(name: &str) -> String {
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let letters: String = match &*words {
        [one] => one.chars().take(2).collect(),
        several => several.iter().take(2).filter_map(|word| word.chars().next()).collect(),
    };
    letters.to_uppercase()
}

impl TicketView {
    fn new(address: &str) -> Self {
        let path = address.split(['?', '#']).next().unwrap_or(address).trim_end_matches('/');
        let end = path.rsplit('/').next().unwrap_or(address);
        Self { href: address.to_owned(), name: text::shortened(&text::one_line(end), NAME) }
    }
}

fn name(text: &str) -> String {
    text::shortened(&text::one_line(text), NAME)
}

/// What was done with so many groups.
pub fn done(command: &GroupCommand, n: u64, now: Timestamp) -> String {
    let groups = number::plural(n, "group");
    match command {
        GroupCommand::Acknowledge => format!("Acknowledged {groups}."),
        GroupCommand::Snooze(Until::Time(at)) => format!("Snoozed {groups} for {}.", number::span(at.since(now))),
        GroupCommand::Snooze(until) => format!("Snoozed {groups} {}.", until.in_words()),
        GroupCommand::Resolve => format!("Resolved {groups}."),
        GroupCommand::Reopen => format!("Reopened {groups}."),
        GroupCommand::Assign(Some(to)) => format!("Assigned {groups} to {}.", name(&to.in_words())),
        GroupCommand::Assign(None) => format!("{groups} given back: nobody is assigned."),
        GroupCommand::SetTicket(Some(_)) => "Ticket saved.".to_owned(),
        GroupCommand::SetTicket(None) => "Ticket removed.".to_owned(),
        GroupCommand::Undo(_) => format!("Undone for {groups}."),
    }
}

/// That so many groups are as they are to be already.
pub fn unchanged(command: &GroupCommand, n: u64) -> String {
    let (groups, are) = (number::plural(n, "group"), if n == 1 { "is" } else { "are" });
    match command {
        GroupCommand::Assign(Some(to)) => format!("{groups} {are} assigned to {} already.", name(&to.in_words())),
        GroupCommand::Assign(None) => format!("{groups} {} no assignee already.", if n == 1 { "has" } else { "have" }),
        GroupCommand::SetTicket(Some(_)) => "It has this ticket already.".to_owned(),
        GroupCommand::SetTicket(None) => "It has no ticket already.".to_owned(),
        _ => format!("{groups} {are} so already."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_in_a_list() {
        let check = |name: &str, expected: &str| assert_eq!(initials(name), expected, "{name}");
        check("Ada Moreno", "AM");
        check("ada", "AD");
        check("ada@acme.example", "AA");
        check("x", "X");
        check("", "");
        let ticket = |address: &str| TicketView::new(address).name;
        assert_eq!(ticket("https://tracker.example/browse/BILL-2291?focus=1"), "BILL-2291");
        assert_eq!(ticket("https://tracker.example/"), "tracker.example");
    }

    #[test]
    fn a_snooze_says_what_it_waits_for() {
        let now = Timestamp::from_micros(1_795_255_440_000_000);
        let in_two_hours = now.plus(std::time::Duration::from_secs(7_200));
        assert_eq!(waits_for(Until::Time(in_two_hours), now), "until 12:04:00 (in 2 h)");
        assert_eq!(waits_for(Until::More { more: 100, arrived: 98 }, now), "98 of 100 more dead letters have come");
        assert_eq!(done(&GroupCommand::Snooze(Until::Time(in_two_hours)), 1, now), "Snoozed 1 group for 2 h.");
        let more = GroupCommand::Snooze(Until::More { more: 1, arrived: 0 });
        assert_eq!(done(&more, 2, now), "Snoozed 2 groups until 1 more dead letter comes.");
    }
}
