//! What the filter of any list is made of: chips to click on, fields to choose from, names to type.

use std::fmt::Display;

use amqp_message::death::Reason;

use crate::{
    domain::{filter::LetterCounts, letter::Importance},
    web::{AppState, query::LetterQuery, view::tally},
};

/// A link that chooses one thing and shows how much that is.
pub struct Chip {
    pub label: &'static str,
    pub class: &'static str,
    /// Empty where it is not known without counting.
    pub count: String,
    pub href: String,
    pub is_current: bool,
}

impl Chip {
    pub fn new(label: &'static str, count: String, href: String, is_current: bool) -> Self {
        Self { label, class: "", count, href, is_current }
    }

    /// One for each importance; any number of them can be chosen.
    pub fn importances(
        chosen: &[Importance],
        count: impl Fn(Importance) -> String,
        href: impl Fn(Vec<Importance>) -> String,
    ) -> Vec<Self> {
        let chip = |&importance: &Importance| {
            let is_current = chosen.contains(&importance);
            let is_chosen = |one: &&Importance| chosen.contains(one) != (**one == importance);
            let toggled = Importance::ALL.iter().filter(is_chosen).copied().collect();
            let class = importance.as_str();
            Self { class, ..Self::new(class, count(importance), href(toggled), is_current) }
        };
        Importance::ALL.iter().map(chip).collect()
    }
}

/// An option of a select field.
pub struct Choice {
    pub value: String,
    pub label: String,
    pub is_selected: bool,
}

impl Choice {
    /// Anything, what is chosen without being offered, as several at once, and what is offered.
    pub fn list<T: Display>(any: &str, chosen: &[T], offered: impl IntoIterator<Item = (String, String)>) -> Vec<Self> {
        let words: Vec<String> = chosen.iter().map(T::to_string).filter(|word| !word.is_empty()).collect();
        let value = words.join(",");
        let choice = |(offered, label)| Self { is_selected: offered == value, value: offered, label };
        let offered: Vec<Self> = offered.into_iter().map(choice).collect();
        let is_offered = words.is_empty() || offered.iter().any(|choice| choice.is_selected);
        let own = (!is_offered).then(|| Self { label: words.join(", "), value, is_selected: true });
        let any = Self { value: String::new(), label: any.to_owned(), is_selected: words.is_empty() };
        std::iter::once(any).chain(own).chain(offered).collect()
    }

    /// Every reason.
    pub fn reasons<T: Display>(chosen: &[T]) -> Vec<Self> {
        let label = |reason| match reason {
            Reason::Rejected => "Rejected",
            Reason::Expired => "Expired",
            Reason::MaxLen => "Queue full",
            Reason::DeliveryLimit => "Delivery limit",
            Reason::Unknown => "Unknown reason",
        };
        let offered = Reason::ALL.iter().map(|reason| (reason.to_string(), label(*reason).to_owned()));
        Self::list("Any reason", chosen, offered)
    }
}

/// The fields for queue and broker.
#[derive(Default)]
pub struct NameFields {
    /// The pattern in the queue field.
    pub queue: String,
    /// Names to choose from.
    pub queues: Vec<String>,
    /// None where there is only one.
    pub brokers: Vec<Choice>,
    /// Whether rows differ in broker, and so have to say theirs.
    pub shows_broker: bool,
}

impl NameFields {
    pub fn new(app: &AppState, queues: &[String], brokers: &[String], facets: &LetterCounts) -> Self {
        let configured = app.brokers.all();
        Self {
            queue: queues.join(","),
            queues: queue_names(facets),
            shows_broker: configured.len() > 1 && brokers.len() != 1,
            brokers: broker_choices(brokers, facets, configured.iter().map(|broker| &broker.name)),
        }
    }
}

/// Brokers that are configured, and those that letters came from once.
fn broker_choices<'a>(
    chosen: &'a [String],
    counts: &'a LetterCounts,
    configured: impl Iterator<Item = &'a String>,
) -> Vec<Choice> {
    let mut names: Vec<_> = configured.chain(counts.facets.iter().map(|facet| &facet.broker)).chain(chosen).collect();
    names.sort();
    names.dedup();
    if names.len() < 2 {
        return Vec::new();
    }
    Choice::list("Any broker", chosen, names.into_iter().map(|name| (name.clone(), name.clone())))
}

/// The queues with most open letters; a field that offers thousands helps nobody.
pub fn queue_names(facets: &LetterCounts) -> Vec<String> {
    const OFFERED: usize = 100;
    let queues = tally::queues(facets);
    let mut names: Vec<_> =
        queues.iter().take(OFFERED).map(|((_, queue), _)| LetterQuery::queue_pattern(*queue)).collect();
    names.sort();
    names.dedup();
    names
}
