//! What the filter of any list is made of: chips to click on, fields to choose from, names to type.

use std::fmt::Display;

use amqp_message::death::Reason;

use crate::{
    domain::{filter::LetterCounts, letter::Importance},
    web::{
        query::{GroupQuery, LetterQuery, Listed, WaitingQuery},
        state::AppState,
        view::{tally, text},
    },
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
    /// Anything, what is chosen without being offered, and what is offered. Of several that are chosen a field shows none.
    pub fn list<T: Display>(any: &str, chosen: &[T], offered: impl IntoIterator<Item = (String, String)>) -> Vec<Self> {
        let word = if let [one] = chosen { one.to_string() } else { String::new() };
        let choice =
            |(offered, label)| Self { is_selected: !word.is_empty() && offered == word, value: offered, label };
        let offered: Vec<Self> = offered.into_iter().map(choice).collect();
        let is_offered = word.is_empty() || offered.iter().any(|choice| choice.is_selected);
        let any = Self { value: String::new(), label: any.to_owned(), is_selected: word.is_empty() };
        let own = (!is_offered).then(|| Self { label: word.clone(), value: word, is_selected: true });
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

/// The words of a query for queues and brokers.
pub struct NameWords<'a> {
    pub queues: &'a mut Vec<String>,
    pub globs: &'a mut Vec<String>,
    pub unknown: &'a mut Option<bool>,
    pub brokers: &'a mut Vec<String>,
}

/// A query for what is in queues.
pub trait OfQueues: Clone {
    fn words(&mut self) -> NameWords<'_>;

    /// The address of the first page with other words.
    fn href_with_words(&self, change: impl FnOnce(NameWords<'_>)) -> String;
}

macro_rules! of_queues {
    ($($query:ty),+) => {
        $(impl OfQueues for $query {
            fn words(&mut self) -> NameWords<'_> {
                NameWords {
                    queues: &mut self.queues,
                    globs: &mut self.queue_globs,
                    unknown: &mut self.queue_unknown,
                    brokers: &mut self.brokers,
                }
            }

            fn href_with_words(&self, change: impl FnOnce(NameWords<'_>)) -> String {
                self.with(|query| change(query.words())).href()
            }
        })+
    };
}
of_queues!(GroupQuery, LetterQuery, WaitingQuery);

/// What a list is narrowed to that no field shows.
#[derive(Default)]
pub struct Narrowed {
    /// `Group`, `Type`, `Queue`
    pub what: &'static str,
    pub name: String,
    /// Its own page; empty where it has none.
    pub href: String,
    /// The list without it.
    pub without: String,
}

impl Narrowed {
    /// Each of several values, which a field that takes one does not show.
    pub fn several<T: Display>(what: &'static str, values: &[T], without: impl Fn(usize) -> String) -> Vec<Self> {
        if values.len() < 2 {
            return Vec::new();
        }
        let one = |(place, value): (usize, &T)| Self {
            what,
            name: text::one_line(&value.to_string()),
            without: without(place),
            ..Self::default()
        };
        values.iter().enumerate().map(one).collect()
    }
}

/// The fields for queue and broker.
#[derive(Default)]
pub struct NameFields {
    /// The pattern in the queue field.
    pub queue: String,
    /// What these fields do not show.
    pub narrowed: Vec<Narrowed>,
    /// Names to choose from.
    pub queues: Vec<String>,
    /// None where there is only one.
    pub brokers: Vec<Choice>,
    /// Whether rows differ in broker, and so have to say theirs.
    pub shows_broker: bool,
}

impl NameFields {
    /// The fields, and the query without what they show: that is carried along unseen.
    pub fn new<Q: OfQueues>(app: &AppState, query: &Q, facets: &LetterCounts) -> (Self, Q) {
        let mut beside = query.clone();
        let words = beside.words();
        let configured = app.brokers.all();
        let queue = in_field(&words).unwrap_or_default();
        let brokers = words.brokers.clone();
        let fields = Self {
            narrowed: if queue.is_empty() { narrowed(query, &words) } else { Vec::new() }
                .into_iter()
                .chain(Narrowed::several("Broker", &brokers, |place| {
                    query.href_with_words(|words| _ = words.brokers.remove(place))
                }))
                .collect(),
            queues: queue_names(facets),
            shows_broker: configured.len() > 1 && brokers.len() != 1,
            brokers: broker_choices(&brokers, facets, configured.iter().map(|broker| &broker.name)),
            queue,
        };
        if !fields.queue.is_empty() {
            (*words.queues, *words.globs) = Default::default();
        }
        if brokers.len() < 2 {
            words.brokers.clear();
        }
        (fields, beside)
    }
}

/// What the field for patterns can show: one pattern, or one name that is its own pattern.
fn in_field(words: &NameWords<'_>) -> Option<String> {
    match (&**words.queues, &**words.globs, *words.unknown != Some(true)) {
        ([], [glob], true) => Some(glob.clone()),
        ([name], [], true) if !name.contains(['*', '?']) => Some(name.clone()),
        _ => None,
    }
}

fn narrowed<Q: OfQueues>(query: &Q, words: &NameWords<'_>) -> Vec<Narrowed> {
    let chip =
        |name: &str, without| Narrowed { what: "Queue", name: text::one_line(name), without, ..Narrowed::default() };
    let named = words
        .queues
        .iter()
        .enumerate()
        .map(|(place, name)| chip(name, query.href_with_words(|words| _ = words.queues.remove(place))));
    let globs = words.globs.iter().enumerate().map(|(place, glob)| {
        chip(&format!("like {glob}"), query.href_with_words(|words| _ = words.globs.remove(place)))
    });
    let unknown =
        (*words.unknown == Some(true)).then(|| chip("unknown", query.href_with_words(|words| *words.unknown = None)));
    named.chain(globs).chain(unknown).collect()
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
        queues.iter().take(OFFERED).filter_map(|((_, queue), _)| queue.map(str::to_owned)).collect();
    names.sort();
    names.dedup();
    names
}
