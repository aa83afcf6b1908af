//! The filter above the list: chips and fields, each with what choosing it would show.

use amqp_message::{death::Reason, time::Timestamp};

use crate::{
    domain::{
        broker::BrokerHealth,
        filter::{FacetCount, LetterFilter},
        group::{Group, GroupId},
        letter::{Importance, Status},
    },
    web::{
        query::{LetterQuery, Parameters, When},
        view::{
            group::{self, Title},
            number,
            tally::{self, Tally},
            text, time,
        },
    },
};

#[derive(Default)]
pub struct Filters {
    pub statuses: Vec<Chip>,
    pub importances: Vec<Chip>,
    pub brokers: Vec<Choice>,
    pub reasons: Vec<Choice>,
    pub times: Vec<Chip>,
    /// The pattern in the queue field.
    pub queue: String,
    /// Names to choose from.
    pub queues: Vec<String>,
    /// What the form for names carries along unseen.
    pub beside_names: Vec<(&'static str, String)>,
    /// What the form for a time of one's own carries along unseen.
    pub beside_time: Vec<(&'static str, String)>,
    /// For the fields of a time of one's own, in UTC.
    pub since: String,
    pub until: String,
    pub has_own_time: bool,
    /// Groups and types that the list is narrowed to, each with the list without it.
    pub narrowed: Vec<Narrowed>,
    /// The list without any of this; none when nothing is set.
    pub clear: Option<String>,
}

/// A group or a type that letters have to be of.
pub struct Narrowed {
    /// `Group` or `Type`
    pub what: &'static str,
    pub name: String,
    /// Its own page; empty where it has none.
    pub href: String,
    /// The list without it.
    pub without: String,
}

/// A link that chooses one thing and shows how much that is.
pub struct Chip {
    pub label: &'static str,
    pub class: &'static str,
    /// Empty where it is not known without counting.
    pub count: String,
    pub href: String,
    pub is_current: bool,
}

/// An option of a select field.
pub struct Choice {
    pub value: String,
    pub label: String,
    pub is_selected: bool,
}

impl Filters {
    pub fn new(
        query: &LetterQuery,
        filter: &LetterFilter,
        facets: &[FacetCount],
        by_status: &[(Status, u64)],
        brokers: &[BrokerHealth],
        groups: &[Group],
    ) -> Self {
        let since = query.since.as_ref().map(When::to_string).unwrap_or_default();
        let is_preset = query.until.is_none() && PRESETS.iter().any(|(value, _)| *value == since);
        let has_time = query.since.is_some() || query.until.is_some();
        let unfiltered = LetterQuery { statuses: query.statuses.clone(), sort: query.sort, ..LetterQuery::default() };
        Self {
            statuses: status_chips(query, filter, by_status),
            importances: importance_chips(query, filter, facets),
            brokers: broker_choices(&query.brokers, facets, brokers),
            reasons: reason_choices_of(&query.reasons),
            times: time_chips(query, &since),
            queue: query.queues.join(","),
            queues: queue_names(facets),
            beside_names: query.with(|query| (query.brokers, query.queues, query.reasons) = Default::default()).pairs(),
            beside_time: query.with(|query| (query.since, query.until) = (None, None)).pairs(),
            since: filter.since.map(for_field).unwrap_or_default(),
            until: filter.until.map(for_field).unwrap_or_default(),
            has_own_time: has_time && !is_preset,
            narrowed: narrowed(query, groups),
            clear: (query.with(|_| ()) != unfiltered).then(|| unfiltered.href()),
        }
    }
}

fn narrowed(query: &LetterQuery, groups: &[Group]) -> Vec<Narrowed> {
    let of_group = |id: &GroupId| {
        let group = groups.iter().find(|group| group.id == *id);
        Narrowed {
            what: "Group",
            name: group.map_or_else(|| "that is gone".to_owned(), |group| Title::new(&group.key).in_words()),
            href: group.map(|group| group::href(group.id)).unwrap_or_default(),
            without: query.with(|query| query.groups.retain(|other| other != id)).href(),
        }
    };
    let of_type = |name: &String| Narrowed {
        what: "Type",
        name: if name == LetterQuery::UNKNOWN { "unknown".to_owned() } else { text::one_line(name) },
        href: String::new(),
        without: query.with(|query| query.types.retain(|other| other != name)).href(),
    };
    query.groups.iter().map(of_group).chain(query.types.iter().map(of_type)).collect()
}

/// Times one chooses most; anything else by the chart or the fields.
const PRESETS: [(&str, &str); 4] = [("1h", "1 h"), ("24h", "24 h"), ("7d", "7 d"), ("30d", "30 d")];

fn status_chips(query: &LetterQuery, filter: &LetterFilter, by_status: &[(Status, u64)]) -> Vec<Chip> {
    let chip = |&(status, count): &(Status, u64)| Chip {
        label: match status {
            Status::Open => "Open",
            Status::Scheduled => "Scheduled",
            Status::Retried => "Retried",
            Status::Discarded => "Discarded",
        },
        class: "",
        count: number::thousands(count),
        // The page opens on what is open, so that need not be said.
        href: query.with(|query| query.statuses = (status != Status::Open).then(|| vec![status])).href(),
        is_current: filter.statuses == [status],
    };
    let all = Chip {
        label: "All",
        class: "",
        count: number::thousands(by_status.iter().map(|(_, count)| count).sum()),
        href: query.with(|query| query.statuses = Some(Vec::new())).href(),
        is_current: filter.statuses.is_empty(),
    };
    by_status.iter().map(chip).chain([all]).collect()
}

fn importance_chips(query: &LetterQuery, filter: &LetterFilter, facets: &[FacetCount]) -> Vec<Chip> {
    let tally = Tally::new(facets, filter);
    // Of a time the kept counts do not know; of groups and types they were counted.
    let is_counted = (filter.since.is_none() && filter.until.is_none()) || filter.is_of_groups();
    let chip = |&importance: &Importance| Chip {
        label: importance.as_str(),
        class: importance.as_str(),
        count: if is_counted { number::thousands(tally.of_importance(importance)) } else { String::new() },
        href: query.with(|query| toggle(&mut query.importances, importance)).href(),
        is_current: filter.importances.contains(&importance),
    };
    Importance::ALL.iter().map(chip).collect()
}

fn toggle(all: &mut Vec<Importance>, one: Importance) {
    if all.contains(&one) {
        all.retain(|other| *other != one);
    } else {
        all.push(one);
    }
    all.sort();
}

/// Brokers that are configured, and those that letters came from once.
pub fn broker_choices(chosen: &[String], facets: &[FacetCount], brokers: &[BrokerHealth]) -> Vec<Choice> {
    let seen = facets.iter().map(|facet| &facet.broker);
    let mut names: Vec<_> = brokers.iter().map(|broker| &broker.name).chain(seen).chain(chosen).collect();
    names.sort();
    names.dedup();
    if names.len() < 2 {
        return Vec::new();
    }
    let is_several = chosen.len() > 1;
    let chosen = chosen.join(",");
    let choice = |name: &String| Choice { value: name.clone(), label: name.clone(), is_selected: *name == chosen };
    let any = Choice { value: String::new(), label: "Any broker".to_owned(), is_selected: chosen.is_empty() };
    let several = is_several.then(|| Choice { value: chosen.clone(), label: chosen.clone(), is_selected: true });
    std::iter::once(any).chain(several).chain(names.into_iter().map(choice)).collect()
}

/// Every reason, and what is chosen where that is several.
pub fn reason_choices_of(chosen: &[Reason]) -> Vec<Choice> {
    let any = Choice { value: String::new(), label: "Any reason".to_owned(), is_selected: chosen.is_empty() };
    let choice = |&reason: &Reason| Choice {
        value: reason.as_str().to_owned(),
        label: reason_label(reason).to_owned(),
        is_selected: chosen == [reason],
    };
    let several = (chosen.len() > 1).then(|| {
        let words: Vec<_> = chosen.iter().map(|reason| reason.as_str()).collect();
        Choice { value: words.join(","), label: words.join(", "), is_selected: true }
    });
    std::iter::once(any).chain(several).chain(Reason::ALL.iter().map(choice)).collect()
}

/// Every reason, for a form that takes one or any.
pub fn reason_choices_for(chosen: &str) -> Vec<Choice> {
    let any = Choice { value: String::new(), label: "Any reason".to_owned(), is_selected: chosen.is_empty() };
    let choice = |&reason: &Reason| Choice {
        value: reason.as_str().to_owned(),
        label: reason_label(reason).to_owned(),
        is_selected: chosen == reason.as_str(),
    };
    std::iter::once(any).chain(Reason::ALL.iter().map(choice)).collect()
}

const fn reason_label(reason: Reason) -> &'static str {
    match reason {
        Reason::Rejected => "Rejected",
        Reason::Expired => "Expired",
        Reason::MaxLen => "Queue full",
        Reason::DeliveryLimit => "Delivery limit",
        Reason::Unknown => "Unknown reason",
    }
}

fn time_chips(query: &LetterQuery, since: &str) -> Vec<Chip> {
    let chip = |value: &str, label| Chip {
        label,
        class: "",
        count: String::new(),
        // The presets are words we know to be times.
        href: query.with(|query| (query.since, query.until) = (value.parse().ok(), None)).href(),
        is_current: query.until.is_none() && value == since,
    };
    let presets = PRESETS.iter().map(|(value, label)| chip(value, label));
    presets.chain([chip("", "Any time")]).collect()
}

/// The queues with most open letters; a field that offers thousands helps nobody.
pub fn queue_names(facets: &[FacetCount]) -> Vec<String> {
    const OFFERED: usize = 100;
    let queues = tally::queues(facets);
    let mut names: Vec<_> =
        queues.iter().take(OFFERED).map(|((_, queue), _)| LetterQuery::queue_pattern(*queue)).collect();
    names.sort();
    names.dedup();
    names
}

/// As a browser's date field has it.
fn for_field(at: Timestamp) -> String {
    time::format(at, "%Y-%m-%dT%H:%M")
}
