//! The filter above the list: chips and fields, each with what choosing it would show.

use amqp_message::time::Timestamp;

use super::choices::{Chip, Choice, NameFields, Narrowed};
use crate::{
    domain::{
        filter::{LetterCounts, LetterFilter},
        group::{Group, GroupId},
        letter::Status,
    },
    web::{
        query::{LetterQuery, Listed, Parameters, When},
        state::AppState,
        view::{
            group::{self, Title},
            number,
            tally::Tally,
            text, time,
        },
    },
};

#[derive(Default)]
pub struct Filters {
    pub statuses: Vec<Chip>,
    pub importances: Vec<Chip>,
    pub names: NameFields,
    pub reasons: Vec<Choice>,
    pub times: Vec<Chip>,
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

impl Filters {
    pub fn new(
        app: &AppState,
        query: &LetterQuery,
        filter: &LetterFilter,
        facets: &LetterCounts,
        by_status: &[(Status, u64)],
        groups: &[Group],
    ) -> Self {
        let since = query.since.as_ref().map(When::to_string).unwrap_or_default();
        let is_preset = query.until.is_none() && PRESETS.iter().any(|(value, _)| *value == since);
        let has_time = query.since.is_some() || query.until.is_some();
        let unfiltered = LetterQuery {
            statuses: query.statuses.clone(),
            sort: query.sort,
            columns: query.columns.clone(),
            ..LetterQuery::default()
        };
        let (mut names, mut beside) = NameFields::new(app, query, facets);
        if beside.reasons.len() < 2 {
            beside.reasons.clear();
        }
        beside.search = None;
        Self {
            statuses: status_chips(query, filter, by_status),
            importances: importance_chips(query, filter, facets, !by_status.is_empty()),
            reasons: Choice::reasons(&query.reasons),
            times: time_chips(query, &since),
            beside_names: beside.with(|_| ()).pairs(),
            beside_time: query.with(|query| (query.since, query.until) = (None, None)).pairs(),
            since: filter.since.map(for_field).unwrap_or_default(),
            until: filter.until.map(for_field).unwrap_or_default(),
            has_own_time: has_time && !is_preset,
            narrowed: narrowed(query, groups).into_iter().chain(std::mem::take(&mut names.narrowed)).collect(),
            names,
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
        name: text::one_line(name),
        href: String::new(),
        without: query.with(|query| query.types.retain(|other| other != name)).href(),
    };
    let like_type = |glob: &String| Narrowed {
        what: "Type",
        name: text::one_line(&format!("like {glob}")),
        href: String::new(),
        without: query.with(|query| query.type_globs.retain(|other| other != glob)).href(),
    };
    let without = query.with(|query| query.type_unknown = None).href();
    let unknown = Narrowed { what: "Type", name: "unknown".to_owned(), href: String::new(), without };
    let reasons =
        Narrowed::several("Reason", &query.reasons, |place| query.with(|query| _ = query.reasons.remove(place)).href());
    (query.groups.iter().map(of_group))
        .chain(query.types.iter().map(of_type))
        .chain(query.type_globs.iter().map(like_type))
        .chain((query.type_unknown == Some(true)).then_some(unknown))
        .chain(reasons)
        .collect()
}

/// Times one chooses most; anything else by the chart or the fields.
const PRESETS: [(&str, &str); 4] = [("1h", "1 h"), ("24h", "24 h"), ("7d", "7 d"), ("30d", "30 d")];

fn status_chips(query: &LetterQuery, filter: &LetterFilter, by_status: &[(Status, u64)]) -> Vec<Chip> {
    let count_of = |status: Status| by_status.iter().find(|(of, _)| *of == status).map(|(_, count)| *count);
    let chip = |&status: &Status| {
        let label = match status {
            Status::Open => "Open",
            Status::Scheduled => "Scheduled",
            Status::Retried => "Retried",
            Status::Discarded => "Discarded",
        };
        // The page opens on what is open, so that need not be said.
        let href = query.with(|query| query.statuses = (status != Status::Open).then(|| vec![status])).href();
        let count = count_of(status).map(number::thousands).unwrap_or_default();
        Chip::new(label, count, href, filter.statuses == [status])
    };
    let is_counted = !by_status.is_empty();
    let all =
        if is_counted { number::thousands(by_status.iter().map(|(_, count)| count).sum()) } else { String::new() };
    let href = query.with(|query| query.statuses = Some(Vec::new())).href();
    let all = Chip::new("All", all, href, filter.statuses.is_empty());
    Status::ALL.iter().map(chip).chain([all]).collect()
}

fn importance_chips(query: &LetterQuery, filter: &LetterFilter, facets: &LetterCounts, is_counted: bool) -> Vec<Chip> {
    let tally = Tally::new(facets, filter);
    // Of a time the kept counts do not know; of groups and types they were counted.
    let is_counted = is_counted && ((filter.since.is_none() && filter.until.is_none()) || filter.is_counted_anew());
    let count =
        |importance| if is_counted { number::thousands(tally.of_importance(importance)) } else { String::new() };
    let href = |chosen| query.with(|query| query.importances = chosen).href();
    Chip::importances(&filter.importances, count, href)
}

fn time_chips(query: &LetterQuery, since: &str) -> Vec<Chip> {
    let chip = |value: &str, label| {
        // The presets are words we know to be times.
        let href = query.with(|query| (query.since, query.until) = (value.parse().ok(), None)).href();
        Chip::new(label, String::new(), href, query.until.is_none() && value == since)
    };
    let presets = PRESETS.iter().map(|(value, label)| chip(value, label));
    presets.chain([chip("", "Any time")]).collect()
}

/// As a browser's date field has it.
fn for_field(at: Timestamp) -> String {
    time::format(at, "%Y-%m-%dT%H:%M")
}
