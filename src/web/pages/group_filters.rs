//! What the list of groups is narrowed by, and what it says that it shows.

use super::choices::{Chip, Choice, NameFields};
use crate::{
    domain::{
        filter::LetterCounts,
        group::{GroupCounts, GroupFilter, GroupSort},
        group_state::Phase,
    },
    web::{
        query::{GroupQuery, Listed, Parameters},
        state::AppState,
        view::number,
    },
};

pub struct Filters {
    pub statuses: Vec<Chip>,
    pub importances: Vec<Chip>,
    pub names: NameFields,
    pub message_type: String,
    pub reasons: Vec<Choice>,
    pub sorts: Vec<Choice>,
    /// What the form carries along unseen.
    pub beside: Vec<(&'static str, String)>,
    /// The page without any of this; none when nothing is set.
    pub clear: Option<String>,
}

impl Filters {
    pub fn new(app: &AppState, query: &GroupQuery, counts: &GroupCounts, facets: &LetterCounts) -> Self {
        let unfiltered =
            GroupQuery { all: query.all, phases: query.phases.clone(), sort: query.sort, ..GroupQuery::default() };
        let (names, mut beside) = NameFields::new(app, query, facets);
        let message_type = match (&*query.types, &*query.type_globs, query.type_unknown) {
            ([], [glob], None) => glob.clone(),
            ([name], [], None) if !name.contains(['*', '?']) => name.clone(),
            _ => String::new(),
        };
        if !message_type.is_empty() {
            (beside.types, beside.type_globs) = Default::default();
        }
        if query.reasons.len() < 2 {
            beside.reasons.clear();
        }
        Self {
            statuses: status_chips(query, counts),
            importances: Chip::importances(
                &query.importances,
                |importance| number::thousands(counts.by_importance[importance as usize]),
                |chosen| query.with(|query| query.importances = chosen).href(),
            ),
            names,
            message_type,
            reasons: Choice::reasons(&query.reasons),
            sorts: sort_choices(query.sort),
            beside: beside.with(|query| query.sort = GroupSort::default()).pairs(),
            clear: (query.with(|query| query.limit = None) != unfiltered).then(|| unfiltered.href()),
        }
    }
}

pub fn count(total: u64, query: &GroupQuery, filter: &GroupFilter) -> String {
    let states = query.phases.iter().map(|phase| phase.as_str()).collect::<Vec<_>>().join(" or ");
    let groups = if states.is_empty() {
        number::plural(total, "group")
    } else {
        format!("{} {}", number::thousands(total), states)
    };
    match (total, filter.only_open) {
        (0, true) if states.is_empty() => "no group needs attention".to_owned(),
        (_, true) if states.is_empty() => format!("{groups} needing attention"),
        (_, true) => format!("{groups} with open dead letters"),
        (_, false) => groups,
    }
}

/// What the list shows and leaves out.
pub fn about(query: &GroupQuery) -> &'static str {
    match (&*query.phases, query.all) {
        ([], None | Some(false)) => {
            "What needs attention: open or acknowledged, with open dead letters. Snoozed and resolved groups are left out; they \
             come back by themselves when they wake or fail again."
        }
        ([Phase::Open], None | Some(false)) => "Nobody has taken these yet.",
        ([Phase::Acknowledged], _) => "Somebody is working on these. Nobody is reminded of them.",
        ([Phase::Snoozed], _) => "Nobody is notified of these before they wake. Then they are open again and say why.",
        ([Phase::Resolved], _) => "One that fails again is open again, and says that it has regressed.",
        _ => "",
    }
}

fn status_chips(query: &GroupQuery, counts: &GroupCounts) -> Vec<Chip> {
    let chip = |label: &'static str, count, all: Option<bool>, phases: &[Phase]| {
        let change = |query: &mut GroupQuery| {
            (query.all, query.phases, query.importances) = (all, phases.to_vec(), Vec::new());
        };
        let is_all = query.all == Some(true) && query.phases.is_empty();
        let is_current = query.phases == phases && is_all == (all == Some(true)) && query.importances.is_empty();
        Chip::new(label, number::thousands(count), query.with(change).href(), is_current)
    };
    let of = |phase: &Phase| {
        let label = match phase {
            Phase::Open => "Open",
            Phase::Acknowledged => "Acknowledged",
            Phase::Snoozed => "Snoozed",
            Phase::Resolved => "Resolved",
        };
        chip(label, counts.by_phase[*phase as usize], None, &[*phase])
    };
    [chip("Needs attention", counts.to_do, None, &[])]
        .into_iter()
        .chain(Phase::ALL.iter().map(of))
        .chain([chip("All groups", counts.all, Some(true), &[])])
        .collect()
}

fn sort_choices(chosen: GroupSort) -> Vec<Choice> {
    let choice = |&sort: &GroupSort| Choice {
        value: if sort == GroupSort::default() { String::new() } else { sort.to_string() },
        label: match sort {
            GroupSort::Importance => "Most important first",
            GroupSort::Biggest => "Most open first",
            GroupSort::Newest => "Latest first",
        }
        .to_owned(),
        is_selected: sort == chosen,
    };
    GroupSort::ALL.iter().map(choice).collect()
}
