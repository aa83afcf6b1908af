//! One line of the activity: who did what, as a sentence.

use std::collections::HashMap;

use amqp_message::time::Timestamp;
use uuid::Uuid;

use super::{number, queue::set_href, text, time::Moment};
use crate::{
    domain::{
        activity::{ActivityEntry, Area, AuditEntry, Concerns},
        actor::Origin,
        group::{Group, GroupId},
        letter::{LetterId, LetterSummary},
    },
    web::query::queue_path,
};

/// Characters of a detail that a line shows.
const SHOWN: usize = 600;
/// Characters of a name.
/// Where they are listed.
pub const GROUPING_RULES: &str = "/groups/rules";
const NAME: usize = 80;

#[derive(Debug)]
pub struct ActivityRow {
    pub at: Moment,
    pub by: String,
    /// From where, where that is known.
    pub origin: String,
    pub sentence: Sentence,
    pub detail: String,
}

impl ActivityRow {
    pub fn new(entry: &ActivityEntry, subjects: &Subjects, now: Timestamp) -> Self {
        let entry = &entry.entry;
        Self {
            at: Moment::new(entry.at, now),
            by: text::one_line(entry.by.as_str()),
            origin: entry.by.origin().map(origin).unwrap_or_default(),
            sentence: Sentence::new(entry, subjects),
            detail: text::visible(&text::shortened(&entry.detail, SHOWN)).into_owned(),
        }
    }
}

fn origin(Origin { via, address }: Origin) -> String {
    let from = address.map(|address| format!(" from {address}")).unwrap_or_default();
    format!("by {via}{from}")
}

/// `retried 71 letters of the group ‹orders: timeout after …›`
#[derive(Debug, PartialEq, Eq)]
pub struct Sentence {
    /// What was done.
    pub verb: String,
    /// To what; empty where the verb says it all.
    pub object: String,
    /// Where one sees it, if it is still there.
    pub href: Option<String>,
    /// The object is a name that somebody has chosen.
    pub is_name: bool,
}

/// What letters and groups are called that entries name by their ids, as far as they are still there.
#[derive(Default)]
pub struct Subjects {
    letters: HashMap<LetterId, String>,
    groups: HashMap<GroupId, String>,
}

impl Subjects {
    pub fn new(letters: &[LetterSummary], groups: &[Group]) -> Self {
        Self {
            letters: letters.iter().map(|letter| (letter.id, name_of_letter(letter))).collect(),
            groups: groups.iter().map(|group| (group.id, name_of_group(group))).collect(),
        }
    }
}

fn name_of_letter(letter: &LetterSummary) -> String {
    match letter.queue.as_deref() {
        Some(queue) => format!("a dead letter of {}", name(queue)),
        None => "a dead letter of an unknown queue".to_owned(),
    }
}

fn name_of_group(group: &Group) -> String {
    let queue = group.key.queue.as_deref().unwrap_or("unknown queue");
    let what = if group.key.error.is_empty() { group.key.reason.as_str() } else { &group.key.error };
    format!("{}: {}", name(queue), name(what))
}

fn name(text: &str) -> String {
    text::name(text, NAME)
}

