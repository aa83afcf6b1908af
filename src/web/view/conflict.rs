//! That somebody else has changed what a form was opened on.

use amqp_message::time::Timestamp;

use super::{policy::in_full, schema::carrier_words, text, time::Moment};
use crate::{
    domain::{
        actor::Actor,
        group::{Group, Note},
        group_state::Until,
        mapping::ActiveMapping,
        policy::{ActivePolicy, Origin},
        rule::ActiveRule,
        saved_view::SavedView,
        version::{Changed, Versioned},
    },
    web::error::WebError,
};

/// What several people change, as it is shown to one who is told that another has changed it.
pub trait Shared: Versioned {
    /// What people call it.
    const NAME: &'static str;

    /// Who made it what it is, and when.
    fn set(&self) -> Option<(&Actor, Timestamp)>;

    /// What it says, each part with its name; empty where it needs none.
    fn parts(&self) -> Vec<(&'static str, String)>;
}

impl Shared for ActiveRule {
    const NAME: &'static str = "rule";

    fn set(&self) -> Option<(&Actor, Timestamp)> {
        self.set.as_ref().map(|(by, at)| (by, *at))
    }

    fn parts(&self) -> Vec<(&'static str, String)> {
        let rule = &self.rule;
        let expression = text::visible(&rule.expression).into_owned();
        vec![("Name", text::one_line(&rule.name)), ("When", expression), ("importance", rule.importance.to_string())]
    }
}

impl Shared for ActivePolicy {
    const NAME: &'static str = "policy";

    fn set(&self) -> Option<(&Actor, Timestamp)> {
        match &self.origin {
            Origin::Configuration => None,
            Origin::Person { by, at } => Some((by, *at)),
        }
    }

    fn parts(&self) -> Vec<(&'static str, String)> {
        vec![("", in_full(&self.policy))]
    }
}

impl Shared for ActiveMapping {
    const NAME: &'static str = "mapping";

    fn set(&self) -> Option<(&Actor, Timestamp)> {
        Some((&self.by, self.at))
    }

    fn parts(&self) -> Vec<(&'static str, String)> {
        let mapping = &self.mapping;
        let (carrier, pattern) = (carrier_words(mapping.carrier), text::one_line(&mapping.pattern));
        vec![("", format!("Messages of {carrier} {pattern} have the type {}", mapping.message_type))]
    }
}

impl Shared for SavedView {
    const NAME: &'static str = "view";

    fn set(&self) -> Option<(&Actor, Timestamp)> {
        Some((&self.by, self.set_at))
    }

    fn parts(&self) -> Vec<(&'static str, String)> {
        let shared = if self.content.is_shared { "shared" } else { "private" };
        vec![
            ("Name", text::one_line(&self.content.name)),
            ("shows", self.content.query.clone()),
            ("", shared.to_owned()),
        ]
    }
}

impl Shared for Note {
    const NAME: &'static str = "note";

    fn set(&self) -> Option<(&Actor, Timestamp)> {
        Some((&self.by, self.at))
    }

    fn parts(&self) -> Vec<(&'static str, String)> {
        vec![("", text::visible(&self.text).into_owned())]
    }
}

impl Shared for Group {
    const NAME: &'static str = "group";

    /// Who set its state need not be who changed its assignee, ticket or note.
    fn set(&self) -> Option<(&Actor, Timestamp)> {
        None
    }

    fn parts(&self) -> Vec<(&'static str, String)> {
        let state = &self.state;
        let until = state.progress.until.map(|until| format!(" {}", Until::in_words(until))).unwrap_or_default();
        let assignee = state.assignee.as_ref().map(|it| ("assignee", text::one_line(&it.in_words())));
        let ticket = state.ticket.clone().map(|ticket| ("ticket", ticket));
        let note = self.note.as_ref().map(|note| ("note", text::visible(&note.text).into_owned()));
        [("state", format!("{}{until}", state.phase()))].into_iter().chain(assignee).chain(ticket).chain(note).collect()
    }
}

/// What there is instead of what was seen.
#[derive(Debug)]
pub struct ConflictView {
    /// `Bob has set this policy meanwhile.`
    pub what: String,
    pub at: Option<Moment>,
    /// What it says now, each part with its name; nothing where it is gone.
    pub now: Vec<(&'static str, String)>,
}

impl ConflictView {
    pub fn new<T: Shared>(Changed(there): &Changed<T>, now: Timestamp) -> Self {
        let set = there.as_deref().and_then(T::set);
        Self {
            what: what::<T>(there.as_deref()),
            at: set.map(|(_, at)| Moment::new(at, now)),
            now: there.as_deref().map(T::parts).unwrap_or_default(),
        }
    }

    /// The same in a sentence or two.
    pub fn sentence<T: Shared>(Changed(there): &Changed<T>) -> String {
        let parts = there.as_deref().map(T::parts).unwrap_or_default();
        let parts: Vec<String> = parts
            .into_iter()
            .map(|(name, text)| if name.is_empty() { text } else { format!("{name}: {text}") })
            .collect();
        let now = if parts.is_empty() { String::new() } else { format!(" It says now: {}.", parts.join("; ")) };
        format!("{}{now}", what::<T>(there.as_deref()))
    }
}

fn what<T: Shared>(there: Option<&T>) -> String {
    let name = T::NAME;
    match there.map(T::set) {
        None => format!("Somebody has removed this {name} meanwhile."),
        Some(None) => format!("Somebody has changed this {name} meanwhile."),
        Some(Some((by, _))) => format!("{} has set this {name} meanwhile.", text::one_line(by.as_str())),
    }
}
/// What a call is told that expected something else.
pub fn overtaken<T: Shared>(changed: &Changed<T>) -> WebError {
    WebError::not_as_expected(&ConflictView::sentence(changed))
}