impl Sentence {
    pub fn new(entry: &AuditEntry, subjects: &Subjects) -> Self {
        let has_detail = !entry.detail.is_empty();
        match (entry.area, entry.action.as_str()) {
            (Area::Letters, action) => of_letters(entry, verb(action, has_detail), subjects),
            (Area::Groups, action) => of_group(entry, verb(action, has_detail), subjects),
            (Area::Rules, "set") => named("saved the rule", entry, "/rules".to_owned()),
            (Area::Rules, "remove") => named("removed the rule", entry, "/rules".to_owned()),
            (Area::Rules, "order") => plain("reordered the rules"),
            (Area::Rules, "apply") => {
                plain(&format!("applied the rules to {}", number::plural(entry.letters, "dead letter")))
            }
            (Area::GroupingRules, "add") => named("added the grouping rule", entry, GROUPING_RULES.to_owned()),
            (Area::GroupingRules, _) => named("removed the grouping rule", entry, GROUPING_RULES.to_owned()),
            (Area::Policies, "set") => named("set the retry policy of", entry, policy_href(entry)),
            (Area::Policies, "remove") => named("removed the retry policy of", entry, policy_href(entry)),
            (Area::Queues, "pause") => named("paused retries into", entry, queue_page(entry)),
            (Area::Queues, "test") => named("sent a test dead letter through", entry, "/get-started".to_owned()),
            (Area::Queues, "resume") => named("resumed retries into", entry, queue_page(entry)),
            (Area::Schemas, "upload") => named("added the schema", entry, "/schemas".to_owned()),
            (Area::Schemas, "remove") => named("removed the schema", entry, "/schemas".to_owned()),
            (Area::Mappings, "set") => named("mapped a type to", entry, "/schemas#mappings".to_owned()),
            (Area::Mappings, "remove") => named("removed the type mapping of", entry, "/schemas#mappings".to_owned()),
            (Area::Digests, "send") => named("sent the digest", entry, "/digests".to_owned()),
            (Area::Markers, "set") => named("set the marker", entry, "/markers".to_owned()),
            (Area::Markers, "remove") => named("removed the marker", entry, "/markers".to_owned()),
            (Area::Views, "share") => named("shared the view", entry, "/views".to_owned()),
            (Area::Views, "unshare") => named("made private the view", entry, "/views".to_owned()),
            (Area::Views, "set") => named("changed the view", entry, "/views".to_owned()),
            (Area::Views, "remove") => named("removed the view", entry, "/views".to_owned()),
            (Area::Views, "restore") => named("brought back the view", entry, "/views".to_owned()),
            (Area::Users, action) => named(user_verb(action), entry, String::new()),
            (Area::Tokens, "revoke") => named("revoked the API token", entry, String::new()),
            (Area::Tokens, _) => named("made the API token", entry, String::new()),
            // Of a newer version, say.
            (area, action) => named(&format!("{area}: {}", name(action)), entry, String::new()),
        }
    }

    /// The same as a text.
    pub fn text(&self) -> String {
        if self.object.is_empty() { self.verb.clone() } else { format!("{} {}", self.verb, self.object) }
    }
}

fn user_verb(action: &str) -> &'static str {
    match action {
        "add" => "added the user",
        "remove" => "removed the user",
        "role" => "changed the role of",
        "disable" => "disabled the user",
        "enable" => "enabled the user",
        "password" => "changed the password of",
        _ => "changed the user",
    }
}

fn plain(verb: &str) -> Sentence {
    Sentence { verb: verb.to_owned(), object: String::new(), href: None, is_name: false }
}

fn named(verb: &str, entry: &AuditEntry, href: String) -> Sentence {
    let object = name(&entry.subject);
    Sentence { object, href: Some(href).filter(|href| !href.is_empty()), is_name: true, ..plain(verb) }
}

/// The page of the queue that it is about.
fn queue_page(entry: &AuditEntry) -> String {
    match &entry.concerns {
        Concerns::Queue(broker, queue) => queue_path::href(broker, queue),
        Concerns::All(_) => "/queues".to_owned(),
    }
}

fn policy_href(entry: &AuditEntry) -> String {
    format!("{}#set", set_href(&entry.subject, None))
}

fn verb(action: &str, has_detail: bool) -> String {
    let known = match (action, has_detail) {
        ("retry", _) => "retried",
        ("discard", _) => "discarded",
        ("reopen", _) => "reopened",
        ("importance", _) => "set the importance of",
        ("note", true) => "wrote a note on",
        ("note", false) => "removed the note of",
        ("type", true) => "set the type of",
        ("type", false) => "removed the type of",
        ("edit", _) => "edited and retried",
        ("acknowledge", _) => "acknowledged",
        ("snooze", _) => "snoozed",
        ("resolve", _) => "resolved",
        ("assign", true) => "assigned",
        ("assign", false) => "unassigned",
        ("ticket", true) => "linked a ticket to",
        ("ticket", false) => "removed the ticket of",
        ("merge", _) => "merged",
        ("unmerge", _) => "split again",
        ("split", _) => "split",
        ("join", _) => "merged the parts of",
        ("undo", _) => "undid the last change of",
        ("wake", _) => "woke",
        ("reveal", _) => "revealed hidden values of",
        ("pause", _) => "paused",
        ("resume", _) => "resumed",
        ("cancel", _) => "cancelled",
        (other, _) => return name(other),
    };
    known.to_owned()
}

fn of_letters(entry: &AuditEntry, verb: String, subjects: &Subjects) -> Sentence {
    let letters = number::plural(entry.letters, "dead letter");
    let sentence = Sentence { verb, object: letters.clone(), href: None, is_name: false };
    if let Some(job) = entry.subject.strip_prefix("job ") {
        return Sentence { object: "a job".to_owned(), href: Some(format!("/jobs/{job}")), ..sentence };
    }
    let Ok(id) = Uuid::try_parse(&entry.subject) else { return sentence };
    if let Some(group) = subjects.groups.get(&GroupId::from_uuid(id)) {
        let verb = format!("{} {letters} of the group", sentence.verb);
        return Sentence { verb, object: group.clone(), href: Some(format!("/groups/{id}")), is_name: true };
    }
    if let Some(letter) = subjects.letters.get(&LetterId::from_uuid(id)) {
        return Sentence { object: letter.clone(), href: Some(format!("/letters/{id}")), ..sentence };
    }
    let object = if entry.letters == 1 { "a dead letter that is gone".to_owned() } else { letters };
    Sentence { object, ..sentence }
}

fn of_group(entry: &AuditEntry, verb: String, subjects: &Subjects) -> Sentence {
    let id = Uuid::try_parse(&entry.subject).unwrap_or_default();
    match subjects.groups.get(&GroupId::from_uuid(id)) {
        None => Sentence { object: "a group that is gone".to_owned(), ..plain(&verb) },
        Some(group) => Sentence {
            verb: format!("{verb} the group"),
            object: group.clone(),
            href: Some(format!("/groups/{id}")),
            is_name: true,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::actor::Actor;

    const LETTER: Uuid = Uuid::from_u128(1);
    const GROUP: Uuid = Uuid::from_u128(2);

    fn check(area: Area, action: &str, subject: &str, letters: u64, expected: (&str, Option<&str>)) {
        let subjects = Subjects {
            letters: [(LetterId::from_uuid(LETTER), "a dead letter of orders".to_owned())].into(),
            groups: [(GroupId::from_uuid(GROUP), "orders: timeout".to_owned())].into(),
        };
        let entry = AuditEntry::new(Timestamp::default(), &Actor::local(), area, action, subject);
        let sentence = Sentence::new(&AuditEntry { letters, ..entry }, &subjects);
        assert_eq!((&*sentence.text(), sentence.href.as_deref()), expected);
    }

    #[test]
    fn letters_are_told_one_or_many() {
        let one = LETTER.to_string();
        let href = format!("/letters/{one}");
        check(Area::Letters, "discard", &one, 1, ("discarded a dead letter of orders", Some(&href)));
        check(Area::Letters, "reveal", &one, 1, ("revealed hidden values of a dead letter of orders", Some(&href)));
        check(Area::Letters, "note", &one, 1, ("removed the note of a dead letter of orders", Some(&href)));
        check(Area::Letters, "retry", "", 1_234, ("retried 1,234 dead letters", None));
        let gone = Uuid::from_u128(3).to_string();
        check(Area::Letters, "retry", &gone, 1, ("retried a dead letter that is gone", None));
        check(Area::Letters, "retry", &gone, 7, ("retried 7 dead letters", None));
        check(Area::Letters, "cancel", "job 7", 0, ("cancelled a job", Some("/jobs/7")));
    }

    #[test]
    fn groups_are_told_by_what_failed() {
        let (group, href) = (GROUP.to_string(), format!("/groups/{GROUP}"));
        check(
            Area::Letters,
            "retry",
            &group,
            71,
            ("retried 71 dead letters of the group orders: timeout", Some(&href)),
        );
        check(Area::Groups, "note", &group, 0, ("removed the note of the group orders: timeout", Some(&href)));
        check(Area::Groups, "note", "", 0, ("removed the note of a group that is gone", None));
    }

    #[test]
    fn names_are_shown_without_tricks_and_lead_to_their_page() {
        let set = "/policies?queues=texts.*#set";
        check(Area::Policies, "set", "texts.*", 0, ("set the retry policy of texts.*", Some(set)));
        check(Area::Rules, "set", "a\nb", 0, ("saved the rule a␊b", Some("/rules")));
        check(Area::Rules, "order", "", 0, ("reordered the rules", None));
        check(Area::Rules, "apply", "", 1, ("applied the rules to 1 dead letter", None));
        check(Area::Digests, "post", "daily", 0, ("digests: post daily", None));
    }
}
